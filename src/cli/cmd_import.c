/*
 * mailshotd import: a CSV file of any size, as several calls. Each piece ends between two records and
 * goes with the header line in front, so no call is long and nothing has to hold the file. Lines are
 * numbered as in the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "audience/csv.h"
#include "cli/commands.h"
#include "mailshot/exit.h"

#define PIECE_BYTES (4u << 20)
#define READ_BYTES  (256u << 10)

static const char *const figures[] = {"rows", "added", "updated", "unchanged", "refused",
    "subscribed", "optedOut", "consentProtected"};
#define N_FIGURES (sizeof figures / sizeof figures[0])

struct upload {
    struct cli *c;
    int fd;
    const char *target;
    struct buf pending; /* read and not sent */
    struct buf header;  /* first record with its line end; empty until it has been read whole */
    char separator;
    uint64_t lines; /* of the file before `pending` */
    int64_t sums[N_FIGURES];
    bool is_eof;
};

enum place { AT_FIELD, IN_PLAIN, IN_QUOTED, AFTER_QUOTE };

/* Where the reader of records is behind this byte: a quote counts at the start of a field only, and
 * two of them inside a quoted field are one (RFC 4180 §2). */
static enum place
step(enum place at, char byte, char separator)
{
    if (at == IN_QUOTED)
        return byte == '"' ? AFTER_QUOTE : IN_QUOTED;
    if (byte == '"' && at != IN_PLAIN)
        return IN_QUOTED;
    return byte == separator || byte == '\n' || byte == '\r' ? AT_FIELD : IN_PLAIN;
}

/* The end of the last (or first) whole record in the bytes: behind a line end outside quotes. */
static size_t
record_end(struct slice s, char separator, bool want_first)
{
    enum place at = AT_FIELD;
    size_t end = 0;

    for (size_t i = 0; i < s.n && !(want_first && end > 0); i++) {
        at = step(at, s.p[i], separator);
        if (s.p[i] == '\n' && at == AT_FIELD)
            end = i + 1;
    }
    return end;
}

/* As the reader at the other end finds it. */
static char
find_separator(struct slice header)
{
    struct csv *csv = csv_create();
    struct csv_record unused;
    char separator;

    csv_feed(csv, header);
    csv_finish(csv);
    csv_next(csv, &unused);
    separator = csv_separator(csv);
    csv_free(&csv);
    return separator;
}

static uint64_t
count_lines(struct slice s)
{
    uint64_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += s.p[i] == '\n';
    return n;
}

static int
fill(struct upload *u)
{
    while (!u->is_eof && u->pending.n < PIECE_BYTES) {
        ssize_t n = read(u->fd, buf_reserve(&u->pending, READ_BYTES), READ_BYTES);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            fprintf(stderr, "mailshotd: reading: %s\n", strerror(errno));
            return EXIT_FAILED;
        }
        u->is_eof = n == 0;
        u->pending.n += (size_t)n;
    }
    return EXIT_OK;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Line numbers of a piece count its own header as line 1. */
static void
say_refused(const struct upload *u, const struct json *lines, uint64_t header_lines)
{
    for (const struct json *r = json_first(lines); r != NULL; r = json_next(r)) {
        int64_t line = 0;

        json_int(json_get(r, "line"), &line);
        fprintf(stderr, "line %llu: %.*s\n",
            (unsigned long long)(u->lines + (uint64_t)line - header_lines),
            SLICE_FMT(json_str(json_get(r, "reason"))));
    }
}

static int
send_piece(struct upload *u, size_t n)
{
    struct slice piece = slice_make(u->pending.p, n);
    struct buf body = BUF_INIT;
    struct json *answer = NULL;
    int rc;

    buf_append_slice(&body, buf_slice(&u->header));
    buf_append_slice(&body, piece);
    rc = cli_request(u->c, "POST", u->target, buf_slice(&body), &answer);
    buf_deinit(&body);
    if (rc != EXIT_OK)
        return rc;
    for (size_t i = 0; i < N_FIGURES; i++) {
        int64_t value = 0;

        json_int(json_get(answer, figures[i]), &value);
        u->sums[i] += value;
    }
    say_refused(u, json_get(answer, "refusedLines"), count_lines(buf_slice(&u->header)));
    u->lines += count_lines(piece);
    buf_consume(&u->pending, n);
    json_free(&answer);
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r%lld rows ", (long long)u->sums[0]);
    return EXIT_OK;
}

static int
take_header(struct upload *u)
{
    size_t n = record_end(buf_slice(&u->pending), ',', true);

    if (n == 0)
        n = u->pending.n; /* a header and nothing else: its problems are the server's to name */
    buf_append(&u->header, u->pending.p, n);
    u->separator = find_separator(buf_slice(&u->header));
    u->lines = count_lines(buf_slice(&u->header));
    buf_consume(&u->pending, n);
    return EXIT_OK;
}

static int
upload(struct upload *u)
{
    int rc = fill(u);

    if (rc == EXIT_OK)
        rc = take_header(u);
    do {
        size_t n;

        if (rc == EXIT_OK)
            rc = fill(u);
        if (rc != EXIT_OK)
            return rc;
        n = u->is_eof ? u->pending.n : record_end(buf_slice(&u->pending), u->separator, false);
        if (n == 0 && !u->is_eof) {
            fprintf(stderr, "mailshotd: the record behind line %llu has no end\n",
                (unsigned long long)u->lines);
            return EXIT_FAILED;
        }
        rc = send_piece(u, n);
    } while (rc == EXIT_OK && (!u->is_eof || u->pending.n > 0));
    return rc;
}

/* ---- the command ----------------------------------------------------------------------------- */

static void
make_target(const struct cli *c, struct buf *target)
{
    buf_append_str(target, "/v1/contacts/import?overwrite=");
    buf_append_str(target, cli_has(c, "overwrite") ? "true" : "false");
    if (cli_has(c, "subscribe"))
        buf_append_str(target, "&subscribe=true");
    if (cli_has(c, "dry-run"))
        buf_append_str(target, "&dryRun=true");
    if (cli_value(c, "source") != NULL) {
        buf_append_str(target, "&source=");
        cli_escape(target, cli_value(c, "source"));
    }
}

int
cli_import(struct cli *c, int fd, const char *target, bool is_quiet)
{
    struct upload u = {.c = c, .fd = fd, .target = target};
    int rc = upload(&u);

    if (isatty(STDERR_FILENO))
        fputc('\r', stderr);
    for (size_t i = 0; rc == EXIT_OK && !is_quiet && i < N_FIGURES; i++)
        printf("%-17s %lld\n", figures[i], (long long)u.sums[i]);
    buf_deinit(&u.pending);
    buf_deinit(&u.header);
    return rc;
}

static int
run(struct cli *c)
{
    const char *path = cli_word(c, 0);
    struct buf target = BUF_INIT;
    int fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    int rc;

    if (fd < 0) {
        fprintf(stderr, "mailshotd: %s: %s\n", path, strerror(errno));
        return EXIT_FAILED;
    }
    make_target(c, &target);
    rc = cli_import(c, fd, buf_cstr(&target), false);
    buf_deinit(&target);
    if (fd != STDIN_FILENO)
        close(fd);
    return rc;
}

static const struct cli_flag flags[] = {
    {"overwrite", NULL, "change contacts that exist; else they are left as they are"},
    {"subscribe", NULL, "consent for contacts that have said nothing yet"},
    {"dry-run", NULL, "count what would happen and write nothing"},
    {"source", "WORDS", "where that consent comes from, \"import\" unless given"},
    {NULL, NULL, NULL},
};

const struct cli_command cli_cmd_import = {
    .name = "import",
    .summary = "Import contacts from a CSV file (or - for standard input), of any size; the first "
               "line names the columns.",
    .usage = "FILE [--subscribe] [--overwrite] [--dry-run] [--source WORDS]",
    .flags = flags,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
