/*
 * The import as a whole: bytes in, records out of the CSV reader, rows gathered into batches of 500,
 * each batch written before the next is read. Nothing grows with the file but the list of refused
 * lines, which is bounded.
 */
#include "audience/import.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "model/audit.h"
#include "model/contact.h"
#include "store/store.h"
#include "audience/csv.h"
#include "audience/import_internal.h"

#define READ_BYTES (64 * 1024)

struct import {
    struct store *st;
    struct import_options o;
    struct arena *texts; /* source, actor, column names */
    struct import_progress *progress;
    struct import_write write;
    struct csv *csv;
    struct import_map map;
    bool has_header;
    bool is_dead;
    struct arena *a; /* of the batch under way */
    struct import_row rows[IMPORT_BATCH_ROWS];
    size_t n_rows;
    struct map_u64 *pending_hashes; /* who is in the batch already */
    struct map_str *pending_ids;
    struct import_result r;
    struct import_refused *refused;
    size_t n_refused;
};

static void
refuse(void *arg, uint64_t line, const struct err *why)
{
    struct import *im = arg;
    struct import_refused *x;
    struct buf text = BUF_INIT;
    size_t n;

    im->r.refused++;
    if (im->n_refused == IMPORT_MAX_REFUSED)
        return;
    x = &im->refused[im->n_refused++];
    x->line = line;
    buf_printf(&text, "%s%s%s", why->field, why->field[0] != '\0' ? ": " : "", why->text);
    n = text.n < sizeof(x->reason) ? text.n : sizeof(x->reason) - 1;
    memcpy(x->reason, text.p, n);
    x->reason[n] = '\0';
    buf_deinit(&text);
}

struct import *
import_create(struct store *st, const struct crypto_keys *keys, const struct import_options *o,
    struct import_progress *progress)
{
    struct import *im = mem_zalloc(sizeof(*im));

    im->st = st;
    im->texts = arena_create(0);
    im->o = *o;
    im->o.source = arena_dup(im->texts, o->source);
    im->o.actor = o->actor.n > 0 ? arena_dup(im->texts, o->actor) : SLICE_LIT("system:import");
    im->progress = progress;
    im->csv = csv_create();
    im->map.arena = im->texts;
    im->a = arena_create(64 * 1024);
    im->pending_hashes = map_u64_create();
    im->pending_ids = map_str_create();
    im->refused = mem_array(IMPORT_MAX_REFUSED, sizeof(*im->refused));
    im->write = (struct import_write){
        .st = st, .keys = keys, .o = &im->o, .r = &im->r, .refuse = refuse, .arg = im};
    return im;
}

void
import_free(struct import **im)
{
    if (*im == NULL)
        return;
    csv_free(&(*im)->csv);
    map_u64_free(&(*im)->pending_hashes);
    map_str_free(&(*im)->pending_ids);
    arena_free(&(*im)->a);
    arena_free(&(*im)->texts);
    mem_free((*im)->refused);
    mem_free(*im);
    *im = NULL;
}

/* ---- batches --------------------------------------------------------------------------------- */

static int
flush(struct import *im, struct err *err)
{
    int rc;

    if (im->n_rows == 0)
        return 0;
    rc = import_write_rows(&im->write, im->rows, im->n_rows, im->a, err);
    im->n_rows = 0;
    arena_reset(im->a);
    map_u64_clear(im->pending_hashes);
    map_str_free(&im->pending_ids);
    im->pending_ids = map_str_create();
    if (rc == 0 && im->progress != NULL && atomic_load(&im->progress->cancel))
        rc = err_sub(err, ERR_REFUSED, "cancelled", "the import was cancelled");
    return rc;
}

/* Two rows of one batch must not name the same contact: the second is to meet what the first wrote. */
static bool
is_pending(const struct import *im, const struct import_row *row)
{
    return map_u64_has(im->pending_hashes, (uint64_t)row->hash) ||
           ((row->in.set & CONTACT_SET_EXTERNAL_ID) != 0 &&
               map_str_get(im->pending_ids, row->in.external_id) != NULL);
}

static void
add_pending(struct import *im, const struct import_row *row)
{
    im->rows[im->n_rows++] = *row;
    map_u64_put(im->pending_hashes, (uint64_t)row->hash, im);
    if ((row->in.set & CONTACT_SET_EXTERNAL_ID) != 0)
        map_str_put(im->pending_ids, row->in.external_id, im);
}

static int
take_row(struct import *im, const struct csv_record *rec, struct err *err)
{
    struct import_row row;
    struct err why;

    err_clear(&why);
    if (import_map_row(&im->map, rec, im->write.keys, im->a, &row, &why) != 0) {
        refuse(im, rec->line, &why);
        return 0;
    }
    if (im->n_rows == IMPORT_BATCH_ROWS || is_pending(im, &row)) {
        if (flush(im, err) != 0)
            return -1;
        /* The arena was emptied: read the row again into the new batch. */
        if (import_map_row(&im->map, rec, im->write.keys, im->a, &row, &why) != 0)
            return err_set(err, ERR_INTERNAL, "a row changed while it was read");
    }
    add_pending(im, &row);
    return 0;
}

static int
take_record(
    struct import *im, enum csv_status status, const struct csv_record *rec, struct err *err)
{
    struct err why;

    if (!im->has_header) {
        if (status == CSV_BAD)
            return err_sub(err, ERR_INVALID, "bad_header", "%s", rec->problem);
        im->has_header = true;
        im->r.separator = csv_separator(im->csv);
        return import_map_read(&im->map, rec, err);
    }
    im->r.rows++;
    if (im->progress != NULL)
        atomic_fetch_add(&im->progress->rows, 1);
    if (status == CSV_RECORD)
        return take_row(im, rec, err);
    err_clear(&why);
    err_set(&why, ERR_INVALID, "%s", rec->problem);
    refuse(im, rec->line, &why);
    return 0;
}

static int
drain(struct import *im, struct err *err)
{
    struct csv_record rec;
    enum csv_status status;

    while ((status = csv_next(im->csv, &rec)) == CSV_RECORD || status == CSV_BAD) {
        if (take_record(im, status, &rec, err) != 0) {
            im->is_dead = true;
            return -1;
        }
    }
    return 0;
}

/* ---- from outside ---------------------------------------------------------------------------- */

int
import_feed(struct import *im, struct slice bytes, struct err *err)
{
    struct err own;

    if (im->is_dead)
        return err_set(err, ERR_INTERNAL, "the import has failed already");
    err_clear(&own);
    csv_feed(im->csv, bytes);
    if (drain(im, &own) == 0)
        return 0;
    if (err != NULL)
        *err = own;
    return -1;
}

static int
write_audit(struct import *im, struct err *err)
{
    struct store_batch *b;
    char text[160];
    int rc;

    if (im->o.is_dry_run)
        return 0;
    snprintf(text, sizeof(text),
        "%llu lines: %llu added, %llu updated, %llu refused, %llu subscribed, %llu protected",
        (unsigned long long)im->r.rows, (unsigned long long)im->r.added,
        (unsigned long long)im->r.updated, (unsigned long long)im->r.refused,
        (unsigned long long)im->r.subscribed, (unsigned long long)im->r.consent_protected);
    b = store_batch_create(im->st, STORE_URGENT);
    audit_add_op(b, &(struct audit_entry){.actor = im->o.actor,
                        .action = SLICE_LIT("contact.import"),
                        .resource = SLICE_LIT(CONTACTS_COLL),
                        .summary = slice_str(text),
                        .at_ms = im->o.now_ms});
    rc = store_run(b, err);
    store_batch_free(&b);
    return rc;
}

int
import_finish(struct import *im, struct err *err)
{
    struct err own;
    int rc;

    if (im->is_dead)
        return err_set(err, ERR_INTERNAL, "the import has failed already");
    err_clear(&own);
    csv_finish(im->csv);
    rc = drain(im, &own);
    if (rc == 0 && !im->has_header)
        rc = err_sub(&own, ERR_INVALID, "bad_header", "the file is empty");
    if (rc == 0)
        rc = flush(im, &own);
    if (rc == 0)
        rc = write_audit(im, &own);
    im->is_dead = true;
    if (rc != 0 && err != NULL)
        *err = own;
    return rc;
}

int
import_run_fd(struct import *im, int fd, struct err *err)
{
    char *piece = mem_alloc(READ_BYTES);
    int copy = dup(fd), n, rc = 0;
    gzFile file = copy >= 0 ? gzdopen(copy, "rb") : NULL;

    if (file == NULL) {
        if (copy >= 0)
            close(copy);
        mem_free(piece);
        return err_errno(err, errno, "the file");
    }
    while (rc == 0 && (n = gzread(file, piece, READ_BYTES)) != 0) {
        if (n < 0)
            rc = err_set(err, ERR_INVALID, "the file cannot be read to its end");
        else
            rc = import_feed(im, slice_make(piece, (size_t)n), err);
    }
    gzclose(file);
    mem_free(piece);
    return rc == 0 ? import_finish(im, err) : -1;
}

const struct import_result *
import_result(const struct import *im)
{
    return &im->r;
}

const struct import_refused *
import_refused_lines(const struct import *im, size_t *n_r)
{
    *n_r = im->n_refused;
    return im->refused;
}

void
import_write_json(struct json_writer *w, const char *name, const struct import *im)
{
    const struct import_result *r = &im->r;
    const char separator[2] = {r->separator, '\0'};

    jw_obj(w, name);
    jw_int(w, "rows", (int64_t)r->rows);
    jw_int(w, "added", (int64_t)r->added);
    jw_int(w, "updated", (int64_t)r->updated);
    jw_int(w, "unchanged", (int64_t)r->unchanged);
    jw_int(w, "refused", (int64_t)r->refused);
    jw_int(w, "subscribed", (int64_t)r->subscribed);
    jw_int(w, "optedOut", (int64_t)r->opted_out);
    jw_int(w, "consentProtected", (int64_t)r->consent_protected);
    jw_cstr(w, "separator", separator);
    jw_arr(w, "refusedLines");
    for (size_t i = 0; i < im->n_refused; i++) {
        jw_obj(w, NULL);
        jw_int(w, "line", (int64_t)im->refused[i].line);
        jw_cstr(w, "reason", im->refused[i].reason);
        jw_end_obj(w);
    }
    jw_end_arr(w);
    jw_end_obj(w);
}
