/*
 * Reply classes: the table in code against its twin in docs/replies.md, and real-life replies with what
 * must become of them.
 */
#include <string.h>

#include "../support/suite.h"
#include "base/buf.h"
#include "base/file.h"
#include "transport/reply_class.h"
#include "transport/reply_table.h"
#include "transport/smtp_reply.h"

START_TEST(test_document)
{
    const char *source = getenv("MAILSHOT_SOURCE_DIR");
    struct buf doc = BUF_INIT, row = BUF_INIT;
    struct slice rest, line;
    size_t n_rules, n_rows = 0;
    const struct reply_rule *rules = reply_table(&n_rules);
    char path[600];
    bool is_in_table = false;

    ck_assert_ptr_nonnull(source);
    snprintf(path, sizeof(path), "%s/docs/replies.md", source);
    ck_assert_int_eq(file_read(path, 100000, &doc, NULL), 0);
    rest = buf_slice(&doc);
    while (slice_cut(&rest, '\n', &line)) {
        if (slice_starts(line, SLICE_LIT("|--"))) {
            is_in_table = true;
            continue;
        }
        is_in_table = is_in_table && slice_starts(line, SLICE_LIT("|"));
        if (!is_in_table)
            continue;
        ck_assert_uint_lt(n_rows, n_rules);
        buf_clear(&row);
        reply_table_row_text(&rules[n_rows++], &row);
        ck_assert_msg(slice_starts(line, buf_slice(&row)), "row %zu in docs: %.*s\nin code: %s",
            n_rows, SLICE_FMT(line), buf_cstr(&row));
    }
    ck_assert_uint_eq(n_rows, n_rules);
    buf_deinit(&doc);
    buf_deinit(&row);
}
END_TEST

#define DEFERRED(scope, class)                                                                     \
    TRANSPORT_DEFERRED, TRANSPORT_SCOPE_##scope, FAIL_##class, BOUNCE_NONE, false
#define REFUSED(class) TRANSPORT_REFUSED, TRANSPORT_SCOPE_MAIL, FAIL_##class, BOUNCE_NONE, false
#define DEAD           TRANSPORT_REFUSED, TRANSPORT_SCOPE_MAIL, FAIL_RECIPIENT, BOUNCE_HARD, true
#define FULL           TRANSPORT_REFUSED, TRANSPORT_SCOPE_MAIL, FAIL_MAILBOX_FULL, BOUNCE_SOFT, false

static const struct class_case {
    enum reply_stage stage;
    int code;
    const char *text;
    enum transport_outcome outcome;
    enum transport_scope scope;
    enum send_fail_class fail_class;
    enum bounce_type bounce;
    bool is_suppress;
    int64_t retry_after_ms;
} cases[] = {
    {REPLY_DATA_END, 250, "2.0.0 queued", TRANSPORT_ACCEPTED, TRANSPORT_SCOPE_MAIL, FAIL_NONE,
        BOUNCE_NONE, false, 0},
    /* 4yz is never final */
    {REPLY_GREETING, 421, "too busy", DEFERRED(PROFILE, THROTTLED), 0},
    {REPLY_DATA_END, 421, "4.7.0 closing", DEFERRED(PROFILE, THROTTLED), 0},
    {REPLY_DATA_END, 454, "4.7.0 Throttling failure: Maximum sending rate exceeded",
        DEFERRED(PROFILE, THROTTLED), 0},
    {REPLY_MAIL, 450, "4.7.1 You are sending TOO FAST, slow down", DEFERRED(PROFILE, THROTTLED), 0},
    {REPLY_RCPT, 450, "4.7.1 too much mail from 192.0.2.1", DEFERRED(PROFILE, THROTTLED), 0},
    {REPLY_RCPT, 450, "busy", DEFERRED(DOMAIN, THROTTLED), 0},
    {REPLY_RCPT, 451, "4.7.1 Greylisted, please try again in 300 seconds",
        DEFERRED(DOMAIN, THROTTLED), 300000},
    {REPLY_RCPT, 452, "4.3.1 insufficient storage", DEFERRED(DOMAIN, THROTTLED), 0},
    {REPLY_RCPT, 452, "4.2.2 over quota", DEFERRED(MAIL, MAILBOX_FULL), 0},
    {REPLY_RCPT, 450, "4.2.1 user receives mail too quickly", DEFERRED(MAIL, THROTTLED), 0},
    {REPLY_RCPT, 459, "odd", DEFERRED(MAIL, THROTTLED), 0},
    {REPLY_DATA_END, 451, "local error", DEFERRED(MAIL, THROTTLED), 0},
    {REPLY_DATA, 451, "no room", DEFERRED(MAIL, THROTTLED), 0},
    /* the account */
    {REPLY_AUTH, 454, "4.7.0 no directory", DEFERRED(ACCOUNT, ACCOUNT), 0},
    {REPLY_STARTTLS, 454, "no TLS", DEFERRED(ACCOUNT, ACCOUNT), 0},
    {REPLY_AUTH, 535, "5.7.8 wrong", DEFERRED(ACCOUNT, ACCOUNT), 0},
    {REPLY_AUTH, 534, "5.7.9 too weak", DEFERRED(ACCOUNT, ACCOUNT), 0},
    {REPLY_AUTH, 432, "4.7.12 change your password", DEFERRED(MAIL, THROTTLED), 0},
    {REPLY_MAIL, 530, "5.7.0 authenticate first", DEFERRED(ACCOUNT, ACCOUNT), 0},
    {REPLY_RCPT, 530, "5.7.1 authenticate first", DEFERRED(ACCOUNT, ACCOUNT), 0},
    {REPLY_MAIL, 550, "5.7.1 not your domain", DEFERRED(ACCOUNT, ACCOUNT), 0},
    {REPLY_MAIL, 553, "sender refused", DEFERRED(ACCOUNT, ACCOUNT), 0},
    {REPLY_RCPT, 553, "5.1.8 sender's domain does not exist", DEFERRED(ACCOUNT, ACCOUNT), 0},
    {REPLY_RCPT, 550, "5.1.7 bad sender address", DEFERRED(ACCOUNT, ACCOUNT), 0},
    {REPLY_DATA_END, 550, "5.7.8 who are you", DEFERRED(ACCOUNT, ACCOUNT), 0},
    {REPLY_GREETING, 554, "no service", DEFERRED(ACCOUNT, ACCOUNT), 0},
    {REPLY_EHLO, 550, "bad name", DEFERRED(ACCOUNT, ACCOUNT), 0},
    /* the message */
    {REPLY_MAIL, 552, "too large", REFUSED(MESSAGE), 0},
    {REPLY_MAIL, 550, "5.3.4 too large", REFUSED(MESSAGE), 0},
    {REPLY_DATA_END, 552, "5.3.4 too large", REFUSED(MESSAGE), 0},
    {REPLY_DATA_END, 552, "too large", REFUSED(MESSAGE), 0},
    {REPLY_DATA_END, 550, "5.7.1 spam", REFUSED(MESSAGE), 0},
    {REPLY_RCPT, 550, "5.7.1 policy", REFUSED(MESSAGE), 0},
    {REPLY_RCPT, 554, "5.7.1 relay access denied", REFUSED(MESSAGE), 0},
    {REPLY_DATA_END, 554, "no", REFUSED(MESSAGE), 0},
    {REPLY_RCPT, 554, "no", REFUSED(MESSAGE), 0},
    {REPLY_DATA_END, 550, "5.6.0 not MIME", REFUSED(MESSAGE), 0},
    {REPLY_DATA_END, 550, "no", REFUSED(MESSAGE), 0},
    {REPLY_DATA, 503, "5.5.1 bad sequence", REFUSED(MESSAGE), 0},
    {REPLY_RCPT, 553, "5.6.7 no SMTPUTF8", REFUSED(ADDRESS), 0},
    {REPLY_RCPT, 501, "syntax", REFUSED(ADDRESS), 0},
    /* the recipient */
    {REPLY_RCPT, 550, "5.1.1 No such user here", DEAD, 0},
    {REPLY_RCPT, 550, "no such user", DEAD, 0},
    {REPLY_RCPT, 551, "not local", DEAD, 0},
    {REPLY_RCPT, 553, "bad mailbox name", DEAD, 0},
    {REPLY_RCPT, 556, "5.1.10 null MX", DEAD, 0},
    {REPLY_RCPT, 550, "5.2.1 disabled", DEAD, 0},
    {REPLY_RCPT, 550, "5.4.1 access denied", DEAD, 0},
    {REPLY_DATA_END, 550, "5.1.1 no such user", DEAD, 0},
    {REPLY_RCPT, 552, "full", FULL, 0},
    {REPLY_RCPT, 552, "5.2.2 full", FULL, 0},
    {REPLY_DATA_END, 554, "5.2.2 full", FULL, 0},
    /* no reply, or nonsense */
    {REPLY_CONNECT, 0, "connection refused", DEFERRED(MAIL, NETWORK), 0},
    {REPLY_STARTTLS, 250, "what", DEFERRED(MAIL, NETWORK), 0},
};

START_TEST(test_cases)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct class_case *c = &cases[i];
        struct transport_result r;
        int enhanced = smtp_reply_enhanced(slice_str(c->text));

        reply_classify(c->stage, c->code, enhanced, slice_str(c->text), &r);
        ck_assert_msg(r.outcome == c->outcome && r.scope == c->scope &&
                          r.fail_class == c->fail_class && r.bounce == c->bounce &&
                          r.is_suppress == c->is_suppress && r.retry_after_ms == c->retry_after_ms,
            "%d %s at stage %d: outcome %d scope %d class %s bounce %d suppress %d retry %lld",
            c->code, c->text, c->stage, r.outcome, r.scope, send_fail_class_name(r.fail_class),
            r.bounce, r.is_suppress, (long long)r.retry_after_ms);
        ck_assert_int_eq(r.reply_code, c->code);
        ck_assert_str_eq(r.text, c->text);
    }
}
END_TEST

/* Every reply there can be has a class: nothing but a dead recipient suppresses, and no 4yz is final. */
START_TEST(test_every_reply)
{
    for (int stage = REPLY_CONNECT; stage <= REPLY_DATA_END; stage++) {
        for (int code = 200; code < 600; code++) {
            for (int detail = 0; detail < 800; detail += detail % 100 < 12 ? 1 : 88) {
                int enhanced = detail == 0 ? 0 : code / 100 * 10000 + detail;
                struct transport_result r;
                bool ok;

                reply_classify(stage, code, enhanced, SLICE_LIT("x"), &r);
                ok = code / 100 != 4 || r.outcome == TRANSPORT_DEFERRED;
                ok &=
                    r.outcome != TRANSPORT_ACCEPTED || (code / 100 == 2 && stage == REPLY_DATA_END);
                ok &= !r.is_suppress ||
                      (r.bounce == BOUNCE_HARD && stage >= REPLY_RCPT && code / 100 == 5);
                ok &= r.outcome != TRANSPORT_IN_DOUBT;
                if (!ok)
                    ck_abort_msg("stage %d, %d, %d", stage, code, enhanced);
            }
        }
    }
}
END_TEST

START_TEST(test_text)
{
    char text[1200];
    struct transport_result r;

    reply_classify(REPLY_RCPT, 550, 0, SLICE_LIT("a\nb\tc\x1b[31m\x7f"), &r);
    ck_assert_str_eq(r.text, "a b c [31m ");
    /* Cut at a whole character. */
    memset(text, 'x', sizeof(text));
    memcpy(text + sizeof(r.text) - 2, "\xc3\xa9", 2);
    reply_classify(REPLY_RCPT, 550, 0, slice_make(text, sizeof(text)), &r);
    ck_assert_uint_eq(strlen(r.text), sizeof(r.text) - 2);
}
END_TEST

static const struct {
    const char *text;
    int64_t ms;
} delays[] = {
    {"4.7.1 Greylisted, please try again in 300 seconds", 300000},
    {"Greylisted for 5 minutes", 300000},
    {"please retry after 1 hour", 3600000},
    {"try again in 60s", 60000},
    {"Try again later: 90 sec.", 90000},
    {"come back in 00:04:59", 299000},
    {"Retry-After: 120", 120000},
    {"retry-after=7", 7000},
    {"wait (45 seconds) and try again", 45000},
    {"try again in 2 h", 7200000},
    {"try again in 400 days", 0},
    {"try again in 100 hours", 86400000},
    {"try again in 99999999999999999999999 seconds", 86400000},
    {"limit of 10 messages per minute reached, try again later", 0},
    {"message of 300 seconds", 0},
    {"try again later", 0},
    {"192.0.2.1 deferred, retry in a while", 0},
    {"4.7.1 try again", 0},
    {"mx1 retry in 5 m", 300000},
    {"retry 0 seconds", 0},
    {"", 0},
    {"again", 0},
    {"again 5", 0},
    {"again 1:2", 0},
};

START_TEST(test_delays)
{
    for (size_t i = 0; i < sizeof(delays) / sizeof(delays[0]); i++) {
        int64_t ms = reply_retry_after_ms(slice_str(delays[i].text));

        ck_assert_msg(ms == delays[i].ms, "\"%s\": %lld ms", delays[i].text, (long long)ms);
    }
}
END_TEST

SUITE_MAIN("reply_class", test_document, test_cases, test_every_reply, test_text, test_delays)
