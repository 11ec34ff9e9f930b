#ifndef API_JOB_H
#define API_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "api/api.h"
#include "api/auth.h"
#include "api/run.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/id.h"
#include "base/list.h"

/* Shared by dispatch.c and job.c only. */

struct http_request;
struct http_uri;
struct loop_timer;
struct map_str;
struct metric;
struct workers;

struct api {
    struct loop *loop;
    struct api_env *env;
    struct api_table *table;
    struct api_auth *auth;
    struct workers *workers;
    struct map_str *polls; /* actor → number of its long polls, as a pointer */
    struct list jobs;
    bool is_stopping;
    struct metric *duration, *refused, *failed;
};

/** One request on its way. Belongs to the loop, or to a worker while `is_on_worker`; `request`,
 * `timer` and `node` are the loop's at all times. */
struct api_job {
    struct api *api;
    struct list node;
    struct http_request *request; /* NULL: nobody waits any more */
    struct arena *arena;
    struct api_call call;
    struct api_run_extra extra;
    struct buf body;
    char request_id[ID_TEXT_SIZE];
    const char *client;
    char allow[64];
    uint64_t started_us;
    bool is_on_worker;
    /* authentication */
    struct api_auth_key key;
    int lookup_rc;
    struct err lookup_err;
    /* long poll */
    bool is_poll;
    int64_t poll_since_ms;
    struct loop_timer *timer;
};

struct api_job *api_job_create(struct api *a, struct http_request *r);
/** Also gives its place among the waiting polls back. */
void api_job_free(struct api_job **job);
/** Copy parameters, query and the headers that are needed into the job's own arena. */
void api_job_copy_input(
    struct api_job *job, const struct http_uri *uri, const struct slice params[API_PARAMS]);

#endif
