#ifndef AUDIENCE_CSV_H
#define AUDIENCE_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

#define CSV_MAX_COLUMNS 256
#define CSV_MAX_RECORD  (256 * 1024) /* bytes of one record */

/**
 * Incremental CSV reader (RFC 4180): quoted fields with doubled quotes and line ends inside, CRLF or LF,
 * a byte order mark at the start (RFC 3629 §6), separator comma, semicolon or tab, found from the
 * first line. Bytes may come in pieces of any size; memory is bounded by one record.
 */
struct csv;

struct csv *csv_create(void);
void csv_free(struct csv **c);

enum csv_status {
    CSV_MORE,   /* give more bytes */
    CSV_RECORD, /* one record is in `fields` */
    CSV_BAD,    /* a record that cannot be read; the reader has moved behind it */
    CSV_END
};

struct csv_record {
    const struct slice *fields; /* valid until the next csv_next() */
    size_t n;
    uint64_t line;       /* of the file, 1-based, where the record begins */
    const char *problem; /* CSV_BAD: static text */
};

/** Give bytes. They are copied. Only when the reader asks for more (or at the start). */
void csv_feed(struct csv *c, struct slice bytes);
/** Nothing follows. */
void csv_finish(struct csv *c);
enum csv_status csv_next(struct csv *c, struct csv_record *r_r);
/** Separator in use, 0 before the first line was seen. */
char csv_separator(const struct csv *c);

#endif
