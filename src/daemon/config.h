#ifndef DAEMON_CONFIG_H
#define DAEMON_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"

struct arena;
struct json_writer;

#define CONFIG_MAX_OPTIONS 40

/** A list of words, borrowed from the configuration. */
struct config_list {
    const char *const *items;
    size_t n;
};

/** Where the value of an option comes from; later ones win. */
enum config_origin { CONFIG_DEFAULT, CONFIG_FILE, CONFIG_ENV, CONFIG_FLAG };

struct config_value {
    const char *text; /* as written, or the default */
    enum config_origin origin;
    unsigned line; /* CONFIG_FILE */
};

/**
 * The settings of one process: built whole, validated, never changed. A reload builds another one. The
 * rows of the table in config_table.c are the members below; docs/config.md explains each.
 */
struct config {
    const char *data_dir;
    const char *listen_host;
    int64_t listen_port;
    const char *public_url; /* without trailing slash; "" = none */
    const char *sender_address;
    const char *ehlo_name;
    enum log_level log_level;
    bool log_pii;
    int64_t tick_interval_s;
    int64_t min_free_bytes;
    int64_t max_lateness_min;
    int64_t audience_growth_pct;
    int64_t unsubscribe_lifetime_days;
    const char *legacy_unsubscribe_secret; /* "" = none */
    const char *legacy_unsubscribe_secret_file;
    struct config_list trusted_proxies;
    struct config_list agent_test_contacts; /* lower case */
    int64_t cpu_workers, api_workers, store_readers, max_connections;
    bool allow_test_clock;

    struct arena *arena;
    const char *file; /* read, or "" */
    struct config_value values[CONFIG_MAX_OPTIONS];
};

struct config_flag {
    const char *name;  /* of an option, as config_option_find() takes it */
    const char *value; /* NULL = true */
};

/** Where values are looked for. All is borrowed for the call. */
struct config_sources {
    const char *file;       /* NULL = MAILSHOT_CONFIG, else the default file if there is one */
    const char *const *env; /* "NAME=value", ended by NULL; NULL = none */
    const struct config_flag *flags;
    size_t n_flags;
};

/** Read, check, and resolve everything. ERR_INVALID says which option of which source is wrong, and
 * names the nearest option when it is unknown; ERR_NOTFOUND a file that is missing. */
struct config *config_load(const struct config_sources *src, struct err *err);
void config_free(struct config **c);

/**
 * What a reload does: appends to `changed` the names of reloadable options whose value differs, and to
 * `restart` of those that differ and need a restart (both comma-separated, may stay empty).
 */
void config_compare(
    const struct config *old, const struct config *now, struct buf *changed, struct buf *restart);

/** Every option with value, origin and file line; secrets are hidden. */
void config_print(const struct config *c, struct buf *out);
void config_print_json(const struct config *c, struct json_writer *w);
/** docs/config.md: the reference of all options. */
void config_print_docs(struct buf *out);
/** config/mailshotd.conf.example: every option with its default, commented out. */
void config_print_example(struct buf *out);

/** Number of the option that a flag names ("listenPort" or "listen-port"), or -1. */
int config_option_find(const char *flag_name);
/** Its name as the file spells it. Static. */
const char *config_option_name(int option);
/** Does this option stand without a value (a switch)? */
bool config_option_is_switch(int option);
/** The option nearest to a mistyped name, or NULL when none is near. */
const char *config_option_nearest(const char *name);

#endif
