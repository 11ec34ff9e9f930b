#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "audience/csv.h"

/*
 * The CSV reader on arbitrary bytes. The first byte says how large the pieces are; read in pieces and
 * read whole, the file must give the same records.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct digest {
    uint64_t records, problems, bytes, hash;
};

static void
add(struct digest *d, enum csv_status status, const struct csv_record *r)
{
    d->records += status == CSV_RECORD;
    d->problems += status == CSV_BAD;
    d->hash = d->hash * 31 + r->line;
    if (status != CSV_RECORD)
        return;
    assert(r->n >= 1 && r->n <= CSV_MAX_COLUMNS);
    for (size_t i = 0; i < r->n; i++) {
        d->bytes += r->fields[i].n;
        for (size_t k = 0; k < r->fields[i].n; k++)
            d->hash = d->hash * 31 + (unsigned char)r->fields[i].p[k];
        d->hash = d->hash * 31 + 256;
    }
}

static struct digest
read_all(struct slice in, size_t piece)
{
    struct digest d = {0};
    struct csv *c = csv_create();
    struct csv_record r;
    enum csv_status status;

    for (size_t at = 0; at < in.n; at += piece) {
        csv_feed(c, slice_make(in.p + at, in.n - at < piece ? in.n - at : piece));
        while ((status = csv_next(c, &r)) == CSV_RECORD || status == CSV_BAD)
            add(&d, status, &r);
        assert(status == CSV_MORE);
    }
    csv_finish(c);
    while ((status = csv_next(c, &r)) == CSV_RECORD || status == CSV_BAD)
        add(&d, status, &r);
    assert(status == CSV_END);
    csv_free(&c);
    return d;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct digest whole, pieces;
    struct slice in;

    if (size < 2)
        return 0;
    in = slice_make(data + 1, size - 1);
    whole = read_all(in, in.n);
    pieces = read_all(in, data[0] % 32 + 1);
    assert(whole.records == pieces.records && whole.problems == pieces.problems);
    assert(whole.bytes == pieces.bytes && whole.hash == pieces.hash);
    assert(whole.bytes <= in.n);
    return 0;
}
