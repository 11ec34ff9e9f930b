#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/** What a line belongs to. Zero and NULL members are left out. */
struct log_ctx {
    const char *request; /* request id */
    uint64_t broadcast;
    uint64_t send;
    const char *profile; /* slug */
};

/**
 * One structured line on stderr, safe from any thread:
 *   2026-05-04T10:00:00.000Z info smtp.reply broadcast=… send=… code=250 ms=12
 * `event` is a dotted constant; `fmt` makes key=value pairs. Line breaks and control characters in
 * the result are replaced. Levels: error = someone must act, warn = degraded, info = life cycle and
 * outcomes, debug = protocol. Addresses go through log_addr(); tokens and secrets are never
 * logged. Lines longer than 2 KiB are cut. The default level is info.
 */
void log_write(enum log_level level, const struct log_ctx *ctx, const char *event, const char *fmt,
    ...) __attribute__((format(printf, 4, 5)));

#define log_error(ctx, event, ...) log_write(LOG_ERROR, ctx, event, __VA_ARGS__)
#define log_warn(ctx, event, ...)  log_write(LOG_WARN, ctx, event, __VA_ARGS__)
#define log_info(ctx, event, ...)  log_write(LOG_INFO, ctx, event, __VA_ARGS__)
#define log_debug(ctx, event, ...)                                                                 \
    do {                                                                                           \
        if (log_enabled(LOG_DEBUG))                                                                \
            log_write(LOG_DEBUG, ctx, event, __VA_ARGS__);                                         \
    } while (0)

void log_set_level(enum log_level level);
bool log_enabled(enum log_level level);
/** Show addresses in full (off by default). */
void log_set_pii(bool on);
/** An address for a log line: "a…@example.com" unless pii is on. Uses one of four static buffers
 * per thread. */
const char *log_addr(const char *address);
/** Where lines go (without line break) instead of stderr; for tests. NULL restores stderr. The sink
 * runs under a lock on the thread that logs, and must not log itself. */
void log_set_sink(void (*sink)(enum log_level level, const char *line, void *arg), void *arg);

#endif
