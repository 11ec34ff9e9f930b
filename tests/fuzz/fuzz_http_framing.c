/*
 * A connection's bytes to the real server: whatever they are, it hands over only what is a request
 * beyond doubt. A strict reading of the same bytes (http_reading.h) says what that may be:
 *
 *   - each head handler call belongs to the next request of the reading, in order; after a head with
 *     two lengths, a length beside an encoding, a folded line or a bare LF there is none;
 *   - a body handed over is that request's, to the byte, and no longer than was allowed;
 *   - each body handed over is answered once, the connection ends, and nothing stays in work;
 *   - cutting the bytes into several writes changes none of it, but for a broken trailer behind
 *     chunks: there the library goes by what has arrived, and nothing may follow anyway.
 *
 * The library ends a line at a NUL, and takes a line that begins with a colon for the end of the head;
 * afterwards its memory does not always tell them from CR LF. Bytes with one of these, which no proxy
 * passes on, are only tried for crashes, leaks and hangs.
 *
 * One server on a Unix socket serves all inputs. Both ends live in this thread: a turn of the loop
 * never waits, and a connection that has not ended after a bounded number of turns is a hang.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "http/server.h"
#include "http_reading.h"
#include "loop/loop.h"

#define BODY_LIMIT  64
#define MAX_TURNS   20000
#define QUIET_TURNS 6
#define MAX_PIECES  12

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** What came of one connection. */
struct outcome {
    bool has_chunks; /* its last request had */
    unsigned n_head, n_body, n_answers;
};

static struct {
    struct loop *loop;
    struct http_server *server;
    char folder[64];
    struct sockaddr_un address;
    /* one connection */
    struct http_reading reading;
    bool is_judged;               /* the reading can tell */
    struct http_request *waiting; /* for the end of the turn, to be accepted or answered */
    bool is_accepting;
    struct outcome outcome;
    int fd;
    bool is_eof;
    struct buf in;
} world;

static void
require(bool ok)
{
    if (!ok)
        abort();
}

/* ---- handlers ------------------------------------------------------------------------------- */

static void
on_cancel(struct http_request *r, void *arg)
{
    require(world.waiting == r);
    world.waiting = NULL;
}

static void
answer(struct http_request *r)
{
    http_respond(r, 200, "text/plain", NULL, 0, SLICE_LIT("ok"));
}

/** The end of the turn in which a request was put off. */
static void
on_turn_end(void *arg)
{
    struct http_request *r = world.waiting;

    if (r == NULL)
        return; /* cancelled */
    world.waiting = NULL;
    http_request_on_cancel(r, NULL, NULL);
    if (world.is_accepting)
        http_request_accept(r, BODY_LIMIT);
    else
        answer(r);
}

static void
put_off(struct http_request *r, bool is_accepting)
{
    require(world.waiting == NULL);
    world.waiting = r;
    world.is_accepting = is_accepting;
    http_request_on_cancel(r, on_cancel, NULL);
    loop_defer(world.loop, on_turn_end, NULL);
}

/** "/later…" decides later, "/refuse…" at once; others are accepted. */
static size_t
head(struct http_request *r, void *arg)
{
    struct slice path = http_request_path(r);

    world.outcome.n_head++;
    require(http_reading_next(&world.reading) || !world.is_judged);
    require(slice_eq(http_request_method(r), world.reading.method) || !world.is_judged);
    world.outcome.has_chunks = world.reading.has_chunks;
    if (slice_starts(path, SLICE_LIT("/refuse"))) {
        http_respond_error(r, 401, "unauthorized", "no");
        return 0;
    }
    if (!slice_starts(path, SLICE_LIT("/later")))
        return BODY_LIMIT;
    put_off(r, true);
    return HTTP_HEAD_LATER;
}

/** "/park…" is answered later; others at once. */
static void
body(struct http_request *r, void *arg)
{
    struct slice bytes = http_request_body(r);

    world.outcome.n_body++;
    require(bytes.n <= BODY_LIMIT);
    if (world.is_judged) {
        require(world.reading.is_whole);
        require(slice_eq(bytes, buf_slice(&world.reading.body)));
    }
    if (slice_starts(http_request_path(r), SLICE_LIT("/park")))
        put_off(r, false);
    else
        answer(r);
}

/* ---- the one server -------------------------------------------------------------------------- */

static void
stop(void)
{
    http_server_free(&world.server);
    loop_free(&world.loop);
    buf_deinit(&world.in);
    rmdir(world.folder);
}

static void
start(void)
{
    static const struct http_handlers handlers = {head, body};
    struct http_server_args args = {
        .unix_path = world.address.sun_path, .idle_timeout_ms = 60000, .deadline_ms = 60000};

    log_set_level(LOG_ERROR);
    strcpy(world.folder, "/tmp/mailshot-fuzz-XXXXXX");
    require(mkdtemp(world.folder) != NULL);
    world.address.sun_family = AF_UNIX;
    snprintf(world.address.sun_path, sizeof world.address.sun_path, "%s/s", world.folder);
    world.in = BUF_INIT;
    world.loop = loop_create();
    world.server = http_server_start(world.loop, &args, &handlers, NULL, NULL);
    require(world.server != NULL);
    atexit(stop);
}

/* ---- one connection --------------------------------------------------------------------------- */

/** A turn of the loop, then take what the server has sent. */
static void
turn(void)
{
    ssize_t n;

    loop_turn(world.loop, 0);
    n = recv(world.fd, buf_reserve(&world.in, 4096), 4096, MSG_DONTWAIT);
    if (n > 0)
        world.in.n += (size_t)n;
    else if (n == 0 || errno != EAGAIN)
        world.is_eof = true;
}

/**
 * Until the server has nothing to say. The library sees the end of a stream only when it comes after
 * the read that emptied it; one that comes with the last bytes waits for the idle time-out.
 */
static void
turn_until_quiet(void)
{
    for (unsigned i = 0, n_quiet = 0; n_quiet < QUIET_TURNS && !world.is_eof; i++) {
        size_t before_n = world.in.n;

        require(i < MAX_TURNS);
        turn();
        n_quiet = world.in.n == before_n ? n_quiet + 1 : 0;
    }
}

/** Write all, unless the server has closed before. */
static void
send_piece(struct slice piece)
{
    while (piece.n > 0 && !world.is_eof) {
        ssize_t n = send(world.fd, piece.p, piece.n, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno != EAGAIN)
            break;
        piece = slice_from(piece, n > 0 ? (size_t)n : 0);
        turn();
    }
}

static unsigned
count_answers(struct slice in)
{
    const struct slice mark = SLICE_LIT(" 200 OK\r\n");
    unsigned n = 0;
    ptrdiff_t at;

    while ((at = slice_find(in, mark)) >= 0) {
        in = slice_from(in, (size_t)at + mark.n);
        n++;
    }
    return n;
}

/** Everything about one connection whose bytes come in pieces of `piece_n`. */
static struct outcome
converse(struct slice bytes, size_t piece_n)
{
    world.outcome = (struct outcome){0};
    world.is_eof = false;
    buf_clear(&world.in);
    http_reading_init(&world.reading, bytes);
    world.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    require(world.fd >= 0);
    require(connect(world.fd, (struct sockaddr *)&world.address, sizeof world.address) == 0);
    for (size_t at = 0; at < bytes.n && !world.is_eof; at += piece_n) {
        struct slice rest = slice_from(bytes, at);

        send_piece(slice_make(rest.p, rest.n < piece_n ? rest.n : piece_n));
    }
    turn_until_quiet();
    shutdown(world.fd, SHUT_WR);
    for (unsigned i = 0; !world.is_eof; i++) {
        require(i < MAX_TURNS);
        turn();
    }
    close(world.fd);
    require(world.waiting == NULL && http_server_in_work(world.server) == 0);
    world.outcome.n_answers = count_answers(buf_slice(&world.in));
    require(world.outcome.n_answers == world.outcome.n_body);
    http_reading_deinit(&world.reading);
    return world.outcome;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice bytes = slice_make((const char *)data, size);
    struct outcome whole, pieces;

    if (world.server == NULL)
        start();
    world.is_judged = slice_find_char(bytes, '\0') < 0 && slice_find(bytes, SLICE_LIT("\n:")) < 0;
    whole = converse(bytes, size > 0 ? size : 1);
    pieces = converse(bytes, size / MAX_PIECES + 1);
    if (!world.is_judged)
        return 0;
    require(whole.n_head == pieces.n_head);
    require(whole.n_body == pieces.n_body || whole.has_chunks);
    return 0;
}
