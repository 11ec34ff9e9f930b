#ifndef DAEMON_CONFIG_TABLE_H
#define DAEMON_CONFIG_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "daemon/config.h"

/* Private to the files config_*.c. */

enum option_type {
    OPTION_STRING,
    OPTION_INT,
    OPTION_BYTES, /* with KiB, MiB, GiB */
    OPTION_BOOL,
    OPTION_LEVEL, /* enum log_level */
    OPTION_LIST   /* words parted by blanks */
};

#define OPTION_RELOADABLE 1u
#define OPTION_SECRET     2u
#define OPTION_TEST_ONLY  4u /* not in the printed reference */

/** One option: the only place where it is written down. */
struct config_option {
    const char *name;
    enum option_type type;
    size_t member;            /* offset in struct config */
    int64_t min, max;         /* of a number; of the length of a string */
    const char *fallback;     /* default, as it would be written */
    const char *fallback_doc; /* when the default is found out at start: how */
    unsigned flags;
    const char *help; /* one line */
    /** Further check of a value that has been parsed; NULL = none. */
    int (*check)(const char *text, struct err *err);
};

extern const struct config_option config_options[];
extern const size_t config_n_options;

/** Parse the text of option `i` into its member. ERR_INVALID without naming the option. */
int config_value_parse(struct config *c, size_t i, const char *text, struct err *err);

/* Checks of single values (config_check.c). */
int config_check_host(const char *text, struct err *err);
int config_check_url(const char *text, struct err *err);
int config_check_domain(const char *text, struct err *err);
int config_check_line(const char *text, struct err *err);
int config_check_proxy(const char *text, struct err *err);
int config_check_test_contact(const char *text, struct err *err);

/** Note the value of an option from a source; the strings live in the configuration. */
int config_set(struct config *c, size_t i, struct slice text, enum config_origin origin,
    unsigned line, struct err *err);
/** The three sources, in the order of their strength. */
int config_read_file(struct config *c, const char *path, struct err *err);
int config_read_env(struct config *c, const char *const *env, struct err *err);
int config_read_flags(struct config *c, const struct config_flag *flags, size_t n, struct err *err);

/** "listenPort" to "LISTEN_PORT" (sep '_', upper) or "listen-port". */
void config_option_spell(const char *name, char sep, bool is_upper, char out[64]);

#endif
