#include "sink_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"

/*
 * The sink's script: one rule a line, first match decides. Rules count for themselves how often they
 * were met (every=, times=) and when they first applied (for=), so a script describes a course of
 * events, not just answers.
 */

#define SCRIPT_MAX_BYTES 65536
#define RULES_MAX        200

struct rule {
    enum sink_stage stage;
    char *pattern; /* address, "@domain", or "*" */
    enum sink_action action;
    bool is_greylist;
    char *reply;
    int64_t ms;
    uint64_t after, every, times; /* 0 = not given */
    int64_t for_ms;
    uint64_t n_met, n_used;
    int64_t first_ms;
    struct map_str *seen; /* greylist: address → struct first_seen */
};

struct first_seen {
    int64_t at_ms;
};

struct sink_rules {
    struct rule rules[RULES_MAX];
    size_t n;
    int64_t close_idle_ms;
    unsigned max_sessions;
};

static const char *const stage_words[SINK_STAGES] = {
    "greeting", "ehlo", "auth", "mail", "rcpt", "data", "body", "data-end"};

/* "300s", "20ms", "5" (seconds). */
static bool
parse_duration(struct slice s, int64_t *ms_r)
{
    int64_t unit = 1000;
    uint64_t n;

    if (slice_ends(s, SLICE_LIT("ms"))) {
        unit = 1;
        s.n -= 2;
    } else if (slice_ends(s, SLICE_LIT("s"))) {
        s.n -= 1;
    }
    if (!slice_u64(s, &n) || n > 86400000)
        return false;
    *ms_r = (int64_t)n * unit;
    return true;
}

static bool
next_word(struct slice *line, struct slice *word_r)
{
    *line = slice_trim(*line);
    if (line->n == 0)
        return false;
    return slice_cut(line, ' ', word_r);
}

static char *
copy(struct slice s)
{
    char *p = mem_alloc(s.n + 1);

    memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    return p;
}

/* after=20 every=100 times=3 for=30s; true when `word` is one of them. */
static bool
parse_condition(struct rule *r, struct slice word, bool *ok)
{
    ptrdiff_t eq = slice_find_char(word, '=');
    struct slice key, value;

    if (eq < 0)
        return false;
    key = slice_make(word.p, (size_t)eq);
    value = slice_from(word, (size_t)eq + 1);
    if (slice_eq_str(key, "after"))
        *ok = slice_u64(value, &r->after);
    else if (slice_eq_str(key, "every"))
        *ok = slice_u64(value, &r->every);
    else if (slice_eq_str(key, "times"))
        *ok = slice_u64(value, &r->times);
    else if (slice_eq_str(key, "for"))
        *ok = parse_duration(value, &r->for_ms);
    else
        *ok = false;
    return true;
}

static bool
parse_action(struct rule *r, struct slice rest)
{
    struct slice action = slice_trim(rest), word;
    uint64_t code;

    if (!next_word(&rest, &word))
        return false;
    if (slice_eq_str(word, "drop")) {
        r->action = SINK_DROP;
        return true;
    }
    if (slice_eq_str(word, "stall")) {
        r->action = SINK_STALL;
        return true;
    }
    if (slice_eq_str(word, "trickle") || slice_eq_str(word, "delay") ||
        slice_eq_str(word, "greylist")) {
        r->action = slice_eq_str(word, "trickle") ? SINK_TRICKLE : SINK_DELAY;
        r->is_greylist = slice_eq_str(word, "greylist");
        return next_word(&rest, &word) && parse_duration(word, &r->ms);
    }
    if (!slice_u64(word, &code) || code < 200 || code > 599)
        return false;
    r->action = SINK_REPLY;
    r->reply = copy(action);
    return true;
}

static bool
parse_rule(struct rule *r, struct slice line)
{
    struct slice word;
    bool ok = true;

    do {
        if (!next_word(&line, &word))
            return false;
    } while (parse_condition(r, word, &ok) && ok);
    if (!ok)
        return false;
    for (r->stage = 0; r->stage < SINK_STAGES; r->stage++) {
        if (slice_eq_str(word, stage_words[r->stage]))
            break;
    }
    if (r->stage == SINK_STAGES || !next_word(&line, &word))
        return false;
    r->pattern = copy(word);
    return parse_action(r, line);
}

static bool
parse_line(struct sink_rules *rules, struct slice line)
{
    struct slice all = line, word;
    uint64_t n;

    if (!next_word(&line, &word) || word.p[0] == '#')
        return true;
    if (slice_eq_str(word, "close-idle"))
        return next_word(&line, &word) && parse_duration(word, &rules->close_idle_ms);
    if (slice_eq_str(word, "max-sessions")) {
        if (!next_word(&line, &word) || !slice_u64(word, &n) || n > 100000)
            return false;
        rules->max_sessions = (unsigned)n;
        return true;
    }
    return rules->n < RULES_MAX && parse_rule(&rules->rules[rules->n++], all);
}

struct sink_rules *
sink_rules_load(const char *path)
{
    struct sink_rules *rules = mem_zalloc(sizeof(*rules));
    struct buf text = BUF_INIT;
    struct slice rest, line;
    unsigned number = 0;
    struct err err;

    if (file_read(path, SCRIPT_MAX_BYTES, &text, &err) != 0) {
        fprintf(stderr, "smtp_sink: %s\n", err.text);
        sink_rules_free(&rules);
        return NULL;
    }
    rest = buf_slice(&text);
    while (rules != NULL && slice_cut(&rest, '\n', &line)) {
        number++;
        if (!parse_line(rules, slice_trim(line))) {
            fprintf(stderr, "smtp_sink: %s: line %u is no rule\n", path, number);
            sink_rules_free(&rules);
        }
    }
    buf_deinit(&text);
    return rules;
}

void
sink_rules_free(struct sink_rules **rp)
{
    struct sink_rules *rules = *rp;

    if (rules == NULL)
        return;
    *rp = NULL;
    for (size_t i = 0; i < rules->n; i++) {
        struct rule *r = &rules->rules[i];
        struct slice key;
        size_t it = 0;
        void *value;

        mem_free(r->pattern);
        mem_free(r->reply);
        while (r->seen != NULL && map_str_next(r->seen, &it, &key, &value))
            mem_free(value);
        if (r->seen != NULL)
            map_str_free(&r->seen);
    }
    mem_free(rules);
}

static bool
is_match(const char *pattern, struct slice address)
{
    if (strcmp(pattern, "*") == 0)
        return true;
    if (pattern[0] == '@') {
        ptrdiff_t at = slice_rfind_char(address, '@');

        return at >= 0 && slice_ieq(slice_from(address, (size_t)at), slice_str(pattern));
    }
    return slice_ieq(address, slice_str(pattern));
}

/* Is this address still within the delay since it was first seen? */
static bool
is_grey(struct rule *r, struct slice address, int64_t now_ms)
{
    struct first_seen *f;

    if (r->seen == NULL)
        r->seen = map_str_create();
    if ((f = map_str_get(r->seen, address)) == NULL) {
        f = mem_zalloc(sizeof(*f));
        f->at_ms = now_ms;
        map_str_put(r->seen, address, f);
    }
    return now_ms - f->at_ms < r->ms;
}

static bool
applies(struct rule *r, struct slice address, uint64_t n_mails, int64_t now_ms)
{
    if (!is_match(r->pattern, address) || n_mails < r->after)
        return false;
    if (r->is_greylist)
        return is_grey(r, address, now_ms);
    r->n_met++;
    if ((r->every > 0 && r->n_met % r->every != 0) || (r->times > 0 && r->n_used >= r->times))
        return false;
    if (r->n_used++ == 0)
        r->first_ms = now_ms;
    return r->for_ms == 0 || now_ms - r->first_ms < r->for_ms;
}

struct sink_verdict
sink_rules_ask(struct sink_rules *rules, enum sink_stage stage, struct slice address,
    uint64_t n_mails, int64_t now_ms)
{
    static char grey[128];

    for (size_t i = 0; rules != NULL && i < rules->n; i++) {
        struct rule *r = &rules->rules[i];

        if (r->stage != stage || !applies(r, address, n_mails, now_ms))
            continue;
        if (!r->is_greylist)
            return (struct sink_verdict){r->action, r->reply, r->ms};
        snprintf(grey, sizeof(grey), "451 4.7.1 Greylisted, please try again in %lld seconds",
            (long long)(r->ms / 1000));
        return (struct sink_verdict){SINK_REPLY, grey, 0};
    }
    return (struct sink_verdict){SINK_NORMAL, NULL, 0};
}

int64_t
sink_rules_close_idle_ms(const struct sink_rules *rules)
{
    return rules != NULL ? rules->close_idle_ms : 0;
}

unsigned
sink_rules_max_sessions(const struct sink_rules *rules)
{
    return rules != NULL ? rules->max_sessions : 0;
}
