#ifndef AUDIENCE_IMPORT_H
#define AUDIENCE_IMPORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/slice.h"

struct crypto_keys;
struct import;
struct store;

#define IMPORT_BATCH_ROWS  500
#define IMPORT_MAX_REFUSED 1000 /* lines kept with their reason; all are counted */

struct import_options {
    bool is_dry_run;     /* count what would happen, write nothing */
    bool overwrite;      /* change contacts that exist; else they are left as they are */
    bool subscribe;      /* give consent to contacts that have said nothing yet */
    struct slice source; /* of that consent, 1–256 characters; empty = "import" */
    struct slice actor;  /* for the audit row */
    int64_t now_ms;
};

struct import_refused {
    uint64_t line;
    char reason[96]; /* never the value itself */
};

struct import_result {
    uint64_t rows; /* data lines read */
    uint64_t added, updated, unchanged, refused;
    uint64_t subscribed;        /* consents newly given */
    uint64_t opted_out;         /* lines that say so: suppressed, consent ended */
    uint64_t consent_protected; /* opted out, bounced, complained or suppressed: left as they are */
    char separator;             /* ',' ';' or tab */
};

struct import_progress {
    _Atomic uint64_t rows;
    atomic_bool cancel; /* set by the other side: ERR_REFUSED "cancelled", what was written stays */
};

/**
 * Import contacts from CSV in constant memory. The first line names the columns: email (required),
 * externalId or id, name (kept as fields.name), tags (parted by '|' or ','), timezone, locale, status;
 * every other column goes to fields.<column>. `status` of a line: "subscribed" is a wish for consent,
 * "unsubscribed", "bounced" and "complained" are opt-outs and are applied as such. A row is matched by external id when it has one, else by address key.
 * Consent only ever rises from nothing: an import never lifts an opt-out, bounce, complaint,
 * suppression or erasure.
 * Texts are stored in NFC; ill-formed UTF-8 and control characters refuse the line.
 * Not thread-safe; the calls block on the store (workers and tools). `progress` may be NULL.
 */
struct import *import_create(struct store *st, const struct crypto_keys *keys,
    const struct import_options *o, struct import_progress *progress);
/** Take the next piece of the file, any size. After an error the import is dead. ERR_INVALID
 * "bad_header" when the first line has no email column. */
int import_feed(struct import *im, struct slice bytes, struct err *err);
/** End of file: writes what is pending and an audit row. */
int import_finish(struct import *im, struct err *err);
const struct import_result *import_result(const struct import *im);
const struct import_refused *import_refused_lines(const struct import *im, size_t *n_r);
void import_free(struct import **im);

/** Counts and refused lines as one object. */
void import_write_json(struct json_writer *w, const char *name, const struct import *im);

/** Whole open file descriptor through an import; for tools and workers. */
int import_run_fd(struct import *im, int fd, struct err *err);

#endif
