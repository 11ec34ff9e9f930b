#include "feedback/engagement_verdict.h"
#include "support/suite.h"

#define SENT    INT64_C(1760000000000)
#define PHONE   "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Safari/604.1"
#define GOOGLE  "Mozilla/5.0 (Windows NT 5.1) Gecko (via ggpht.com GoogleImageProxy)"
#define MINUTE  60000
#define OPEN    ENGAGEMENT_OPEN
#define CLICK   ENGAGEMENT_CLICK
#define HUMAN   ENGAGEMENT_HUMAN
#define PROXY   ENGAGEMENT_PROXY
#define SCANNER ENGAGEMENT_SCANNER
#define UNKNOWN ENGAGEMENT_UNKNOWN

struct one {
    enum engagement_kind kind;
    uint32_t ordinal;
    int64_t after_ms; /* after sending */
    const char *agent;
    enum engagement_verdict want;
};

static void
judge(const char *what, int64_t sent_at_ms, const struct one *rows, size_t n)
{
    struct engagement_event e[32];
    enum engagement_verdict got[32];

    ck_assert_uint_le(n, 32);
    for (size_t i = 0; i < n; i++)
        e[i] = (struct engagement_event){.kind = rows[i].kind,
            .ordinal = rows[i].ordinal,
            .at_ms = SENT + rows[i].after_ms,
            .user_agent = slice_str(rows[i].agent)};
    engagement_judge(sent_at_ms, e, n, got);
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(got[i] == rows[i].want, "%s, event %zu: %s, wanted %s", what, i,
            engagement_verdict_name(got[i]), engagement_verdict_name(rows[i].want));
}
#define JUDGE(what, sent, rows) judge(what, sent, rows, sizeof(rows) / sizeof((rows)[0]))

/* One mail with six links: an image proxy, a filter that takes all links, a prefetch, a person. */
START_TEST(machines_and_a_person)
{
    static const struct one rows[] = {
        {CLICK, 3, 40 * MINUTE, PHONE, HUMAN}, /* not in order of time */
        {OPEN, 0, 3000, GOOGLE, PROXY},
        {CLICK, 0, 4000, PHONE, SCANNER},
        {CLICK, 1, 4100, PHONE, SCANNER},
        {CLICK, 2, 4300, PHONE, SCANNER},
        {CLICK, 3, 4500, PHONE, SCANNER},
        {CLICK, 4, 4700, PHONE, SCANNER},
        {CLICK, 5, 4900, PHONE, SCANNER},
        {OPEN, 0, 5000, "Mozilla/5.0", UNKNOWN},
    };

    JUDGE("machines", SENT, rows);
}
END_TEST

START_TEST(alone)
{
    static const struct one rows[] = {
        {OPEN, 0, MINUTE, PHONE, HUMAN}, {OPEN, 0, MINUTE, "", UNKNOWN},
        {OPEN, 0, MINUTE, "  Mozilla/5.0 ", UNKNOWN}, {OPEN, 0, 9999, PHONE, UNKNOWN},
        {OPEN, 0, 10000, PHONE, HUMAN}, {OPEN, 0, -5, PHONE, UNKNOWN},
        {OPEN, 0, MINUTE, GOOGLE, PROXY},
        {OPEN, 0, MINUTE, "YahooMailProxy; https://help.yahoo.com", PROXY},
        {CLICK, 0, MINUTE, GOOGLE, HUMAN}, /* an image proxy follows no links: whoever that is */
        {CLICK, 0, MINUTE, "", UNKNOWN}, {CLICK, 0, MINUTE, "Mozilla/5.0 PROOFPOINT scan", SCANNER},
        {CLICK, 0, MINUTE, "Mozilla/5.0 (X11) HeadlessChrome/120", SCANNER},
        {CLICK, 0, MINUTE, "python-requests/2.31", SCANNER},
        {CLICK, 0, MINUTE, "curl/8.0", SCANNER},
        {OPEN, 0, MINUTE, "Mozilla/5.0 (compatible; Googlebot/2.1)", SCANNER},
        {CLICK, 0, MINUTE, "curl", HUMAN}, /* a word is found whole */
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        judge(rows[i].agent, SENT, &rows[i], 1);
}
END_TEST

START_TEST(bursts)
{
    static const struct one two[] = {
        {CLICK, 0, MINUTE, PHONE, HUMAN}, {CLICK, 1, MINUTE + 500, PHONE, HUMAN}};
    static const struct one same[] = {{CLICK, 0, MINUTE, PHONE, HUMAN},
        {CLICK, 0, MINUTE + 300, PHONE, HUMAN}, {CLICK, 0, MINUTE + 600, PHONE, HUMAN},
        {CLICK, 0, MINUTE + 900, PHONE, HUMAN}};
    static const struct one edge[] = {{CLICK, 0, MINUTE, PHONE, SCANNER},
        {CLICK, 1, MINUTE + 1000, PHONE, SCANNER}, {CLICK, 2, MINUTE + 2000, PHONE, SCANNER}};
    static const struct one slow[] = {{CLICK, 0, MINUTE, PHONE, HUMAN},
        {CLICK, 1, MINUTE + 1000, PHONE, HUMAN}, {CLICK, 2, MINUTE + 2001, PHONE, HUMAN}};
    static const struct one opens[] = {{OPEN, 0, MINUTE, PHONE, HUMAN},
        {OPEN, 1, MINUTE, PHONE, HUMAN}, {OPEN, 2, MINUTE, PHONE, HUMAN}};

    JUDGE("two links", SENT, two);
    JUDGE("one link again and again", SENT, same);
    JUDGE("just within the window", SENT, edge);
    JUDGE("just outside", SENT, slow);
    JUDGE("opens are no burst", SENT, opens);
}
END_TEST

START_TEST(time_of_sending_unknown)
{
    static const struct one rows[] = {{OPEN, 0, 1, PHONE, HUMAN}};

    JUDGE("no time", 0, rows);
    engagement_judge(SENT, NULL, 0, NULL);
}
END_TEST

START_TEST(names)
{
    for (int v = ENGAGEMENT_HUMAN; v <= ENGAGEMENT_UNKNOWN; v++)
        ck_assert_int_eq(engagement_verdict_parse(
                             slice_str(engagement_verdict_name((enum engagement_verdict)v))),
            v);
    ck_assert_int_eq(engagement_verdict_parse(SLICE_LIT("robot")), -1);
    ck_assert_int_eq(engagement_verdict_parse(SLICE_NONE), -1);
}
END_TEST

SUITE_MAIN(
    "engagement_verdict", machines_and_a_person, alone, bursts, time_of_sending_unknown, names)
