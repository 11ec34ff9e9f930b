/* mailshotd migrate: make the data folder, or bring its database up to this program. */
#include <stdio.h>

#include "cli/commands.h"
#include "daemon/config.h"
#include "daemon/datadir.h"
#include "daemon/installation.h"
#include "mailshot/exit.h"

static int
run(struct cli *c)
{
    struct installation *home = NULL;
    struct err err = {0};

    if (installation_open(cli_config(c), NULL, false, &home, &err) != 0)
        return cli_fail(&err);
    printf("%s/mailshot.db is up to date\n", home->dir->path);
    installation_close(&home);
    return EXIT_OK;
}

const struct cli_command cli_cmd_migrate = {
    .name = "migrate",
    .summary = "Make folder, keys and database, or bring an older database up to date; the daemon "
               "does so, too, when it starts.",
    .usage = "",
    .run = run,
};
