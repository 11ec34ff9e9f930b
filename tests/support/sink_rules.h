#ifndef SUPPORT_SINK_RULES_H
#define SUPPORT_SINK_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

/** Where in the dialogue a rule applies. */
enum sink_stage {
    SINK_GREETING,
    SINK_EHLO,
    SINK_AUTH,
    SINK_MAIL,
    SINK_RCPT,
    SINK_DATA,
    SINK_BODY,     /* with the first bytes of a message */
    SINK_DATA_END, /* after the final dot */
    SINK_STAGES
};

enum sink_action {
    SINK_NORMAL,  /* no rule matched: answer as a server does */
    SINK_REPLY,   /* `reply` instead; 421 closes afterwards */
    SINK_DROP,    /* close without a reply */
    SINK_STALL,   /* never answer again */
    SINK_TRICKLE, /* the normal reply, one byte every `ms` */
    SINK_DELAY    /* the normal reply after `ms` */
};

struct sink_verdict {
    enum sink_action action;
    const char *reply; /* without CRLF; valid until the rules are loaded again */
    int64_t ms;
};

struct sink_rules;

/** Read a script (syntax: see sink.c). NULL with a line on stderr when it cannot be used. */
struct sink_rules *sink_rules_load(const char *path);
void sink_rules_free(struct sink_rules **r);
/** What to do at `stage` for this address (sender at MAIL, recipient from RCPT on, else empty), when
 * `n_mails` have been accepted so far. `rules` may be NULL. First match decides. */
struct sink_verdict sink_rules_ask(struct sink_rules *rules, enum sink_stage stage,
    struct slice address, uint64_t n_mails, int64_t now_ms);
/** "close-idle": milliseconds after which an idle session is closed, 0 = never. */
int64_t sink_rules_close_idle_ms(const struct sink_rules *rules);
/** "max-sessions": connections above it are answered with 421, 0 = no limit. */
unsigned sink_rules_max_sessions(const struct sink_rules *rules);

#endif
