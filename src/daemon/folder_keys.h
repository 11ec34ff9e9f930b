#ifndef DAEMON_FOLDER_KEYS_H
#define DAEMON_FOLDER_KEYS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

struct crypto_keys;
struct datadir;

/**
 * The three keys of an installation in keys/ (0700, files 0600). They are made once, with the folder;
 * whoever loses them loses every link that was ever mailed and every stored password.
 */

/** Read them; made when there are neither keys nor a database. ERR_PERM "keys_missing" (also when only
 * some are there), "keys_invalid", or "keys_readable" when others may read them; then nothing has been
 * touched. */
int folder_keys_load(const struct datadir *d, struct crypto_keys **keys_r, struct err *err);

/** Are they there and readable? Makes nothing and asks for no lock; the fingerprint is that of
 * crypto_keys_fingerprint(). */
int folder_keys_check(const char *path, char fingerprint[17], struct err *err);
/** One line of text that holds all three, for the keys of another instance. Asks for no lock. The
 * caller wipes it. */
int folder_keys_export(const char *path, struct buf *out, struct err *err);
/** Store such a line. ERR_CONFLICT "keys_exist" when the folder has keys, ERR_INVALID for another
 * text. */
int folder_keys_import(const struct datadir *d, struct slice line, struct err *err);

#endif
