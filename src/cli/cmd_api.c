/* mailshotd api: any call of the API, as the owner. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "mailshot/exit.h"

static void
print_body(struct slice body)
{
    struct err err = {0};
    struct json *j = json_parse(body, 0, 1000000, &err);

    if (j != NULL) {
        cli_print_json(j);
    } else {
        fwrite(body.p, 1, body.n, stdout);
        if (body.n > 0 && body.p[body.n - 1] != '\n')
            putchar('\n');
    }
    json_free(&j);
}

static int
run(struct cli *c)
{
    struct slice body = slice_str(cli_word(c, 2));
    struct buf out = BUF_INIT;
    unsigned status = 0;
    int rc;

    if (cli_word(c, 1)[0] != '/')
        return cli_usage(c, "a path begins with a slash");
    rc = cli_call(c, cli_word(c, 0), cli_word(c, 1), body, &status, &out);
    if (rc == EXIT_OK) {
        if (out.n > 0)
            print_body(buf_slice(&out));
        if (status >= 400) {
            fprintf(stderr, "mailshotd: status %u\n", status);
            rc = EXIT_FAILED;
        }
    }
    buf_deinit(&out);
    return rc;
}

const struct cli_command cli_cmd_api = {
    .name = "api",
    .summary = "Make one call of the API as the owner and print the answer; GET /agent lists what "
               "there is.",
    .usage = "METHOD PATH [JSON]",
    .min_words = 2,
    .max_words = 3,
    .run = run,
};
