/* mailshotd db: look after the database. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "mailshot/exit.h"

static int
check(struct cli *c)
{
    struct json *answer = NULL;
    const struct json *problems;
    int64_t broadcasts = 0;
    int rc = cli_request(c, "POST", "/admin/db/check", SLICE_NONE, &answer);

    if (rc != EXIT_OK)
        return rc;
    problems = json_get(answer, "problems");
    for (const struct json *p = json_first(problems); p != NULL; p = json_next(p))
        printf("%.*s\n", SLICE_FMT(json_str(p)));
    json_int(json_get(answer, "broadcasts"), &broadcasts);
    if (json_first(problems) != NULL)
        rc = EXIT_UNHEALTHY;
    else
        printf(
            "ok: pages, documents and indexes; %lld broadcasts recounted\n", (long long)broadcasts);
    json_free(&answer);
    return rc;
}

/* {"collection": ..., "filter": {...}?, "limit": n} */
static int
query(struct cli *c)
{
    struct buf body = BUF_INIT;
    struct json *filter = NULL, *answer = NULL;
    struct json_writer w;
    struct err err = {0};
    int64_t limit = 20;
    int rc;

    if ((rc = cli_number(c, "limit", 1, 500, &limit)) != EXIT_OK)
        return rc;
    if (cli_word(c, 1) == NULL)
        return cli_usage(c, "which collection?");
    if (cli_word(c, 2) != NULL &&
        (filter = json_parse(slice_str(cli_word(c, 2)), 0, 0, &err)) == NULL)
        return cli_fail(&err);
    jw_init(&w, &body);
    jw_obj(&w, NULL);
    jw_cstr(&w, "collection", cli_word(c, 1));
    if (filter != NULL)
        jw_json(&w, "filter", filter);
    jw_int(&w, "limit", limit);
    jw_end_obj(&w);
    rc = cli_request(c, "POST", "/admin/db/query", buf_slice(&body), &answer);
    if (rc == EXIT_OK)
        cli_print_json(answer);
    json_free(&filter);
    json_free(&answer);
    buf_deinit(&body);
    return rc;
}

static int
run(struct cli *c)
{
    if (strcmp(cli_word(c, 0), "check") == 0 && cli_n_words(c) == 1)
        return check(c);
    if (strcmp(cli_word(c, 0), "query") == 0)
        return query(c);
    return cli_usage(c, "check or query?");
}

static const struct cli_flag flags[] = {
    {"limit", "N", "documents to print, 20 unless given, at most 500"},
    {NULL, NULL, NULL},
};

const struct cli_command cli_cmd_db = {
    .name = "db",
    .summary = "Check the database and the books of all broadcasts, or print documents that meet a "
               "filter.",
    .usage = "check\nquery COLLECTION [FILTER] [--limit N]",
    .flags = flags,
    .min_words = 1,
    .max_words = 3,
    .run = run,
};
