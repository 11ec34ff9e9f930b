#include "transport/pace.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

/*
 * A token bucket whose rate is `configured` times what the relay lets us. Tokens and the recovery of
 * the rate are brought up to date lazily, from the time that has passed, whenever anybody asks; there is
 * no timer. `limit` is the learnt rate, 0 while there is none.
 *
 * The mails of the last whole second are counted: a throttle reply halves what really went when there is
 * no rate, or when the rate is so far above it that halving it would change nothing.
 */

#define HALVE_AT_MOST_EVERY_MS 1000
#define RECOVER_PER_SECOND     0.05
#define HOLD_MAX_MS            300000
#define RATE_MIN               0.1
#define FORGET_FACTOR          4.0
#define IDLE_RATE_FACTOR       10.0 /* a rate so many times what is sent limits nothing */

struct pace {
    double configured;  /* 0 = unlimited */
    unsigned burst_set; /* 0 = derived from the rate */
    double limit;       /* learnt, 0 = none */
    double reference;   /* what recovery and forgetting are measured by */
    double tokens;
    int64_t updated_ms;
    int64_t hold_until_ms;
    int64_t halved_ms; /* last halving, INT64_MIN/2 = never */
    /* mails per second, measured */
    int64_t second;
    unsigned in_second, last_second;
};

static double
rate_now(const struct pace *p)
{
    return p->limit > 0 ? p->limit : p->configured;
}

static double
burst_now(const struct pace *p)
{
    double rate = rate_now(p), burst = p->burst_set > 0 ? p->burst_set : rate / 5;

    return burst < 1 ? 1 : burst;
}

/* Let the learnt limit rise for `seconds` and forget it when it no longer limits. */
static void
recover(struct pace *p, double seconds)
{
    double ceiling = p->reference * FORGET_FACTOR;

    if (p->limit <= 0)
        return;
    if (p->configured > 0 && p->configured < ceiling)
        ceiling = p->configured;
    p->limit += p->reference * RECOVER_PER_SECOND * seconds;
    if (p->limit >= ceiling)
        p->limit = 0;
}

static void
update(struct pace *p)
{
    int64_t now_ms = clock_mono_ms();
    double passed = (double)(now_ms - p->updated_ms) / 1000;
    double quiet = (double)(now_ms - p->halved_ms - HALVE_AT_MOST_EVERY_MS) / 1000;

    if (passed <= 0)
        return;
    p->updated_ms = now_ms;
    p->tokens = fmin(burst_now(p), p->tokens + rate_now(p) * passed);
    recover(p, quiet < passed ? fmax(quiet, 0) : passed);
}

static void
count_mail(struct pace *p)
{
    int64_t second = clock_mono_ms() / 1000;

    if (second != p->second) {
        p->last_second = second == p->second + 1 ? p->in_second : 0;
        p->second = second;
        p->in_second = 0;
    }
    p->in_second++;
}

struct pace *
pace_create(double per_second, unsigned burst)
{
    struct pace *p = mem_zalloc(sizeof(*p));

    p->configured = p->reference = per_second;
    p->burst_set = burst;
    p->updated_ms = clock_mono_ms();
    p->halved_ms = INT64_MIN / 2;
    p->tokens = burst_now(p);
    return p;
}

void
pace_free(struct pace **p)
{
    mem_free(*p);
    *p = NULL;
}

void
pace_set_rate(struct pace *p, double per_second)
{
    update(p);
    p->configured = per_second;
    if (per_second > 0)
        p->reference = per_second;
    if (per_second > 0 && p->limit >= per_second)
        p->limit = 0;
    p->tokens = fmin(p->tokens, burst_now(p));
}

int64_t
pace_take(struct pace *p, enum send_lane lane)
{
    int64_t now_ms = clock_mono_ms();
    double rate, floor_tokens, missing;

    if (now_ms < p->hold_until_ms)
        return p->hold_until_ms - now_ms;
    update(p);
    rate = rate_now(p);
    if (rate <= 0) {
        count_mail(p);
        return 0;
    }
    floor_tokens = lane == LANE_IMMEDIATE ? -rate : 0;
    missing = 1 + floor_tokens - p->tokens;
    if (missing > 1e-9)
        return (int64_t)ceil(missing / rate * 1000);
    p->tokens -= 1;
    count_mail(p);
    return 0;
}

void
pace_untake(struct pace *p)
{
    if (p->in_second > 0)
        p->in_second--;
    p->tokens = fmin(p->tokens + 1, burst_now(p));
}

void
pace_throttled(struct pace *p, int64_t retry_after_ms)
{
    int64_t now_ms = clock_mono_ms();
    unsigned measured = p->in_second > p->last_second ? p->in_second : p->last_second;
    double before = rate_now(p);

    update(p);
    if (retry_after_ms > HOLD_MAX_MS)
        retry_after_ms = HOLD_MAX_MS;
    if (now_ms + retry_after_ms > p->hold_until_ms)
        p->hold_until_ms = now_ms + retry_after_ms;
    if (now_ms - p->halved_ms < HALVE_AT_MOST_EVERY_MS)
        return;
    p->halved_ms = now_ms;
    if (before <= 0)
        before = p->reference = measured > 1 ? measured : 1;
    else if (p->limit <= 0 && measured > 0 && before > measured * IDLE_RATE_FACTOR)
        before = p->reference = measured;
    p->limit = fmax(before / 2, RATE_MIN);
    p->tokens = fmin(p->tokens, 0);
}

double
pace_rate(const struct pace *p)
{
    return rate_now(p);
}

bool
pace_is_limited(const struct pace *p)
{
    return p->limit > 0 || clock_mono_ms() < p->hold_until_ms;
}
