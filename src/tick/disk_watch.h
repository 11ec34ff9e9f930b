#ifndef TICK_DISK_WATCH_H
#define TICK_DISK_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct disk_watch;
struct gates;
struct loop;
struct store;
struct ticker_turn;

/**
 * Closes GATE_DISK while the store has no room to write, or the file system of `path` has less than
 * `min_free_bytes` for us, and opens it again when it has more than that by a margin of a sixteenth,
 * so that the gate does not flutter. Looks once a second. `changed` (may be NULL) is called after the
 * gate has moved. Loop thread; `path` is copied.
 */
struct disk_watch_args {
    struct loop *loop;
    struct store *store;
    struct gates *gates;
    const char *path;
    int64_t min_free_bytes;
    void (*changed)(bool is_full, void *arg);
    void *arg;
};
struct disk_watch *disk_watch_create(const struct disk_watch_args *args);
void disk_watch_free(struct disk_watch **w);
/** Look now; also the job for the ticker. */
void disk_watch_look(struct disk_watch *w);
void disk_watch_job(struct ticker_turn *turn, void *watch);

#endif
