#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct cli;
struct json;

/** How long to watch, and what ends it early. */
struct progress_options {
    const char *states; /* words parted by commas; NULL = any in which nothing moves any more */
    int64_t timeout_ms; /* 0 = for ever */
    bool (*is_over)(void *arg); /* asked about twice a second; NULL = never */
    void *arg;
};

/**
 * Watch a broadcast until it is in one of the states, with a progress line on stderr: rewritten in place
 * on a terminal, else one line every few seconds. Returns EXIT_OK with the last answer of GET .../wait
 * (the caller frees it), in which "reached" is false when time was up or `is_over` said so; else an exit
 * code after saying what failed. `o` may be NULL. Blocks.
 */
int progress_watch(
    struct cli *c, const char *slug, const struct progress_options *o, struct json **answer_r);

#endif
