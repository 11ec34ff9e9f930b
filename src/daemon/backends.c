/*
 * The embedded store in the data folder, and the queue in memory that goes with it: everything else in
 * the daemon works through store/store.h and queue/queue.h.
 */
#include "daemon/backends.h"

#include "queue/queue.h"
#include "store/sqlite/sqlite_store.h"

const struct store_driver *
backend_store(const struct config *c)
{
    (void)c;
    return sqlite_store_driver();
}

struct queue *
backend_queue_create(const struct config *c, struct loop *l)
{
    (void)c;
    return queue_embedded_create(l);
}
