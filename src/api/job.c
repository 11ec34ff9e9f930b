#include "api/job.h"

#include <stdio.h>

#include "api/call.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "http/server.h"
#include "http/uri.h"
#include "loop/loop.h"

/*
 * Jobs: memory of one API request. Everything a worker reads is copied into the job, because the
 * HTTP request, with its arena, is gone as soon as it has been answered by somebody else.
 */

struct api_job *
api_job_create(struct api *a, struct http_request *r)
{
    struct api_job *job = mem_zalloc(sizeof *job);

    job->api = a;
    job->request = r;
    job->arena = arena_create(0);
    job->started_us = clock_mono_us();
    job->client = arena_strdup(job->arena, http_request_client(r));
    snprintf(job->request_id, sizeof job->request_id, "%s", http_request_id(r));
    api_call_init(&job->call);
    job->call.env = a->env;
    job->call.arena = job->arena;
    job->call.request_id = job->request_id;
    list_push_back(&a->jobs, &job->node);
    return job;
}

static void
end_poll(struct api_job *job)
{
    struct map_str *polls = job->api->polls;
    struct slice actor = slice_str(job->call.actor.label);
    uintptr_t n = (uintptr_t)map_str_get(polls, actor);

    if (n > 1)
        map_str_put(polls, actor, (void *)(n - 1));
    else
        map_str_del(polls, actor);
}

void
api_job_free(struct api_job **jobp)
{
    struct api_job *job = *jobp;

    if (job == NULL)
        return;
    *jobp = NULL;
    if (job->is_poll)
        end_poll(job);
    loop_timer_cancel(&job->timer);
    list_del(&job->node);
    buf_deinit(&job->body);
    api_call_deinit(&job->call);
    arena_free(&job->arena);
    mem_free(job);
}

void
api_job_copy_input(
    struct api_job *job, const struct http_uri *uri, const struct slice params[API_PARAMS])
{
    struct http_param *query = arena_array(job->arena, uri->n_params + 1, sizeof *query);
    struct slice key = http_request_header(job->request, "Idempotency-Key");

    for (size_t i = 0; i < API_PARAMS; i++)
        job->call.params[i] = params[i].p != NULL ? arena_dup(job->arena, params[i]) : SLICE_NONE;
    for (size_t i = 0; i < uri->n_params; i++) {
        query[i].name = arena_dup(job->arena, uri->params[i].name);
        query[i].value = arena_dup(job->arena, uri->params[i].value);
    }
    job->call.query = query;
    job->call.n_query = uri->n_params;
    job->extra.idempotency_header = key.p != NULL ? arena_dup(job->arena, key) : SLICE_NONE;
}
