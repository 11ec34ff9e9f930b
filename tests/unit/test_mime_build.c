/*
 * Whole messages: fields, the shape of the parts, files, refusals; trials with hostile names, an
 * international domain, a large mail with every kind of part, and a relay without extensions.
 */
#include <string.h>

#include "base/rand.h"
#include "message/mime.h"
#include "support/mime_reader.h"
#include "support/suite.h"

static struct mime_message
simple_message(void)
{
    return (struct mime_message){
        .date_ms = INT64_C(1780394400000),
        .from_name = SLICE_LIT("News Desk"),
        .from_address = SLICE_LIT("news@example.com"),
        .to_name = SLICE_LIT("Ana"),
        .to_address = SLICE_LIT("ana@example.org"),
        .subject = SLICE_LIT("Hello"),
        .message_id = SLICE_LIT("0001.0.0002@example.com"),
        .text = SLICE_LIT("Hi Ana\n"),
        .boundary_seed = 42,
    };
}

static void
build(const struct mime_message *m, struct buf *out)
{
    struct err err = {0};
    bool needs_smtputf8;

    buf_clear(out);
    ck_assert_msg(mime_build(m, out, &needs_smtputf8, &err) == 0, "%s", err.text);
    ck_assert(!needs_smtputf8);
    ck_assert(slice_ends(buf_slice(out), SLICE_LIT("\r\n")));
    reader_check_lines(buf_slice(out));
}

static void
assert_field(struct slice entity, const char *name, const char *want)
{
    struct buf value = BUF_INIT;

    ck_assert_uint_eq(reader_count(entity, name), 1);
    ck_assert(reader_field(entity, name, &value));
    ck_assert_str_eq(buf_cstr(&value), want);
    buf_deinit(&value);
}

static void
assert_type(struct slice entity, const char *want)
{
    struct buf value = BUF_INIT;

    ck_assert(reader_field(entity, "Content-Type", &value));
    ck_assert_msg(slice_starts(buf_slice(&value), slice_str(want)), "%s", buf_cstr(&value));
    buf_deinit(&value);
}

static void
assert_content(struct slice entity, struct slice want)
{
    struct buf got = BUF_INIT;

    reader_decode(entity, &got);
    ck_assert(slice_eq(buf_slice(&got), want));
    buf_deinit(&got);
}

START_TEST(plain_message_byte_for_byte)
{
    struct mime_message m = simple_message();
    struct buf out = BUF_INIT;

    build(&m, &out);
    ck_assert_str_eq(buf_cstr(&out), "From: \"News Desk\" <news@example.com>\r\n"
                                     "To: \"Ana\" <ana@example.org>\r\n"
                                     "Subject: Hello\r\n"
                                     "Date: Tue, 2 Jun 2026 10:00:00 +0000\r\n"
                                     "Message-ID: <0001.0.0002@example.com>\r\n"
                                     "MIME-Version: 1.0\r\n"
                                     "Content-Type: text/plain; charset=utf-8\r\n"
                                     "Content-Transfer-Encoding: 7bit\r\n"
                                     "\r\n"
                                     "Hi Ana\r\n");
    buf_deinit(&out);
}
END_TEST

START_TEST(same_parts_same_bytes)
{
    struct mime_message m = simple_message();
    struct buf a = BUF_INIT, b = BUF_INIT;

    m.html = SLICE_LIT("<p>Hi Ana</p>");
    build(&m, &a);
    build(&m, &b);
    ck_assert(slice_eq(buf_slice(&a), buf_slice(&b)));
    m.boundary_seed = 43;
    build(&m, &b);
    ck_assert(!slice_eq(buf_slice(&a), buf_slice(&b)));
    buf_deinit(&a);
    buf_deinit(&b);
}
END_TEST

START_TEST(levels_exist_only_when_needed)
{
    static const struct mime_file png = {
        SLICE_LIT("logo.png"), SLICE_LIT("image/png"), SLICE_LIT("logo"), SLICE_LIT("\x89PNG")};
    struct mime_message m = simple_message();
    struct buf out = BUF_INIT;
    struct slice part;

    m.html = SLICE_LIT("<p>x</p>");
    build(&m, &out);
    assert_type(buf_slice(&out), "multipart/alternative");
    ck_assert_uint_eq(reader_n_parts(buf_slice(&out)), 2);
    assert_content(reader_part(buf_slice(&out), 0), SLICE_LIT("Hi Ana\r\n"));
    assert_content(reader_part(buf_slice(&out), 1), SLICE_LIT("<p>x</p>"));

    m.text = SLICE_NONE;
    build(&m, &out);
    assert_type(buf_slice(&out), "text/html");

    m.files = &png;
    m.n_files = 1;
    build(&m, &out);
    assert_type(buf_slice(&out), "multipart/related; type=\"text/html\"");
    part = reader_part(buf_slice(&out), 1);
    assert_field(part, "Content-ID", "<logo>");
    assert_field(part, "Content-Disposition", "inline; filename=\"logo.png\"");

    /* an inline image has no place without html: it becomes an attachment */
    m.text = SLICE_LIT("t");
    m.html = SLICE_NONE;
    build(&m, &out);
    assert_type(buf_slice(&out), "multipart/mixed");
    ck_assert_uint_eq(reader_n_parts(buf_slice(&out)), 2);
    buf_deinit(&out);
}
END_TEST

START_TEST(t03_line_break_in_a_name)
{
    static const struct slice names[] = {SLICE_LIT("Ana\r\nBcc: eve@example.com"),
        SLICE_LIT("Ana\nBcc: eve@example.com"), SLICE_LIT("Ana\rX"), SLICE_LIT("Ana\0X")};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct mime_header extra = {SLICE_LIT("X-Campaign"), names[i]};
        struct mime_header list = {SLICE_LIT("List-Unsubscribe"), names[i]};
        struct mime_message m[8];
        struct mime_file file = {names[i], SLICE_LIT("text/csv"), SLICE_NONE, SLICE_LIT("x")};

        for (size_t k = 0; k < 8; k++)
            m[k] = simple_message();
        m[0].to_name = names[i];
        m[1].from_name = names[i];
        m[2].subject = names[i];
        m[3].extra = &extra;
        m[3].n_extra = 1;
        m[4].extra = &list;
        m[4].n_extra = 1;
        m[5].files = &file;
        m[5].n_files = 1;
        m[6].message_id = names[i];
        m[7].reply_to = names[i];
        for (size_t k = 0; k < 8; k++) {
            struct buf out = BUF_INIT;
            struct err err = {0};
            bool needs_smtputf8;

            buf_append_str(&out, "before");
            ck_assert_msg(mime_build(&m[k], &out, &needs_smtputf8, &err) == -1, "%zu", k);
            ck_assert_int_eq(err.code, ERR_INVALID);
            ck_assert_str_eq(buf_cstr(&out), "before");
            buf_deinit(&out);
        }
    }
}
END_TEST

START_TEST(refused_messages)
{
    static const struct mime_header own[] = {
        {SLICE_LIT("bcc"), SLICE_LIT("x@example.org")},
        {SLICE_LIT("Content-Type"), SLICE_LIT("text/plain")},
        {SLICE_LIT("from"), SLICE_LIT("x@example.org")},
        {SLICE_LIT("DKIM-Signature"), SLICE_LIT("v=1")},
        {SLICE_LIT("X Y"), SLICE_LIT("z")},
        {SLICE_LIT("X:Y"), SLICE_LIT("z")},
        {SLICE_LIT(""), SLICE_LIT("z")},
        {SLICE_LIT("List-ID"), SLICE_LIT("<ü.example>")},
    };
    static const struct mime_header twice[] = {
        {SLICE_LIT("List-Unsubscribe"), SLICE_LIT("<https://a.example/1>")},
        {SLICE_LIT("list-unsubscribe"), SLICE_LIT("<https://a.example/2>")}};
    static const struct mime_file files[] = {
        {SLICE_LIT("a"), SLICE_LIT("text"), SLICE_NONE, SLICE_LIT("x")},
        {SLICE_LIT("a"), SLICE_LIT("text/plain\r\nX: y"), SLICE_NONE, SLICE_LIT("x")},
        {SLICE_LIT("a"), SLICE_LIT("multipart/mixed"), SLICE_NONE, SLICE_LIT("x")},
        {SLICE_LIT("a"), SLICE_LIT("message/rfc822"), SLICE_NONE, SLICE_LIT("x")},
        {SLICE_LIT("a"), SLICE_LIT("image/png"), SLICE_LIT("x>\r\n"), SLICE_LIT("x")},
    };
    struct buf out = BUF_INIT;
    struct mime_message m;
    struct err err = {0};
    bool needs_smtputf8;

    m = simple_message();
    m.text = SLICE_NONE;
    ck_assert_int_eq(mime_build(&m, &out, &needs_smtputf8, &err), -1);
    m = simple_message();
    m.to_address = SLICE_LIT("ana@example.org, eve@example.org");
    ck_assert_int_eq(mime_build(&m, &out, &needs_smtputf8, &err), -1);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        m = simple_message();
        m.extra = &own[i];
        m.n_extra = 1;
        ck_assert_msg(mime_build(&m, &out, &needs_smtputf8, &err) == -1, "field %zu", i);
    }
    m = simple_message();
    m.extra = twice;
    m.n_extra = 2;
    ck_assert_int_eq(mime_build(&m, &out, &needs_smtputf8, &err), -1);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        m = simple_message();
        m.files = &files[i];
        m.n_files = 1;
        ck_assert_msg(mime_build(&m, &out, &needs_smtputf8, &err) == -1, "file %zu", i);
    }
    ck_assert_uint_eq(out.n, 0);
    buf_deinit(&out);
}
END_TEST

START_TEST(extra_fields_in_order)
{
    static const struct mime_header extra[] = {
        {SLICE_LIT("List-Unsubscribe"),
            SLICE_LIT("<https://mail.example.com/m/unsub/"
                      "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl>, "
                      "<mailto:u@example.com>")},
        {SLICE_LIT("List-Unsubscribe-Post"), SLICE_LIT("List-Unsubscribe=One-Click")},
        {SLICE_LIT("X-Campaign"), SLICE_LIT("Frühling")},
    };
    struct mime_message m = simple_message();
    struct buf out = BUF_INIT, raw = BUF_INIT;

    m.extra = extra;
    m.n_extra = 3;
    m.reply_to = SLICE_LIT("Help@Example.com");
    build(&m, &out);
    assert_field(buf_slice(&out), "List-Unsubscribe", extra[0].value.p);
    assert_field(buf_slice(&out), "List-Unsubscribe-Post", "List-Unsubscribe=One-Click");
    assert_field(buf_slice(&out), "X-Campaign", "=?UTF-8?Q?Fr=C3=BChling?=");
    assert_field(buf_slice(&out), "Reply-To", "Help@example.com");
    ck_assert_int_lt((int)slice_find(buf_slice(&out), SLICE_LIT("List-Unsubscribe:")),
        (int)slice_find(buf_slice(&out), SLICE_LIT("List-Unsubscribe-Post:")));
    buf_deinit(&out);
    buf_deinit(&raw);
}
END_TEST

START_TEST(t05_international_addresses)
{
    struct mime_message m = simple_message();
    struct buf out = BUF_INIT;
    bool needs_smtputf8;

    m.to_name = SLICE_NONE;
    m.to_address = SLICE_LIT("info@bücher.example.org");
    build(&m, &out);
    assert_field(buf_slice(&out), "To", "info@xn--bcher-kva.example.org");

    m.to_address = SLICE_LIT("jürgen@example.org");
    buf_clear(&out);
    ck_assert_int_eq(mime_build(&m, &out, &needs_smtputf8, NULL), 0);
    ck_assert(needs_smtputf8);
    assert_field(buf_slice(&out), "To", "jürgen@example.org");
    buf_deinit(&out);
}
END_TEST

static void
make_long_html(struct buf *html)
{
    buf_append_str(html, "<html><body><!--[if mso]><table><tr><td>O</td></tr></table><![endif]-->"
                         "<img src=\"cid:logo\">");
    while (html->n < 30000)
        buf_append_str(html, "<p style=\"margin:0\">A paragraph of text. </p>");
}

START_TEST(t07_text_long_html_image_file)
{
    static const struct slice pdf_name = SLICE_LIT("Preis\xc2\xadliste \xc3\xbc.pdf");
    const struct mime_file files[] = {
        {pdf_name, SLICE_LIT("application/pdf"), SLICE_NONE, SLICE_LIT("%PDF-1.7 \xff\0\x01 end")},
        {SLICE_LIT("logo.png"), SLICE_LIT("image/png"), SLICE_LIT("logo"),
            SLICE_LIT("\x89PNG\r\n")},
    };
    struct mime_message m = simple_message();
    struct buf html = BUF_INIT, out = BUF_INIT, value = BUF_INIT, name = BUF_INIT;
    struct slice alternative, related;

    make_long_html(&html);
    m.text = SLICE_LIT("Liebe Zoë,\nbis bald\n");
    m.html = buf_slice(&html);
    m.files = files;
    m.n_files = 2;
    build(&m, &out);

    assert_type(buf_slice(&out), "multipart/mixed");
    ck_assert_uint_eq(reader_n_parts(buf_slice(&out)), 2);
    alternative = reader_part(buf_slice(&out), 0);
    assert_type(alternative, "multipart/alternative");
    ck_assert_uint_eq(reader_n_parts(alternative), 2);
    assert_type(reader_part(alternative, 0), "text/plain; charset=utf-8");
    assert_content(reader_part(alternative, 0), SLICE_LIT("Liebe Zoë,\r\nbis bald\r\n"));
    related = reader_part(alternative, 1);
    assert_type(related, "multipart/related");
    ck_assert_uint_eq(reader_n_parts(related), 2);
    assert_type(reader_part(related, 0), "text/html; charset=utf-8");
    assert_content(reader_part(related, 0), buf_slice(&html));
    assert_type(reader_part(related, 1), "image/png");
    assert_content(reader_part(related, 1), files[1].data);
    assert_content(reader_part(buf_slice(&out), 1), files[0].data);

    ck_assert(reader_field(reader_part(buf_slice(&out), 1), "Content-Disposition", &value));
    ck_assert(slice_starts(
        buf_slice(&value), SLICE_LIT("attachment; filename=\"Preis_liste _.pdf\"; filename*=")));
    ck_assert(reader_param(buf_slice(&value), "filename", &name));
    ck_assert(slice_eq(buf_slice(&name), pdf_name));
    buf_deinit(&html);
    buf_deinit(&out);
    buf_deinit(&value);
    buf_deinit(&name);
}
END_TEST

START_TEST(file_names_read_back)
{
    static const char *const names[] = {"a.pdf", "two words.pdf", "50%.pdf", "quote\".pdf",
        "../../etc/passwd", "back\\slash", "ü.pdf",
        "отчёт за первый квартал две тысячи двадцать.pdf",
        "日本語のとても長いファイル名日本語のとても長いファイル名日本語のとても長い.pdf",
        "a-very-long-plain-name-that-does-not-fit-one-line-of-a-header-field-at-all-and-goes-on."
        "txt"};
    struct mime_message m = simple_message();
    struct buf out = BUF_INIT, value = BUF_INIT, name = BUF_INIT;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct mime_file file = {
            slice_str(names[i]), SLICE_LIT("text/csv"), SLICE_NONE, SLICE_LIT("x")};
        struct slice rest, line;

        m.files = &file;
        m.n_files = 1;
        build(&m, &out);
        rest = buf_slice(&out);
        while (slice_cut(&rest, '\n', &line))
            ck_assert_uint_le(line.n, 79);
        buf_clear(&name);
        ck_assert(reader_field(reader_part(buf_slice(&out), 1), "Content-Disposition", &value));
        ck_assert(reader_param(buf_slice(&value), "filename", &name));
        ck_assert_str_eq(buf_cstr(&name), names[i]);
    }
    buf_deinit(&out);
    buf_deinit(&value);
    buf_deinit(&name);
}
END_TEST

START_TEST(t12_bodies_are_seven_bit)
{
    static const char *const texts[] = {"plain", "Zoë", "日本語の本文です", "emoji 🎉 here",
        "ctrl \x01", "Жирный текст на кириллице"};
    struct mime_message m = simple_message();
    struct buf out = BUF_INIT;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        m.text = m.html = m.subject = m.from_name = m.to_name = slice_str(texts[i]);
        if (i == 4)
            m.subject = m.from_name = m.to_name = SLICE_LIT("x");
        build(&m, &out);
        for (size_t k = 0; k < out.n; k++)
            ck_assert_uint_lt((unsigned char)out.p[k], 0x80);
    }
    buf_deinit(&out);
}
END_TEST

/** A text of up to `max` pieces; with `is_line` without line ends, as header text must be. */
static void
some_text(struct buf *out, size_t max, bool is_line)
{
    static const char *const pieces[] = {"word ", "Zoë ", "日本", "=", "\xf0\x9f\x8e\x89", "--=_a",
        ".", "\"q\" ", "a,b ", "\n", "\r\n", "From "};
    size_t n = (size_t)rand_below(max) + 1;

    buf_clear(out);
    while (n-- > 0)
        buf_append_str(out, pieces[rand_below(is_line ? 9 : 12)]);
}

static void
assert_header_text(struct slice entity, const char *name, struct slice want)
{
    struct buf value = BUF_INIT, got = BUF_INIT;

    ck_assert(reader_field(entity, name, &value));
    reader_words(buf_slice(&value), &got);
    ck_assert(slice_eq(buf_slice(&got), want));
    buf_deinit(&value);
    buf_deinit(&got);
}

START_TEST(generated_messages_read_back)
{
    struct buf subject = BUF_INIT, name = BUF_INIT, html = BUF_INIT, data = BUF_INIT,
               out = BUF_INIT, got = BUF_INIT;

    rand_seed(31);
    for (int round = 0; round < 300; round++) {
        struct mime_message m = simple_message();
        struct mime_file files[2] = {
            {SLICE_NONE, SLICE_LIT("application/octet-stream"), SLICE_NONE, SLICE_NONE},
            {SLICE_LIT("i.png"), SLICE_LIT("image/png"), SLICE_LIT("i@x"), SLICE_LIT("png")}};
        struct slice part;

        some_text(&subject, 40, true);
        some_text(&name, 12, true);
        some_text(&html, 200, false);
        some_text(&data, 300, false);
        m.subject = buf_slice(&subject);
        m.from_name = buf_slice(&name);
        m.html = buf_slice(&html);
        m.boundary_seed = (uint64_t)round;
        files[0].name = slice_trim(buf_slice(&name));
        files[0].data = buf_slice(&data);
        m.files = files;
        m.n_files = (size_t)round % 3;
        build(&m, &out);
        assert_header_text(buf_slice(&out), "Subject", m.subject);
        part = buf_slice(&out);
        if (m.n_files > 0) {
            assert_content(reader_part(part, 1), files[0].data);
            part = reader_part(part, 0);
        }
        part = reader_part(part, 1);
        if (m.n_files == 2)
            part = reader_part(part, 0);
        buf_clear(&got);
        for (size_t i = 0; i < html.n; i++) {
            if (html.p[i] == '\n' && (i == 0 || html.p[i - 1] != '\r'))
                buf_append_char(&got, '\r');
            buf_append_char(&got, html.p[i]);
        }
        assert_content(part, buf_slice(&got));
    }
    buf_deinit(&subject);
    buf_deinit(&name);
    buf_deinit(&html);
    buf_deinit(&data);
    buf_deinit(&out);
    buf_deinit(&got);
}
END_TEST

SUITE_MAIN("mime_build", generated_messages_read_back, plain_message_byte_for_byte,
    same_parts_same_bytes, levels_exist_only_when_needed, t03_line_break_in_a_name,
    refused_messages, extra_fields_in_order, t05_international_addresses,
    t07_text_long_html_image_file, file_names_read_back, t12_bodies_are_seven_bit)
