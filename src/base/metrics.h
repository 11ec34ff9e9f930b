#ifndef BASE_METRICS_H
#define BASE_METRICS_H

#include <stdint.h>

#include "base/buf.h"

struct metric;

/**
 * Counters and gauges live beside the code that counts. Registering a name and label set again
 * returns the same metric. `labels` is NULL or preformatted, e.g. `op="find",driver="sqlite"`.
 * `name` and `help` must outlive the process (string constants); labels are copied.
 * Safe from any thread; adding is one relaxed atomic.
 */
struct metric *metric_counter(const char *name, const char *help, const char *labels);
struct metric *metric_gauge(const char *name, const char *help, const char *labels);
/** A histogram of microseconds with fixed bounds 100 µs … 10 s, printed in seconds. */
struct metric *metric_histogram_us(const char *name, const char *help, const char *labels);

void metric_add(struct metric *m, int64_t n);
void metric_set(struct metric *m, int64_t v);
/** Raise a gauge to `v` if it is lower. */
void metric_max(struct metric *m, int64_t v);
void metric_observe_us(struct metric *m, uint64_t us);
/** Counter or gauge: its value; histogram: number of observations. */
int64_t metric_value(const struct metric *m);

/** Append all metrics in Prometheus text format 0.0.4, sorted by name. */
void metrics_render(struct buf *out);

#endif
