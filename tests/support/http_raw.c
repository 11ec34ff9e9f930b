#include "support/http_raw.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <check.h>

#include "loop/loop.h"

/*
 * Raw HTTP for tests. Server and client share one thread: the client's sockets never block, and
 * each wait is a bounded number of turns of the server's loop.
 */

#define MAX_TURNS 1000
#define TURN_MS   5

static void
raw_connect(struct raw *c, struct loop *l, int family, const void *addr, socklen_t n)
{
    *c = (struct raw){.loop = l};
    c->fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(c->fd, 0);
    if (connect(c->fd, addr, n) != 0)
        ck_assert_msg(errno == EINPROGRESS, "connect: %s", strerror(errno));
}

void
raw_open_tcp(struct raw *c, struct loop *l, unsigned port)
{
    struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

    sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    raw_connect(c, l, AF_INET, &sin, sizeof sin);
}

void
raw_open_unix(struct raw *c, struct loop *l, const char *path)
{
    struct sockaddr_un sun = {.sun_family = AF_UNIX};

    ck_assert_uint_lt(strlen(path), sizeof sun.sun_path);
    strcpy(sun.sun_path, path);
    raw_connect(c, l, AF_UNIX, &sun, sizeof sun);
}

void
raw_close(struct raw *c)
{
    close(c->fd);
    buf_deinit(&c->in);
    raw_turns(c->loop, 4);
}

void
raw_turns(struct loop *l, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        loop_turn(l, 1);
}

bool
raw_send(struct raw *c, struct slice bytes)
{
    for (unsigned turn = 0; bytes.n > 0 && turn < MAX_TURNS; turn++) {
        ssize_t n = send(c->fd, bytes.p, bytes.n, MSG_NOSIGNAL);

        if (n > 0)
            bytes = slice_from(bytes, (size_t)n);
        else if (errno != EAGAIN)
            return false;
        loop_turn(c->loop, 1);
    }
    return bytes.n == 0;
}

bool
raw_send_str(struct raw *c, const char *s)
{
    return raw_send(c, slice_str(s));
}

bool
raw_trickle(struct raw *c, const char *s)
{
    for (; *s != '\0'; s++)
        if (!raw_send(c, slice_make(s, 1)))
            return false;
    return true;
}

/** Whatever has arrived; turns the loop once. */
static void
raw_pump(struct raw *c)
{
    char *p = buf_reserve(&c->in, 65536);
    ssize_t n = recv(c->fd, p, 65536, 0);

    if (n > 0)
        c->in.n += (size_t)n;
    else if (n == 0 || errno != EAGAIN)
        c->is_eof = true;
    loop_turn(c->loop, n > 0 ? 0 : TURN_MS);
}

static bool
answer_is_complete(const struct raw *c, bool is_head, struct raw_answer *a)
{
    struct slice in = buf_slice(&c->in), length;
    ptrdiff_t end = slice_find(in, SLICE_LIT("\r\n\r\n"));
    uint64_t body_n = 0;
    size_t head_n;

    if (end < 0)
        return false;
    head_n = (size_t)end + 4;
    buf_clear(&a->head);
    buf_clear(&a->body);
    buf_append(&a->head, in.p, head_n);
    length = raw_header(a, "Content-Length");
    if (!is_head && length.p != NULL)
        ck_assert(slice_u64(length, &body_n));
    if (in.n < head_n + body_n)
        return false;
    buf_append(&a->body, in.p + head_n, body_n);
    a->status = (unsigned)strtoul(a->head.p + strlen("HTTP/1.1 "), NULL, 10);
    return true;
}

void
raw_read(struct raw *c, bool is_head, struct raw_answer *a_r)
{
    *a_r = (struct raw_answer){0, BUF_INIT, BUF_INIT};
    for (unsigned turn = 0; turn < MAX_TURNS; turn++) {
        if (answer_is_complete(c, is_head, a_r)) {
            buf_consume(&c->in, a_r->head.n + a_r->body.n);
            if (a_r->status == 100) { /* an interim answer: the real one follows */
                a_r->status = 0;
                continue;
            }
            return;
        }
        if (c->is_eof)
            return;
        raw_pump(c);
    }
}

void
raw_answer_deinit(struct raw_answer *a)
{
    buf_deinit(&a->head);
    buf_deinit(&a->body);
}

struct slice
raw_header(const struct raw_answer *a, const char *name)
{
    struct slice rest = buf_slice(&a->head), line, key;

    while (slice_cut(&rest, '\n', &line)) {
        struct slice value = line;

        if (slice_cut(&value, ':', &key) && slice_ieq(key, slice_str(name)))
            return slice_trim(value);
    }
    return SLICE_NONE;
}

bool
raw_wait_eof(struct raw *c)
{
    for (unsigned turn = 0; turn < MAX_TURNS && !c->is_eof; turn++)
        raw_pump(c);
    return c->is_eof;
}
