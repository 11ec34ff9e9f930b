/* mailshotd config: what is set, and the printed references that are made from the same table. */
#include <stdio.h>

#include "cli/commands.h"
#include "daemon/config.h"
#include "mailshot/exit.h"

static int
run(struct cli *c)
{
    struct buf out = BUF_INIT;
    struct json_writer w;

    if (cli_has(c, "docs")) {
        config_print_docs(&out);
    } else if (cli_has(c, "example")) {
        config_print_example(&out);
    } else if (cli_has(c, "json")) {
        jw_init(&w, &out);
        config_print_json(cli_config(c), &w);
        buf_append_char(&out, '\n');
    } else {
        config_print(cli_config(c), &out);
    }
    fwrite(out.p, 1, out.n, stdout);
    buf_deinit(&out);
    return EXIT_OK;
}

static const struct cli_flag flags[] = {
    {"json", NULL, "as one JSON object"},
    {"docs", NULL, "the reference of all options (docs/config.md)"},
    {"example", NULL, "a file with every option at its default (config/mailshotd.conf.example)"},
    {NULL, NULL, NULL},
};

const struct cli_command cli_cmd_config = {
    .name = "config",
    .summary = "Print every option with its value and where it comes from; secrets are hidden.",
    .usage = "[--json | --docs | --example]",
    .flags = flags,
    .run = run,
};
