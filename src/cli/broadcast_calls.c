/*
 * Broadcasts over the API, for the sub-commands `broadcast` and `demo`.
 */
#include "cli/broadcast_calls.h"

#include <time.h>

#include "cli/cli.h"
#include "mailshot/exit.h"

#define COUNT_POLL_NS 300000000L
#define BROADCASTS    "/agent/broadcasts"

void
broadcast_calls_target(struct buf *target, const char *slug, const char *rest)
{
    buf_append_str(target, BROADCASTS "/");
    cli_escape(target, slug);
    buf_append_str(target, rest);
}

static int
request(struct cli *c, const char *method, const char *slug, const char *rest, struct slice body,
    struct json **answer_r)
{
    struct buf target = BUF_INIT;
    int rc;

    broadcast_calls_target(&target, slug, rest);
    rc = cli_request(c, method, buf_cstr(&target), body, answer_r);
    buf_deinit(&target);
    return rc;
}

int
broadcast_calls_get(struct cli *c, const char *slug, const char *query, struct json **answer_r)
{
    return request(c, "GET", slug, query, SLICE_NONE, answer_r);
}

int
broadcast_calls_create(struct cli *c, const struct broadcast_draft *draft, struct json **answer_r)
{
    struct buf body = BUF_INIT;
    struct json_writer w;
    int rc;

    jw_init(&w, &body);
    jw_obj(&w, NULL);
    jw_cstr(&w, "slug", draft->slug);
    jw_cstr(&w, "name", draft->name != NULL ? draft->name : draft->slug);
    jw_cstr(&w, "templateSlug", draft->template_slug);
    if (draft->profile != NULL)
        jw_cstr(&w, "profile", draft->profile);
    if (draft->segment.n > 0)
        jw_raw(&w, "segmentDefinition", draft->segment);
    jw_end_obj(&w);
    rc = cli_request(c, "POST", BROADCASTS, buf_slice(&body), answer_r);
    buf_deinit(&body);
    return rc;
}

/* ---- counting -------------------------------------------------------------------------------- */

static int
ask_count(struct cli *c, const char *slug, struct slice id, struct json **answer_r)
{
    static const struct timespec pause = {.tv_nsec = COUNT_POLL_NS};
    struct buf rest = BUF_INIT;
    int rc;

    nanosleep(&pause, NULL);
    buf_printf(&rest, "/counts/%.*s", SLICE_FMT(id));
    rc = request(c, "GET", slug, buf_cstr(&rest), SLICE_NONE, answer_r);
    buf_deinit(&rest);
    return rc;
}

int
broadcast_calls_count(struct cli *c, const char *slug, struct json **answer_r)
{
    struct json *answer = NULL;
    int rc = request(c, "POST", slug, "/count", SLICE_LIT("{}"), &answer);

    while (rc == EXIT_OK && !json_bool(json_get(answer, "done"), false)) {
        struct json *next = NULL;

        rc = ask_count(c, slug, json_str(json_get(answer, "countId")), &next);
        json_free(&answer);
        answer = next;
    }
    if (rc == EXIT_OK)
        *answer_r = answer;
    return rc;
}

/* ---- scheduling ------------------------------------------------------------------------------ */

int
broadcast_calls_schedule(struct cli *c, const char *slug, const char *at, struct slice token,
    int64_t confirmed, struct json **answer_r)
{
    struct buf body = BUF_INIT;
    struct json_writer w;
    int rc;

    jw_init(&w, &body);
    jw_obj(&w, NULL);
    jw_cstr(&w, "scheduledAt", at);
    jw_str(&w, "countToken", token);
    jw_int(&w, "confirmedCount", confirmed);
    jw_end_obj(&w);
    rc = request(c, "POST", slug, "/schedule", buf_slice(&body), answer_r);
    buf_deinit(&body);
    return rc;
}
