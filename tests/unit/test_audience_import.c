/* CSV import: what is read, what is refused, and what it never does to consent. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "base/bsonx.h"
#include "audience/count.h"
#include "audience/import.h"
#include "audience/segment.h"
#include "model/subscription.h"
#include "support/model_world.h"
#include "support/suite.h"

static struct model_world w;

static struct import *
import_text(const char *text, struct import_options o)
{
    struct import *im;

    o.now_ms = MODEL_NOW;
    im = import_create(w.st, w.keys, &o, NULL);
    ck_assert_msg(import_feed(im, slice_str(text), &w.err) == 0, "%s", w.err.text);
    ck_assert_msg(import_finish(im, &w.err) == 0, "%s", w.err.text);
    return im;
}

static struct contact
get(const char *email)
{
    struct contact c;

    ck_assert_msg(contact_get_email(w.st, w.keys, slice_str(email), w.a, &c, &w.err) == 0, "%s: %s",
        email, w.err.text);
    return c;
}

static struct slice
field(const struct contact *c, const char *name)
{
    bson_t view;

    ck_assert(bsonx_view(c->fields, &view));
    return bsonx_str(&view, name);
}

static enum subscription_status
status_of(const char *email)
{
    struct contact c = get(email);
    struct subscription s;

    return subscription_get(w.st, c.id, w.a, &s, &w.err) == 0 ? s.status : SUBSCRIPTION_NONE;
}

/* A byte order mark, semicolons, quotes and accents; a preview writes nothing. */
START_TEST(reads_a_spreadsheet)
{
    /* "José" with a combining accent: stored as four code points. */
    static const char text[] = "\xef\xbb\xbf"
                               "email;name;city\r\n"
                               "ana@example.org;Jose\xcc\x81;\"K\xc3\xb6ln; Mitte\"\r\n"
                               "not-an-address;X;Y\r\n";
    const struct import_refused *refused;
    struct contact_page page;
    struct import *im;
    struct contact c;
    size_t n;

    model_world_open(&w);
    for (int turn = 0; turn < 2; turn++) {
        im = import_text(text, (struct import_options){.is_dry_run = turn == 0});
        ck_assert_uint_eq(import_result(im)->rows, 2);
        ck_assert_uint_eq(import_result(im)->added, 1);
        ck_assert_uint_eq(import_result(im)->refused, 1);
        ck_assert_int_eq(import_result(im)->separator, ';');
        refused = import_refused_lines(im, &n);
        ck_assert_uint_eq(n, 1);
        ck_assert_uint_eq(refused[0].line, 3);
        ck_assert_int_eq(strncmp(refused[0].reason, "email: no valid address", 23), 0);
        import_free(&im);
        ck_assert_int_eq(
            contact_list(w.st, &(struct contact_list){.limit = 10}, w.a, &page, &w.err), 0);
        ck_assert_uint_eq(page.n, (size_t)turn);
    }
    c = get("ana@example.org");
    ck_assert(slice_eq_str(field(&c, "name"), "Jos\xc3\xa9"));
    ck_assert(slice_eq_str(field(&c, "city"), "K\xc3\xb6ln; Mitte"));
    ck_assert_int_eq(status_of("ana@example.org"), SUBSCRIPTION_NONE);
    model_world_close(&w);
}
END_TEST

/* An import over an opt-out and a bounce changes names, never the state. */
START_TEST(never_lifts_an_opt_out)
{
    static const char text[] = "email,name,status\n"
                               "Ben@Example.com,Ben New,subscribed\n"
                               "cy@example.com,Cy New,subscribed\n";
    struct count_query q = {
        .stream = {.kind = MAIL_MARKETING, .now_ms = MODEL_NOW}, .spill_dir = suite_path(".")};
    struct count_result r;
    struct import *im;
    struct segment *s;
    struct contact c;

    model_world_open(&w);
    c = model_world_contact(&w, "{'email':'ben@example.com','fields':{'name':'Ben'}}");
    model_world_subscribe(&w, &c);
    c = model_world_contact(&w, "{'email':'cy@example.com','fields':{'name':'Cy'}}");
    model_world_subscribe(&w, &c);
    model_world_opt_out(&w, SLICE_LIT("ben@example.com"), SUPPRESSION_UNSUBSCRIBED);
    model_world_opt_out(&w, SLICE_LIT("cy@example.com"), SUPPRESSION_HARD_BOUNCE);

    im = import_text(text, (struct import_options){.overwrite = true, .subscribe = true});
    ck_assert_uint_eq(import_result(im)->updated, 2);
    ck_assert_uint_eq(import_result(im)->added, 0);
    ck_assert_uint_eq(import_result(im)->consent_protected, 2);
    ck_assert_uint_eq(import_result(im)->subscribed, 0);
    import_free(&im);
    c = get("ben@example.com");
    ck_assert(slice_eq_str(field(&c, "name"), "Ben New"));
    c = get("cy@example.com");
    ck_assert(slice_eq_str(field(&c, "name"), "Cy New"));
    ck_assert_int_eq(status_of("ben@example.com"), SUBSCRIPTION_UNSUBSCRIBED);
    ck_assert_int_eq(status_of("cy@example.com"), SUBSCRIPTION_BOUNCED);
    q.stream.segment = s = segment_default();
    ck_assert_int_eq(count_run(w.st, &q, NULL, &r, &w.err), 0);
    ck_assert_uint_eq(r.matched, 2);
    ck_assert_uint_eq(r.eligible, 0);
    segment_free(&s);
    model_world_close(&w);
}
END_TEST

/* A suppressed address without a contact gets one, but no consent. */
START_TEST(never_consents_for_the_suppressed)
{
    struct import *im;

    model_world_open(&w);
    model_world_opt_out(&w, SLICE_LIT("gone@example.com"), SUPPRESSION_GDPR_FORGET);
    im = import_text(
        "email\ngone@example.com\nnew@example.com\n", (struct import_options){.subscribe = true});
    ck_assert_uint_eq(import_result(im)->added, 2);
    ck_assert_uint_eq(import_result(im)->subscribed, 1);
    ck_assert_uint_eq(import_result(im)->consent_protected, 1);
    ck_assert_int_eq(status_of("gone@example.com"), SUBSCRIPTION_NONE);
    ck_assert_int_eq(status_of("new@example.com"), SUBSCRIPTION_SUBSCRIBED);
    import_free(&im);
    model_world_close(&w);
}
END_TEST

START_TEST(applies_the_status_column)
{
    struct import *im;

    model_world_open(&w);
    im = import_text(
        "email,status\na@example.org,subscribed\nb@example.org,\n", (struct import_options){0});
    ck_assert_uint_eq(import_result(im)->subscribed, 1);
    import_free(&im);
    im = import_text("email,status\na@example.org,unsubscribed\nb@example.org,complained\n"
                     "c@example.org,whatever\n",
        (struct import_options){.subscribe = true});
    ck_assert_uint_eq(import_result(im)->opted_out, 2);
    ck_assert_uint_eq(import_result(im)->subscribed, 0);
    ck_assert_uint_eq(import_result(im)->unchanged, 2);
    ck_assert_uint_eq(import_result(im)->refused, 1);
    ck_assert_int_eq(status_of("a@example.org"), SUBSCRIPTION_UNSUBSCRIBED);
    import_free(&im);
    /* What the file said holds against the next file. */
    im = import_text(
        "email\na@example.org\nb@example.org\n", (struct import_options){.subscribe = true});
    ck_assert_uint_eq(import_result(im)->consent_protected, 2);
    import_free(&im);
    model_world_close(&w);
}
END_TEST

START_TEST(matches_by_id_before_address)
{
    struct import *im;
    struct contact c, other;

    model_world_open(&w);
    c = model_world_contact(&w, "{'externalId':'u1','email':'old@example.org','tags':['a']}");
    im = import_text("ID,Email,Tags,Timezone,Locale,,fields.plan\n"
                     "u1,new@example.org,b|c,Europe/Paris,fr,ignored,pro\n"
                     "u2,new@example.org,,,,,\n"
                     ",third@example.org,\"x,y\",,,,free\n",
        (struct import_options){.overwrite = true});
    ck_assert_uint_eq(import_result(im)->updated, 1);
    ck_assert_uint_eq(import_result(im)->added, 2);
    import_free(&im);
    ck_assert_int_eq(contact_get(w.st, c.id, w.a, &c, &w.err), 0);
    ck_assert(slice_eq_str(c.email, "new@example.org"));
    ck_assert_uint_eq(c.n_tags, 3);
    ck_assert(slice_eq_str(c.timezone, "Europe/Paris") && slice_eq_str(c.locale, "fr"));
    ck_assert(slice_eq_str(field(&c, "plan"), "pro"));
    ck_assert_int_eq(contact_get_external(w.st, SLICE_LIT("u2"), w.a, &other, &w.err), 0);
    ck_assert_uint_ne(other.id, c.id);
    c = get("third@example.org");
    ck_assert_uint_eq(c.n_tags, 2);
    model_world_close(&w);
}
END_TEST

/* The same person twice in one file: the second line meets what the first wrote. */
START_TEST(the_second_line_meets_the_first)
{
    struct import *im;
    struct contact c;

    model_world_open(&w);
    im = import_text("email,name\na@example.org,One\nA@EXAMPLE.org,Two\n",
        (struct import_options){.overwrite = true});
    ck_assert_uint_eq(import_result(im)->added, 1);
    ck_assert_uint_eq(import_result(im)->updated, 1);
    import_free(&im);
    c = get("a@example.org");
    ck_assert(slice_eq_str(field(&c, "name"), "Two"));
    im = import_text("email,name\na@example.org,Three\n", (struct import_options){0});
    ck_assert_uint_eq(import_result(im)->unchanged, 1);
    import_free(&im);
    c = get("a@example.org");
    ck_assert(slice_eq_str(field(&c, "name"), "Two"));
    model_world_close(&w);
}
END_TEST

START_TEST(refuses_lines_with_a_reason)
{
    static const struct {
        const char *line, *reason;
    } cases[] = {
        {"x@example.org,a\xff"
         "b,,",
            "name: is no well-formed UTF-8"},
        {"x@example.org,a\x01"
         "b,,",
            "fields: member \"name\" has control characters"},
        {"x@example.org,\"a\nb\",,", "fields: member \"name\" has control characters"},
        {"x@example.org,,Mars/Base,", "timezone: is no known time zone"},
        {",Nobody,,", "email: no valid address: it is empty"},
        {"x@example.org,,,,more", "more columns than the first line names"},
        {"\"x@example.org", "a quote is not closed"},
    };

    model_world_open(&w);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct import *im =
            import_text(arena_printf(w.a, "email,name,timezone,locale\n%s", cases[i].line),
                (struct import_options){0});
        const struct import_refused *refused;
        size_t n;

        refused = import_refused_lines(im, &n);
        ck_assert_uint_eq(n, 1);
        ck_assert_uint_eq(refused[0].line, 2);
        ck_assert_str_eq(refused[0].reason, cases[i].reason);
        ck_assert_uint_eq(import_result(im)->added, 0);
        import_free(&im);
    }
    model_world_close(&w);
}
END_TEST

START_TEST(refuses_bad_headers)
{
    static const char *const headers[] = {"", "name,city\n", "email,email\n", "email,a.b\n",
        "email,$x\n", "email,id,externalId\n", "email,name,name\n", "\"email\n"};

    model_world_open(&w);
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        struct import *im =
            import_create(w.st, w.keys, &(struct import_options){.now_ms = MODEL_NOW}, NULL);
        int rc = import_feed(im, slice_str(headers[i]), &w.err);

        if (rc == 0)
            rc = import_finish(im, &w.err);
        ck_assert_msg(rc == -1, "accepted: %s", headers[i]);
        ck_assert_str_eq(w.err.sub, "bad_header");
        ck_assert_int_eq(import_feed(im, SLICE_LIT("x"), &w.err), -1);
        import_free(&im);
    }
    model_world_close(&w);
}
END_TEST

/* Several batches, from a compressed file, with progress. */
START_TEST(imports_a_long_file)
{
    const char *path = suite_path("long.csv.gz");
    struct import_progress progress = {0};
    struct import_options o = {.subscribe = true, .now_ms = MODEL_NOW};
    struct contact_page page;
    struct import *im;
    gzFile gz = gzopen(path, "wb");
    int fd;

    model_world_open(&w);
    gzputs(gz, "email,name\n");
    for (int i = 0; i < 1234; i++)
        gzprintf(gz, "p%d@example.org,Person %d\n", i, i);
    gzclose(gz);
    fd = open(path, O_RDONLY);
    im = import_create(w.st, w.keys, &o, &progress);
    ck_assert_msg(import_run_fd(im, fd, &w.err) == 0, "%s", w.err.text);
    close(fd);
    ck_assert_uint_eq(import_result(im)->added, 1234);
    ck_assert_uint_eq(import_result(im)->subscribed, 1234);
    ck_assert_uint_eq(progress.rows, 1234);
    import_free(&im);
    ck_assert_int_eq(status_of("p1233@example.org"), SUBSCRIPTION_SUBSCRIBED);
    ck_assert_int_eq(
        contact_list(w.st, &(struct contact_list){.limit = 500, .email_prefix = SLICE_LIT("p1")},
            w.a, &page, &w.err),
        0);
    ck_assert_uint_eq(page.n, 1 + 10 + 100 + 234);
    unlink(path);
    model_world_close(&w);
}
END_TEST

START_TEST(stops_when_cancelled)
{
    struct import_progress progress = {0};
    struct import_options o = {.now_ms = MODEL_NOW};
    struct import *im;

    model_world_open(&w);
    im = import_create(w.st, w.keys, &o, &progress);
    ck_assert_int_eq(import_feed(im, SLICE_LIT("email\na@example.org\n"), &w.err), 0);
    atomic_store(&progress.cancel, true);
    ck_assert_int_eq(import_finish(im, &w.err), -1);
    ck_assert_str_eq(w.err.sub, "cancelled");
    import_free(&im);
    get("a@example.org");
    model_world_close(&w);
}
END_TEST

SUITE_MAIN("audience_import", reads_a_spreadsheet, never_lifts_an_opt_out,
    never_consents_for_the_suppressed, applies_the_status_column, matches_by_id_before_address,
    the_second_line_meets_the_first, refuses_lines_with_a_reason, refuses_bad_headers,
    imports_a_long_file, stops_when_cancelled)
