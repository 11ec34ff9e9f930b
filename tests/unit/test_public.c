#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "http/server.h"
#include "loop/loop.h"
#include "loop/workers.h"
#include "store/sends.h"
#include "store/store.h"
#include "support/public_world.h"
#include "support/suite.h"

/*
 * What recipients reach, through the real server over sockets, on a store with a broadcast that has
 * really been sent.
 */

#define PHONE     "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Safari/604.1"
#define ONE_CLICK "List-Unsubscribe=One-Click"

static int64_t
tomorrow(void)
{
    return clock_now_ms() + 86400000;
}

static struct send_row
row_of(struct public_world *w, const struct token_send *ref)
{
    struct store_batch *b = store_batch_create(w->engine.store, STORE_URGENT);
    unsigned op = sends_get(b, ref->broadcast, &ref->send, 1);
    struct err err = {0};
    struct send_row row;

    ck_assert_int_eq(store_run(b, &err), 0);
    ck_assert_uint_eq(sends_result(b, op)->n_rows, 1);
    row = sends_result(b, op)->rows[0];
    store_batch_free(&b);
    return row;
}

static void
expect_header(const struct raw_answer *a, const char *name, const char *value)
{
    struct slice got = raw_header(a, name);

    ck_assert_msg(slice_eq_str(got, value), "%s: %.*s", name, SLICE_FMT(got));
}

static bool
body_has(const struct raw_answer *a, const char *text)
{
    return slice_find(buf_slice(&a->body), slice_str(text)) >= 0;
}

START_TEST(one_click)
{
    struct public_world w;
    uint64_t broadcast;
    struct token_send ref;
    const char *path;
    struct raw_answer a;

    public_world_open(&w, "one_click");
    broadcast = public_world_send(&w, 3);
    ref = public_world_row(&w, broadcast, 1);
    path = public_world_unsub(&w, "user1@r1.example.org", &ref, TOKEN_SCOPE_MARKETING, tomorrow());
    for (int i = 0; i < 2; i++) {
        public_world_ask(&w, "POST", path, NULL, ONE_CLICK, &a);
        ck_assert_uint_eq(a.status, 200);
        ck_assert_ptr_null(raw_header(&a, "Location").p);
        ck_assert_ptr_null(raw_header(&a, "Set-Cookie").p);
        ck_assert(body_has(&a, "You are unsubscribed"));
        raw_answer_deinit(&a);
        /* Stored before the answer: nothing has turned the loop since. */
        ck_assert_uint_eq(public_world_suppressions(&w, "user1@r1.example.org"), 1);
    }
    public_world_rest(&w);
    ck_assert_int_ne(row_of(&w, &ref).unsubscribed_at_ms, 0);
    ck_assert_int_eq(row_of(&w, &ref).state, SEND_SENT);
    ck_assert_int_eq(engine_run(&w.engine, "spring").n.unsubscribed, 1);
    public_world_close(&w);
}
END_TEST

START_TEST(click_and_open)
{
    struct public_world w;
    uint64_t broadcast;
    struct token_send ref;
    struct raw_answer a;

    public_world_open(&w, "click_and_open");
    broadcast = public_world_send(&w, 2);
    ref = public_world_row(&w, broadcast, 0);
    for (int i = 0; i < 2; i++) { /* from the store, then from the cache */
        public_world_ask(&w, "GET", public_world_click_path(&w, &ref, 0, NULL), PHONE, NULL, &a);
        ck_assert_uint_eq(a.status, 302);
        expect_header(&a, "Location", "https://example.com/a?b=1&c=2");
        raw_answer_deinit(&a);
    }
    public_world_ask(&w, "GET", public_world_open_path(&w, &ref), PHONE, NULL, &a);
    ck_assert_uint_eq(a.status, 200);
    expect_header(&a, "Content-Type", "image/png");
    ck_assert_uint_eq(a.body.n, 68);
    ck_assert_int_eq(memcmp(a.body.p, "\x89PNG\r\n\x1a\n", 8), 0);
    raw_answer_deinit(&a);
    public_world_rest(&w);
    ck_assert_int_ne(row_of(&w, &ref).first_open_ms, 0);
    ck_assert_int_ne(row_of(&w, &ref).first_click_ms, 0);
    ck_assert_int_eq(row_of(&w, &ref).state, SEND_SENT);
    public_world_close(&w);
}
END_TEST

/* ---- leaving --------------------------------------------------------------------------------- */

START_TEST(page_shows_and_does_nothing)
{
    static const struct {
        enum token_scope scope;
        const char *says;
    } rows[] = {
        {TOKEN_SCOPE_MARKETING, "no more newsletters"},
        {TOKEN_SCOPE_TRANSACTIONAL, "no more notices"},
        {TOKEN_SCOPE_ALL, "of any kind"},
    };
    static const char *const methods[] = {"GET", "HEAD"};
    const char *hostile = "a&b'<x>@example.org";
    struct public_world w;
    struct raw_answer a;

    public_world_open(&w, "page");
    for (size_t i = 0; i < 3; i++)
        for (size_t m = 0; m < 2; m++) {
            public_world_ask(&w, methods[m],
                public_world_unsub(&w, hostile, NULL, rows[i].scope, tomorrow()), PHONE, NULL, &a);
            ck_assert_uint_eq(a.status, 200);
            expect_header(&a, "Content-Type", "text/html; charset=utf-8");
            expect_header(&a, "Cache-Control", "no-store");
            expect_header(&a, "Referrer-Policy", "no-referrer");
            ck_assert(slice_find(raw_header(&a, "Content-Security-Policy"),
                          SLICE_LIT("frame-ancestors 'none'")) >= 0);
            ck_assert_int_eq(body_has(&a, rows[i].says), m == 0);
            ck_assert_int_eq(body_has(&a, "a&amp;b&#39;&lt;x&gt;@example.org"), m == 0);
            ck_assert(!body_has(&a, "<x>") && !body_has(&a, "<script"));
            raw_answer_deinit(&a);
        }
    public_world_rest(&w);
    ck_assert_uint_eq(public_world_suppressions(&w, hostile), 0);
    public_world_close(&w);
}
END_TEST

START_TEST(old_link_still_leaves)
{
    struct public_world w;
    struct raw_answer a;
    const char *path;

    public_world_open(&w, "old_link");
    path = public_world_unsub(
        &w, "late@example.org", NULL, TOKEN_SCOPE_MARKETING, clock_now_ms() - 1000);
    public_world_ask(&w, "GET", path, PHONE, NULL, &a);
    ck_assert_uint_eq(a.status, 200);
    ck_assert(!body_has(&a, "late@example.org") && body_has(&a, "<button"));
    raw_answer_deinit(&a);
    public_world_ask(&w, "POST", path, PHONE, "via=page", &a);
    ck_assert_uint_eq(a.status, 200);
    ck_assert(body_has(&a, "You are unsubscribed"));
    raw_answer_deinit(&a);
    ck_assert_uint_eq(public_world_suppressions(&w, "late@example.org"), 1);
    public_world_close(&w);
}
END_TEST

/* Tokens of the earlier format, in text that another program signed with the same secret. */
START_TEST(legacy_link_leaves)
{
    static const char path[] = "/m/unsub/"
                               "eyJlIjoiYUBleGFtcGxlLmNvbSIsInMiOiJtYXJrZXRpbmciLCJ4IjoxOTAwMDAwMD"
                               "AwMDAwfQ.80LOqqg1beGZKgLfKRgGy7hiGo_eGW7at_wqr2sQrlU";
    struct public_world w;
    struct raw_answer a;

    public_world_open(&w, "legacy");
    public_world_ask(&w, "POST", path, NULL, ONE_CLICK, &a);
    ck_assert_uint_eq(a.status, 200);
    ck_assert(body_has(&a, "You are unsubscribed"));
    raw_answer_deinit(&a);
    ck_assert_uint_eq(public_world_suppressions(&w, "a@example.com"), 1);
    public_world_close(&w);
}
END_TEST

/* A token names a mail that went to somebody else: the opt-out counts, the mail is not blamed. */
START_TEST(foreign_mail_is_not_blamed)
{
    struct public_world w;
    struct token_send ref;
    struct raw_answer a;

    public_world_open(&w, "foreign");
    ref = public_world_row(&w, public_world_send(&w, 2), 0);
    public_world_ask(&w, "POST",
        public_world_unsub(&w, "other@example.org", &ref, TOKEN_SCOPE_ALL, tomorrow()), NULL,
        ONE_CLICK, &a);
    ck_assert_uint_eq(a.status, 200);
    raw_answer_deinit(&a);
    public_world_rest(&w);
    ck_assert_uint_eq(public_world_suppressions(&w, "other@example.org"), 1);
    ck_assert_int_eq(row_of(&w, &ref).unsubscribed_at_ms, 0);
    public_world_close(&w);
}
END_TEST

/* Many at once on one loop: each is answered, each is kept. */
START_TEST(crowd_leaves_together)
{
    enum { N = 150 };
    struct public_world w;
    struct raw raw[N];
    struct raw_answer a;
    char address[64];

    public_world_open(&w, "crowd");
    for (int i = 0; i < N; i++) {
        struct buf text = BUF_INIT;

        snprintf(address, sizeof(address), "p%d@example.org", i);
        buf_printf(&text, "POST %s HTTP/1.1\r\nHost: m\r\nContent-Length: 0\r\n\r\n",
            public_world_unsub(&w, address, NULL, TOKEN_SCOPE_MARKETING, tomorrow()));
        raw_open_tcp(&raw[i], w.engine.loop, http_server_port(w.server));
        ck_assert(raw_send(&raw[i], buf_slice(&text)));
        buf_deinit(&text);
    }
    for (int i = 0; i < N; i++) {
        raw_read(&raw[i], false, &a);
        ck_assert_uint_eq(a.status, 200);
        raw_answer_deinit(&a);
        raw_close(&raw[i]);
        snprintf(address, sizeof(address), "p%d@example.org", i);
        ck_assert_uint_eq(public_world_suppressions(&w, address), 1);
    }
    public_world_close(&w);
}
END_TEST

/* ---- what is refused ------------------------------------------------------------------------- */

START_TEST(hostile_paths)
{
    static const struct {
        const char *method, *path;
        unsigned status;
        bool is_empty;
    } rows[] = {
        {"GET", "/m/", 404, true},
        {"GET", "/m/unsub", 404, true},
        {"GET", "/m/unsub/", 400, false},
        {"GET", "/m/unsub/x", 400, false},
        {"GET", "/m/unsub/%00", 400, false},
        {"GET", "/m/unsub/a/b", 404, true},
        {"POST", "/m/unsub/", 200, true},
        {"POST", "/m/unsub/AAAA.BBBB", 200, true},
        {"POST", "/m/unsub/e30.e30", 200, true},
        {"PUT", "/m/unsub/x", 405, true},
        {"GET", "/m/open/", 404, true},
        {"GET", "/m/open/x", 404, true},
        {"GET", "/m/open/.png", 200, false},
        {"GET", "/m/open/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA.png", 200, false},
        {"POST", "/m/open/x.png", 405, true},
        {"GET", "/m/click/", 404, true},
        {"GET", "/m/click/x", 404, true},
        {"GET", "/m/click/x?u=https://evil.example/", 404, true},
        {"GET", "/m/click/https%3A%2F%2Fevil.example", 404, true},
        {"DELETE", "/m/click/x", 405, true},
        {"GET", "/m/unknown/x", 404, true},
    };
    struct public_world w;
    struct raw_answer a;

    public_world_open(&w, "hostile");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        public_world_ask(&w, rows[i].method, rows[i].path, NULL,
            strcmp(rows[i].method, "GET") != 0 ? ONE_CLICK : NULL, &a);
        ck_assert_msg(
            a.status == rows[i].status, "%s %s: %u", rows[i].method, rows[i].path, a.status);
        ck_assert_msg((a.body.n == 0) == rows[i].is_empty, "%s %s: %zu bytes", rows[i].method,
            rows[i].path, a.body.n);
        ck_assert_ptr_null(raw_header(&a, "Location").p);
        raw_answer_deinit(&a);
    }
    public_world_close(&w);
}
END_TEST

/* Every changed character of a token gives the answer of an unknown one. */
START_TEST(changed_tokens)
{
    struct public_world w;
    struct token_send ref;
    const char *click;
    char changed[512];

    public_world_open(&w, "changed");
    ref = public_world_row(&w, public_world_send(&w, 1), 0);
    click = public_world_click_path(&w, &ref, 0, NULL);
    ck_assert_uint_eq(public_world_status(&w, "GET", click, PHONE), 302);
    for (size_t i = strlen("/m/click/"); i < strlen(click); i += 3) {
        snprintf(changed, sizeof(changed), "%s", click);
        changed[i] = changed[i] == 'A' ? 'B' : 'A';
        ck_assert_msg(public_world_status(&w, "GET", changed, PHONE) == 404, "%s", changed);
    }
    snprintf(changed, sizeof(changed), "%.500sA", click);
    ck_assert_uint_eq(public_world_status(&w, "GET", changed, PHONE), 404);
    snprintf(changed, sizeof(changed), "%.*s", (int)strlen(click) - 1, click);
    ck_assert_uint_eq(public_world_status(&w, "GET", changed, PHONE), 404);
    public_world_close(&w);
}
END_TEST

START_TEST(click_targets)
{
    struct public_world w;
    struct token_send ref, gone;
    struct raw_answer a;
    char path[600];

    public_world_open(&w, "targets");
    ref = public_world_row(&w, public_world_send(&w, 1), 0);
    snprintf(path, sizeof(path), "%s?u=https://other.example.com/",
        public_world_click_path(&w, &ref, 0, NULL));
    public_world_ask(&w, "GET", path, PHONE, NULL, &a);
    ck_assert_uint_eq(a.status, 302);
    expect_header(&a, "Location", "https://example.com/a?b=1&c=2");
    raw_answer_deinit(&a);

    public_world_ask(&w, "GET",
        public_world_click_path(&w, &ref, 7, "https://example.org/x?q=1&r=%20#f"), PHONE, NULL, &a);
    ck_assert_uint_eq(a.status, 302);
    expect_header(&a, "Location", "https://example.org/x?q=1&r=%20#f");
    raw_answer_deinit(&a);

    /* Signed or not, only http and https lead anywhere. */
    ck_assert_uint_eq(public_world_status(&w, "GET",
                          public_world_click_path(&w, &ref, 7, "javascript:alert(1)"), PHONE),
        404);
    ck_assert_uint_eq(
        public_world_status(
            &w, "GET", public_world_click_path(&w, &ref, 7, "https://a.example/\r\nX: y"), PHONE),
        404);
    /* The unsubscribe link has no place in the table; a broadcast that never was has none at all. */
    ck_assert_uint_eq(
        public_world_status(&w, "GET", public_world_click_path(&w, &ref, 5, NULL), PHONE), 404);
    gone = (struct token_send){.broadcast = ref.broadcast + 1, .send = ref.send};
    for (int i = 0; i < 2; i++)
        ck_assert_uint_eq(
            public_world_status(&w, "GET", public_world_click_path(&w, &gone, 0, NULL), PHONE),
            404);
    public_world_close(&w);
}
END_TEST

/* Clients that leave while the link table is being read, and a server that stops meanwhile. */
START_TEST(click_is_cancelled)
{
    struct public_world w;
    struct token_send ref;
    struct buf text = BUF_INIT;
    struct raw raw[3];

    public_world_open(&w, "cancelled");
    ref = public_world_row(&w, public_world_send(&w, 1), 0);
    buf_printf(
        &text, "GET %s HTTP/1.1\r\nHost: m\r\n\r\n", public_world_click_path(&w, &ref, 0, NULL));
    for (int i = 0; i < 3; i++) {
        raw_open_tcp(&raw[i], w.engine.loop, http_server_port(w.server));
        ck_assert(raw_send(&raw[i], buf_slice(&text)));
    }
    http_server_free(&w.server);
    while (workers_busy(w.engine.cpu) > 0)
        loop_turn(w.engine.loop, 5);
    for (int i = 0; i < 3; i++)
        raw_close(&raw[i]);
    buf_deinit(&text);
    public_world_close(&w);
}
END_TEST

SUITE_MAIN("public", one_click, click_and_open, page_shows_and_does_nothing, old_link_still_leaves,
    legacy_link_leaves, foreign_mail_is_not_blamed, crowd_leaves_together, hostile_paths,
    changed_tokens, click_targets, click_is_cancelled)
