#include <stdbool.h>
#include <string.h>

#include "transport/reply_class.h"

/*
 * Finds the delay that a temporary refusal names in prose: "try again in 300 seconds", "retry after 5
 * minutes", "come back in 00:04:59", "Retry-After: 120". A number counts only with a unit behind it, as
 * a clock of three fields, or right after "retry-after"; and only in a text that speaks of trying again
 * or waiting, so that sizes, addresses and limits ("10 messages per minute") are not taken for delays.
 */

#define DAY_MS INT64_C(86400000)

static const char *const hints[] = {"again", "retry", "wait", "greylist", "graylist", "come back",
    "delay", "deferred for", "blocked for", "later"};

struct unit {
    const char *name;
    int64_t ms;
};

static const struct unit units[] = {{"seconds", 1000}, {"second", 1000}, {"secs", 1000},
    {"sec", 1000}, {"s", 1000}, {"minutes", 60000}, {"minute", 60000}, {"mins", 60000},
    {"min", 60000}, {"m", 60000}, {"hours", 3600000}, {"hour", 3600000}, {"hrs", 3600000},
    {"hr", 3600000}, {"h", 3600000}};

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool
istarts(struct slice s, const char *prefix)
{
    return slice_istarts(s, slice_str(prefix));
}

static bool
has_hint(struct slice text)
{
    for (size_t i = 0; i < text.n; i++) {
        for (size_t k = 0; k < sizeof(hints) / sizeof(hints[0]); k++) {
            if (istarts(slice_from(text, i), hints[k]))
                return true;
        }
    }
    return false;
}

/* Decimal digits at *pos; values above a day's seconds are capped, so nothing overflows. */
static int64_t
number_at(struct slice s, size_t *pos)
{
    int64_t n = 0;

    while (*pos < s.n && is_digit(s.p[*pos])) {
        if (n < DAY_MS)
            n = n * 10 + (s.p[*pos] - '0');
        (*pos)++;
    }
    return n;
}

/* Milliseconds of the unit at the start of `s` as a whole word, 0 = none. */
static int64_t
unit_ms(struct slice s)
{
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        size_t n = strlen(units[i].name);

        if (istarts(s, units[i].name) && (s.n == n || !is_letter(s.p[n])))
            return units[i].ms;
    }
    return 0;
}

/* The delay written at `pos`, where a number starts, 0 = none; `pos` moves behind the number. */
static int64_t
delay_at(struct slice text, size_t *pos, bool is_after_header)
{
    int64_t n = number_at(text, pos), ms;
    size_t p = *pos;

    if (p + 5 < text.n && text.p[p] == ':' && is_digit(text.p[p + 1]) && is_digit(text.p[p + 2]) &&
        text.p[p + 3] == ':' && is_digit(text.p[p + 4]) && is_digit(text.p[p + 5])) {
        *pos += 6;
        return n * 3600000 + ((text.p[p + 1] - '0') * 10 + text.p[p + 2] - '0') * 60000 +
               ((text.p[p + 4] - '0') * 10 + text.p[p + 5] - '0') * 1000;
    }
    while (p < text.n && (text.p[p] == ' ' || text.p[p] == '-'))
        p++;
    if ((ms = unit_ms(slice_from(text, p))) > 0)
        return n * ms;
    return is_after_header ? n * 1000 : 0;
}

/* A number that is part of a word, of an address or of a code is no delay. */
static bool
starts_number(struct slice text, size_t i)
{
    if (!is_digit(text.p[i]))
        return false;
    return i == 0 || text.p[i - 1] == ' ' || text.p[i - 1] == '(' || text.p[i - 1] == '=' ||
           text.p[i - 1] == ':' || text.p[i - 1] == '\n' || text.p[i - 1] == '\t';
}

int64_t
reply_retry_after_ms(struct slice text)
{
    struct slice header = SLICE_LIT("retry-after");
    size_t i = 0, header_end = 0;

    if (!has_hint(text))
        return 0;
    while (i < text.n) {
        if (slice_istarts(slice_from(text, i), header)) {
            i += header.n;
            header_end = i + 2; /* "retry-after: 5", "retry-after=5" */
            continue;
        }
        if (starts_number(text, i)) {
            int64_t ms = delay_at(text, &i, header_end != 0 && i <= header_end);

            if (ms > 0)
                return ms < DAY_MS ? ms : DAY_MS;
            continue;
        }
        i++;
    }
    return 0;
}
