/* Names of stored numbers: complete, unique, and read back as the number they stand for. */
#include <string.h>

#include "mailshot/states.h"

#include "../support/suite.h"

struct table {
    int n;
    const char *(*name)(int);
    int (*parse)(const char *);
};

static const struct table tables[] = {
    {SEND_STATES, send_state_name, send_state_parse},
    {RUN_STATES, run_state_name, run_state_parse},
    {PAUSE_REASONS, pause_reason_name, pause_reason_parse},
    {EXCL_REASONS, exclusion_reason_name, exclusion_reason_parse},
    {FAIL_CLASSES, send_fail_class_name, NULL},
};

START_TEST(tables_are_complete)
{
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
        const struct table *table = &tables[t];

        ck_assert_ptr_null(table->name(-1));
        ck_assert_ptr_null(table->name(table->n));
        for (int i = 0; i < table->n; i++) {
            ck_assert_ptr_nonnull(table->name(i));
            for (int k = 0; k < i; k++)
                ck_assert_str_ne(table->name(i), table->name(k));
            if (table->parse != NULL)
                ck_assert_int_eq(table->parse(table->name(i)), i);
        }
        if (table->parse != NULL) {
            ck_assert_int_eq(table->parse("no_such_name"), -1);
            ck_assert_int_eq(table->parse(""), -1);
            ck_assert_int_eq(table->parse(NULL), -1);
        }
    }
}
END_TEST

/* Numbers are on disk: these may never change. */
START_TEST(stored_numbers_stay)
{
    ck_assert_str_eq(send_state_name(0), "queued");
    ck_assert_str_eq(send_state_name(9), "unknown");
    ck_assert_str_eq(send_state_name(10), "held");
    ck_assert_str_eq(run_state_name(4), "sent");
    ck_assert_str_eq(pause_reason_name(1), "cap_reached");
    ck_assert_str_eq(pause_reason_name(9), "message_refused");
    ck_assert_str_eq(exclusion_reason_name(8), "suppressed_erasure");
    ck_assert_str_eq(send_fail_class_name(10), "throttled");
}
END_TEST

SUITE_MAIN("states", tables_are_complete, stored_numbers_stay)
