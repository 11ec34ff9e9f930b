#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/timefmt.h"
#include "base/utf8.h"

/*
 * One line per outcome: built on the stack, cleaned, and given to the kernel in one write(2), so
 * lines of several threads never mix and a crash loses none. A line longer than the buffer is cut.
 * Text that came from peers may be in the values, so whatever could break the line or steer a
 * terminal (control characters, separators U+2028 and U+2029, ill-formed UTF-8) becomes '?'.
 */

#define LINE_BYTES 2048

static atomic_int max_level = LOG_INFO;
static atomic_bool show_pii;

static pthread_mutex_t sink_lock = PTHREAD_MUTEX_INITIALIZER;
static void (*sink_fn)(enum log_level level, const char *line, void *arg);
static void *sink_arg;
static atomic_bool has_sink;

struct line {
    char text[LINE_BYTES];
    size_t n;
};

static void __attribute__((format(printf, 2, 0)))
line_vprintf(struct line *l, const char *fmt, va_list ap)
{
    /* Room for the line break and NUL is kept free. */
    size_t room = sizeof l->text - 2 - l->n;
    int n = vsnprintf(l->text + l->n, room, fmt, ap);

    if (n > 0)
        l->n += (size_t)n < room ? (size_t)n : room - 1;
}

static void __attribute__((format(printf, 2, 3))) line_printf(struct line *l, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    line_vprintf(l, fmt, ap);
    va_end(ap);
}

/* Only ever shortens, so it works in place. */
static void
line_clean(struct line *l)
{
    struct slice s = slice_make(l->text, l->n);
    size_t kept = 0;

    for (size_t pos = 0; pos < s.n;) {
        size_t from = pos;
        uint32_t cp = utf8_next(s, &pos);
        bool is_bad = cp < 0x20 || (cp >= 0x7f && cp <= 0x9f) || cp == 0x2028 || cp == 0x2029 ||
                      (cp == 0xfffd && pos - from == 1);

        if (is_bad) {
            l->text[kept++] = '?';
        } else {
            memmove(l->text + kept, l->text + from, pos - from);
            kept += pos - from;
        }
    }
    l->n = kept;
}

static void
line_add_ctx(struct line *l, const struct log_ctx *ctx)
{
    char id[ID_TEXT_SIZE];

    if (ctx->request != NULL)
        line_printf(l, " request=%s", ctx->request);
    if (ctx->broadcast != 0)
        line_printf(l, " broadcast=%s", id_text(ctx->broadcast, id));
    if (ctx->send != 0)
        line_printf(l, " send=%s", id_text(ctx->send, id));
    if (ctx->profile != NULL)
        line_printf(l, " profile=%s", ctx->profile);
}

static void
line_emit(struct line *l, enum log_level level)
{
    ssize_t ignored;

    if (atomic_load(&has_sink)) {
        l->text[l->n] = '\0';
        pthread_mutex_lock(&sink_lock);
        if (sink_fn != NULL)
            sink_fn(level, l->text, sink_arg);
        pthread_mutex_unlock(&sink_lock);
        return;
    }
    l->text[l->n++] = '\n';
    /* Where stderr is broken there is nobody to tell. */
    ignored = write(STDERR_FILENO, l->text, l->n);
    (void)ignored;
}

void
log_write(enum log_level level, const struct log_ctx *ctx, const char *event, const char *fmt, ...)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    char when[TIMEFMT_ISO_SIZE];
    struct line l = {.n = 0};
    va_list ap;

    if (!log_enabled(level))
        return;
    line_printf(&l, "%s %s %s", timefmt_iso(clock_now_ms(), when), names[level], event);
    if (ctx != NULL)
        line_add_ctx(&l, ctx);
    if (fmt[0] != '\0') {
        line_printf(&l, " ");
        va_start(ap, fmt);
        line_vprintf(&l, fmt, ap);
        va_end(ap);
    }
    line_clean(&l);
    line_emit(&l, level);
}

void
log_set_level(enum log_level level)
{
    atomic_store(&max_level, (int)level);
}

bool
log_enabled(enum log_level level)
{
    return (int)level <= atomic_load_explicit(&max_level, memory_order_relaxed);
}

void
log_set_pii(bool on)
{
    atomic_store(&show_pii, on);
}

const char *
log_addr(const char *address)
{
    static _Thread_local char ring[4][320];
    static _Thread_local unsigned turn;
    char *out = ring[turn++ % 4];
    struct slice s = slice_str(address);
    ptrdiff_t at = slice_rfind_char(s, '@');
    size_t first_char = 0;

    if (atomic_load_explicit(&show_pii, memory_order_relaxed)) {
        snprintf(out, sizeof ring[0], "%s", address != NULL ? address : "");
        return out;
    }
    if (at > 0)
        utf8_next(slice_make(s.p, (size_t)at), &first_char);
    snprintf(out, sizeof ring[0], "%.*s…%s", (int)first_char, s.p != NULL ? s.p : "",
        at >= 0 ? s.p + at : "");
    return out;
}

void
log_set_sink(void (*sink)(enum log_level level, const char *line, void *arg), void *arg)
{
    pthread_mutex_lock(&sink_lock);
    sink_fn = sink;
    sink_arg = arg;
    atomic_store(&has_sink, sink != NULL);
    pthread_mutex_unlock(&sink_lock);
}
