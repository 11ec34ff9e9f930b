/* mailshotd contact: what is known about a person. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "mailshot/exit.h"

static int
show(struct cli *c, const char *who)
{
    struct buf target = BUF_INIT;
    struct json *answer = NULL;
    int rc;

    buf_append_str(&target, strchr(who, '@') != NULL ? "/v1/contacts/by-email/" : "/v1/contacts/");
    cli_escape(&target, who);
    if ((rc = cli_request(c, "GET", buf_cstr(&target), SLICE_NONE, &answer)) == EXIT_OK)
        cli_print_json(answer);
    json_free(&answer);
    buf_deinit(&target);
    return rc;
}

static int
run(struct cli *c)
{
    if (strcmp(cli_word(c, 0), "show") == 0)
        return show(c, cli_word(c, 1));
    return cli_usage(c, "show whom?");
}

const struct cli_command cli_cmd_contact = {
    .name = "contact",
    .summary = "What is known about a person: fields, tags, consent.",
    .usage = "show EXTERNAL-ID | ADDRESS",
    .min_words = 2,
    .max_words = 2,
    .run = run,
};
