/* The engine without its shell, for tests of the way of a broadcast. */
#include "support/engine.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "audience/import.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/id.h"
#include "base/mem.h"
#include "broadcast/count_jobs.h"
#include "broadcast/dispatch.h"
#include "control/gates.h"
#include "control/run_closer.h"
#include "control/run_table.h"
#include "crypto/crypto.h"
#include "loop/loop.h"
#include "loop/workers.h"
#include "queue/queue.h"
#include "send/recover.h"
#include "send/sender.h"
#include "store/driver.h"
#include "store/sqlite/sqlite_store.h"
#include "store/store.h"
#include "support/suite.h"

#define OWNER_FIRST 100

static void
must(int rc, const struct err *err)
{
    ck_assert_msg(rc == 0, "%s: %s", err->sub, err->text);
}

/* ---- a store that refuses -------------------------------------------------------------------- */

static _Atomic uint64_t refused_kinds;

void
engine_refuse(uint64_t op_kinds)
{
    refused_kinds = op_kinds;
}

static bool
is_refused(struct store_batch *b)
{
    for (unsigned i = 0; i < b->n_ops; i++)
        if ((refused_kinds & UINT64_C(1) << b->ops[i].kind) != 0) {
            err_sub(&b->err, ERR_TEMP, "disk_full", "refused by the test");
            return true;
        }
    return false;
}

static void
refusing_submit(void *impl, struct store_batch *b)
{
    if (is_refused(b))
        store_batch_complete(b);
    else
        sqlite_store_driver()->submit(impl, b);
}

static void
refusing_run(void *impl, struct store_batch *b)
{
    if (!is_refused(b))
        sqlite_store_driver()->run(impl, b);
}

/* The embedded store, but for what engine_refuse() named. */
static const struct store_driver *
refusing_driver(void)
{
    static struct store_driver d;

    d = *sqlite_store_driver();
    d.submit = refusing_submit;
    d.run = refusing_run;
    return &d;
}

/* ---- building -------------------------------------------------------------------------------- */

static void
build(struct engine *e)
{
    static uint64_t owner = OWNER_FIRST;
    static const uint8_t key[CRYPTO_KEY_SIZE] = {1, 2, 3};
    struct store_open_args open = {.path = e->folder, .create = true, .fingerprint = "test"};
    struct err err = {0};

    owner++;
    e->loop = loop_create();
    e->cpu = workers_create(e->loop, "cpu", 2, 64);
    e->store = store_open(refusing_driver(), &open, e->loop, &err);
    ck_assert_msg(e->store != NULL, "%s", err.text);
    e->keys = crypto_keys_create(key, key, key);
    e->gates = gates_create();
    e->runs = run_table_create(e->loop);
    e->queue = queue_embedded_create(e->loop);
    e->sender = sender_create(&(struct sender_args){
        .loop = e->loop,
        .store = e->store,
        .cpu = e->cpu,
        .queue = e->queue,
        .keys = e->keys,
        .gates = e->gates,
        .runs = e->runs,
        .owner = owner,
        .public_url = "https://mail.example",
        .sender_address = "Mailshot, Example Street 1",
        .ehlo_name = "mailshot.example",
        .unsubscribe_lifetime_ms = INT64_C(90) * 86400000,
        .n_workers = 2,
    });
    e->dispatcher = dispatcher_create(&(struct dispatcher_args){
        .loop = e->loop,
        .store = e->store,
        .cpu = e->cpu,
        .runs = e->runs,
        .gates = e->gates,
        .sender = e->sender,
        .owner = owner,
    });
    e->closer = run_closer_create(e->loop, e->store, e->runs);
    e->arena = arena_create(0);
    e->b = (struct broadcasts){
        .store = e->store,
        .keys = e->keys,
        .public_url = "https://mail.example",
        .data_dir = e->folder,
        .max_lateness_ms = 3600000,
        .growth_pct = 10,
        .loop = e->loop,
        .runs = e->runs,
        .sender = e->sender,
        .dispatcher = e->dispatcher,
    };
    e->call = (struct broadcast_call){
        .b = &e->b, .actor = SLICE_LIT("test"), .arena = e->arena, .now_ms = clock_now_ms()};
}

static void
take_down(struct engine *e)
{
    workers_free(&e->cpu);
    store_close(&e->store);
    run_closer_free(&e->closer);
    dispatcher_free(&e->dispatcher);
    sender_free(&e->sender);
    queue_free(&e->queue);
    run_table_free(&e->runs);
    gates_free(&e->gates);
    loop_free(&e->loop);
    crypto_keys_free(&e->keys);
    arena_free(&e->arena);
}

void
engine_start(struct engine *e, const char *name)
{
    char command[700];

    memset(e, 0, sizeof(*e));
    engine_refuse(0);
    e->folder = mem_strdup(suite_path(name));
    snprintf(command, sizeof(command), "rm -rf '%s' && mkdir -p '%s/mail'", e->folder, e->folder);
    ck_assert_int_eq(system(command), 0);
    build(e);
}

static void
load_runs(struct engine *e)
{
    struct store_batch *b = store_batch_create(e->store, STORE_URGENT);
    unsigned op = runs_list(b, 1u << RUN_SENDING | 1u << RUN_PAUSED, 0, 100);
    struct err err = {0};

    must(store_run(b, &err), &err);
    run_table_update(e->runs, runs_result(b, op)->runs, runs_result(b, op)->n_runs);
    store_batch_free(&b);
}

static void
on_stopped(void *arg)
{
    loop_stop(arg);
}

/* As the daemon does on SIGTERM: nothing new is begun, what is under way is finished. */
static void
quiesce(struct engine *e)
{
    gates_set(e->gates, GATE_SCOPE_ALL, GATE_STOP, true, "test");
    sender_stop(e->sender, e->stop_ms != 0 ? e->stop_ms : 30000, on_stopped, e->loop);
    loop_run(e->loop);
    while (dispatcher_busy(e->dispatcher) > 0 || run_table_busy(e->runs) > 0)
        loop_turn(e->loop, 5);
}

void
engine_restart(struct engine *e)
{
    uint64_t moved;
    struct err err = {0};

    quiesce(e);
    take_down(e);
    build(e);
    must(recover_sends(e->store, OWNER_FIRST, &moved, &err), &err);
    load_runs(e);
    dispatcher_start_due(e->dispatcher);
}

void
engine_stop(struct engine *e)
{
    engine_refuse(0);
    quiesce(e);
    take_down(e);
    mem_free((void *)(uintptr_t)e->folder);
}

uint64_t
engine_put_profile(struct engine *e, struct profile_input *in)
{
    struct profile p;
    struct err err = {0};
    bool created;

    in->p.slug = SLICE_LIT("main");
    in->p.name = SLICE_LIT("Main");
    in->p.from_name = SLICE_LIT("Mailshot");
    in->p.from_email = SLICE_LIT("news@sender.example");
    must(profile_put(e->store, e->keys, in, SLICE_LIT("test"), clock_now_ms(), e->arena, &p,
             &created, &err),
        &err);
    return p.id;
}

uint64_t
engine_add_profile(struct engine *e)
{
    struct profile_input in;
    char dir[600];

    snprintf(dir, sizeof(dir), "%s/mail", e->folder);
    profile_input_init(&in, PROFILE_CAPTURE);
    in.p.capture_dir = slice_str(dir);
    return engine_put_profile(e, &in);
}

void
engine_add_contacts(struct engine *e, unsigned first, unsigned n)
{
    struct import_options o = {.subscribe = true, .now_ms = clock_now_ms()};
    struct import *im = import_create(e->store, e->keys, &o, NULL);
    struct buf csv = BUF_INIT;
    struct err err = {0};

    buf_append_str(&csv, "email,name\n");
    for (unsigned i = first; i < first + n; i++)
        buf_printf(&csv, "user%u@r%u.example.org,Name %u\n", i, i % 7, i);
    must(import_feed(im, buf_slice(&csv), &err), &err);
    must(import_finish(im, &err), &err);
    ck_assert_uint_eq(import_result(im)->added, n);
    import_free(&im);
    buf_deinit(&csv);
}

void
engine_add_template(struct engine *e)
{
    struct template_content c = {
        .kind = MAIL_MARKETING,
        .subject = SLICE_LIT("News for {{contact.fields.name}}"),
        .html = SLICE_LIT("<html><body><p>Hello {{contact.fields.name}}, "
                          "<a href=\"https://example.com/a?b=1&amp;c=2\">read on</a> or "
                          "<a href=\"{{unsubscribeUrl}}\">leave</a></p></body></html>"),
        .from_name = SLICE_LIT("Mailshot"),
        .from_email = SLICE_LIT("news@sender.example"),
        .track_opens = true,
        .track_clicks = true,
    };
    struct template_put put = {.slug = SLICE_LIT("news"),
        .name = SLICE_LIT("News"),
        .content = &c,
        .actor = SLICE_LIT("test"),
        .now_ms = clock_now_ms()};
    struct template_doc t;
    struct err err = {0};
    bool created;

    must(template_doc_publish(e->store, &put, e->arena, &t, &created, &err), &err);
}

void
engine_set_profile_active(struct engine *e, uint64_t profile)
{
    struct store_batch *b = store_batch_create(e->store, STORE_URGENT);
    struct err err = {0};

    profile_set_state_op(b, profile, PROFILE_ACTIVE, SLICE_NONE, clock_now_ms());
    must(store_run(b, &err), &err);
    store_batch_free(&b);
    sender_profile_changed(e->sender, profile);
}

uint64_t
engine_start_broadcast(struct engine *e, const char *slug)
{
    struct broadcast_doc d = {.slug = slice_str(slug),
        .name = slice_str(slug),
        .template_slug = SLICE_LIT("news"),
        .growth_limit_pct = -1};

    return engine_start_broadcast_of(e, &d);
}

uint64_t
engine_start_broadcast_of(struct engine *e, struct broadcast_doc *d)
{
    struct slice slug = d->slug;
    struct broadcast_view v;
    struct count_outcome count;
    struct err err = {0};
    char token[ID_TEXT_SIZE];

    e->call.now_ms = clock_now_ms();
    must(broadcast_create(&e->call, d, &v, &err), &err);
    must(count_start(&e->call, &v, COUNT_SCHEDULE, COUNT_WAIT_MS, &count, &err), &err);
    must(broadcast_schedule(&e->call, slug,
             &(struct broadcast_schedule){.scheduled_at_ms = clock_now_ms() + e->start_in_ms,
                 .count_token = slice_str(id_text(count.id, token)),
                 .confirmed_count = (int64_t)count.result.eligible},
             &v, &err),
        &err);
    return count.result.eligible;
}

void
engine_resume(struct engine *e, const char *slug)
{
    struct broadcast_view v;
    struct count_outcome count;
    struct err err = {0};
    char token[ID_TEXT_SIZE];

    e->call.now_ms = clock_now_ms();
    must(broadcast_read(&e->call, slice_str(slug), &v, &err), &err);
    must(count_start(&e->call, &v, COUNT_RESUME, COUNT_WAIT_MS, &count, &err), &err);
    must(broadcast_resume(&e->call, slice_str(slug),
             &(struct broadcast_resume){.count_token = slice_str(id_text(count.id, token)),
                 .confirmed_count = (int64_t)count.result.eligible + broadcast_held_rows(&v.run)},
             &v, &err),
        &err);
}

struct run_record
engine_run(struct engine *e, const char *slug)
{
    struct broadcast_view v;
    struct err err = {0};

    must(broadcast_read(&e->call, slice_str(slug), &v, &err), &err);
    return v.run;
}

struct run_record
engine_wait(struct engine *e, const char *slug, uint32_t state_mask)
{
    int64_t end = clock_mono_ms() + 60000;
    struct run_record r;

    for (;;) {
        r = engine_run(e, slug);
        if ((state_mask & (1u << r.state)) != 0)
            return r;
        ck_assert_msg(clock_mono_ms() < end, "%s stays %s: queued %lld sending %lld sent %lld",
            slug, run_state_name((int)r.state), (long long)r.n.by_state[SEND_QUEUED],
            (long long)r.n.by_state[SEND_SENDING], (long long)r.n.by_state[SEND_SENT]);
        for (int i = 0; i < 20; i++)
            loop_turn(e->loop, 5);
    }
}

unsigned
engine_captured(const struct engine *e)
{
    char dir[600];
    DIR *d;
    unsigned n = 0;

    snprintf(dir, sizeof(dir), "%s/mail", e->folder);
    d = opendir(dir);
    ck_assert_ptr_nonnull(d);
    for (const struct dirent *entry; (entry = readdir(d)) != NULL;)
        n += strstr(entry->d_name, ".eml") != NULL;
    closedir(d);
    return n;
}
