/*
 * From the journal into the store. A piece of the file becomes one urgent batch; when that fails for a
 * reason that repeating cannot mend, its lines go one by one, so that a single line which no store
 * takes cannot keep the others, or the gate, waiting for ever.
 */
#include "feedback/journal_fold.h"

#include <string.h>

#include "base/arena.h"
#include "base/id.h"
#include "base/log.h"
#include "base/mem.h"
#include "control/run_table.h"
#include "feedback/attribution.h"
#include "feedback/journal.h"
#include "model/opt_out.h"
#include "store/sends.h"
#include "store/store.h"

void
journal_line_write(const struct opt_out *o, const struct token_send *ref, struct buf *out)
{
    char text[ID_TEXT_SIZE];

    buf_append_str(out, ref->send != 0 ? id_text(ref->send, text) : "-");
    buf_append_char(out, ' ');
    opt_out_to_line(o, out);
}

bool
journal_line_read(
    struct slice line, struct buf *scratch, struct opt_out *o_r, struct token_send *ref_r)
{
    struct slice id;

    *ref_r = (struct token_send){0};
    if (!slice_cut(&line, ' ', &id) || line.p == NULL)
        return false;
    if (!slice_eq_str(id, "-") && !id_parse(id, &ref_r->send))
        return false;
    if (!opt_out_from_line(line, scratch, o_r))
        return false;
    return o_r->broadcast.n == 0 || id_parse(o_r->broadcast, &ref_r->broadcast);
}

struct fold {
    struct journal *journal;
    struct store *store;
    struct run_table *runs;
    struct journal_folded *result;
};

static int
run_facts(struct fold *f, struct store_batch *b, struct err *err)
{
    const struct sends_result *r;

    if (store_run(b, err) != 0)
        return -1;
    r = sends_result(b, 0);
    for (size_t i = 0; f->runs != NULL && i < r->n_runs; i++)
        run_table_post(f->runs, &r->runs[i]);
    return 0;
}

static int
attribute(struct fold *f, const struct attribution *a, size_t n, struct err *err)
{
    struct store_batch *read = store_batch_create(f->store, STORE_URGENT);
    struct store_batch *write = store_batch_create(f->store, STORE_URGENT);
    int rc = 0;

    if (attribution_read_ops(read, a, n) > 0) {
        rc = store_run(read, err);
        if (rc == 0 && attribution_fact_ops(read, a, n, write) > 0)
            rc = run_facts(f, write, err);
    }
    store_batch_free(&read);
    store_batch_free(&write);
    return rc;
}

static int
apply_opt_outs(
    struct fold *f, const struct opt_out *o, const struct attribution *a, size_t n, struct err *err)
{
    struct store_batch *b = store_batch_create(f->store, STORE_URGENT);
    int rc = 0;

    for (size_t i = 0; i < n; i++)
        opt_out_ops(b, &o[i]);
    if (n > 0)
        rc = store_run(b, err);
    store_batch_free(&b);
    if (rc == 0 && n > 0)
        rc = attribute(f, a, n, err);
    if (rc == 0)
        f->result->applied += n;
    return rc;
}

static int
set_aside(struct fold *f, struct slice line, const char *why, struct err *err)
{
    log_error(NULL, "journal.unreadable", "bytes=%zu why=\"%s\"", line.n, why);
    f->result->unreadable++;
    return journal_set_aside(f->journal, line, err);
}

static bool
is_passing(const struct err *err)
{
    return err->code == ERR_TEMP || err->code == ERR_PERM || err->code == ERR_INTERNAL;
}

/* The batch of these lines was refused for good: find the one that is to blame. */
static int
apply_singly(struct fold *f, const struct slice *lines, const struct opt_out *o,
    const struct attribution *a, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        struct err own = {0};

        if (apply_opt_outs(f, &o[i], &a[i], 1, &own) == 0)
            continue;
        if (is_passing(&own)) {
            *err = own;
            return -1;
        }
        if (set_aside(f, lines[i], own.text, err) != 0)
            return -1;
    }
    return 0;
}

static size_t
count_lines(struct slice text)
{
    size_t n = 1;

    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n';
    return n;
}

static int
apply_lines(struct slice text, void *arg, struct err *err)
{
    struct fold *f = arg;
    struct arena *arena = arena_create(0);
    size_t max = count_lines(text), n = 0;
    struct opt_out *o = arena_array(arena, max, sizeof(*o));
    struct attribution *a = arena_array(arena, max, sizeof(*a));
    struct slice *lines = arena_array(arena, max, sizeof(*lines)), line;
    struct buf *scratch = arena_zalloc(arena, max * sizeof(*scratch));
    struct err own = {0};
    int rc = 0;

    while (rc == 0 && slice_cut(&text, '\n', &line)) {
        if (line.n == 0)
            continue;
        if (journal_line_read(line, &scratch[n], &o[n], &a[n].ref)) {
            a[n].address_hash = o[n].address.hash;
            a[n].at_ms = o[n].now_ms;
            lines[n++] = line;
        } else {
            buf_clear(&scratch[n]);
            rc = set_aside(f, line, "not a line of the journal", err);
        }
    }
    if (rc == 0 && apply_opt_outs(f, o, a, n, &own) != 0) {
        if (is_passing(&own)) {
            *err = own;
            rc = -1;
        } else {
            rc = apply_singly(f, lines, o, a, n, err);
        }
    }
    for (size_t i = 0; i < max; i++)
        buf_deinit(&scratch[i]);
    arena_free(&arena);
    return rc;
}

int
journal_fold_opt_outs(struct journal *j, struct store *st, struct run_table *runs,
    struct journal_folded *r, struct err *err)
{
    struct fold f = {.journal = j, .store = st, .runs = runs, .result = r};
    int rc;

    *r = (struct journal_folded){0};
    rc = journal_fold(j, apply_lines, &f, err);
    if (r->applied > 0 || r->unreadable > 0)
        log_info(NULL, "journal.folded", "applied=%llu unreadable=%llu",
            (unsigned long long)r->applied, (unsigned long long)r->unreadable);
    return rc;
}
