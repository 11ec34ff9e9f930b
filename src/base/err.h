#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdbool.h>

/** What went wrong, in the few classes that drive behaviour. */
enum err_code {
    ERR_NONE = 0,
    ERR_INVALID,  /* the caller's or peer's input is wrong; repeating it cannot help (HTTP 400) */
    ERR_NOTFOUND, /* the thing named does not exist (HTTP 404) */
    ERR_CONFLICT, /* the state of the thing forbids it, or a key is taken (HTTP 409) */
    ERR_REFUSED,  /* well formed and known, but not permitted (HTTP 403 or 422) */
    ERR_LIMIT,    /* a configured bound was met (HTTP 413, 429) */
    ERR_TEMP,     /* may work later: disk full, peer away, time-out (HTTP 503) */
    ERR_PERM,     /* will not work until somebody acts: wrong key, no permission */
    ERR_INTERNAL  /* our own mistake (HTTP 500) */
};

/**
 * One error, filled by the function that fails and extended by those it passes through.
 * `sub` is a stable word for programs (for example "not_draft"), empty when none applies;
 * `field` names the input at fault, empty when none does; `text` is for people and never holds
 * a secret, an address or a token.
 */
struct err {
    enum err_code code;
    char sub[48];
    char field[64];
    char text[320];
};

/** Fill `err` (may be NULL) and return -1, so that `return err_set(...)` reads well. */
int err_set(struct err *err, enum err_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/** As err_set(), with the sub-code that programs see. */
int err_sub(struct err *err, enum err_code code, const char *sub, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/** As err_sub(), naming the input field at fault. Code is ERR_INVALID, `sub` "validation_failed". */
int err_field(struct err *err, const char *field, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/** Fill `err` from errno: ENOSPC, EDQUOT, EAGAIN, EMFILE, ENOMEM give ERR_TEMP, EACCES and EPERM
 * ERR_PERM, ENOENT ERR_NOTFOUND, else ERR_INTERNAL. The text ends with strerror. Returns -1. */
int err_errno(struct err *err, int errnum, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/** Put context before the text of an error: "broadcast spring: no such template". */
void err_prefix(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** Forget the error: code ERR_NONE, empty texts. */
void err_clear(struct err *err);

/** The name of a code for logs ("temp", "conflict", ...). Static storage. */
const char *err_code_name(enum err_code code);

#endif
