#include "transport/reply_table.h"

/*
 * The table of reply classes as data. It has a twin in docs/replies.md, which says why; a test renders
 * each row and compares. 4yz is never final (RFC 5321 §4.2.1). What concerns the sender's account
 * stands before what concerns a recipient, so that a broken account never suppresses anybody.
 */

#define S(stage) (1u << REPLY_##stage)
#define ANY      0x1ffu
#define SETUP    (S(CONNECT) | S(GREETING) | S(EHLO) | S(STARTTLS) | S(AUTH))
#define BODY     (S(DATA) | S(DATA_END))
#define RCPT_ON  (S(RCPT) | BODY)

#define E(class, subject, detail) ((class) * 10000 + (subject)*100 + (detail))
#define ENH(c, s, d)              E(c, s, d), E(c, s, d)
#define ENH_X(c, s)               E(c, s, 0), E(c, s, 99)
#define NO_ENH                    0, 0
#define CODE(c)                   (c), (c)
#define YZ(c)                     (c) * 100, (c)*100 + 99

#define DEFER(scope, class)                                                                        \
    TRANSPORT_DEFERRED, TRANSPORT_SCOPE_##scope, FAIL_##class, BOUNCE_NONE, false
#define REFUSE(class) TRANSPORT_REFUSED, TRANSPORT_SCOPE_MAIL, FAIL_##class, BOUNCE_NONE, false
#define DEAD          TRANSPORT_REFUSED, TRANSPORT_SCOPE_MAIL, FAIL_RECIPIENT, BOUNCE_HARD, true
#define FULL          TRANSPORT_REFUSED, TRANSPORT_SCOPE_MAIL, FAIL_MAILBOX_FULL, BOUNCE_SOFT, false

static const struct reply_rule rules[] = {
    {S(DATA_END), YZ(2), NO_ENH, false, TRANSPORT_ACCEPTED, TRANSPORT_SCOPE_MAIL, FAIL_NONE,
        BOUNCE_NONE, false},
    /* not now */
    {ANY, CODE(421), NO_ENH, false, DEFER(PROFILE, THROTTLED)},
    {S(STARTTLS) | S(AUTH), CODE(454), NO_ENH, false, DEFER(ACCOUNT, ACCOUNT)},
    {RCPT_ON, YZ(4), ENH(4, 2, 2), false, DEFER(MAIL, MAILBOX_FULL)},
    {RCPT_ON, YZ(4), ENH(4, 2, 1), false, DEFER(MAIL, THROTTLED)},
    {ANY, YZ(4), NO_ENH, true, DEFER(PROFILE, THROTTLED)},
    {S(RCPT), 450, 452, NO_ENH, false, DEFER(DOMAIN, THROTTLED)},
    {ANY, YZ(4), NO_ENH, false, DEFER(MAIL, THROTTLED)},
    /* the account */
    {ANY, CODE(530), NO_ENH, false, DEFER(ACCOUNT, ACCOUNT)},
    {ANY, CODE(535), NO_ENH, false, DEFER(ACCOUNT, ACCOUNT)},
    {ANY, YZ(5), E(5, 7, 8), E(5, 7, 9), false, DEFER(ACCOUNT, ACCOUNT)},
    {ANY, YZ(5), ENH(5, 7, 11), false, DEFER(ACCOUNT, ACCOUNT)},
    {SETUP, YZ(5), NO_ENH, false, DEFER(ACCOUNT, ACCOUNT)},
    {RCPT_ON, YZ(5), E(5, 1, 7), E(5, 1, 8), false, DEFER(ACCOUNT, ACCOUNT)},
    /* the message */
    {ANY, YZ(5), ENH(5, 6, 7), false, REFUSE(ADDRESS)},
    {ANY, YZ(5), ENH_X(5, 6), false, REFUSE(MESSAGE)},
    {ANY, YZ(5), ENH(5, 3, 4), false, REFUSE(MESSAGE)},
    {ANY, YZ(5), ENH(5, 2, 3), false, REFUSE(MESSAGE)},
    {S(MAIL), CODE(552), NO_ENH, false, REFUSE(MESSAGE)},
    {S(MAIL), YZ(5), NO_ENH, false, DEFER(ACCOUNT, ACCOUNT)},
    {RCPT_ON, YZ(5), ENH_X(5, 7), false, REFUSE(MESSAGE)},
    /* the recipient */
    {RCPT_ON, YZ(5), ENH_X(5, 1), false, DEAD},
    {RCPT_ON, YZ(5), ENH(5, 2, 1), false, DEAD},
    {RCPT_ON, YZ(5), ENH(5, 2, 2), false, FULL},
    {S(RCPT), 550, 551, NO_ENH, false, DEAD},
    {S(RCPT), CODE(553), NO_ENH, false, DEAD},
    {S(RCPT), CODE(556), NO_ENH, false, DEAD},
    {S(RCPT), CODE(552), NO_ENH, false, FULL},
    {S(RCPT), CODE(501), NO_ENH, false, REFUSE(ADDRESS)},
    {RCPT_ON, YZ(5), NO_ENH, false, REFUSE(MESSAGE)},
    /* no reply, or one that makes no sense here */
    {ANY, NO_ENH, NO_ENH, false, DEFER(MAIL, NETWORK)},
};

static const char *const stage_names[] = {
    "connect", "greeting", "EHLO", "STARTTLS", "AUTH", "MAIL", "RCPT", "DATA", "data end"};
static const char *const outcome_names[] = {"accepted", "deferred", "refused", "in doubt"};
static const char *const scope_names[] = {"mail", "domain", "profile", "account"};
static const char *const bounce_names[] = {"–", "hard", "soft"};

const struct reply_rule *
reply_table(size_t *n_r)
{
    *n_r = sizeof(rules) / sizeof(rules[0]);
    return rules;
}

static void
append_stages(unsigned stages, struct buf *out)
{
    const char *separator = "";

    if (stages == ANY) {
        buf_append_str(out, "any");
        return;
    }
    for (unsigned i = 0; i <= REPLY_DATA_END; i++) {
        if (!(stages & 1u << i))
            continue;
        buf_printf(out, "%s%s", separator, stage_names[i]);
        separator = ", ";
    }
}

static void
append_code(const struct reply_rule *r, struct buf *out)
{
    if (r->code_max == 0)
        buf_append_str(out, "any");
    else if (r->code_min == r->code_max)
        buf_printf(out, "%d", r->code_min);
    else if (r->code_min % 100 == 0 && r->code_max % 100 == 99)
        buf_printf(out, "%dyz", r->code_min / 100);
    else
        buf_printf(out, "%d–%d", r->code_min, r->code_max);
}

static void
append_enhanced(const struct reply_rule *r, struct buf *out)
{
    int c = r->enhanced_min / 10000, s = r->enhanced_min / 100 % 100;
    int from = r->enhanced_min % 100, to = r->enhanced_max % 100;

    if (r->enhanced_max == 0)
        buf_append_str(out, "any");
    else if (from == to)
        buf_printf(out, "%d.%d.%d", c, s, from);
    else if (from == 0 && to == 99)
        buf_printf(out, "%d.%d.x", c, s);
    else
        buf_printf(out, "%d.%d.%d–%d", c, s, from, to);
}

void
reply_table_row_text(const struct reply_rule *rule, struct buf *out)
{
    const char *class = send_fail_class_name(rule->fail_class);

    buf_append_str(out, "| ");
    append_stages(rule->stages, out);
    buf_append_str(out, " | ");
    append_code(rule, out);
    buf_append_str(out, " | ");
    append_enhanced(rule, out);
    buf_printf(out, " | %s | %s | %s | %s | %s | %s |",
        rule->is_throttle_text ? "throttling" : "any", outcome_names[rule->outcome],
        scope_names[rule->scope], rule->fail_class == FAIL_NONE ? "–" : class,
        bounce_names[rule->bounce], rule->is_suppress ? "yes" : "no");
}
