/* Every helper of the template language, by its table of cases. */
#include <check.h>
#include <string.h>

#include "../support/suite.h"
#include "../support/template_world.h"

static const char context[] =
    "{\"s\":\"abc\",\"t\":\"b\",\"n\":3,\"num\":\"3\",\"big\":1234567.8915,\"neg\":-1234.5,"
    "\"zero\":0,"
    "\"half\":0.0005,\"yes\":true,\"no\":false,\"nil\":null,\"empty\":\"\",\"list\":[1,2,\"x\"],"
    "\"obj\":{\"k\":\"v\",\"1\":\"one\"},\"day\":\"2026-05-15\",\"stamp\":\"2026-05-15T23:30:00Z\","
    "\"local\":\"2026-05-15 "
    "23:30:00\",\"offset\":\"2026-05-15T23:30:00+02:00\",\"birth\":\"1931-02-03\","
    "\"bad\":\"2026-02-30\",\"ms\":1778887800000,\"umlaut\":\"Straße éà\",\"cents\":123450,"
    "\"contact\":{\"timezone\":\"Asia/Tokyo\"}}";

static void
check(const struct template_row *rows, size_t n)
{
    struct template_world w;

    template_world_init(&w, context);
    template_world_check(&w, TEMPLATE_TEXT, rows, n);
    template_world_deinit(&w);
}

#define CHECK(rows) check(rows, sizeof rows / sizeof rows[0])

START_TEST(equality_is_strict)
{
    static const struct template_row rows[] = {
        {"{{eq n 3}}{{eq n 3.0}}{{eq s \"abc\"}}{{eq yes true}}{{eq nil null}}{{eq gone "
         "undefined}}",
            "truetruetruetruetruetrue"},
        {"{{eq n num}}{{eq nil gone}}{{eq zero no}}{{eq zero empty}}{{eq list obj}}",
            "falsefalsefalsefalsefalse"},
        {"{{eq list list}}{{ne n 4}}{{ne n 3}}", "truetruefalse"},
    };

    CHECK(rows);
}
END_TEST

START_TEST(order_turns_into_numbers)
{
    static const struct template_row rows[] = {
        {"{{gt n 2}}{{gt 2 n}}{{gt n n}}{{gte n n}}{{lte n n}}{{lt n n}}{{lt 2 n}}",
            "truefalsefalsetruetruefalsetrue"},
        {"{{gt t s}}{{lt s t}}{{gt \"10\" \"9\"}}{{gt \"10\" 9}}", "truetruefalsetrue"},
        {"{{gte nil 0}}{{gte yes 1}}{{lte no 0}}{{lte empty 0}}{{gt num 2}}",
            "truetruetruetruetrue"},
        {"{{gt s 1}}{{lt s 1}}{{gte s 1}}{{lte gone 1}}{{gt list 0}}{{lte gone gone}}",
            "falsefalsefalsefalsefalsefalse"},
    };

    CHECK(rows);
}
END_TEST

START_TEST(logic)
{
    static const struct template_row rows[] = {
        {"{{and}}{{or}}{{and yes n s}}{{and yes zero}}{{or zero no s}}{{or zero no empty}}",
            "truefalsetruefalsetruefalse"},
        {"{{not yes}}{{not gone}}{{not zero}}", "falsetruetrue"},
    };

    CHECK(rows);
}
END_TEST

START_TEST(dates)
{
    static const struct template_row rows[] = {
        {"{{formatDate day}}|{{formatDate day \"long\"}}|{{formatDate day \"short\"}}|{{formatDate "
         "day \"x\"}}",
            "2026-05-15|May 15, 2026|5/15/26|2026-05-15"},
        {"{{formatDate stamp}} {{formatDate local}} {{formatDate offset}} {{formatDate ms}}",
            "2026-05-15 2026-05-15 2026-05-15 2026-05-15"},
        {"{{formatDate stamp tz=\"contact\"}} {{formatDate stamp \"long\" tz=\"Europe/Berlin\"}}",
            "2026-05-16 May 16, 2026"},
        {"{{formatDate stamp tz=gone}} {{formatDate \"2026-01-01T00:30:00Z\" "
         "tz=\"America/New_York\"}}",
            "2026-05-15 2025-12-31"},
        {"{{formatDate birth \"long\"}} {{formatDate \"0999-12-31\"}}",
            "February 3, 1931 0999-12-31"},
        {"[{{formatDate gone}}{{formatDate nil}}{{formatDate empty}}{{formatDate "
         "zero}}{{formatDate no}}"
         "{{formatDate s}}{{formatDate bad}}{{formatDate list}}{{formatDate \"2026-13-01\"}}"
         "{{formatDate \"2026-05-15Tnoon\"}}{{formatDate 99999999999999999}}]",
            "[]"},
    };

    CHECK(rows);
}
END_TEST

START_TEST(numbers)
{
    static const struct template_row rows[] = {
        {"{{formatNumber n}} {{formatNumber big}} {{formatNumber neg}} {{formatNumber num}}",
            "3 1,234,567.892 -1,234.5 3"},
        {"{{formatNumber nil}} {{formatNumber empty}} {{formatNumber yes}} {{formatNumber zero}}",
            "0 0 1 0"},
        {"{{formatNumber half}} {{formatNumber 1.0005}} {{formatNumber 0.00049}} {{formatNumber "
         "999.9995}}",
            "0.001 1.001 0 1,000"},
        {"{{formatNumber 999}} {{formatNumber 1000}} {{formatNumber 100000}} {{formatNumber "
         "9007199254740993}}",
            "999 1,000 100,000 9,007,199,254,740,993"},
        {"[{{formatNumber gone}}{{formatNumber s}}{{formatNumber list}}{{formatNumber obj}}]",
            "[]"},
        {"{{formatNumber \" 1e3 \"}} {{formatNumber \"-.5\"}} [{{formatNumber "
         "\"1x\"}}{{formatNumber \"0x10\"}}]",
            "1,000 -0.5 []"},
    };

    CHECK(rows);
}
END_TEST

START_TEST(money)
{
    static const struct template_row rows[] = {
        {"{{formatCurrency cents}} {{formatCurrency cents \"eur\"}} {{formatCurrency -100}}",
            "$1,234.50 \u20ac1,234.50 -$1.00"},
        {"{{formatCurrency 500 \"JPY\"}} {{formatCurrency 1234 \"kwd\"}} {{formatCurrency -5 "
         "\"CHF\"}}",
            "\u00a5500 KWD\u00a01.234 -CHF\u00a00.05"},
        {"{{formatCurrency 0}} {{formatCurrency nil}} {{formatCurrency 5}} {{formatCurrency 0.5}} "
         "{{formatCurrency 0.4}}",
            "$0.00 $0.00 $0.05 $0.01 $0.00"},
        {"[{{formatCurrency gone}}{{formatCurrency s}}]", "[]"},
    };
    static const struct template_fault faults[] = {
        {"{{formatCurrency 1 \"zzz\"}}", "render_failed", "line 1, column 1: formatCurrency"},
        {"{{formatCurrency 1 \"us\"}}", "render_failed", "line 1, column 1: formatCurrency"},
        {"{{formatCurrency 1 3}}", "render_failed", "line 1, column 1: formatCurrency"},
    };
    struct template_world w;

    CHECK(rows);
    template_world_init(&w, context);
    template_world_check_faults(&w, TEMPLATE_TEXT, faults, sizeof faults / sizeof faults[0]);
    template_world_deinit(&w);
}
END_TEST

START_TEST(words)
{
    static const struct template_row rows[] = {
        {"{{pluralize 1 \"item\" \"items\"}} {{pluralize \"1\" \"item\" \"items\"}} {{pluralize 0 "
         "\"item\" \"items\"}} "
         "{{pluralize gone \"item\" \"items\"}}",
            "item item items items"},
        {"{{default gone \"x\"}}{{default nil \"x\"}}{{default empty \"x\"}}{{default zero "
         "\"x\"}}{{default no \"x\"}}",
            "xxx0false"},
        {"{{truncate umlaut 5}} {{truncate s 3}} {{truncate s 0}} {{truncate n 5}} {{truncate "
         "umlaut 99}}",
            "Stra\u00df\u2026 abc \u2026 3 Stra\u00dfe \u00e9\u00e0"},
        {"{{upper umlaut}} {{lower \"\u00c4\u00d6\u00dc \u0160\u039b\u0416\"}} {{upper "
         "\"\u03bb\u03c2\u0436\u0451\u00ff\"}} {{upper n}}[{{upper gone}}]",
            "STRA\u00dfE \u00c9\u00c0 \u00e4\u00f6\u00fc \u0161\u03bb\u0436 "
            "\u039b\u03a3\u0416\u0401\u0178 3[]"},
        {"{{urlencode \"a b&c=/\u00e9~-_.\"}}", "a%20b%26c%3D%2F%C3%A9~-_."},
        {"{{join list}} {{join list \", \"}} {{join s \"-\"}} {{join list \"\"}}[{{join gone "
         "\",\"}}]",
            "1,2,x 1, 2, x abc 12x[]"},
        {"{{lookup obj \"k\"}}{{lookup obj 1}}{{lookup list 2}}[{{lookup gone \"k\"}}{{lookup obj "
         "gone}}]",
            "vonex[]"},
    };

    CHECK(rows);
}
END_TEST

SUITE_MAIN("template_helpers", equality_is_strict, order_turns_into_numbers, logic, dates, numbers,
    money, words)
