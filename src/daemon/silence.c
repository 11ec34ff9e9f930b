/*
 * A look at the wall clock every second. Two looks further apart than a minute or so mean that nobody
 * was at home in between; what counts is how long each broadcast said it would tolerate.
 */
#include "daemon/silence.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "control/run_control.h"
#include "control/run_table.h"
#include "loop/loop.h"

#define LOOK_MS 1000

struct silence {
    struct loop *loop;
    struct store *store;
    struct run_table *runs;
    int64_t default_lateness_ms;
    int64_t seen_ms;
    struct loop_timer *timer;
};

static int64_t
tolerated_ms(const struct silence *s, const struct run_record *r)
{
    return r->max_lateness_ms > 0 ? r->max_lateness_ms : s->default_lateness_ms;
}

static void
park_all(struct silence *s, int64_t gap_ms)
{
    static const struct run_reason why = {.code = PAUSE_MISSED_START,
        .message = "the daemon did not run for longer than this broadcast tolerates",
        .actor = "system:silence"};
    const struct run_record *r;
    size_t it = 0;

    while ((r = run_table_next(s->runs, &it)) != NULL)
        if (r->state == RUN_SENDING && gap_ms > tolerated_ms(s, r))
            run_pause_submit(s->store, s->runs, r->broadcast, &why);
}

static void
on_look(void *arg)
{
    struct silence *s = arg;
    int64_t now = clock_now_ms(), gap_ms = now - s->seen_ms;

    s->timer = loop_timer_start(s->loop, LOOK_MS, on_look, s);
    s->seen_ms = now;
    if (gap_ms < 60 * LOOK_MS)
        return;
    log_warn(NULL, "daemon.silence", "seconds=%lld", (long long)(gap_ms / 1000));
    park_all(s, gap_ms);
}

/* The shortest tolerance there is decides: a mail held back once more than needed is repeated. */
bool
silence_may_commit(void *silence)
{
    const struct silence *s = silence;

    return clock_now_ms() - s->seen_ms < 60 * LOOK_MS;
}

struct silence *
silence_create(
    struct loop *l, struct store *st, struct run_table *runs, int64_t default_lateness_ms)
{
    struct silence *s = mem_zalloc(sizeof(*s));

    s->loop = l;
    s->store = st;
    s->runs = runs;
    s->default_lateness_ms = default_lateness_ms;
    s->seen_ms = clock_now_ms();
    s->timer = loop_timer_start(l, LOOK_MS, on_look, s);
    return s;
}

void
silence_free(struct silence **sp)
{
    struct silence *s = *sp;

    if (s == NULL)
        return;
    loop_timer_cancel(&s->timer);
    mem_free(s);
    *sp = NULL;
}
