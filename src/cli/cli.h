#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/slice.h"

struct cli;
struct config;
struct config_sources;

/* What a sub-command is made of, and what it finds. Single-threaded; everything may block. */

/** A flag of a sub-command, beside the options of the configuration, which every one of them takes. */
struct cli_flag {
    const char *name;  /* without the dashes */
    const char *value; /* what to call its value in the usage text; NULL = a switch */
    const char *help;
};

/** One sub-command: a row of the table in commands.c. */
struct cli_command {
    const char *name;
    const char *summary; /* one line, for the list of commands */
    const char *usage;   /* what follows "mailshotd <name>"; several lines = several forms */
    const struct cli_flag *flags; /* ended by name NULL; NULL = none */
    size_t min_words, max_words;  /* words besides flags */
    bool needs_no_config;
    /** Returns an exit code of mailshot/exit.h; has said what went wrong. */
    int (*run)(struct cli *c);
};

/** All sub-commands, ended by NULL. */
extern const struct cli_command *const cli_commands[];

const struct cli_command *cli_command_get(const struct cli *c);
/** The configuration in force, and where it came from. */
const struct config *cli_config(const struct cli *c);
const struct config_sources *cli_sources(const struct cli *c);
/** Give the configuration away (to daemon_serve()). */
struct config *cli_take_config(struct cli *c);

/** Word `i` after the sub-command, NULL when there are fewer. */
const char *cli_word(const struct cli *c, size_t i);
size_t cli_n_words(const struct cli *c);
/** Was the flag given? */
bool cli_has(const struct cli *c, const char *flag);
/** The value of a flag (the last one given), NULL when it was not. */
const char *cli_value(const struct cli *c, const char *flag);
/** A number within bounds; `*value_r` keeps its value when the flag was not given. Returns EXIT_OK, or
 * EXIT_USAGE after saying what is wrong. */
int cli_number(const struct cli *c, const char *flag, int64_t min, int64_t max, int64_t *value_r);

/** Say what is wrong with the command line, and how it should look. Returns EXIT_USAGE. */
int cli_usage(const struct cli *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** Say what failed. Returns the exit code that goes with it. */
int cli_fail(const struct err *err);

/**
 * Call the daemon's API: over the control socket when a daemon holds the data folder, else with the
 * same handlers in this process (client.h). Returns EXIT_OK with status and body (appended to `out`)
 * whatever the status is, or another exit code after saying what failed.
 */
int cli_call(struct cli *c, const char *method, const char *target, struct slice body,
    unsigned *status_r, struct buf *out);
/** The same with the answer parsed. A status of 400 or more is said on stderr and gives EXIT_FAILED.
 * `answer_r` may be NULL; the caller frees it. */
int cli_request(struct cli *c, const char *method, const char *target, struct slice body,
    struct json **answer_r);
/** Append a word to a target, percent-encoded as one path part or query value (RFC 3986 §2.1). */
void cli_escape(struct buf *target, const char *word);
/** Read a JSON text from a file, or from standard input when `path` is "-". Appends. Returns an exit code
 * after saying what is wrong, also with the text. */
int cli_read_json(const char *path, struct buf *out);
/**
 * Walk all pages of a list: GET `target` (a path, with or without a query) and `print` for each item. A
 * list that is being printed stays valid for the call only. Returns an exit code.
 */
int cli_each(struct cli *c, const char *target, void (*print)(const struct json *item));

/** Print a parsed answer, indented by two, with a line end. */
void cli_print_json(const struct json *j);

#endif
