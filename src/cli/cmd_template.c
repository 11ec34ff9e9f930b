/* mailshotd template: publish and list templates. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "mailshot/exit.h"

#define TEMPLATES "/agent/templates"

static int64_t
live_version(const struct json *answer)
{
    int64_t version = 0;

    json_int(json_get(answer, "version"), &version);
    return version;
}

static int
put(struct cli *c)
{
    struct buf target = BUF_INIT, body = BUF_INIT;
    struct json *answer = NULL;
    int rc;

    if (cli_n_words(c) != 3)
        return cli_usage(c, "put wants a slug and a file");
    buf_append_str(&target, TEMPLATES "/");
    cli_escape(&target, cli_word(c, 1));
    if ((rc = cli_read_json(cli_word(c, 2), &body)) == EXIT_OK &&
        (rc = cli_request(c, "PUT", buf_cstr(&target), buf_slice(&body), &answer)) == EXIT_OK)
        printf("%s version %" PRId64 " published\n", cli_word(c, 1), live_version(answer));
    json_free(&answer);
    buf_deinit(&body);
    buf_deinit(&target);
    return rc;
}

static int
show(struct cli *c)
{
    struct buf target = BUF_INIT;
    struct json *answer = NULL;
    int rc;

    if (cli_n_words(c) != 2)
        return cli_usage(c, "which template? \"mailshotd template list\" names them");
    buf_append_str(&target, TEMPLATES "/");
    cli_escape(&target, cli_word(c, 1));
    if ((rc = cli_request(c, "GET", buf_cstr(&target), SLICE_NONE, &answer)) == EXIT_OK)
        cli_print_json(answer);
    json_free(&answer);
    buf_deinit(&target);
    return rc;
}

static void
print_template(const struct json *t)
{
    printf("%-24.*s %-13.*s version %-4" PRId64 " %.*s\n", SLICE_FMT(json_str(json_get(t, "slug"))),
        SLICE_FMT(json_str(json_get(t, "kind"))), live_version(t),
        SLICE_FMT(json_str(json_get(t, "name"))));
}

static int
run(struct cli *c)
{
    if (strcmp(cli_word(c, 0), "put") == 0)
        return put(c);
    if (strcmp(cli_word(c, 0), "show") == 0)
        return show(c);
    if (strcmp(cli_word(c, 0), "list") == 0 && cli_n_words(c) == 1)
        return cli_each(c, TEMPLATES, print_template);
    return cli_usage(c, "put, list or show?");
}

const struct cli_command cli_cmd_template = {
    .name = "template",
    .summary = "Compile and publish templates, and look at them; nothing is mailed.",
    .usage = "put SLUG FILE\nlist\nshow SLUG",
    .min_words = 1,
    .max_words = 3,
    .run = run,
};
