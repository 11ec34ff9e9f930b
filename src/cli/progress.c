/*
 * One line that says how a broadcast gets on. The daemon waits for us (GET .../wait), so an end is seen
 * at once and a slow terminal costs the daemon nothing.
 */
#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "mailshot/exit.h"

#define POLL_MS       500
#define PLAIN_LINE_MS 5000 /* between two lines of a log file or a pipe */
#define LINE_SIZE     160

struct watch {
    bool is_terminal;
    size_t shown; /* width of the line on the terminal, to be blanked */
    int64_t said_at_ms;
};

static int64_t
figure(const struct json *j, const char *name, int64_t fallback)
{
    int64_t value = fallback;

    json_int(json_get(j, name), &value);
    return value;
}

static void
format_line(const struct json *answer, char out[LINE_SIZE])
{
    const struct json *p = json_get(answer, "progress");
    int64_t done = figure(p, "done", 0), total = figure(p, "total", 0);
    int64_t eta_s = figure(p, "etaSeconds", -1);
    char left[48] = "";

    if (eta_s >= 0)
        snprintf(left, sizeof(left), ", about %" PRId64 " s to go", eta_s);
    snprintf(out, LINE_SIZE, "%.*s: %" PRId64 " of %" PRId64 " (%" PRId64 " %%), %.0f per second%s",
        SLICE_FMT(json_str(json_get(json_get(answer, "broadcast"), "status"))), done, total,
        total > 0 ? done * 100 / total : 0, json_num(json_get(p, "perSecond"), 0), left);
}

static void
show(struct watch *w, const struct json *answer, bool is_last)
{
    int64_t now_ms = clock_mono_ms();
    char line[LINE_SIZE];
    size_t n;

    if (!w->is_terminal && !is_last && w->said_at_ms != 0 && now_ms - w->said_at_ms < PLAIN_LINE_MS)
        return;
    format_line(answer, line);
    n = strlen(line);
    if (w->is_terminal)
        fprintf(stderr, "\r%s%*s%s", line, (int)(w->shown > n ? w->shown - n : 0), "",
            is_last ? "\n" : "");
    else
        fprintf(stderr, "%s\n", line);
    w->shown = n;
    w->said_at_ms = now_ms;
}

/* A poll never lasts beyond the caller's own time. */
static int64_t
poll_ms(const struct progress_options *o, int64_t started_ms)
{
    int64_t left_ms = POLL_MS;

    if (o->timeout_ms > 0)
        left_ms = started_ms + o->timeout_ms - clock_mono_ms();
    return left_ms < 0 ? 0 : left_ms < POLL_MS ? left_ms : POLL_MS;
}

static int
ask(struct cli *c, const char *slug, const char *states, int64_t wait_ms, struct json **answer_r)
{
    struct buf target = BUF_INIT;
    int rc;

    buf_append_str(&target, "/agent/broadcasts/");
    cli_escape(&target, slug);
    buf_printf(&target, "/wait?timeoutMs=%" PRId64 "&status=", wait_ms);
    cli_escape(&target, states);
    rc = cli_request(c, "GET", buf_cstr(&target), SLICE_NONE, answer_r);
    buf_deinit(&target);
    return rc;
}

int
progress_watch(
    struct cli *c, const char *slug, const struct progress_options *o, struct json **answer_r)
{
    static const struct progress_options plain = {0};
    struct watch w = {.is_terminal = isatty(STDERR_FILENO) == 1};
    int64_t started_ms = clock_mono_ms();
    struct json *answer = NULL;
    bool is_last = false;

    if (o == NULL)
        o = &plain;
    while (!is_last) {
        int64_t wait_ms = poll_ms(o, started_ms);
        int rc;

        json_free(&answer);
        rc = ask(c, slug, o->states != NULL ? o->states : "sent,paused,cancelled,failed", wait_ms,
            &answer);
        if (rc != EXIT_OK)
            return rc;
        is_last = json_bool(json_get(answer, "reached"), false) ||
                  (o->timeout_ms > 0 && clock_mono_ms() - started_ms >= o->timeout_ms) ||
                  (o->is_over != NULL && o->is_over(o->arg));
        show(&w, answer, is_last);
    }
    *answer_r = answer;
    return EXIT_OK;
}
