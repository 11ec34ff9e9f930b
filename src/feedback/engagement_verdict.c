/*
 * The rules, the first that holds decides:
 *
 *   1. the agent names a scanner, a crawler or a library           scanner
 *   2. an open whose agent names an image proxy                     proxy
 *   3. a click among three different links within two seconds       scanner
 *   4. no agent, or only "Mozilla/5.0"                              unknown
 *   5. within ten seconds of sending                                unknown
 *   6. anything else                                                human
 *
 * A person reads before clicking; filters fetch all links of a mail at once, which is why rule 3 needs
 * no list of names. Rule 4 is what prefetching mail programs send.
 */
#include "feedback/engagement_verdict.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"

#define BURST_MS    2000
#define BURST_LINKS 3
#define EARLY_MS    10000

static const char *const verdict_names[] = {
    [ENGAGEMENT_HUMAN] = "human",
    [ENGAGEMENT_PROXY] = "proxy",
    [ENGAGEMENT_SCANNER] = "scanner",
    [ENGAGEMENT_UNKNOWN] = "unknown",
};
#define N_VERDICTS (sizeof(verdict_names) / sizeof(verdict_names[0]))

/* Lower case; found anywhere in the agent. */
static const char *const scanner_words[] = {
    "mimecast",
    "safelinks",
    "proofpoint",
    "barracuda",
    "trendmicro",
    "symantec",
    "fireeye",
    "forcepoint",
    "sophos",
    "headlesschrome",
    "phantomjs",
    "puppeteer",
    "googlebot",
    "bingbot",
    "bingpreview",
    "slurp",
    "duckduckbot",
    "yandexbot",
    "baiduspider",
    "facebookexternalhit",
    "slackbot",
    "twitterbot",
    "linkedinbot",
    "skypeuripreview",
    "curl/",
    "wget/",
    "python-requests",
    "python-urllib",
    "aiohttp",
    "go-http-client",
    "java/",
    "apache-httpclient",
    "okhttp",
    "libwww-perl",
    "node-fetch",
    "axios/",
    "scrapy",
    "crawler",
    "spider",
};
static const char *const proxy_words[] = {
    "googleimageproxy",
    "ggpht.com",
    "yahoomailproxy",
    "yahoocachesystem",
    "imageproxy",
    "image-proxy",
    "mailproxy",
};

const char *
engagement_verdict_name(enum engagement_verdict v)
{
    return (size_t)v < N_VERDICTS ? verdict_names[v] : "unknown";
}

int
engagement_verdict_parse(struct slice name)
{
    for (size_t i = 0; i < N_VERDICTS; i++)
        if (slice_eq_str(name, verdict_names[i]))
            return (int)i;
    return -1;
}

static char
lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool
word_at(struct slice s, const char *word)
{
    size_t i = 0;

    while (i < s.n && word[i] != '\0' && lower(s.p[i]) == word[i])
        i++;
    return word[i] == '\0';
}

static bool
names_one(struct slice agent, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t at = 0; at < agent.n; at++)
            if (word_at(slice_from(agent, at), words[i]))
                return true;
    return false;
}

#define NAMES_ONE(agent, words) names_one(agent, words, sizeof(words) / sizeof((words)[0]))

static bool
is_bare(struct slice agent)
{
    agent = slice_trim(agent);
    return agent.n == 0 || slice_eq_str(agent, "Mozilla/5.0");
}

/* ---- bursts ---------------------------------------------------------------------------------- */

struct click {
    int64_t at_ms;
    uint32_t ordinal;
    size_t event;
};

static int
by_time(const void *a, const void *b)
{
    const struct click *x = a, *y = b;

    return x->at_ms < y->at_ms ? -1 : x->at_ms > y->at_ms;
}

static bool
is_new_link(const struct click *c, size_t from, size_t i)
{
    for (size_t j = from; j < i; j++)
        if (c[j].ordinal == c[i].ordinal)
            return false;
    return true;
}

/* Mark the clicks of every window that starts with a click and holds enough different links. */
static void
mark_bursts(const struct click *c, size_t n, bool *is_burst)
{
    for (size_t from = 0; from < n; from++) {
        size_t links = 0, i;

        for (i = from; i < n && c[i].at_ms - c[from].at_ms <= BURST_MS; i++)
            links += links < BURST_LINKS && is_new_link(c, from, i);
        for (size_t j = from; links >= BURST_LINKS && j < i; j++)
            is_burst[c[j].event] = true;
    }
}

static void
find_bursts(const struct engagement_event *e, size_t n, bool *is_burst)
{
    struct click *clicks = mem_array(n, sizeof(*clicks));
    size_t n_clicks = 0;

    for (size_t i = 0; i < n; i++) {
        is_burst[i] = false;
        if (e[i].kind == ENGAGEMENT_CLICK)
            clicks[n_clicks++] =
                (struct click){.at_ms = e[i].at_ms, .ordinal = e[i].ordinal, .event = i};
    }
    if (n_clicks >= BURST_LINKS) {
        qsort(clicks, n_clicks, sizeof(*clicks), by_time);
        mark_bursts(clicks, n_clicks, is_burst);
    }
    mem_free(clicks);
}

static enum engagement_verdict
judge_one(int64_t sent_at_ms, const struct engagement_event *e, bool is_burst)
{
    if (NAMES_ONE(e->user_agent, scanner_words))
        return ENGAGEMENT_SCANNER;
    if (e->kind == ENGAGEMENT_OPEN && NAMES_ONE(e->user_agent, proxy_words))
        return ENGAGEMENT_PROXY;
    if (is_burst)
        return ENGAGEMENT_SCANNER;
    if (is_bare(e->user_agent))
        return ENGAGEMENT_UNKNOWN;
    if (sent_at_ms != 0 && e->at_ms < sent_at_ms + EARLY_MS)
        return ENGAGEMENT_UNKNOWN;
    return ENGAGEMENT_HUMAN;
}

void
engagement_judge(
    int64_t sent_at_ms, const struct engagement_event *e, size_t n, enum engagement_verdict *out)
{
    bool *is_burst;

    if (n == 0)
        return;
    is_burst = mem_array(n, sizeof(*is_burst));
    find_bursts(e, n, is_burst);
    for (size_t i = 0; i < n; i++)
        out[i] = judge_one(sent_at_ms, &e[i], is_burst[i]);
    mem_free(is_burst);
}
