/* mailshotd check: would a start succeed? */
#include <stdio.h>

#include "cli/commands.h"
#include "daemon/preflight.h"

static int
run(struct cli *c)
{
    struct buf out = BUF_INIT;
    int code = preflight(cli_config(c), &out);

    fwrite(out.p, 1, out.n, stdout);
    buf_deinit(&out);
    return code;
}

const struct cli_command cli_cmd_check = {
    .name = "check",
    .summary = "Try configuration, folder, keys, database, disk and port without starting.",
    .usage = "",
    .run = run,
};
