#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/*
 * Filling and extending a struct err. All texts are cut at the size of their member; a caller that
 * does not care passes NULL and gets only the -1. Nothing here allocates, so an error can be
 * reported when memory or descriptors are short.
 */

static void __attribute__((format(printf, 5, 0))) err_fill(struct err *err, enum err_code code,
    const char *sub, const char *field, const char *fmt, va_list ap)
{
    char text[sizeof err->text];

    if (err == NULL)
        return;
    /* Formatted aside first: an argument may point into the error that is replaced. */
    vsnprintf(text, sizeof text, fmt, ap);
    snprintf(err->sub, sizeof err->sub, "%s", sub);
    snprintf(err->field, sizeof err->field, "%s", field);
    memcpy(err->text, text, sizeof text);
    err->code = code;
}

/* As much of `more` as there is room for. */
static void
err_append(struct err *err, const char *more)
{
    size_t n = strlen(err->text);
    size_t room = sizeof err->text - 1 - n;
    size_t take = strnlen(more, room);

    memcpy(err->text + n, more, take);
    err->text[n + take] = '\0';
}

int
err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    err_fill(err, code, "", "", fmt, ap);
    va_end(ap);
    return -1;
}

int
err_sub(struct err *err, enum err_code code, const char *sub, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    err_fill(err, code, sub, "", fmt, ap);
    va_end(ap);
    return -1;
}

int
err_field(struct err *err, const char *field, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    err_fill(err, ERR_INVALID, "validation_failed", field, fmt, ap);
    va_end(ap);
    return -1;
}

static enum err_code
code_of_errno(int errnum)
{
    switch (errnum) {
    case ENOSPC:
    case EDQUOT:
    case EAGAIN:
    case EMFILE:
    case ENFILE:
    case ENOMEM: return ERR_TEMP;
    case EACCES:
    case EPERM:
    case EROFS: return ERR_PERM;
    case ENOENT: return ERR_NOTFOUND;
    default: return ERR_INTERNAL;
    }
}

int
err_errno(struct err *err, int errnum, const char *fmt, ...)
{
    char reason[128];
    va_list ap;

    if (err == NULL)
        return -1;
    va_start(ap, fmt);
    err_fill(err, code_of_errno(errnum), "", "", fmt, ap);
    va_end(ap);
    err_append(err, ": ");
    /* The GNU form: returns the text, which need not be in the buffer. */
    err_append(err, strerror_r(errnum, reason, sizeof reason));
    return -1;
}

void
err_prefix(struct err *err, const char *fmt, ...)
{
    char before[sizeof err->text];
    va_list ap;

    if (err == NULL)
        return;
    memcpy(before, err->text, sizeof before);
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    err_append(err, ": ");
    err_append(err, before);
}

void
err_clear(struct err *err)
{
    if (err == NULL)
        return;
    err->code = ERR_NONE;
    err->sub[0] = err->field[0] = err->text[0] = '\0';
}

const char *
err_code_name(enum err_code code)
{
    static const char *const names[] = {
        [ERR_NONE] = "none",
        [ERR_INVALID] = "invalid",
        [ERR_NOTFOUND] = "notfound",
        [ERR_CONFLICT] = "conflict",
        [ERR_REFUSED] = "refused",
        [ERR_LIMIT] = "limit",
        [ERR_TEMP] = "temp",
        [ERR_PERM] = "perm",
        [ERR_INTERNAL] = "internal",
    };

    if ((unsigned)code >= sizeof names / sizeof names[0])
        return "internal";
    return names[code];
}
