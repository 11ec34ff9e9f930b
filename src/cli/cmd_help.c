/* mailshotd help, mailshotd version. */
#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "cli/commands.h"
#include "mailshot/exit.h"

static int
run_help(struct cli *c)
{
    const char *name = cli_word(c, 0);
    const struct cli_command *about = NULL;
    struct buf text = BUF_INIT;

    for (size_t i = 0; name != NULL && cli_commands[i] != NULL; i++)
        if (strcmp(cli_commands[i]->name, name) == 0)
            about = cli_commands[i];
    if (name != NULL && about == NULL)
        return cli_usage(c, "there is no command \"%s\"", name);
    args_print_usage(about, &text);
    fwrite(text.p, 1, text.n, stdout);
    buf_deinit(&text);
    return EXIT_OK;
}

static int
run_version(struct cli *c)
{
    (void)c;
    printf("mailshotd %s\n", MAILSHOT_VERSION);
    return EXIT_OK;
}

const struct cli_command cli_cmd_help = {
    .name = "help",
    .summary = "List the commands, or say more about one.",
    .usage = "[COMMAND]",
    .max_words = 1,
    .needs_no_config = true,
    .run = run_help,
};

const struct cli_command cli_cmd_version = {
    .name = "version",
    .summary = "Print the version.",
    .usage = "",
    .needs_no_config = true,
    .run = run_version,
};
