/*
 * Watch over the disk.
 *
 * A mail that cannot be recorded must not be sent, so planning and claiming stop before the disk is
 * really full: what is left is for opt-outs and for settling what is on the wire. The look is one
 * statvfs() and one atomic load, cheap enough for every second.
 */
#include "tick/disk_watch.h"

#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "control/gates.h"
#include "loop/loop.h"
#include "store/store.h"
#include "tick/ticker.h"

#define LOOK_MS 1000

struct disk_watch {
    struct disk_watch_args args;
    char *path;
    bool is_full, is_blind; /* blind: the free space could not be asked for */
    struct loop_timer *timer;
    struct metric *m_free;
};

/* A file system that cannot be asked counts as it did before. */
static bool
has_room(struct disk_watch *w)
{
    int64_t need = w->args.min_free_bytes;
    struct err err = {0};
    int64_t free_bytes = file_free_bytes(w->path, &err);

    if (free_bytes < 0) {
        if (!w->is_blind)
            log_warn(NULL, "disk.unknown", "error=\"%s\"", err.text);
        w->is_blind = true;
        return !w->is_full;
    }
    w->is_blind = false;
    metric_set(w->m_free, free_bytes);
    if (w->is_full)
        need += need / 16;
    return free_bytes >= need && !store_is_full(w->args.store);
}

/* The gate is set at every look, so that whoever else touched it is put right within a second. */
void
disk_watch_look(struct disk_watch *w)
{
    bool is_full = !has_room(w), was_full = w->is_full;

    w->is_full = is_full;
    gates_set(w->args.gates, GATE_SCOPE_ALL, GATE_DISK, is_full,
        "free disk space is below minFreeBytes, or the last write found no room");
    if (is_full != was_full && w->args.changed != NULL)
        w->args.changed(is_full, w->args.arg);
}

static void
on_timer(void *arg)
{
    struct disk_watch *w = arg;

    w->timer = loop_timer_start(w->args.loop, LOOK_MS, on_timer, w);
    disk_watch_look(w);
}

void
disk_watch_job(struct ticker_turn *turn, void *watch)
{
    disk_watch_look(watch);
    ticker_turn_end(turn, NULL);
}

struct disk_watch *
disk_watch_create(const struct disk_watch_args *args)
{
    struct disk_watch *w = mem_zalloc(sizeof(*w));

    w->args = *args;
    w->path = mem_strdup(args->path);
    w->m_free = metric_gauge(
        "mailshot_disk_free_bytes", "Room left on the file system of the data folder.", NULL);
    w->timer = loop_timer_start(args->loop, LOOK_MS, on_timer, w);
    disk_watch_look(w);
    return w;
}

void
disk_watch_free(struct disk_watch **wp)
{
    struct disk_watch *w = *wp;

    if (w == NULL)
        return;
    loop_timer_cancel(&w->timer);
    mem_free(w->path);
    mem_free(w);
    *wp = NULL;
}
