/*
 * The ledger at a terminal: what is read, when it closes, how it is printed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/ledger.h"
#include "support/suite.h"

static const struct sample {
    const char *text;
    bool is_ledger, closes;
    const char *printed; /* NULL = not looked at */
} samples[] = {
    {"{\"matched\":10,\"eligible\":7,\"excluded\":{\"no_consent\":0,\"duplicate_address\":3},"
     "\"states\":{\"queued\":0,\"sent\":6,\"unknown\":1},\"closes\":true}",
        true, true,
        "matched   10 = 7 eligible + 3 duplicate_address\n"
        "eligible  7 = 6 sent + 1 unknown\n"
        "Both equations close.\n"},
    {"{\"matched\":0,\"eligible\":0,\"excluded\":{},\"states\":{},\"closes\":true}", true, true,
        "matched   0 = 0 eligible\n"
        "eligible  0 = 0\n"
        "Both equations close.\n"},
    {"{\"matched\":10,\"eligible\":8,\"excluded\":{\"no_consent\":3},\"states\":{\"sent\":8},"
     "\"closes\":true}",
        true, false,
        "matched   10 = 8 eligible + 3 no_consent\n"
        "eligible  8 = 8 sent\n"
        "THE LEDGER DOES NOT CLOSE.\n"},
    {"{\"matched\":8,\"eligible\":8,\"excluded\":{},\"states\":{\"sent\":7},\"closes\":true}", true,
        false, NULL},
    {"{\"matched\":8,\"eligible\":8,\"excluded\":{},\"states\":{\"sent\":8},\"closes\":false}",
        true, false, NULL},
    {"{\"matched\":8,\"eligible\":8,\"excluded\":{},\"states\":{\"sent\":8}}", true, false, NULL},
    {"{\"matched\":8,\"eligible\":8,\"excluded\":{},\"states\":{\"posted\":8},\"closes\":true}",
        false, false, NULL},
    {"{\"matched\":8,\"eligible\":8,\"excluded\":{},\"states\":{\"sent\":\"8\"},\"closes\":true}",
        false, false, NULL},
    {"{\"matched\":8,\"eligible\":8,\"excluded\":{\"no_consent\":null},\"states\":{\"sent\":8}}",
        false, false, NULL},
    {"{\"eligible\":8,\"excluded\":{},\"states\":{\"sent\":8},\"closes\":true}", false, false,
        NULL},
    {"{\"matched\":8,\"eligible\":8,\"states\":{\"sent\":8},\"closes\":true}", false, false, NULL},
    {"[]", false, false, NULL},
};

#define N_SAMPLES (sizeof(samples) / sizeof(samples[0]))

static struct json *
parse(const char *text)
{
    struct err err = {0};
    struct json *j = json_parse(slice_str(text), 0, 0, &err);

    ck_assert_msg(j != NULL, "%s: %s", text, err.text);
    return j;
}

START_TEST(test_read_and_close)
{
    for (size_t i = 0; i < N_SAMPLES; i++) {
        struct json *j = parse(samples[i].text);
        struct ledger l;

        ck_assert_msg((ledger_read(j, &l) == 0) == samples[i].is_ledger, "%s", samples[i].text);
        if (samples[i].is_ledger)
            ck_assert_msg(ledger_closes(&l) == samples[i].closes, "%s", samples[i].text);
        json_free(&j);
    }
}
END_TEST

START_TEST(test_print)
{
    for (size_t i = 0; i < N_SAMPLES; i++) {
        struct json *j = parse(samples[i].text);
        char *printed = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&printed, &n);

        ck_assert_ptr_nonnull(out);
        ledger_print(j, out);
        fclose(out);
        if (samples[i].printed != NULL)
            ck_assert_str_eq(printed, samples[i].printed);
        else
            ck_assert_ptr_nonnull(strstr(printed, "THE LEDGER DOES NOT CLOSE.\n"));
        free(printed);
        json_free(&j);
    }
}
END_TEST

START_TEST(test_nothing_to_read)
{
    struct ledger l;

    ck_assert_int_eq(ledger_read(NULL, &l), -1);
    ck_assert(!ledger_closes(&(struct ledger){0}));
}
END_TEST

SUITE_MAIN("ledger", test_read_and_close, test_print, test_nothing_to_read)
