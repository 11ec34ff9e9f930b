#include <string.h>

#include "base/clock.h"
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

SUITE_MAIN("public", one_click, click_and_open)
