/*
 * mailshotd: one binary, the daemon and its tools. main() takes the command line apart, reads the
 * configuration and hands over to the sub-command.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/args.h"
#include "cli/client.h"
#include "daemon/config.h"
#include "mailshot/exit.h"

static int
print_help(const struct cli_command *command)
{
    struct buf text = BUF_INIT;

    args_print_usage(command, &text);
    fwrite(text.p, 1, text.n, stdout);
    buf_deinit(&text);
    return EXIT_OK;
}

static int
load_config(struct cli *c)
{
    struct err err = {0};

    c->sources.env = (const char *const *)environ;
    if ((c->config = config_load(&c->sources, &err)) != NULL)
        return EXIT_OK;
    fprintf(stderr, "mailshotd: %s\n", err.text);
    return EXIT_USAGE;
}

static int
run(struct cli *c, int argc, char **argv)
{
    int rc = args_parse(c, argc, argv);

    if (rc != EXIT_OK)
        return rc;
    if (c->wants_help)
        return print_help(c->command);
    if (!c->command->needs_no_config && (rc = load_config(c)) != EXIT_OK)
        return rc;
    return c->command->run(c);
}

int
main(int argc, char **argv)
{
    struct cli c = {0};
    int code;

    log_set_level(LOG_WARN); /* of the tools; the daemon has an option */
    code = run(&c, argc, argv);
    client_free(&c.client);
    config_free(&c.config);
    if (fflush(stdout) != 0 && code == EXIT_OK)
        code = EXIT_FAILED;
    return code;
}
