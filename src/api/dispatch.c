#include "api/dispatch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/auth.h"
#include "api/call.h"
#include "api/job.h"
#include "api/route_match.h"
#include "api/run.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "http/server.h"
#include "http/uri.h"
#include "loop/loop.h"
#include "loop/workers.h"

/*
 * From an HTTP request to a handler and back. One job per request, owned by the request until it is
 * answered; while a worker has it, the loop only remembers whether somebody still waits.
 *
 *   head: route ─► who? (cache, or a worker asks the store; no body byte is read meanwhile)
 *              ─► scope, rate, body limit
 *   body: worker runs api_run() ─► answer; or a timer, for a long poll that has nothing yet
 *
 * The job has an arena of its own, since it may outlive its request: when the deadline answers or
 * the client leaves, the worker finishes and its result is dropped.
 */

#define WORKERS         4
#define QUEUE_LIMIT     256
#define DEFAULT_BODY    1048576u
#define POLLS_MAX       10
#define POLL_LIMIT_MS   70000  /* the longest wait a caller may ask for is 55 s */
#define UPLOAD_LIMIT_MS 600000 /* a large list over a slow line, and the work it makes */
#define BUSY_RETRY_S    1

struct api *
api_create(struct loop *l, struct api_env *env, const struct api_route *const *groups)
{
    struct api *a = mem_zalloc(sizeof *a);

    a->loop = l;
    a->env = env;
    a->table = api_table_create(groups);
    a->auth = api_auth_create();
    a->workers =
        workers_create(l, "api", env->n_workers > 0 ? env->n_workers : WORKERS, QUEUE_LIMIT);
    a->polls = map_str_create();
    list_init(&a->jobs);
    a->duration = metric_histogram_us("mailshot_api_seconds", "Time to answer an API call.", NULL);
    a->refused = metric_counter(
        "mailshot_api_refused_total", "API calls answered with a status from 400 to 499.", NULL);
    a->failed =
        metric_counter("mailshot_api_failed_total", "API calls answered with 500 or more.", NULL);
    env->table = a->table;
    env->auth = a->auth;
    return a;
}

void
api_free(struct api **ap)
{
    struct api *a = *ap;

    if (a == NULL)
        return;
    *ap = NULL;
    workers_free(&a->workers);
    LIST_EACH(node, tmp, &a->jobs)
    {
        struct api_job *job = LIST_ENTRY(node, struct api_job, node);

        api_job_free(&job);
    }
    a->env->table = NULL;
    a->env->auth = NULL;
    api_auth_free(&a->auth);
    api_table_free(&a->table);
    map_str_free(&a->polls);
    mem_free(a);
}

size_t
api_in_work(const struct api *a)
{
    size_t n = 0;

    LIST_EACH(node, tmp, &a->jobs)
    n++;
    return n;
}

/* ---- answering ------------------------------------------------------------------------------------ */

/** One line per outcome; reads that went well are for debugging only. */
static void
log_outcome(const struct api_job *job)
{
    const struct api_call *c = &job->call;
    struct log_ctx ctx = {.request = c->request_id};
    const char *method = c->route != NULL ? c->route->method : "-";
    const char *path = c->route != NULL ? c->route->path : "-";
    uint64_t ms = (clock_mono_us() - job->started_us) / 1000;

    if (c->status < 400 && strcmp(method, "GET") == 0)
        log_debug(&ctx, "api.call", "method=%s path=%s status=%u ms=%" PRIu64 " actor=%s", method,
            path, c->status, ms, c->actor.label);
    else
        log_info(&ctx, "api.call", "method=%s path=%s status=%u ms=%" PRIu64 " actor=%s", method,
            path, c->status, ms, c->actor.label);
}

/** Answer with what the call holds and end the job. */
static void
job_answer(struct api_job *job)
{
    struct api_call *c = &job->call;
    struct http_request *r = job->request;
    struct http_field fields[6];
    size_t n = 0;
    char retry[24];

    fields[n++] = (struct http_field){"Cache-Control", "no-store"};
    fields[n++] = (struct http_field){"X-Request-Id", c->request_id};
    if (c->retry_after_s > 0) {
        snprintf(retry, sizeof retry, "%" PRId64, c->retry_after_s);
        fields[n++] = (struct http_field){"Retry-After", retry};
    }
    if (c->status == 401)
        fields[n++] = (struct http_field){"WWW-Authenticate", "Bearer"};
    if (job->allow[0] != '\0')
        fields[n++] = (struct http_field){"Allow", job->allow};
    if (job->extra.is_replay)
        fields[n++] = (struct http_field){"Idempotent-Replay", "true"};
    if (c->status >= 400)
        metric_add(c->status < 500 ? job->api->refused : job->api->failed, 1);
    metric_observe_us(job->api->duration, clock_mono_us() - job->started_us);
    log_outcome(job);
    http_respond(r, c->status, c->content_type, fields, n, buf_slice(&c->out));
    http_request_set_data(r, NULL);
    api_job_free(&job);
}

static void
job_fail(struct api_job *job, const struct err *err)
{
    api_run_fail(&job->call, err);
    job_answer(job);
}

/** Nobody waits any more. */
static void
on_cancel(struct http_request *r, void *arg)
{
    struct api_job *job = arg;

    job->request = NULL;
    if (!job->is_on_worker)
        api_job_free(&job);
}

static void
job_busy(struct api_job *job)
{
    struct err err = {0};

    err_sub(&err, ERR_TEMP, "busy", "too many calls are waiting");
    job->call.retry_after_s = BUSY_RETRY_S;
    job_fail(job, &err);
}

static void
job_submit(struct api_job *job, workers_run_fn *run, workers_done_fn *done)
{
    job->is_on_worker = workers_submit(job->api->workers, run, done, job);
    if (!job->is_on_worker)
        job_busy(job);
}

/* ---- head: who may do what ------------------------------------------------------------------------- */

static size_t
body_limit(const struct api_route *route)
{
    return route->max_body > 0 ? route->max_body : DEFAULT_BODY;
}

static int
job_admit(struct api_job *job, struct err *err)
{
    return api_auth_admit(job->api->auth, job->call.route, &job->call.actor, clock_mono_ms(),
        &job->call.retry_after_s, err);
}

static void
run_lookup(void *arg)
{
    struct api_job *job = arg;

    job->lookup_rc =
        api_auth_lookup(job->api->env->store, &job->key, &job->call.actor, &job->lookup_err);
}

static void
done_lookup(void *arg)
{
    struct api_job *job = arg;
    struct api_auth *auth = job->api->auth;
    struct err err = {0};

    job->is_on_worker = false;
    if (job->lookup_rc == 0)
        api_auth_remember(auth, &job->key, &job->call.actor, NULL, clock_mono_ms());
    else if (job->lookup_err.code == ERR_REFUSED)
        api_auth_remember(auth, &job->key, NULL, job->client, clock_mono_ms());
    if (job->request == NULL)
        api_job_free(&job);
    else if (job->lookup_rc != 0)
        job_fail(job, &job->lookup_err);
    else if (job_admit(job, &err) != 0)
        job_fail(job, &err);
    else
        http_request_accept(job->request, body_limit(job->call.route));
}

/** Find the row. Without one the call is answered. */
static bool
job_route(struct api_job *job)
{
    struct http_request *r = job->request;
    const struct http_uri *uri = http_request_uri(r);
    struct slice params[API_PARAMS] = {SLICE_NONE};
    struct err err = {0};

    switch (api_table_match(
        job->api->table, http_request_method(r), uri, &job->call.route, params, job->allow)) {
    case API_MATCHED:
        job->allow[0] = '\0';
        api_job_copy_input(job, uri, params);
        return true;
    case API_NO_METHOD:
        err_sub(&err, ERR_INVALID, "method_not_allowed", "this path is served for %s", job->allow);
        break;
    case API_NO_PATH:
        err_sub(&err, ERR_NOTFOUND, "not_found", "no such path; GET /agent lists all there are");
        break;
    }
    job_fail(job, &err);
    return false;
}

size_t
api_http_head(struct http_request *r, void *arg)
{
    struct api_job *job = api_job_create(arg, r);
    struct err err = {0};

    http_request_set_data(r, job);
    http_request_on_cancel(r, on_cancel, job);
    if (!job_route(job))
        return 0;
    if ((job->call.route->flags & API_RAW_BODY) != 0)
        http_request_set_deadline(r, UPLOAD_LIMIT_MS);
    switch (api_auth_begin(job->api->auth, r, job->call.route, clock_mono_ms(), &job->call.actor,
        &job->key, &job->call.retry_after_s, &err)) {
    case API_AUTH_REFUSED: job_fail(job, &err); return 0;
    case API_AUTH_LOOKUP: job_submit(job, run_lookup, done_lookup); return HTTP_HEAD_LATER;
    case API_AUTH_KNOWN: break;
    }
    if (job_admit(job, &err) != 0) {
        job_fail(job, &err);
        return 0;
    }
    return body_limit(job->call.route);
}

/* ---- body: the call ---------------------------------------------------------------------------------- */

static void
run_call(void *arg)
{
    struct api_job *job = arg;

    api_run_with(&job->call, buf_slice(&job->body), &job->extra);
}

static void done_call(void *arg);

static void
on_again(void *arg)
{
    struct api_job *job = arg;

    job->timer = NULL;
    job->call.waited_ms = clock_mono_ms() - job->poll_since_ms;
    job_submit(job, run_call, done_call);
}

static void
job_stop_waiting(struct api_job *job)
{
    struct err err = {0};

    err_sub(&err, ERR_TEMP, "stopping", "the daemon is stopping");
    job_fail(job, &err);
}

static void
done_call(void *arg)
{
    struct api_job *job = arg;

    job->is_on_worker = false;
    if (job->request == NULL) {
        api_job_free(&job);
        return;
    }
    if (job->call.again_ms > 0 && job->is_poll) {
        if (job->api->is_stopping) {
            job_stop_waiting(job);
            return;
        }
        job->timer = loop_timer_start(job->api->loop, job->call.again_ms, on_again, job);
        return;
    }
    job_answer(job);
}

/** A place among the waiting polls of this actor. */
static bool
job_begin_poll(struct api_job *job)
{
    struct map_str *polls = job->api->polls;
    struct slice actor = slice_str(job->call.actor.label);
    uintptr_t n = (uintptr_t)map_str_get(polls, actor);

    if (n >= POLLS_MAX)
        return false;
    map_str_put(polls, actor, (void *)(n + 1));
    job->is_poll = true;
    job->poll_since_ms = clock_mono_ms();
    http_request_set_deadline(job->request, POLL_LIMIT_MS);
    return true;
}

void
api_http_body(struct http_request *r, void *arg)
{
    struct api_job *job = http_request_data(r);
    struct err err = {0};

    http_request_take_body(r, &job->body);
    if ((job->call.route->flags & API_INLINE) != 0) {
        run_call(job);
        job_answer(job);
        return;
    }
    if ((job->call.route->flags & API_LONG_POLL) != 0 && !job_begin_poll(job)) {
        err_sub(&err, ERR_LIMIT, "too_many_waits", "at most %d calls of one caller may wait",
            POLLS_MAX);
        job->call.retry_after_s = BUSY_RETRY_S;
        job_fail(job, &err);
        return;
    }
    job_submit(job, run_call, done_call);
}

void
api_quiesce(struct api *a)
{
    a->is_stopping = true;
    LIST_EACH(node, tmp, &a->jobs)
    {
        struct api_job *job = LIST_ENTRY(node, struct api_job, node);

        if (job->timer != NULL)
            job_stop_waiting(job);
    }
}
