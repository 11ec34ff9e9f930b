#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/cli.h"

/* The sub-commands, one file each (cmd_<name>.c); commands.c lists them. */
extern const struct cli_command cli_cmd_adopt;
extern const struct cli_command cli_cmd_api;
extern const struct cli_command cli_cmd_broadcast;
extern const struct cli_command cli_cmd_check;
extern const struct cli_command cli_cmd_config;
extern const struct cli_command cli_cmd_contact;
extern const struct cli_command cli_cmd_db;
extern const struct cli_command cli_cmd_demo;
extern const struct cli_command cli_cmd_help;
extern const struct cli_command cli_cmd_import;
extern const struct cli_command cli_cmd_keys;
extern const struct cli_command cli_cmd_migrate;
extern const struct cli_command cli_cmd_profile;
extern const struct cli_command cli_cmd_serve;
extern const struct cli_command cli_cmd_template;
extern const struct cli_command cli_cmd_token;
extern const struct cli_command cli_cmd_version;

/** Send a CSV file through POST `target`, piece by piece; what comes of it is printed unless `is_quiet`.
 * Returns an exit code. */
int cli_import(struct cli *c, int fd, const char *target, bool is_quiet);

#endif
