/*
 * mailshotd broadcast: from a draft to the ledger at a terminal. Counting and confirming are two
 * commands on purpose: the number is typed by somebody who has seen it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/broadcast_calls.h"
#include "cli/commands.h"
#include "cli/ledger.h"
#include "cli/progress.h"
#include "mailshot/exit.h"

#define WAIT_MAX_S 604800

static int64_t
figure(const struct json *j, const char *name)
{
    int64_t value = 0;

    json_int(json_get(j, name), &value);
    return value;
}

static void
print_state(const struct json *answer)
{
    const struct json *b = json_get(answer, "broadcast");

    printf("%.*s is %.*s\n", SLICE_FMT(json_str(json_get(b, "slug"))),
        SLICE_FMT(json_str(json_get(b, "status"))));
}

/* POST an action of the broadcast and say in which state it is then. */
static int
act(struct cli *c, const char *action, struct slice body, struct json **answer_r)
{
    struct buf target = BUF_INIT;
    int rc;

    broadcast_calls_target(&target, cli_word(c, 1), "/");
    buf_append_str(&target, action);
    rc = cli_request(c, "POST", buf_cstr(&target), body, answer_r);
    buf_deinit(&target);
    if (rc == EXIT_OK)
        print_state(*answer_r);
    return rc;
}

/* ---- look ------------------------------------------------------------------------------------ */

static void
print_item(const struct json *item)
{
    const struct json *b = json_get(item, "broadcast");

    printf("%-24.*s %-10.*s %10" PRId64 "  %.*s\n", SLICE_FMT(json_str(json_get(b, "slug"))),
        SLICE_FMT(json_str(json_get(b, "status"))), figure(b, "recipientCount"),
        SLICE_FMT(json_str(json_get(b, "name"))));
}

static int
list(struct cli *c)
{
    return cli_each(c, "/agent/broadcasts", print_item);
}

static void
print_time(const struct json *b, const char *name, const char *label)
{
    struct slice at = json_str(json_get(b, name));

    if (at.n > 0)
        printf("%-9s %.*s\n", label, SLICE_FMT(at));
}

/* Why nothing moves, when that is so: reasons of a pause, gates that are closed. */
static void
print_obstacles(const struct json *answer)
{
    const struct json *reasons = json_get(json_get(answer, "broadcast"), "pauseReasons");
    const struct json *gates = json_get(answer, "gates");

    for (const struct json *r = json_first(reasons); r != NULL; r = json_next(r))
        printf("paused    %.*s: %.*s\n", SLICE_FMT(json_str(json_get(r, "code"))),
            SLICE_FMT(json_str(json_get(r, "message"))));
    for (const struct json *g = json_first(gates); g != NULL; g = json_next(g))
        printf("waits     %.*s: %.*s\n", SLICE_FMT(json_str(json_get(g, "gate"))),
            SLICE_FMT(json_str(json_get(g, "why"))));
}

static void
print_broadcast(const struct json *answer)
{
    const struct json *b = json_get(answer, "broadcast"), *p = json_get(answer, "progress");

    print_state(answer);
    printf("name      %.*s\ntemplate  %.*s\n", SLICE_FMT(json_str(json_get(b, "name"))),
        SLICE_FMT(json_str(json_get(b, "templateSlug"))));
    print_time(b, "scheduledAt", "scheduled");
    print_time(b, "startedAt", "started");
    print_time(b, "completedAt", "completed");
    print_obstacles(answer);
    if (figure(p, "total") > 0)
        printf("progress  %" PRId64 " of %" PRId64 ", %.0f per second\n", figure(p, "done"),
            figure(p, "total"), json_num(json_get(p, "perSecond"), 0));
    ledger_print(json_get(answer, "ledger"), stdout);
}

static int
show(struct cli *c)
{
    struct json *answer = NULL;
    int rc = broadcast_calls_get(
        c, cli_word(c, 1), cli_has(c, "recount") ? "?recount=true" : "", &answer);

    if (rc == EXIT_OK && cli_has(c, "json"))
        cli_print_json(answer);
    else if (rc == EXIT_OK)
        print_broadcast(answer);
    json_free(&answer);
    return rc;
}

/* Exit code 1 when it ended, or time was up, in a state that was not waited for. */
static int
wait_state(struct cli *c)
{
    const char *states = cli_value(c, "status");
    struct progress_options o = {.states = states};
    struct json *answer = NULL;
    int64_t timeout_s = 0;
    int rc = cli_number(c, "timeout", 1, WAIT_MAX_S, &timeout_s);

    if (rc != EXIT_OK)
        return rc;
    o.timeout_ms = timeout_s * 1000;
    if ((rc = progress_watch(c, cli_word(c, 1), &o, &answer)) != EXIT_OK)
        return rc;
    print_state(answer);
    ledger_print(json_get(answer, "ledger"), stdout);
    if (!json_bool(json_get(answer, "reached"), false))
        rc = EXIT_FAILED;
    if (states == NULL &&
        !slice_eq_str(json_str(json_get(json_get(answer, "broadcast"), "status")), "sent"))
        rc = EXIT_FAILED;
    json_free(&answer);
    return rc;
}

/* ---- make and send --------------------------------------------------------------------------- */

static int
create(struct cli *c)
{
    struct broadcast_draft draft = {.slug = cli_word(c, 1),
        .name = cli_value(c, "name"),
        .template_slug = cli_word(c, 2),
        .profile = cli_value(c, "profile")};
    struct buf segment = BUF_INIT;
    struct json *answer = NULL;
    int rc = EXIT_OK;

    if (cli_value(c, "segment") != NULL) {
        rc = cli_read_json(cli_value(c, "segment"), &segment);
        draft.segment = buf_slice(&segment);
    }
    if (rc == EXIT_OK && (rc = broadcast_calls_create(c, &draft, &answer)) == EXIT_OK)
        print_state(answer);
    json_free(&answer);
    buf_deinit(&segment);
    return rc;
}

static int
count(struct cli *c)
{
    struct json *answer = NULL;
    int rc = broadcast_calls_count(c, cli_word(c, 1), &answer);

    if (rc == EXIT_OK && cli_has(c, "json")) {
        cli_print_json(answer);
    } else if (rc == EXIT_OK) {
        ledger_print_matched(answer, stdout);
        if (figure(answer, "heldSends") > 0)
            printf("held      %" PRId64 "\n", figure(answer, "heldSends"));
        printf("confirm   %" PRId64 "\ntoken     %.*s for %.*s, until %.*s\n",
            figure(answer, "confirmCount"), SLICE_FMT(json_str(json_get(answer, "countToken"))),
            SLICE_FMT(json_str(json_get(answer, "purpose"))),
            SLICE_FMT(json_str(json_get(answer, "expiresAt"))));
    }
    json_free(&answer);
    return rc;
}

static int
read_number(const struct cli *c, size_t word, int64_t *n_r)
{
    if (!slice_i64(slice_str(cli_word(c, word)), n_r) || *n_r < 0)
        return cli_usage(c, "\"%s\" is no number", cli_word(c, word));
    return EXIT_OK;
}

static int
schedule(struct cli *c)
{
    struct json *answer = NULL;
    int64_t confirmed;
    int rc = read_number(c, 4, &confirmed);

    if (rc == EXIT_OK)
        rc = broadcast_calls_schedule(
            c, cli_word(c, 1), cli_word(c, 2), slice_str(cli_word(c, 3)), confirmed, &answer);
    if (rc == EXIT_OK)
        print_state(answer);
    json_free(&answer);
    return rc;
}

static int
resume(struct cli *c)
{
    struct buf body = BUF_INIT;
    struct json *answer = NULL;
    struct json_writer w;
    int64_t confirmed;
    int rc = read_number(c, 3, &confirmed);

    if (rc != EXIT_OK)
        return rc;
    jw_init(&w, &body);
    jw_obj(&w, NULL);
    jw_cstr(&w, "countToken", cli_word(c, 2));
    jw_int(&w, "confirmedCount", confirmed);
    jw_end_obj(&w);
    rc = act(c, "resume", buf_slice(&body), &answer);
    json_free(&answer);
    buf_deinit(&body);
    return rc;
}

static int
pause_sending(struct cli *c)
{
    struct buf body = BUF_INIT;
    struct json *answer = NULL;
    struct json_writer w;
    int rc;

    jw_init(&w, &body);
    jw_obj(&w, NULL);
    if (cli_value(c, "reason") != NULL)
        jw_cstr(&w, "reason", cli_value(c, "reason"));
    jw_end_obj(&w);
    if ((rc = act(c, "pause", buf_slice(&body), &answer)) == EXIT_OK)
        printf("%" PRId64 " held, %zu in flight\n", figure(answer, "heldSends"),
            json_count(json_get(answer, "inFlight")));
    json_free(&answer);
    buf_deinit(&body);
    return rc;
}

static int
cancel(struct cli *c)
{
    struct json *answer = NULL;
    int rc = act(c, "cancel", SLICE_LIT("{}"), &answer);

    if (rc == EXIT_OK)
        printf("%" PRId64 " cancelled, %zu in flight\n", figure(answer, "cancelledSends"),
            json_count(json_get(answer, "inFlight")));
    json_free(&answer);
    return rc;
}

static int
unschedule(struct cli *c)
{
    struct json *answer = NULL;
    int rc = act(c, "unschedule", SLICE_LIT("{}"), &answer);

    json_free(&answer);
    return rc;
}

/* ---- the command ----------------------------------------------------------------------------- */

static const struct action {
    const char *name;
    size_t n_words; /* with the name itself */
    const char *wants;
    int (*run)(struct cli *c);
} actions[] = {
    {"list", 1, "nothing", list},
    {"show", 2, "SLUG", show},
    {"create", 3, "SLUG TEMPLATE", create},
    {"count", 2, "SLUG", count},
    {"schedule", 5, "SLUG now|TIME TOKEN NUMBER", schedule},
    {"unschedule", 2, "SLUG", unschedule},
    {"pause", 2, "SLUG", pause_sending},
    {"resume", 4, "SLUG TOKEN NUMBER", resume},
    {"cancel", 2, "SLUG", cancel},
    {"wait", 2, "SLUG", wait_state},
};

static int
run(struct cli *c)
{
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        if (strcmp(cli_word(c, 0), actions[i].name) != 0)
            continue;
        if (cli_n_words(c) != actions[i].n_words)
            return cli_usage(c, "%s wants %s", actions[i].name, actions[i].wants);
        return actions[i].run(c);
    }
    return cli_usage(c, "there is no broadcast %s", cli_word(c, 0));
}

static const struct cli_flag flags[] = {
    {"name", "TEXT", "create: for people; the slug unless given"},
    {"profile", "SLUG", "create: where its mail leaves"},
    {"segment", "FILE", "create: JSON with the filters; everybody subscribed unless given"},
    {"reason", "TEXT", "pause: why"},
    {"status", "LIST", "wait: for these states; any in which nothing moves unless given"},
    {"timeout", "SECONDS", "wait: at most so long"},
    {"recount", NULL, "show: count the rows anew and compare"},
    {"json", NULL, "show, count: all that the API answers"},
    {NULL, NULL, NULL},
};

const struct cli_command cli_cmd_broadcast = {
    .name = "broadcast",
    .summary = "Make, count, schedule, stop and watch broadcasts.",
    .usage = "list\n"
             "show SLUG [--recount] [--json]\n"
             "create SLUG TEMPLATE [--name TEXT] [--segment FILE] [--profile SLUG]\n"
             "count SLUG\n"
             "schedule SLUG now|TIME TOKEN NUMBER\n"
             "unschedule SLUG\n"
             "pause SLUG [--reason TEXT]\n"
             "resume SLUG TOKEN NUMBER\n"
             "cancel SLUG\n"
             "wait SLUG [--status LIST] [--timeout SECONDS]",
    .flags = flags,
    .min_words = 1,
    .max_words = 5,
    .run = run,
};
