/* The retry schedule and the way from an answer to the row's next state. */
#include "send/internal.h"
#include "send/retry.h"

#include <string.h>

#include "base/rand.h"
#include "support/suite.h"

#define NOW INT64_C(1800000000000)
#define MIN INT64_C(60000)

START_TEST(delays_double_and_stay_at_an_hour)
{
    static const int minutes[] = {1, 2, 4, 8, 16, 32, 60, 60, 60};

    rand_seed(1);
    for (uint32_t attempt = 1; attempt <= 9; attempt++)
        for (int i = 0; i < 1000; i++) {
            int64_t base = minutes[attempt - 1] * MIN, d = retry_delay_ms(attempt, 0);

            ck_assert_int_ge(d, base * 8 / 10);
            ck_assert_int_le(d, base * 12 / 10);
        }
}
END_TEST

START_TEST(a_named_delay_is_a_floor)
{
    rand_seed(2);
    for (int i = 0; i < 1000; i++) {
        int64_t d = retry_delay_ms(1, 300000);

        ck_assert_int_ge(d, 300000);
        ck_assert_int_lt(d, 60 * MIN); /* greylisting: before an hour is over */
    }
    ck_assert_int_ge(retry_delay_ms(7, 300000), 48 * MIN);
}
END_TEST

START_TEST(a_day_of_planned_delays_expires)
{
    ck_assert(!retry_is_expired(24 * 60));
    ck_assert(retry_is_expired(24 * 60 + 1));
    ck_assert_uint_eq(retry_delay_min(1), 1);
    ck_assert_uint_eq(retry_delay_min(60000), 1);
    ck_assert_uint_eq(retry_delay_min(60001), 2);
}
END_TEST

/* An answer, and what must become of the row. */
static const struct {
    const char *name;
    enum transport_outcome outcome;
    enum transport_scope scope;
    enum send_fail_class fail_class;
    enum bounce_type bounce;
    bool is_suppress;
    int code;
    bool repeat;
    enum send_state to;
    enum send_fail_class stored;
} cases[] = {
    {"accepted", TRANSPORT_ACCEPTED, TRANSPORT_SCOPE_MAIL, FAIL_NONE, BOUNCE_NONE, false, 250,
        false, SEND_SENT, FAIL_NONE},
    {"throttled", TRANSPORT_DEFERRED, TRANSPORT_SCOPE_PROFILE, FAIL_THROTTLED, BOUNCE_NONE, false,
        454, false, SEND_QUEUED, FAIL_THROTTLED},
    {"unknown user", TRANSPORT_REFUSED, TRANSPORT_SCOPE_MAIL, FAIL_RECIPIENT, BOUNCE_HARD, true,
        550, false, SEND_BOUNCED, FAIL_RECIPIENT},
    {"mailbox full", TRANSPORT_REFUSED, TRANSPORT_SCOPE_MAIL, FAIL_MAILBOX_FULL, BOUNCE_SOFT, false,
        552, false, SEND_BOUNCED, FAIL_MAILBOX_FULL},
    {"message refused", TRANSPORT_REFUSED, TRANSPORT_SCOPE_MAIL, FAIL_MESSAGE, BOUNCE_NONE, false,
        552, false, SEND_FAILED, FAIL_MESSAGE},
    {"account refused", TRANSPORT_DEFERRED, TRANSPORT_SCOPE_ACCOUNT, FAIL_ACCOUNT, BOUNCE_NONE,
        false, 535, false, SEND_QUEUED, FAIL_ACCOUNT},
    {"in doubt, left", TRANSPORT_IN_DOUBT, TRANSPORT_SCOPE_MAIL, FAIL_NETWORK, BOUNCE_NONE, false,
        0, false, SEND_UNKNOWN, FAIL_NETWORK},
    {"in doubt, repeated", TRANSPORT_IN_DOUBT, TRANSPORT_SCOPE_MAIL, FAIL_NETWORK, BOUNCE_NONE,
        false, 0, true, SEND_QUEUED, FAIL_NETWORK},
};

START_TEST(answers_become_states)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct job j = {.broadcast = 1, .id = 2, .token = 3, .attempt = 1};
        struct transport_result r = {.outcome = cases[i].outcome,
            .scope = cases[i].scope,
            .fail_class = cases[i].fail_class,
            .bounce = cases[i].bounce,
            .is_suppress = cases[i].is_suppress,
            .reply_code = cases[i].code};

        outcome_fill(&j, &r, cases[i].repeat, NOW);
        ck_assert_msg(j.settle.to == cases[i].to, "%s: state %d", cases[i].name, j.settle.to);
        ck_assert_msg(j.settle.fail_class == cases[i].stored, "%s", cases[i].name);
        ck_assert_msg(j.is_suppress == cases[i].is_suppress, "%s", cases[i].name);
        ck_assert_msg(j.settle.bounce == cases[i].bounce, "%s", cases[i].name);
        ck_assert_uint_eq(j.settle.token, 3);
    }
}
END_TEST

START_TEST(a_refused_account_costs_the_row_nothing)
{
    struct job j = {.attempt = 5, .delay_min = 24 * 60};
    struct transport_result r = {.outcome = TRANSPORT_DEFERRED,
        .scope = TRANSPORT_SCOPE_ACCOUNT,
        .fail_class = FAIL_ACCOUNT,
        .reply_code = 535};

    outcome_fill(&j, &r, false, NOW);
    ck_assert_int_eq(j.settle.to, SEND_QUEUED);
    ck_assert(j.settle.is_uncounted_attempt);
    ck_assert_uint_eq(j.settle.delay_add_min, 0);
    ck_assert_int_eq(j.settle.due_at_ms, NOW);
}
END_TEST

START_TEST(a_row_expires_after_its_day)
{
    struct job j = {.attempt = 20, .delay_min = 24 * 60 - 10};
    struct transport_result r = {.outcome = TRANSPORT_DEFERRED,
        .scope = TRANSPORT_SCOPE_DOMAIN,
        .fail_class = FAIL_THROTTLED,
        .reply_code = 451};

    outcome_fill(&j, &r, false, NOW);
    ck_assert_int_eq(j.settle.to, SEND_FAILED);
    ck_assert_int_eq(j.settle.fail_class, FAIL_EXPIRED);
}
END_TEST

START_TEST(a_session_lost_before_the_mail_goes_again_at_once)
{
    struct job j = {.attempt = 1};
    struct transport_result r = {.outcome = TRANSPORT_DEFERRED, .fail_class = FAIL_NETWORK};

    outcome_fill(&j, &r, false, NOW);
    ck_assert_int_eq(j.settle.to, SEND_QUEUED);
    ck_assert_int_le(j.settle.due_at_ms, NOW + 1000);
    ck_assert_uint_eq(j.settle.delay_add_min, 0);
    j.attempt = 2;
    outcome_fill(&j, &r, false, NOW);
    ck_assert_int_ge(j.settle.due_at_ms, NOW + 90000);
}
END_TEST

SUITE_MAIN("send_outcome", delays_double_and_stay_at_an_hour, a_named_delay_is_a_floor,
    a_day_of_planned_delays_expires, answers_become_states, a_refused_account_costs_the_row_nothing,
    a_row_expires_after_its_day, a_session_lost_before_the_mail_goes_again_at_once)
