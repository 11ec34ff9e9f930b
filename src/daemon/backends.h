#ifndef DAEMON_BACKENDS_H
#define DAEMON_BACKENDS_H

struct config;
struct loop;
struct queue;
struct store_driver;

/** Which store and which queue this configuration asks for: the only place that knows more than their
 * interfaces. */
const struct store_driver *backend_store(const struct config *c);
struct queue *backend_queue_create(const struct config *c, struct loop *l);

#endif
