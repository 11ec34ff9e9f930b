#include "cli/commands.h"

/*
 * The list of sub-commands, in the order of the help text.
 */

const struct cli_command *const cli_commands[] = {
    &cli_cmd_serve,
    &cli_cmd_check,
    &cli_cmd_config,
    &cli_cmd_migrate,
    &cli_cmd_token,
    &cli_cmd_keys,
    &cli_cmd_adopt,
    &cli_cmd_db,
    &cli_cmd_import,
    &cli_cmd_contact,
    &cli_cmd_profile,
    &cli_cmd_template,
    &cli_cmd_broadcast,
    &cli_cmd_api,
    &cli_cmd_demo,
    &cli_cmd_version,
    &cli_cmd_help,
    NULL,
};
