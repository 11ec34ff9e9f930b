#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "http/proxy.h"
#include "http/uri.h"
#include "support/suite.h"

/* The parts of the HTTP folder that know no socket: request targets and proxy chains. */

START_TEST(uri_accepts)
{
    static const struct {
        const char *target, *path;
        size_t n_segments;
        const char *segment; /* the last one */
        size_t n_params;
    } cases[] = {
        {"/", "/", 1, "", 0},
        {"/a/b", "/a/b", 2, "b", 0},
        {"/a/", "/a/", 2, "", 0},
        {"//a", "//a", 2, "a", 0},
        {"/a%20b", "/a b", 1, "a b", 0},
        {"/a+b", "/a+b", 1, "a+b", 0},
        {"/a%2Fb/c%2f", "/a/b/c/", 2, "c/", 0},
        {"/%C3%A4?", "/\xc3\xa4", 1, "\xc3\xa4", 0},
        {"/a?x=1&y", "/a", 1, "a", 2},
        {"/a?x=1&&y=%26&", "/a", 1, "a", 2},
        {"http://host:8/a/b?c=d", "/a/b", 2, "b", 1},
        {"HTTPS://h/", "/", 1, "", 0},
        {"/a...", "/a...", 1, "a...", 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_create(0);
        struct http_uri u;
        struct err err = {0};

        ck_assert_msg(http_uri_parse(slice_str(cases[i].target), a, &u, &err) == 0, "%s: %s",
            cases[i].target, err.text);
        ck_assert_str_eq(u.path.p, cases[i].path);
        ck_assert_uint_eq(u.n_segments, cases[i].n_segments);
        ck_assert_str_eq(u.segments[u.n_segments - 1].p, cases[i].segment);
        ck_assert_uint_eq(u.n_params, cases[i].n_params);
        arena_free(&a);
    }
}
END_TEST

START_TEST(uri_refuses)
{
    static const struct {
        const char *bytes;
        size_t n;
    } cases[] = {
#define T(s) {s, sizeof(s) - 1}
        T(""),
        T("a"),
        T("*"),
        T("host:80"),
        T("http://host"),
        T("ftp://h/a"),
        T("/%"),
        T("/%4"),
        T("/%zz"),
        T("/%0"),
        T("/a%00b"),
        T("/a\0b"),
        T("/a?x=%00"),
        T("/.."),
        T("/a/../b"),
        T("/%2e%2E/b"),
        T("/."),
        T("/a%0Ab"),
        T("/%7f"),
        T("/\xff"),
        T("/%ff"),
        T("/?a=%c3"),
        T("/a#b"),
        T("/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17"),
#undef T
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_create(0);
        struct http_uri u;
        struct err err = {0};

        ck_assert_msg(http_uri_parse(slice_make(cases[i].bytes, cases[i].n), a, &u, &err) != 0,
            "accepted: %s", cases[i].bytes);
        ck_assert_int_eq(err.code, ERR_INVALID);
        arena_free(&a);
    }
}
END_TEST

START_TEST(uri_bounds)
{
    struct arena *a = arena_create(0);
    struct buf b = BUF_INIT;
    struct http_uri u;
    struct err err = {0};

    buf_append_char(&b, '/');
    while (b.n < HTTP_URI_BYTES)
        buf_append_char(&b, 'a');
    ck_assert_int_eq(http_uri_parse(buf_slice(&b), a, &u, &err), 0);
    buf_append_char(&b, 'a');
    ck_assert_int_ne(http_uri_parse(buf_slice(&b), a, &u, &err), 0);
    buf_clear(&b);
    buf_append_str(&b, "/?");
    for (unsigned i = 0; i < HTTP_URI_PARAMS; i++)
        buf_printf(&b, "k%u=v%%20%u&", i, i);
    ck_assert_int_eq(http_uri_parse(buf_slice(&b), a, &u, &err), 0);
    ck_assert_uint_eq(u.n_params, HTTP_URI_PARAMS);
    ck_assert_str_eq(u.params[63].value.p, "v 63");
    buf_append_str(&b, "one=more");
    ck_assert_int_ne(http_uri_parse(buf_slice(&b), a, &u, &err), 0);
    buf_deinit(&b);
    arena_free(&a);
}
END_TEST

START_TEST(addresses)
{
    static const struct {
        const char *text, *canonical; /* NULL = refused */
        bool is_loopback;
    } cases[] = {
        {"127.0.0.1", "127.0.0.1", true},
        {" 10.1.2.3 ", "10.1.2.3", false},
        {"10.1.2.3:8080", "10.1.2.3", false},
        {"::1", "::1", true},
        {"[::1]:443", "::1", true},
        {"[2001:DB8::1]", "2001:db8::1", false},
        {"::ffff:127.0.0.1", "127.0.0.1", true},
        {"", NULL, false},
        {"unknown", NULL, false},
        {"10.1.2", NULL, false},
        {"[::1", NULL, false},
        {"_hidden", NULL, false},
        {"1.2.3.4.5", NULL, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_addr a;
        char text[HTTP_ADDR_SIZE];
        bool ok = http_addr_parse(slice_str(cases[i].text), &a);

        ck_assert_msg(ok == (cases[i].canonical != NULL), "%s", cases[i].text);
        if (!ok)
            continue;
        ck_assert_str_eq(http_addr_text(&a, text), cases[i].canonical);
        ck_assert_int_eq(http_addr_is_loopback(&a), cases[i].is_loopback);
    }
}
END_TEST

START_TEST(proxy_chain)
{
    static const char *const blocks[] = {
        "127.0.0.1", "10.0.0.0/8", "2001:db8::/33", "::ffff:192.168.0.0/112"};
    static const struct {
        const char *peer, *forwarded, *client;
    } cases[] = {
        {"203.0.113.9", "198.51.100.1", "203.0.113.9"}, /* a stranger's word counts nothing */
        {"127.0.0.1", "", "127.0.0.1"},
        {"127.0.0.1", "198.51.100.1", "198.51.100.1"},
        {"127.0.0.1", "1.1.1.1, 198.51.100.1", "198.51.100.1"},
        {"127.0.0.1", "1.1.1.1, 198.51.100.1, 10.9.9.9", "198.51.100.1"},
        {"127.0.0.1", "10.1.1.1", "10.1.1.1"},
        {"127.0.0.1", "198.51.100.1, nonsense, 10.1.1.1", "10.1.1.1"},
        {"127.0.0.1", "198.51.100.1,", "127.0.0.1"},
        {"2001:db8:7fff::1", "198.51.100.1", "198.51.100.1"},
        {"2001:db8:8000::1", "198.51.100.1", "2001:db8:8000::1"},
        {"192.168.3.4", "[2001:db8:ffff::2]:7", "2001:db8:ffff::2"},
        {"11.0.0.0", "198.51.100.1", "11.0.0.0"},
    };
    struct err err = {0};
    struct http_proxies *p = http_proxies_create(blocks, 4, &err);

    ck_assert_ptr_nonnull(p);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_addr peer, client;
        char text[HTTP_ADDR_SIZE];

        ck_assert(http_addr_parse(slice_str(cases[i].peer), &peer));
        client = http_proxies_client(p, &peer, slice_str(cases[i].forwarded));
        ck_assert_msg(strcmp(http_addr_text(&client, text), cases[i].client) == 0, "%s via %s: %s",
            cases[i].forwarded, cases[i].peer, text);
    }
    http_proxies_free(&p);
}
END_TEST

START_TEST(proxy_blocks_refused)
{
    static const char *const bad[] = {"", "host", "10.0.0.0/33", "::1/129", "10.0.0.0/",
        "10.0.0.0/x", "10.0.0.0/-1", "/8", "10.0.0.0/8/8"};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct err err = {0};

        ck_assert_msg(http_proxies_create(&bad[i], 1, &err) == NULL, "accepted: %s", bad[i]);
        ck_assert_int_eq(err.code, ERR_INVALID);
    }
}
END_TEST

SUITE_MAIN(
    "http_pure", uri_accepts, uri_refuses, uri_bounds, addresses, proxy_chain, proxy_blocks_refused)
