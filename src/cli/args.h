#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include "cli/cli.h"
#include "daemon/config.h"

struct client;

#define ARGS_MAX 64

struct args_flag {
    const char *name, *value;
};

/** A command line taken apart: the sub-command, its words, its flags, options of the configuration. */
struct cli {
    const struct cli_command *command;
    const char *words[ARGS_MAX];
    size_t n_words;
    struct args_flag flags[ARGS_MAX];
    size_t n_flags;
    struct config_flag options[ARGS_MAX];
    struct config_sources sources;
    struct config *config;
    struct client *client; /* made at the first call */
    bool wants_help;
};

/** Take argv apart and check it against the sub-command. Returns EXIT_OK, or EXIT_USAGE after saying
 * what is wrong. Everything borrows from argv. */
int args_parse(struct cli *c, int argc, char **argv);

/** Usage of one sub-command, or the list of all with NULL. */
void args_print_usage(const struct cli_command *command, struct buf *out);

#endif
