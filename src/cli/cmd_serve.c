/* mailshotd serve: be the daemon. */
#include "cli/commands.h"
#include "daemon/serve.h"

static int
run(struct cli *c)
{
    return daemon_serve(cli_take_config(c), cli_sources(c));
}

const struct cli_command cli_cmd_serve = {
    .name = "serve",
    .summary = "Be the daemon, in the foreground, until SIGTERM or SIGINT; SIGHUP reads the "
               "configuration again.",
    .usage = "",
    .run = run,
};
