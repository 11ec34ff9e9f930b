#ifndef AUDIENCE_IMPORT_INTERNAL_H
#define AUDIENCE_IMPORT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "model/contact.h"
#include "model/subscription.h"
#include "audience/csv.h"
#include "audience/import.h"

/** Private to import*.c. */
enum import_column {
    IMPORT_COL_IGNORE, /* a column without a name */
    IMPORT_COL_EMAIL,
    IMPORT_COL_EXTERNAL_ID,
    IMPORT_COL_TAGS,
    IMPORT_COL_TIMEZONE,
    IMPORT_COL_LOCALE,
    IMPORT_COL_STATUS,
    IMPORT_COL_FIELD
};

/** What the first line says. Names live in `arena`. */
struct import_map {
    struct arena *arena;
    enum import_column kinds[CSV_MAX_COLUMNS];
    const char *names[CSV_MAX_COLUMNS]; /* IMPORT_COL_FIELD: member of fields */
    size_t n;
};

/** ERR_INVALID "bad_header". */
int import_map_read(struct import_map *m, const struct csv_record *header, struct err *err);

/** One line, ready to be written. Slices live in the batch's arena. */
struct import_row {
    uint64_t line;
    struct contact_input in;
    struct slice key; /* address key */
    int64_t hash;
    enum subscription_status status; /* what the line says; NONE = nothing */
    /* found in the store */
    bool is_known;
    struct contact old;
    enum subscription_status consent;
    bool is_suppressed;
};

/** Turn a record into a checked row; texts in NFC, built parts in `a`. ERR_INVALID says why not. */
int import_map_row(const struct import_map *m, const struct csv_record *rec,
    const struct crypto_keys *keys, struct arena *a, struct import_row *row_r, struct err *err);

/** Write up to IMPORT_BATCH_ROWS rows, of which no two name the same contact: look up, decide, one store
 * batch. Counts go to `r`; a row that turns out to be refused goes through `refuse`. */
struct import_write {
    struct store *st;
    const struct crypto_keys *keys;
    const struct import_options *o;
    struct import_result *r;
    void (*refuse)(void *arg, uint64_t line, const struct err *why);
    void *arg;
};
int import_write_rows(const struct import_write *w, struct import_row *rows, size_t n,
    struct arena *a, struct err *err);

#endif
