/* The route table against its document, and its words against those of the states. */
#include <stdio.h>
#include <string.h>

#include "api/auth.h"
#include "api/resources.h"
#include "base/buf.h"
#include "base/file.h"
#include "mailshot/states.h"
#include "support/suite.h"

/* A row of docs/api.md. */
static void
write_row(const struct api_route *r, struct buf *out)
{
    const char *scope = api_scope_name(r->scope);

    buf_printf(out, "| `%s` | `%s` | %s", r->method, r->path,
        (r->flags & API_LOOPBACK) != 0 ? "this machine"
        : scope != NULL                ? scope
                                       : "any token");
    if ((r->flags & API_OWNER_ONLY) != 0)
        buf_append_str(out, ", owner");
    if ((r->flags & API_TEST_CONTACTS) != 0)
        buf_append_str(out, ", guarded");
    if ((r->flags & API_CREATES_MAIL) != 0)
        buf_append_str(out, ", key");
    buf_printf(out, " | %s |\n", r->summary);
}

static void
read_document(struct buf *out)
{
    const char *folder = getenv("MAILSHOT_SOURCE_DIR");
    struct buf path = BUF_INIT;
    struct err err = {0};

    buf_printf(&path, "%s/docs/api.md", folder != NULL ? folder : ".");
    ck_assert_msg(file_read(buf_cstr(&path), 1 << 20, out, &err) == 0, "%s", err.text);
    buf_deinit(&path);
}

START_TEST(document_lists_every_route_and_no_other)
{
    struct buf document = BUF_INIT, row = BUF_INIT;
    size_t n_routes = 0, n_rows = 0, n_missing = 0;
    struct slice rest, line;

    read_document(&document);
    for (size_t g = 0; api_all_routes[g] != NULL; g++)
        for (const struct api_route *r = api_all_routes[g]; r->method != NULL; r++, n_routes++) {
            buf_clear(&row);
            write_row(r, &row);
            if (slice_find(buf_slice(&document), buf_slice(&row)) < 0) {
                printf("missing: %s", buf_cstr(&row));
                n_missing++;
            }
        }
    rest = buf_slice(&document);
    while (slice_cut(&rest, '\n', &line))
        n_rows += slice_starts(line, SLICE_LIT("| `GET`")) ||
                  slice_starts(line, SLICE_LIT("| `POST`")) ||
                  slice_starts(line, SLICE_LIT("| `PUT`")) ||
                  slice_starts(line, SLICE_LIT("| `PATCH`")) ||
                  slice_starts(line, SLICE_LIT("| `DELETE`"));
    ck_assert_uint_eq(n_missing, 0);
    ck_assert_uint_eq(n_rows, n_routes);
    buf_deinit(&document);
    buf_deinit(&row);
}
END_TEST

static const struct api_route *
find(const char *method, const char *path)
{
    for (size_t g = 0; api_all_routes[g] != NULL; g++)
        for (const struct api_route *r = api_all_routes[g]; r->method != NULL; r++)
            if (strcmp(r->method, method) == 0 && strcmp(r->path, path) == 0)
                return r;
    ck_abort_msg("no %s %s", method, path);
    return NULL;
}

static const char *const *
choices(const struct api_route *r, const char *name)
{
    for (const struct api_field *f = r->query; f->name != NULL; f++)
        if (strcmp(f->name, name) == 0)
            return f->one_of;
    ck_abort_msg("no query %s", name);
    return NULL;
}

/* A query takes every word there is, each once, and only those. */
static void
check_words(const char *const *words, const char *(*name_of)(int), int from, int to)
{
    int n = 0;

    for (; words[n] != NULL; n++) {
        bool is_known = false;

        for (int i = from; i < to; i++)
            is_known = is_known || strcmp(words[n], name_of(i)) == 0;
        ck_assert_msg(is_known, "%s", words[n]);
        for (int i = 0; i < n; i++)
            ck_assert_str_ne(words[i], words[n]);
    }
    ck_assert_int_eq(n, to - from);
}

START_TEST(queries_take_the_words_of_the_ledger)
{
    const struct api_route *sends = find("GET", "/agent/broadcasts/:slug/sends");
    const struct api_route *exclusions = find("GET", "/agent/broadcasts/:slug/exclusions");

    check_words(choices(sends, "status"), send_state_name, 0, SEND_STATES);
    check_words(choices(sends, "failClass"), send_fail_class_name, FAIL_NONE + 1, FAIL_CLASSES);
    check_words(choices(exclusions, "reason"), exclusion_reason_name, 0, EXCL_REASONS);
}
END_TEST

START_TEST(rows_are_complete)
{
    for (size_t g = 0; api_all_routes[g] != NULL; g++)
        for (const struct api_route *r = api_all_routes[g]; r->method != NULL; r++) {
            bool is_guarded = (r->flags & API_TEST_CONTACTS) != 0;

            ck_assert_msg(r->summary != NULL && r->handler != NULL, "%s", r->path);
            ck_assert_msg(r->scope != 0 && (r->scope & (r->scope - 1)) == 0, "%s", r->path);
            ck_assert_msg(!is_guarded || r->scope == API_TEST || r->scope == API_ADMIN,
                "%s is guarded and wants another scope than test", r->path);
            ck_assert_msg(strncmp(r->path, "/admin/", 7) != 0 || (r->flags & API_OWNER_ONLY) != 0,
                "%s is not for the owner alone", r->path);
        }
}
END_TEST

SUITE_MAIN("api_routes", document_lists_every_route_and_no_other,
    queries_take_the_words_of_the_ledger, rows_are_complete)
