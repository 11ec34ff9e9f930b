/*
 * The ledger at a terminal. Sums are made here and not taken from the answer: whoever prints that the
 * equations close has added them up.
 */
#include "cli/ledger.h"

#include <string.h>

#include "base/json.h"

#define STATE_NAME_SIZE 16

static int64_t
figure(const struct json *j, const char *name)
{
    int64_t value = 0;

    json_int(json_get(j, name), &value);
    return value;
}

static bool
is_figure(const struct json *j)
{
    int64_t value;

    return j != NULL && json_int(j, &value);
}

static int
read_state(const struct json *member, struct ledger *l)
{
    struct slice name = json_name(member);
    char name_z[STATE_NAME_SIZE] = "";
    int64_t value;
    int state;

    if (name.n >= sizeof(name_z) || !json_int(member, &value))
        return -1;
    memcpy(name_z, name.p, name.n);
    if ((state = send_state_parse(name_z)) < 0)
        return -1;
    l->states[state] = value;
    l->in_states += value;
    return 0;
}

int
ledger_read(const struct json *j, struct ledger *l_r)
{
    const struct json *excluded = json_get(j, "excluded"), *states = json_get(j, "states");

    *l_r = (struct ledger){0};
    if (!is_figure(json_get(j, "matched")) || !is_figure(json_get(j, "eligible")) ||
        !json_is(excluded, JSON_OBJECT) || !json_is(states, JSON_OBJECT))
        return -1;
    l_r->matched = figure(j, "matched");
    l_r->eligible = figure(j, "eligible");
    for (const struct json *m = json_first(excluded); m != NULL; m = json_next(m)) {
        int64_t value;

        if (!json_int(m, &value))
            return -1;
        l_r->excluded += value;
    }
    for (const struct json *m = json_first(states); m != NULL; m = json_next(m)) {
        if (read_state(m, l_r) != 0)
            return -1;
    }
    l_r->is_closed_by_daemon = json_bool(json_get(j, "closes"), false);
    return 0;
}

bool
ledger_closes(const struct ledger *l)
{
    return l->matched == l->eligible + l->excluded && l->eligible == l->in_states &&
           l->is_closed_by_daemon;
}

/* ---- printing -------------------------------------------------------------------------------- */

/* Summands that are not zero, each behind a "+" unless it is the first. */
static void
print_summands(const struct json *object, bool is_first, FILE *out)
{
    for (const struct json *m = json_first(object); m != NULL; m = json_next(m)) {
        int64_t value = 0;

        if (!json_int(m, &value) || value == 0)
            continue;
        fprintf(
            out, "%s%lld %.*s", is_first ? "" : " + ", (long long)value, SLICE_FMT(json_name(m)));
        is_first = false;
    }
    fprintf(out, "%s\n", is_first ? "0" : "");
}

void
ledger_print_matched(const struct json *j, FILE *out)
{
    fprintf(out, "matched   %lld = %lld eligible", (long long)figure(j, "matched"),
        (long long)figure(j, "eligible"));
    print_summands(json_get(j, "excluded"), false, out);
}

void
ledger_print_eligible(const struct json *j, FILE *out)
{
    fprintf(out, "eligible  %lld = ", (long long)figure(j, "eligible"));
    print_summands(json_get(j, "states"), true, out);
}

void
ledger_print(const struct json *j, FILE *out)
{
    struct ledger l;
    bool closes = ledger_read(j, &l) == 0 && ledger_closes(&l);

    ledger_print_matched(j, out);
    ledger_print_eligible(j, out);
    fputs(closes ? "Both equations close.\n" : "THE LEDGER DOES NOT CLOSE.\n", out);
}
