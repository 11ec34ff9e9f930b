/*
 * Routes that concern the process itself rather than a resource: adopting a copied folder, reading the
 * settings, and, in test builds, moving the clock. For the owner only.
 */
#include "daemon/routes.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "api/resources.h"
#include "base/clock.h"
#include "base/mem.h"
#include "control/gates.h"
#include "control/run_table.h"
#include "daemon/config.h"
#include "daemon/daemon_internal.h"
#include "daemon/datadir.h"
#include "daemon/installation.h"
#include "daemon/store_audit.h"
#include "loop/loop.h"
#include "model/audit.h"
#include "store/store.h"

static struct daemon_env *
env_of(const struct api_call *c)
{
    return (struct daemon_env *)(void *)((char *)c->env - offsetof(struct daemon_env, api));
}

void
daemon_env_init(struct daemon_env *env, const struct config *c, struct installation *home)
{
    memset(env, 0, sizeof(*env));
    env->home = home;
    env->broadcasts = (struct broadcasts){
        .store = home->store,
        .keys = home->keys,
        .public_url = c->public_url,
        .data_dir = home->dir->path,
        .max_lateness_ms = c->max_lateness_min * 60000,
        .growth_pct = (unsigned)c->audience_growth_pct,
    };
    env->api = (struct api_env){
        .store = home->store,
        .keys = home->keys,
        .broadcasts = &env->broadcasts,
        .public_url = c->public_url,
        .data_dir = home->dir->path,
        .sender_address = c->sender_address,
        .test_contacts = c->agent_test_contacts.items,
        .n_test_contacts = c->agent_test_contacts.n,
        .started_at_ms = clock_now_ms(),
        .tick_interval_s = (unsigned)c->tick_interval_s,
        .n_workers = (unsigned)c->api_workers,
    };
}

/* ---- adopt ----------------------------------------------------------------------------------- */

#define RUNS_PAGE 200

/* What the store says now about the runs in work, to the table; a worker's thread. */
static int
report_runs(struct daemon *d, struct err *err)
{
    uint64_t after = 0;
    size_t n;
    int rc;

    do {
        struct store_batch *b = store_batch_create(d->home->store, STORE_URGENT);
        unsigned op = runs_list(b, 1u << RUN_SENDING | 1u << RUN_PAUSED, after, RUNS_PAGE);

        n = 0;
        if ((rc = store_run(b, err)) == 0) {
            const struct run_result *r = runs_result(b, op);

            n = r->n_runs;
            for (size_t i = 0; i < n; i++)
                run_table_post(d->runs, &r->runs[i]);
            if (n > 0)
                after = r->runs[n - 1].broadcast;
        }
        store_batch_free(&b);
    } while (rc == 0 && n == RUNS_PAGE);
    return rc;
}

/* In the loop. */
static void
open_copy_gate(void *arg)
{
    struct daemon *d = arg;

    d->home->instance.is_adopted = true;
    gates_set(d->gates, GATE_SCOPE_ALL, GATE_COPY, false, NULL);
}

static int
audit_adopt(struct api_call *c, unsigned n_parked, struct err *err)
{
    struct store_batch *b = store_batch_create(c->env->store, STORE_URGENT);
    char summary[64];
    int rc;

    snprintf(summary, sizeof(summary), "%u broadcasts paused", n_parked);
    audit_add_op(b, &(struct audit_entry){.actor = slice_str(c->actor.label),
                        .action = SLICE_LIT("installation.adopt"),
                        .summary = slice_str(summary),
                        .request_id = slice_str(c->request_id),
                        .at_ms = clock_now_ms()});
    rc = store_run(b, err);
    store_batch_free(&b);
    return rc;
}

static int
adopt(struct api_call *c, struct err *err)
{
    struct daemon_env *env = env_of(c);
    unsigned n_parked = 0;

    if (instance_adopt(c->env->store, &env->home->instance, &n_parked, err) != 0 ||
        audit_adopt(c, n_parked, err) != 0)
        return -1;
    if (env->daemon != NULL) {
        if (report_runs(env->daemon, err) != 0)
            return -1;
        loop_call(env->daemon->loop, open_copy_gate, env->daemon);
    } else {
        env->home->instance.is_adopted = true;
    }
    jw_obj(&c->w, NULL);
    jw_bool(&c->w, "adopted", true);
    jw_int(&c->w, "paused", n_parked);
    jw_end_obj(&c->w);
    return 0;
}

static const char *const adopt_errors[] = {"not_the_instance", NULL};

/* ---- the books ------------------------------------------------------------------------------- */

static int
check_store(struct api_call *c, struct err *err)
{
    struct buf report = BUF_INIT;
    struct slice rest, line;
    unsigned n_runs = 0;

    if (store_audit(c->env->store, &report, &n_runs, err) != 0) {
        buf_deinit(&report);
        return -1;
    }
    jw_obj(&c->w, NULL);
    jw_int(&c->w, "broadcasts", n_runs);
    jw_arr(&c->w, "problems");
    rest = buf_slice(&report);
    while (slice_cut(&rest, '\n', &line))
        if (line.n > 0)
            jw_str(&c->w, NULL, line);
    jw_end_arr(&c->w);
    jw_end_obj(&c->w);
    buf_deinit(&report);
    return 0;
}

/* ---- the clock of test builds ---------------------------------------------------------------- */

#ifdef MAILSHOT_TEST_CLOCK
static int
step_clock(struct api_call *c, struct err *err)
{
    struct daemon *d = env_of(c)->daemon;
    int64_t step_ms = 0;

    if (d == NULL || c->actor.via != API_VIA_SOCKET || !d->boot->allow_test_clock)
        return err_sub(err, ERR_REFUSED, "forbidden",
            "the clock is stepped over the control socket, where allowTestClock is set");
    json_int(json_get(c->body, "stepMs"), &step_ms);
    clock_step(step_ms);
    loop_wake(d->loop);
    jw_obj(&c->w, NULL);
    jw_time(&c->w, "now", clock_now_ms());
    jw_end_obj(&c->w);
    return 0;
}

static const struct api_field step_fields[] = {
    {.name = "stepMs",
        .type = FIELD_INT,
        .is_required = true,
        .min = 1,
        .max = INT64_C(366) * 24 * 3600 * 1000,
        .help = "how far to go on, milliseconds"},
    {.name = NULL},
};
#endif

static const struct api_route own_routes[] = {
    {
        .method = "POST",
        .path = "/admin/adopt",
        .summary = "Make this data folder the installation; pauses every broadcast",
        .scope = API_ADMIN,
        .flags = API_OWNER_ONLY,
        .handler = adopt,
        .errors = adopt_errors,
    },
    {
        .method = "POST",
        .path = "/admin/db/check",
        .summary = "Check the database, and recount every broadcast; walks everything",
        .scope = API_ADMIN,
        .flags = API_OWNER_ONLY,
        .handler = check_store,
    },
#ifdef MAILSHOT_TEST_CLOCK
    {
        .method = "POST",
        .path = "/test/clock",
        .summary = "Step all clocks forward (test builds)",
        .scope = API_ADMIN,
        .flags = API_OWNER_ONLY | API_INLINE,
        .body = step_fields,
        .handler = step_clock,
    },
#endif
    {.method = NULL},
};

const struct api_route *const *
daemon_routes_create(void)
{
    const struct api_route **all;
    size_t n = 0;

    while (api_all_routes[n] != NULL)
        n++;
    all = mem_array(n + 2, sizeof(*all));
    memcpy(all, api_all_routes, n * sizeof(*all));
    all[n] = own_routes;
    all[n + 1] = NULL;
    return (const struct api_route *const *)all;
}
