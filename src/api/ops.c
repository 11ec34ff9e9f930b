#include "api/resources.h"

#include "api/ready.h"
#include "base/clock.h"
#include "base/metrics.h"

/*
 * For operators and their probes: alive, ready, and how much of everything. These run in the loop
 * and touch no store, so that they answer while the store stalls; that the loop answers at all is
 * what "alive" means.
 */

static int
healthz(struct api_call *c, struct err *err)
{
    jw_obj(&c->w, NULL);
    jw_cstr(&c->w, "status", "ok");
    jw_cstr(&c->w, "version", MAILSHOT_VERSION);
    jw_int(&c->w, "uptimeSeconds", (clock_now_ms() - c->env->started_at_ms) / 1000);
    jw_end_obj(&c->w);
    return 0;
}

static int
readyz(struct api_call *c, struct err *err)
{
    const struct api_ready *r = c->env->ready;
    bool ok = r == NULL || api_ready_all(r);

    c->status = ok ? 200 : 503;
    jw_obj(&c->w, NULL);
    jw_cstr(&c->w, "status", ok ? "ready" : "not_ready");
    if (r != NULL)
        api_ready_write(r, &c->w, "parts");
    jw_end_obj(&c->w);
    return 0;
}

static int
metrics(struct api_call *c, struct err *err)
{
    c->content_type = "text/plain; version=0.0.4; charset=utf-8";
    metrics_render(&c->out);
    return 0;
}

#define OPS_FLAGS (API_INLINE | API_LOOPBACK)

const struct api_route api_ops_routes[] = {
    {
        .method = "GET",
        .path = "/healthz",
        .summary = "Is the process alive?",
        .scope = API_ADMIN,
        .flags = OPS_FLAGS,
        .handler = healthz,
    },
    {
        .method = "GET",
        .path = "/readyz",
        .summary = "Is every part ready? 503 while one is not",
        .scope = API_ADMIN,
        .flags = OPS_FLAGS,
        .handler = readyz,
    },
    {
        .method = "GET",
        .path = "/metrics",
        .summary = "Counters in Prometheus text format",
        .scope = API_ADMIN,
        .flags = OPS_FLAGS,
        .handler = metrics,
    },
    {.method = NULL},
};
