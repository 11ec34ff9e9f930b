/*
 * The capture transport: files with an envelope above the message, several sessions at once, and a
 * second delivery of the same attempt, which must show.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "../support/suite.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/id.h"
#include "loop/loop.h"
#include "loop/workers.h"
#include "transport/transport.h"

#define N_MAILS 200

struct fixture {
    struct loop *loop;
    struct workers *workers;
    struct transport *t;
    struct transport_mail mails[N_MAILS];
    struct transport_result results[N_MAILS];
    unsigned n_mails, n_sent, n_done, n_down;
    bool is_fence_shut;
    char dir[512];
};

static void
on_ready(struct transport_session *s, void *arg)
{
    struct fixture *f = arg;

    if (f->n_sent < f->n_mails)
        transport_send(s, &f->mails[f->n_sent++]);
    else
        transport_want(f->t, 0);
}

static void
on_done(struct transport_session *s, const struct transport_mail *mail,
    const struct transport_result *result, void *arg)
{
    struct fixture *f = arg;

    f->results[mail - f->mails] = *result;
    f->n_done++;
}

static void
on_down(struct transport_session *s, const struct transport_result *why, void *arg)
{
    struct fixture *f = arg;

    ck_assert_ptr_null(why);
    f->n_down++;
}

static bool
may_commit(void *arg)
{
    const struct fixture *f = arg;

    return !f->is_fence_shut;
}

static void
fixture_init(struct fixture *f, const char *name)
{
    static const struct transport_events events = {on_ready, on_done, on_down, may_commit};
    struct transport_settings settings = {.kind = "capture", .max_sessions = 8};
    char command[600];
    struct err err;

    memset(f, 0, sizeof(*f));
    snprintf(f->dir, sizeof(f->dir), "%s", suite_path(name));
    snprintf(command, sizeof(command), "rm -rf '%s'", f->dir);
    ck_assert_int_eq(system(command), 0);
    settings.capture_dir = f->dir;
    f->loop = loop_create();
    f->workers = workers_create(f->loop, "capture", 2, 4);
    f->t = transport_create(f->loop, f->workers, &settings, &events, f, &err);
    ck_assert_msg(f->t != NULL, "%s", err.text);
}

static void
add_mail(struct fixture *f, uint64_t send)
{
    f->mails[f->n_mails++] = (struct transport_mail){.send = send,
        .generation = 2,
        .attempt = 3,
        .env_from = SLICE_LIT("b+1@ex.org"),
        .env_to = SLICE_LIT("u@ex.net"),
        .data = SLICE_LIT("Subject: x\r\n\r\n.hello\r\n")};
}

static void
run(struct fixture *f)
{
    int64_t limit_ms = clock_mono_ms() + 10000;

    transport_want(f->t, 8);
    while (f->n_done < f->n_mails || transport_sessions(f->t) > 0) {
        loop_turn(f->loop, 50);
        ck_assert(clock_mono_ms() < limit_ms);
    }
}

static void
fixture_deinit(struct fixture *f)
{
    transport_free(&f->t);
    workers_free(&f->workers);
    loop_free(&f->loop);
}

static unsigned
count_files(const char *dir)
{
    DIR *d = opendir(dir);
    unsigned n = 0;

    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        n += strstr(e->d_name, ".eml") != NULL;
    if (d != NULL)
        closedir(d);
    return n;
}

START_TEST(test_files)
{
    struct buf content = BUF_INIT;
    char id[ID_TEXT_SIZE], path[700];
    struct fixture f;

    fixture_init(&f, "captured");
    for (unsigned i = 0; i < N_MAILS; i++)
        add_mail(&f, 1000 + i);
    run(&f);
    for (unsigned i = 0; i < N_MAILS; i++)
        ck_assert_int_eq(f.results[i].outcome, TRANSPORT_ACCEPTED);
    ck_assert_uint_eq(count_files(f.dir), N_MAILS);
    snprintf(path, sizeof(path), "%s/%s-2-3.eml", f.dir, id_text(1000, id));
    ck_assert_int_eq(file_read(path, 10000, &content, NULL), 0);
    ck_assert_str_eq(buf_cstr(&content), "Return-Path: <b+1@ex.org>\r\nDelivered-To: u@ex.net\r\n"
                                         "Subject: x\r\n\r\n.hello\r\n");
    buf_deinit(&content);
    fixture_deinit(&f);
}
END_TEST

START_TEST(test_twice_shows)
{
    struct fixture f;

    fixture_init(&f, "twice");
    add_mail(&f, 7);
    add_mail(&f, 7);
    run(&f);
    ck_assert_uint_eq(count_files(f.dir), 1);
    ck_assert_int_ne(f.results[0].outcome, f.results[1].outcome);
    for (int i = 0; i < 2; i++) {
        if (f.results[i].outcome == TRANSPORT_ACCEPTED)
            continue;
        ck_assert_int_eq(f.results[i].outcome, TRANSPORT_REFUSED);
        ck_assert_int_eq(f.results[i].fail_class, FAIL_MESSAGE);
        ck_assert_ptr_nonnull(strstr(f.results[i].text, "sent twice"));
    }
    fixture_deinit(&f);
}
END_TEST

START_TEST(test_fence)
{
    struct fixture f;

    fixture_init(&f, "fence");
    f.is_fence_shut = true;
    add_mail(&f, 1);
    run(&f);
    ck_assert_int_eq(f.results[0].outcome, TRANSPORT_DEFERRED);
    ck_assert_uint_eq(count_files(f.dir), 0);
    fixture_deinit(&f);
}
END_TEST

/* Freed while workers write: nothing may come any more, and nothing may leak. */
START_TEST(test_free_early)
{
    struct fixture f;

    fixture_init(&f, "early");
    for (unsigned i = 0; i < N_MAILS; i++)
        add_mail(&f, 1 + i);
    transport_want(f.t, 8);
    while (f.n_sent < 20)
        loop_turn(f.loop, 50);
    transport_free(&f.t);
    fixture_deinit(&f);
    ck_assert_uint_le(f.n_done, f.n_sent);
}
END_TEST

START_TEST(test_settings)
{
    static const struct transport_events events = {on_ready, on_done, on_down, NULL};
    static const struct {
        struct transport_settings settings;
        const char *field;
    } cases[] = {
        {{.kind = "pigeon"}, "kind"},
        {{.kind = "capture"}, "capture_dir"},
        {{.kind = "smtp", .port = 25, .ehlo_name = "a"}, "host"},
        {{.kind = "smtp", .host = "a b", .port = 25, .ehlo_name = "a"}, "host"},
        {{.kind = "smtp", .host = "a\r\nb", .port = 25, .ehlo_name = "a"}, "host"},
        {{.kind = "smtp", .host = "mx", .port = 0, .ehlo_name = "a"}, "port"},
        {{.kind = "smtp", .host = "mx", .port = 65536, .ehlo_name = "a"}, "port"},
        {{.kind = "smtp", .host = "mx", .port = 25}, "ehlo_name"},
        {{.kind = "smtp", .host = "mx", .port = 25, .ehlo_name = "a\nb"}, "ehlo_name"},
        {{.kind = "smtp", .host = "mx", .port = 25, .ehlo_name = "a", .username = "u"}, "username"},
    };
    struct loop *loop = loop_create();
    struct workers *workers = workers_create(loop, "settings", 1, 4);

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = {0};

        ck_assert_ptr_null(
            transport_create(loop, workers, &cases[i].settings, &events, NULL, &err));
        ck_assert_str_eq(err.field, cases[i].field);
        ck_assert_int_eq(err.code, ERR_INVALID);
    }
    workers_free(&workers);
    loop_free(&loop);
}
END_TEST

SUITE_MAIN("capture", test_files, test_twice_shows, test_fence, test_free_early, test_settings)
