/* mailshotd token: credentials of agents and applications. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "mailshot/exit.h"

#define TOKENS "/admin/tokens"

/* The token goes to stdout alone, so that a script can keep it; it is shown this one time. */
static int
create(struct cli *c)
{
    const char *scopes = cli_value(c, "scopes");
    struct slice rest = slice_str(scopes != NULL ? scopes : "read"), scope;
    struct buf body = BUF_INIT;
    struct json *answer = NULL;
    struct json_writer w;
    int rc;

    if (cli_word(c, 1) == NULL)
        return cli_usage(c, "a token needs a label, such as agent:deploy-bot");
    jw_init(&w, &body);
    jw_obj(&w, NULL);
    jw_cstr(&w, "actor", cli_word(c, 1));
    jw_arr(&w, "scopes");
    while (slice_cut(&rest, ',', &scope))
        jw_str(&w, NULL, slice_trim(scope));
    jw_end_arr(&w);
    jw_end_obj(&w);
    if ((rc = cli_request(c, "POST", TOKENS, buf_slice(&body), &answer)) == EXIT_OK) {
        printf("%.*s\n", SLICE_FMT(json_str(json_get(answer, "token"))));
        fprintf(stderr, "Token %.*s; it is not shown again.\n",
            SLICE_FMT(json_str(json_get(answer, "id"))));
    }
    json_free(&answer);
    buf_deinit(&body);
    return rc;
}

static void
print_token(const struct json *t)
{
    const struct json *scopes = json_get(t, "scopes");
    struct slice revoked = json_str(json_get(t, "revokedAt"));

    printf("%.*s  %-32.*s ", SLICE_FMT(json_str(json_get(t, "id"))),
        SLICE_FMT(json_str(json_get(t, "actor"))));
    for (const struct json *s = json_first(scopes); s != NULL; s = json_next(s))
        printf("%.*s%s", SLICE_FMT(json_str(s)), json_next(s) != NULL ? "," : "");
    if (revoked.n > 0)
        printf("  revoked %.*s", SLICE_FMT(revoked));
    putchar('\n');
}

static int
list(struct cli *c)
{
    struct json *answer = NULL;
    int rc = cli_request(c, "GET", TOKENS, SLICE_NONE, &answer);

    if (rc != EXIT_OK)
        return rc;
    for (const struct json *t = json_first(json_get(answer, "items")); t != NULL; t = json_next(t))
        print_token(t);
    json_free(&answer);
    return EXIT_OK;
}

static int
revoke(struct cli *c)
{
    struct buf target = BUF_INIT;
    int rc;

    if (cli_word(c, 1) == NULL)
        return cli_usage(c, "which token? \"mailshotd token list\" shows their ids");
    buf_append_str(&target, TOKENS "/");
    cli_escape(&target, cli_word(c, 1));
    rc = cli_request(c, "DELETE", buf_cstr(&target), SLICE_NONE, NULL);
    if (rc == EXIT_OK)
        printf("revoked\n");
    buf_deinit(&target);
    return rc;
}

static int
run(struct cli *c)
{
    if (strcmp(cli_word(c, 0), "create") == 0)
        return create(c);
    if (strcmp(cli_word(c, 0), "list") == 0 && cli_n_words(c) == 1)
        return list(c);
    if (strcmp(cli_word(c, 0), "revoke") == 0)
        return revoke(c);
    return cli_usage(c, "create, list or revoke?");
}

static const struct cli_flag flags[] = {
    {"scopes", "LIST", "read, test, templates, broadcasts, contacts, admin; parted by commas"},
    {NULL, NULL, NULL},
};

const struct cli_command cli_cmd_token = {
    .name = "token",
    .summary = "Make, list and revoke the tokens of agents and applications.",
    .usage = "create LABEL [--scopes read,broadcasts]\nlist\nrevoke ID",
    .flags = flags,
    .min_words = 1,
    .max_words = 2,
    .run = run,
};
