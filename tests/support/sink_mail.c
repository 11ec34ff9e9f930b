#include "sink_mail.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * What the sink knows of a mail: envelope, size and, when mail is stored, its bytes as they came over
 * the wire. Only storing takes the dots out, as the server that the sink pretends to be would.
 */

void
sink_mail_clear(struct sink_mail *m)
{
    buf_clear(&m->from);
    buf_clear(&m->rcpts);
    buf_clear(&m->body);
    m->n_rcpts = 0;
    m->body_bytes = 0;
}

void
sink_mail_deinit(struct sink_mail *m)
{
    buf_deinit(&m->from);
    buf_deinit(&m->rcpts);
    buf_deinit(&m->body);
}

struct slice
sink_mail_first_rcpt(const struct sink_mail *m)
{
    struct slice rest = buf_slice(&m->rcpts), rcpt = SLICE_NONE;

    slice_cut(&rest, '\n', &rcpt);
    return rcpt;
}

unsigned
sink_mail_log(const struct sink_mail *m, int64_t now_ms, struct buf *out)
{
    struct slice rest = buf_slice(&m->rcpts), rcpt;
    unsigned n = 0;

    while (slice_cut(&rest, '\n', &rcpt)) {
        if (rcpt.n == 0)
            continue;
        buf_append_i64(out, now_ms);
        buf_append_char(out, ' ');
        buf_append_slice(out, rcpt);
        buf_append_char(out, ' ');
        buf_append_u64(out, m->body_bytes);
        buf_append_char(out, '\n');
        n++;
    }
    return n;
}

static void
write_file(const char *dir, uint64_t number, const char *suffix, struct slice content)
{
    char path[600];
    int fd;

    snprintf(path, sizeof(path), "%s/%06llu.%s", dir, (unsigned long long)number, suffix);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, content.p, content.n) != (ssize_t)content.n)
        fprintf(stderr, "smtp_sink: %s: %s\n", path, strerror(errno));
    if (fd >= 0)
        close(fd);
}

/** The message without the final dot line and the dots put before others. */
static void
take_dots_out(struct slice wire, struct buf *out)
{
    struct slice line;

    wire.n -= sizeof(".\r\n") - 1;
    for (size_t at = 0; at < wire.n; at += line.n) {
        const char *lf = memchr(wire.p + at, '\n', wire.n - at);

        line = slice_make(wire.p + at, lf != NULL ? (size_t)(lf - wire.p) + 1 - at : wire.n - at);
        buf_append_slice(out, line.p[0] == '.' ? slice_from(line, 1) : line);
    }
}

void
sink_mail_store(
    const struct sink_mail *m, const char *dir, uint64_t number, struct slice client_name)
{
    struct buf plain = BUF_INIT, envelope = BUF_INIT;

    take_dots_out(buf_slice(&m->body), &plain);
    buf_printf(&envelope, "ehlo %.*s\nfrom %.*s\n", SLICE_FMT(client_name),
        SLICE_FMT(buf_slice(&m->from)));
    buf_append_slice(&envelope, buf_slice(&m->rcpts));
    write_file(dir, number, "eml", buf_slice(&plain));
    write_file(dir, number, "env", buf_slice(&envelope));
    buf_deinit(&plain);
    buf_deinit(&envelope);
}
