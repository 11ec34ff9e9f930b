/*
 * The chain of output slices, and the resolver: literals, names, failures, and look-ups called off.
 */
#include <netinet/in.h>
#include <string.h>

#include "../support/suite.h"
#include "base/clock.h"
#include "loop/loop.h"
#include "loop/workers.h"
#include "net/net_chain.h"
#include "net/net_resolver.h"

static size_t
iov_text(const struct net_chain *c, char *out)
{
    struct iovec iov[64];
    size_t n = net_chain_iov(c, iov, 64), bytes = 0;

    for (size_t i = 0; i < n; i++) {
        memcpy(out + bytes, iov[i].iov_base, iov[i].iov_len);
        bytes += iov[i].iov_len;
    }
    out[bytes] = '\0';
    return n;
}

START_TEST(test_chain)
{
    struct net_chain c = {0};
    char text[256];

    net_chain_copy(&c, SLICE_LIT("ab"));
    net_chain_copy(&c, SLICE_LIT(""));
    net_chain_copy(&c, SLICE_LIT("cd"));
    net_chain_ref(&c, SLICE_LIT("EFGH"));
    net_chain_copy(&c, SLICE_LIT("ij"));
    ck_assert_uint_eq(c.n_bytes, 10);
    ck_assert_uint_eq(iov_text(&c, text), 3);
    ck_assert_str_eq(text, "abcdEFGHij");
    net_chain_advance(&c, 3);
    iov_text(&c, text);
    ck_assert_str_eq(text, "dEFGHij");
    /* Copies go on to work when the buffer behind them moves. */
    for (int i = 0; i < 100; i++)
        net_chain_copy(&c, SLICE_LIT("x"));
    ck_assert_uint_eq(net_chain_gather(&c, text, 9), 9);
    ck_assert_int_eq(memcmp(text, "dEFGHijxx", 9), 0);
    ck_assert(slice_eq_str(net_chain_head(&c), "d"));
    net_chain_advance(&c, 2);
    ck_assert(slice_eq_str(net_chain_head(&c), "FGH"));
    net_chain_advance(&c, 105);
    ck_assert_uint_eq(c.n_bytes, 0);
    ck_assert_uint_eq(iov_text(&c, text), 0);
    net_chain_ref(&c, SLICE_LIT("again"));
    iov_text(&c, text);
    ck_assert_str_eq(text, "again");
    net_chain_deinit(&c);
}
END_TEST

/* Whatever is put in comes out in order, however it is advanced. */
START_TEST(test_chain_steps)
{
    static const char source[] = "The quick brown fox jumps over the lazy dog";

    for (size_t step = 1; step < sizeof(source); step++) {
        struct net_chain c = {0};
        char got[64] = "", part[64];
        size_t n_got = 0;

        for (size_t i = 0; i + 1 < sizeof(source); i += 3) {
            struct slice s =
                slice_make(source + i, sizeof(source) - 1 - i < 3 ? sizeof(source) - 1 - i : 3);

            if (i % 2 == 0)
                net_chain_copy(&c, s);
            else
                net_chain_ref(&c, s);
        }
        while (c.n_bytes > 0) {
            size_t n = net_chain_gather(&c, part, step);

            memcpy(got + n_got, part, n);
            n_got += n;
            net_chain_advance(&c, n);
        }
        ck_assert_uint_eq(n_got, sizeof(source) - 1);
        ck_assert_int_eq(memcmp(got, source, n_got), 0);
        net_chain_deinit(&c);
    }
}
END_TEST

struct answer {
    unsigned n_calls;
    bool is_found, is_in_call;
    struct net_addrs addrs;
};

static void
on_answer(const struct net_addrs *addrs, const struct err *err, void *arg)
{
    struct answer *a = arg;

    ck_assert(!a->is_in_call);
    ck_assert((addrs != NULL) == (err->code == ERR_NONE));
    a->n_calls++;
    a->is_found = addrs != NULL;
    if (addrs != NULL)
        a->addrs = *addrs;
}

static void
wait_for(struct loop *l, const struct answer *a, unsigned n_calls)
{
    for (int i = 0; i < 500 && a->n_calls < n_calls; i++)
        loop_turn(l, 20);
    ck_assert_uint_eq(a->n_calls, n_calls);
}

START_TEST(test_resolver)
{
    static const struct {
        const char *host, *text;
        bool is_loopback;
    } cases[] = {
        {"127.0.0.1", "127.0.0.1:2525", true},
        {"192.0.2.7", "192.0.2.7:2525", false},
        {"::1", "[::1]:2525", true},
        {"2001:db8::5", "[2001:db8::5]:2525", false},
        {"::ffff:127.0.0.1", "[::ffff:127.0.0.1]:2525", true},
        {"", NULL, false},
        {"name.invalid", NULL, false},
    };
    struct loop *l = loop_create();
    struct workers *w = workers_create(l, "resolver", 1, 4);
    struct net_resolver *r = net_resolver_create(l, w);

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct answer a = {.is_in_call = true};
        char text[80];

        net_resolver_start(r, cases[i].host, 2525, on_answer, &a);
        a.is_in_call = false;
        wait_for(l, &a, 1);
        ck_assert_msg(a.is_found == (cases[i].text != NULL), "%s", cases[i].host);
        if (!a.is_found)
            continue;
        ck_assert_str_eq(net_addr_text(&a.addrs.a[0], text, sizeof(text)), cases[i].text);
        ck_assert_int_eq(net_addr_is_loopback(&a.addrs.a[0]), cases[i].is_loopback);
    }
    net_resolver_free(&r);
    workers_free(&w);
    loop_free(&l);
}
END_TEST

START_TEST(test_resolver_shared)
{
    struct loop *l = loop_create();
    struct workers *w = workers_create(l, "resolver", 1, 4);
    struct net_resolver *r = net_resolver_create(l, w);
    struct answer a = {0}, b = {0}, off = {0};
    struct net_lookup *lookup;

    /* Two that share one question with different ports, one called off, one asked from the cache. */
    net_resolver_start(r, "localhost", 25, on_answer, &a);
    net_resolver_start(r, "localhost", 26, on_answer, &b);
    lookup = net_resolver_start(r, "localhost", 27, on_answer, &off);
    net_resolver_cancel(&lookup);
    ck_assert_ptr_null(lookup);
    net_resolver_cancel(&lookup);
    wait_for(l, &a, 1);
    wait_for(l, &b, 1);
    ck_assert(a.is_found && b.is_found);
    ck_assert(net_addr_is_loopback(&a.addrs.a[0]));
    net_resolver_start(r, "localhost", 28, on_answer, &a);
    wait_for(l, &a, 2);
    ck_assert_uint_eq(off.n_calls, 0);

    /* Freed with questions open: nothing comes any more. */
    net_resolver_start(r, "another.invalid", 25, on_answer, &off);
    lookup = net_resolver_start(r, "third.invalid", 25, on_answer, &off);
    loop_turn(l, 0);
    net_resolver_free(&r);
    for (int i = 0; i < 5; i++)
        loop_turn(l, 10);
    workers_free(&w);
    ck_assert_uint_eq(off.n_calls, 0);
    loop_free(&l);
}
END_TEST

/* Many names: the table stays bounded, and a full worker queue only delays. */
START_TEST(test_resolver_many)
{
    struct loop *l = loop_create();
    struct workers *w = workers_create(l, "resolver", 1, 2);
    struct net_resolver *r = net_resolver_create(l, w);
    struct answer a = {0};
    char host[32];

    for (int i = 0; i < 600; i++) {
        snprintf(host, sizeof(host), "192.0.%d.%d", i / 250, i % 250);
        net_resolver_start(r, host, 25, on_answer, &a);
    }
    wait_for(l, &a, 600);
    ck_assert(a.is_found);
    net_resolver_free(&r);
    workers_free(&w);
    loop_free(&l);
}
END_TEST

SUITE_MAIN(
    "net", test_chain, test_chain_steps, test_resolver, test_resolver_shared, test_resolver_many)
