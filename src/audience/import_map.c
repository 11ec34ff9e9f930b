/*
 * From the columns of a file to contacts. The first line decides what each column is; every further
 * line becomes one checked row. Texts are brought to NFC, so that what looks equal is equal in segments.
 */
#include <string.h>

#include "base/bsonx.h"
#include "base/utf8.h"
#include "audience/import_internal.h"

static const struct {
    const char *name;
    enum import_column kind;
} known[] = {
    {"email", IMPORT_COL_EMAIL},
    {"e-mail", IMPORT_COL_EMAIL},
    {"externalid", IMPORT_COL_EXTERNAL_ID},
    {"external_id", IMPORT_COL_EXTERNAL_ID},
    {"id", IMPORT_COL_EXTERNAL_ID},
    {"tags", IMPORT_COL_TAGS},
    {"timezone", IMPORT_COL_TIMEZONE},
    {"locale", IMPORT_COL_LOCALE},
    {"status", IMPORT_COL_STATUS},
};

/* ---- the header ------------------------------------------------------------------------------ */

static enum import_column
kind_of(struct slice name)
{
    if (name.n == 0)
        return IMPORT_COL_IGNORE;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (slice_ieq(name, slice_str(known[i].name)))
            return known[i].kind;
    }
    return IMPORT_COL_FIELD;
}

static int
check_field_name(struct slice name, size_t column, struct err *err)
{
    if (name.n > 128 || !utf8_valid(name) || utf8_has_control(name) || name.p[0] == '$' ||
        slice_find_char(name, '.') >= 0)
        return err_sub(err, ERR_INVALID, "bad_header",
            "column %zu has a name that no field can have", column + 1);
    return 0;
}

static bool
is_taken(const struct import_map *m, enum import_column kind, const char *name)
{
    for (size_t i = 0; i < m->n; i++) {
        if (kind != IMPORT_COL_IGNORE && m->kinds[i] == kind &&
            (kind != IMPORT_COL_FIELD || strcmp(m->names[i], name) == 0))
            return true;
    }
    return false;
}

static int
read_column(struct import_map *m, struct slice name, struct err *err)
{
    enum import_column kind = kind_of(name);
    const char *field = NULL;

    if (kind == IMPORT_COL_FIELD) {
        if (slice_starts(name, SLICE_LIT("fields.")))
            name = slice_from(name, 7);
        if (name.n == 0 || check_field_name(name, m->n, err) != 0)
            return name.n == 0 ? err_sub(err, ERR_INVALID, "bad_header", "a column has no name")
                               : -1;
        field = arena_cstr(m->arena, name);
    }
    if (is_taken(m, kind, field))
        return err_sub(
            err, ERR_INVALID, "bad_header", "column %zu has the name of another one", m->n + 1);
    m->kinds[m->n] = kind;
    m->names[m->n++] = field;
    return 0;
}

int
import_map_read(struct import_map *m, const struct csv_record *header, struct err *err)
{
    m->n = 0;
    for (size_t i = 0; i < header->n; i++) {
        if (read_column(m, slice_trim(header->fields[i]), err) != 0)
            return -1;
    }
    if (!is_taken(m, IMPORT_COL_EMAIL, NULL))
        return err_sub(err, ERR_INVALID, "bad_header", "the first line names no email column");
    return 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Trimmed, well-formed, NFC. */
static int
clean_text(struct slice raw, const char *name, struct arena *a, struct slice *out, struct err *err)
{
    struct buf nfc = BUF_INIT;

    raw = slice_trim(raw);
    if (utf8_is_ascii(raw)) {
        *out = arena_dup(a, raw);
        return 0;
    }
    if (!utf8_valid(raw))
        return err_field(err, name, "is no well-formed UTF-8");
    utf8_nfc(raw, &nfc);
    *out = arena_dup(a, buf_slice(&nfc));
    buf_deinit(&nfc);
    return 0;
}

/* "a|b" or "a,b": the bar wins, so that a tag may hold a comma. */
static int
read_tags(struct slice text, struct arena *a, struct contact_input *in, struct err *err)
{
    struct slice *tags = arena_array(a, CONTACT_MAX_TAGS, sizeof(*tags));
    char sep = slice_find_char(text, '|') >= 0 ? '|' : ',';
    struct slice tag;
    size_t n = 0;

    while (slice_cut(&text, sep, &tag)) {
        tag = slice_trim(tag);
        if (tag.n == 0)
            continue;
        if (n == CONTACT_MAX_TAGS)
            return err_field(err, "tags", "must have at most %d elements", CONTACT_MAX_TAGS);
        tags[n++] = tag;
    }
    if (n > 0) {
        in->tags = tags;
        in->n_tags = n;
        in->set |= CONTACT_SET_TAGS | CONTACT_ADD_TAGS;
    }
    return 0;
}

static void
set_text(struct contact_input *in, unsigned bit, struct slice *member, struct slice v)
{
    *member = v;
    in->set |= bit;
}

/* One cell. An empty one says nothing. */
static int
read_cell(const struct import_map *m, size_t i, struct slice v, struct arena *a,
    struct import_row *row, bson_t *fields, struct err *err)
{
    struct contact_input *in = &row->in;
    int status;

    switch (m->kinds[i]) {
    case IMPORT_COL_IGNORE: return 0;
    case IMPORT_COL_EMAIL: set_text(in, CONTACT_SET_EMAIL, &in->email, v); return 0;
    case IMPORT_COL_EXTERNAL_ID:
        set_text(in, CONTACT_SET_EXTERNAL_ID, &in->external_id, v);
        return 0;
    case IMPORT_COL_TIMEZONE: set_text(in, CONTACT_SET_TIMEZONE, &in->timezone, v); return 0;
    case IMPORT_COL_LOCALE: set_text(in, CONTACT_SET_LOCALE, &in->locale, v); return 0;
    case IMPORT_COL_TAGS: return read_tags(v, a, in, err);
    case IMPORT_COL_STATUS:
        if ((status = subscription_status_parse(v)) < 0)
            return err_field(err, "status", "is no subscription status");
        row->status = (enum subscription_status)status;
        return 0;
    case IMPORT_COL_FIELD: bsonx_add_str(fields, m->names[i], v); return 0;
    }
    return 0;
}

static int
read_cells(const struct import_map *m, const struct csv_record *rec, struct arena *a,
    struct import_row *row, bson_t *fields, struct err *err)
{
    for (size_t i = 0; i < rec->n && i < m->n; i++) {
        struct slice v;

        if (clean_text(rec->fields[i], m->names[i] != NULL ? m->names[i] : "", a, &v, err) != 0)
            return -1;
        if (v.n > 0 && read_cell(m, i, v, a, row, fields, err) != 0)
            return -1;
    }
    for (size_t i = m->n; i < rec->n; i++) {
        if (slice_trim(rec->fields[i]).n > 0)
            return err_set(err, ERR_INVALID, "more columns than the first line names");
    }
    return 0;
}

static int
check_row(const struct crypto_keys *keys, struct arena *a, struct import_row *row, struct err *err)
{
    struct contact_input rest = row->in;
    struct buf key = BUF_INIT;
    int rc;

    if ((row->in.set & CONTACT_SET_EMAIL) == 0)
        return err_field(err, "email", "no valid address: it is empty");
    rc = contact_address(keys, row->in.email, &key, &row->hash, err);
    if (rc == 0)
        row->key = arena_dup(a, buf_slice(&key));
    buf_deinit(&key);
    /* The address has just been parsed. */
    rest.set &= ~CONTACT_SET_EMAIL;
    return rc == 0 ? contact_input_check(&rest, err) : -1;
}

int
import_map_row(const struct import_map *m, const struct csv_record *rec,
    const struct crypto_keys *keys, struct arena *a, struct import_row *row_r, struct err *err)
{
    bson_t fields;
    int rc;

    memset(row_r, 0, sizeof(*row_r));
    row_r->line = rec->line;
    bson_init(&fields);
    rc = read_cells(m, rec, a, row_r, &fields, err);
    if (rc == 0 && bson_count_keys(&fields) > 0) {
        row_r->in.fields = arena_dup(a, bsonx_bytes(&fields));
        row_r->in.set |= CONTACT_SET_FIELDS;
    }
    bson_destroy(&fields);
    return rc == 0 ? check_row(keys, a, row_r, err) : -1;
}
