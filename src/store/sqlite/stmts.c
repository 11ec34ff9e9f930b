/*
 * Prepared statements of one connection. Fixed SQL is found by the address of its text in a small
 * open-addressing table that never evicts; generated SQL by its text, the least recently used of
 * 128 making room. Both come back reset and unbound.
 */
#include <string.h>

#include "base/map.h"
#include "base/list.h"
#include "base/mem.h"
#include "store/sqlite/core.h"

#define FIXED_SLOTS 512u /* a power of two, far above the number of fixed statements */
#define TEXT_MAX    128u

struct fixed_stmt {
    const char *sql;
    sqlite3_stmt *stmt;
};

struct text_stmt {
    struct list node; /* newest first */
    sqlite3_stmt *stmt;
    char *sql;
};

struct sq_stmts {
    struct fixed_stmt fixed[FIXED_SLOTS];
    unsigned n_fixed;
    struct map_str *by_text;
    struct list recent;
};

struct sq_stmts *
sq_stmts_create(void)
{
    struct sq_stmts *s = mem_zalloc(sizeof(*s));

    s->by_text = map_str_create();
    list_init(&s->recent);
    return s;
}

static void
free_text_stmt(struct sq_stmts *s, struct text_stmt *t)
{
    list_del(&t->node);
    map_str_del(s->by_text, slice_str(t->sql));
    sqlite3_finalize(t->stmt);
    mem_free(t->sql);
    mem_free(t);
}

void
sq_stmts_free(struct sq_stmts **sp)
{
    struct sq_stmts *s = *sp;

    if (s == NULL)
        return;
    for (unsigned i = 0; i < FIXED_SLOTS; i++)
        sqlite3_finalize(s->fixed[i].stmt);
    LIST_EACH(node, tmp, &s->recent)
    free_text_stmt(s, LIST_ENTRY(node, struct text_stmt, node));
    map_str_free(&s->by_text);
    mem_free(s);
    *sp = NULL;
}

static sqlite3_stmt *
prepare(struct sq_conn *c, const char *sql, struct err *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v3(c->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL);

    if (rc != SQLITE_OK) {
        sq_error(c, rc, err);
        return NULL;
    }
    return stmt;
}

static sqlite3_stmt *
made_ready(sqlite3_stmt *stmt)
{
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
    return stmt;
}

sqlite3_stmt *
sq_prepare_fixed(struct sq_conn *c, const char *static_sql, struct err *err)
{
    struct sq_stmts *s = c->stmts;
    uintptr_t h = (uintptr_t)static_sql;
    unsigned i = (unsigned)((h >> 4) * 0x9E3779B97F4A7C15ULL >> 55) & (FIXED_SLOTS - 1);
    sqlite3_stmt *stmt;

    while (s->fixed[i].sql != NULL && s->fixed[i].sql != static_sql)
        i = (i + 1) & (FIXED_SLOTS - 1);
    if (s->fixed[i].sql != NULL)
        return made_ready(s->fixed[i].stmt);
    if (s->n_fixed >= FIXED_SLOTS - 1) {
        err_set(err, ERR_INTERNAL, "too many fixed statements");
        return NULL;
    }
    if ((stmt = prepare(c, static_sql, err)) == NULL)
        return NULL;
    s->fixed[i] = (struct fixed_stmt){static_sql, stmt};
    s->n_fixed++;
    return stmt;
}

sqlite3_stmt *
sq_prepare_text(struct sq_conn *c, const char *sql, struct err *err)
{
    struct sq_stmts *s = c->stmts;
    struct text_stmt *t = map_str_get(s->by_text, slice_str(sql));
    sqlite3_stmt *stmt;

    if (t != NULL) {
        list_del(&t->node);
        list_push_front(&s->recent, &t->node);
        return made_ready(t->stmt);
    }
    if ((stmt = prepare(c, sql, err)) == NULL)
        return NULL;
    if (map_str_count(s->by_text) >= TEXT_MAX)
        free_text_stmt(s, LIST_ENTRY(s->recent.prev, struct text_stmt, node));
    t = mem_zalloc(sizeof(*t));
    t->stmt = stmt;
    t->sql = mem_strdup(sql);
    map_str_put(s->by_text, slice_str(sql), t);
    list_push_front(&s->recent, &t->node);
    return stmt;
}

int
sq_step(struct sq_conn *c, sqlite3_stmt *stmt, struct err *err)
{
    int rc = sqlite3_step(stmt);

    if (rc == SQLITE_ROW)
        return 1;
    if (rc != SQLITE_DONE) {
        sq_error(c, rc, err); /* the message goes with the reset */
        sqlite3_reset(stmt);
        return -1;
    }
    sqlite3_reset(stmt);
    return 0;
}

int
sq_exec(struct sq_conn *c, sqlite3_stmt *stmt, struct err *err)
{
    int rc;

    while ((rc = sq_step(c, stmt, err)) == 1)
        ;
    return rc;
}
