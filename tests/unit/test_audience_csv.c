/* The CSV reader, fed whole and byte by byte. */
#include <string.h>

#include "audience/csv.h"
#include "support/suite.h"

static const struct {
    const char *name, *in;
    char separator;
    const char *out; /* fields in brackets, records by line, problems after '!' */
} cases[] = {
    {"plain", "a,b\n1,2\n", ',', "1[a][b] 2[1][2] "},
    {"crlf", "a,b\r\n1,2\r\n", ',', "1[a][b] 2[1][2] "},
    {"cr only", "a,b\r1,2", ',', "1[a][b] 2[1][2] "},
    {"no end", "a,b\n1,2", ',', "1[a][b] 2[1][2] "},
    {"byte order mark",
        "\xef\xbb\xbf"
        "a;b\n",
        ';', "1[a][b] "},
    {"semicolons beat commas", "a;b;c,d\n", ';', "1[a][b][c,d] "},
    {"tabs", "a\tb\n", '\t', "1[a][b] "},
    {"separator in quotes does not vote", "\"a;b;c\",d\n", ',', "1[a;b;c][d] "},
    {"one column", "email\nx\n", ',', "1[email] 2[x] "},
    {"quotes", "a,\"b\"\"c\",\"d,e\"\n", ',', "1[a][b\"c][d,e] "},
    {"line end in quotes", "a,\"b\r\nc\"\nd,e\n", ',', "1[a][b\r\nc] 3[d][e] "},
    {"quote inside plain", "a,b\"c\n", ',', "1[a][b\"c] "},
    {"text after quotes", "a,\"b\"c\n", ',', "1[a][bc] "},
    {"empty fields", "a,,\n,,\n", ',', "1[a][][] 2[][][] "},
    {"empty quoted", "\"\"\n", ',', "1[] "},
    {"empty lines", "a,b\n\n\r\n1,2\n", ',', "1[a][b] 4[1][2] "},
    {"empty lines of all kinds", "a,b\r\r\n\n\r1,2\r\n\r3,4", ',', "1[a][b] 5[1][2] 7[3][4] "},
    {"unclosed quote", "a,b\n\"1,2\n3,4", ',', "1[a][b] 2!a quote is not closed "},
    {"nothing", "", ',', ""},
    {"only a mark", "\xef\xbb\xbf", ',', ""},
};

static void
show(struct buf *out, enum csv_status status, const struct csv_record *r)
{
    buf_append_u64(out, r->line);
    if (status == CSV_BAD)
        buf_printf(out, "!%s", r->problem);
    for (size_t i = 0; status == CSV_RECORD && i < r->n; i++)
        buf_printf(out, "[%.*s]", SLICE_FMT(r->fields[i]));
    buf_append_char(out, ' ');
}

static void
drain(struct csv *c, struct buf *out, enum csv_status end)
{
    struct csv_record r;
    enum csv_status status;

    while ((status = csv_next(c, &r)) == CSV_RECORD || status == CSV_BAD)
        show(out, status, &r);
    ck_assert_int_eq(status, end);
}

START_TEST(reads_in_pieces_of_any_size)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t n = strlen(cases[i].in);

        for (size_t piece = 1; piece <= n + 1; piece++) {
            struct csv *c = csv_create();
            struct buf out = BUF_INIT;

            for (size_t at = 0; at < n; at += piece) {
                size_t part = n - at < piece ? n - at : piece;

                csv_feed(c, slice_make(cases[i].in + at, part));
                drain(c, &out, CSV_MORE);
            }
            csv_finish(c);
            drain(c, &out, CSV_END);
            ck_assert_msg(strcmp(buf_cstr(&out), cases[i].out) == 0, "%s by %zu: %s", cases[i].name,
                piece, buf_cstr(&out));
            ck_assert_int_eq(csv_separator(c), cases[i].separator);
            buf_deinit(&out);
            csv_free(&c);
        }
    }
}
END_TEST

START_TEST(bounds_a_record)
{
    struct csv *c = csv_create();
    struct buf out = BUF_INIT;
    char piece[1024];

    memset(piece, 'x', sizeof(piece));
    csv_feed(c, SLICE_LIT("a,b\n"));
    for (size_t i = 0; i <= CSV_MAX_RECORD / sizeof(piece); i++) {
        csv_feed(c, slice_make(piece, sizeof(piece)));
        drain(c, &out, CSV_MORE);
    }
    memset(piece, ',', sizeof(piece));
    csv_feed(c, SLICE_LIT("\n1,2\n"));
    drain(c, &out, CSV_MORE);
    csv_feed(c, slice_make(piece, sizeof(piece)));
    csv_feed(c, SLICE_LIT("\n3,4\n"));
    csv_finish(c);
    drain(c, &out, CSV_END);
    ck_assert_str_eq(buf_cstr(&out), "1[a][b] 2!the line is too long 3[1][2] "
                                     "4!the line has too many columns 5[3][4] ");
    buf_deinit(&out);
    csv_free(&c);
}
END_TEST

SUITE_MAIN("audience_csv", reads_in_pieces_of_any_size, bounds_a_record)
