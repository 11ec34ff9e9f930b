/* mailshotd adopt: a copied or restored folder becomes the installation. */
#include <stdio.h>

#include "cli/commands.h"
#include "mailshot/exit.h"

static int
run(struct cli *c)
{
    struct json *answer = NULL;
    int64_t paused = 0;
    int rc = cli_request(c, "POST", "/admin/adopt", SLICE_NONE, &answer);

    if (rc != EXIT_OK)
        return rc;
    json_int(json_get(answer, "paused"), &paused);
    printf("This folder is the installation now; broadcasts paused: %lld.\n", (long long)paused);
    if (paused > 0)
        printf("Look at what the other copy has sent before you resume them.\n");
    json_free(&answer);
    return EXIT_OK;
}

const struct cli_command cli_cmd_adopt = {
    .name = "adopt",
    .summary = "Make a copied or restored data folder the installation. Every broadcast that would "
               "send is paused first, since another copy may have sent part of it.",
    .usage = "",
    .run = run,
};
