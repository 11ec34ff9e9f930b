#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

/* Paths are C strings; all calls block and are safe from any thread. */

/** Whole regular file appended to `out`; larger than `limit_bytes` is ERR_LIMIT. On
 * failure `out` holds what it held. */
int file_read(const char *path, size_t limit_bytes, struct buf *out, struct err *err);
/** Atomic replacement: write beside it, fsync, rename, fsync the folder. */
int file_write(const char *path, struct slice data, mode_t mode, struct err *err);
/** Create with O_EXCL and fsync; ERR_CONFLICT when it exists. */
int file_create(const char *path, struct slice data, mode_t mode, struct err *err);
/** mkdir -p, each new folder with `mode`. */
int file_mkdirs(const char *path, mode_t mode, struct err *err);
bool file_exists(const char *path);
/** Free bytes for this user on the file system of `path`; -1 with err on failure. */
int64_t file_free_bytes(const char *path, struct err *err);

#endif
