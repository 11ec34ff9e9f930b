/*
 * The content of a template: what is read from a caller, what is stored with a draft, the live template
 * and each version. One set of member names for all of them.
 */
#include "model/template_content.h"

#include <string.h>

#include "base/bsonx.h"
#include "base/utf8.h"
#include "message/address.h"
#include "model/slug.h"

#define SUBJECT_MAX 998

/* ---- checks ---------------------------------------------------------------------------------- */

static int
check_email(const char *field, struct slice email, struct err *err)
{
    struct address parsed;
    struct err why;

    err_clear(&why);
    if (email.n > 0 && address_parse(email, &parsed, &why) != 0)
        return err_field(err, field, "no valid address: %s", why.text);
    return 0;
}

static int
check_body(const char *field, struct slice body, size_t max, struct err *err)
{
    if (body.n > max)
        return err_field(err, field, "must have at most %zu bytes", max);
    if (!utf8_valid(body))
        return err_field(err, field, "is no well-formed UTF-8");
    return 0;
}

int
template_content_check(const struct template_content *c, struct err *err)
{
    if (text_check("subject", c->subject, 1, SUBJECT_MAX, false, err) != 0 ||
        text_check("preheader", c->preheader, 0, SUBJECT_MAX, false, err) != 0 ||
        text_check("fromName", c->from_name, 0, 200, false, err) != 0 ||
        check_email("fromEmail", c->from_email, err) != 0 ||
        check_email("replyTo", c->reply_to, err) != 0 ||
        check_body("body.html", c->html, TEMPLATE_MAX_HTML_BYTES, err) != 0 ||
        check_body("body.plainText", c->text, TEMPLATE_MAX_TEXT_BYTES, err) != 0)
        return -1;
    if (c->profile.n > 0 && slug_check("providerOverride", c->profile, err) != 0)
        return -1;
    if (slice_trim(c->html).n == 0 && slice_trim(c->text).n == 0)
        return err_sub(err, ERR_INVALID, "empty_body", "the body has neither HTML nor text");
    if (c->is_text_only && slice_trim(c->text).n == 0)
        return err_sub(err, ERR_INVALID, "empty_body", "a text-only template needs body.plainText");
    if (!c->is_text_only && slice_trim(c->html).n == 0)
        return err_sub(err, ERR_INVALID, "empty_body", "body.html is blank");
    return 0;
}

/* ---- from JSON ------------------------------------------------------------------------------- */

static int
read_text(const struct json *body, const char *name, const char *field, struct slice *out,
    struct err *err)
{
    const struct json *j = json_get(body, name);

    if (j == NULL)
        return 0;
    if (!json_is(j, JSON_STRING) && !json_is(j, JSON_NULL))
        return err_field(err, field, "must be a string");
    *out = json_str(j);
    return 0;
}

static int
read_bool(const struct json *body, const char *name, bool *out, struct err *err)
{
    const struct json *j = json_get(body, name);

    if (j == NULL)
        return 0;
    if (!json_is(j, JSON_BOOL))
        return err_field(err, name, "must be true or false");
    *out = json_bool(j, false);
    return 0;
}

static int
read_kind(const struct json *body, struct template_content *c, struct err *err)
{
    const struct json *j = json_get(body, "kind");
    int kind;

    if (j == NULL)
        return 0;
    if ((kind = mail_kind_parse(json_str(j))) < 0)
        return err_field(err, "kind", "must be marketing or transactional");
    c->kind = (enum mail_kind)kind;
    return 0;
}

static int
read_format(const struct json *body, struct template_content *c, struct err *err)
{
    const struct json *j = json_get(body, "bodyFormat");

    if (j == NULL)
        return 0;
    if (!slice_eq_str(json_str(j), "multipart") && !slice_eq_str(json_str(j), "text_only"))
        return err_field(err, "bodyFormat", "must be multipart or text_only");
    c->is_text_only = slice_eq_str(json_str(j), "text_only");
    return 0;
}

int
template_content_from_json(
    const struct json *body, bool is_new, struct template_content *c, struct err *err)
{
    const struct json *parts = json_get(body, "body");

    if (read_kind(body, c, err) != 0 || read_format(body, c, err) != 0)
        return -1;
    if (is_new) {
        c->track_opens = c->kind == MAIL_MARKETING;
        c->track_clicks = c->kind == MAIL_MARKETING;
    }
    if (parts != NULL && !json_is(parts, JSON_OBJECT))
        return err_field(err, "body", "must be an object");
    if (read_text(body, "subject", "subject", &c->subject, err) != 0 ||
        read_text(body, "preheader", "preheader", &c->preheader, err) != 0 ||
        read_text(body, "fromName", "fromName", &c->from_name, err) != 0 ||
        read_text(body, "fromEmail", "fromEmail", &c->from_email, err) != 0 ||
        read_text(body, "replyTo", "replyTo", &c->reply_to, err) != 0 ||
        read_text(body, "providerOverride", "providerOverride", &c->profile, err) != 0 ||
        read_text(parts, "html", "body.html", &c->html, err) != 0 ||
        read_text(parts, "plainText", "body.plainText", &c->text, err) != 0 ||
        read_bool(body, "trackOpens", &c->track_opens, err) != 0)
        return -1;
    return read_bool(body, "trackClicks", &c->track_clicks, err);
}

/* ---- stored and shown ------------------------------------------------------------------------ */

/* Texts of a content by name, for the stored form. */
static const struct {
    const char *name;
    size_t offset;
} texts[] = {
    {"subject", offsetof(struct template_content, subject)},
    {"preheader", offsetof(struct template_content, preheader)},
    {"html", offsetof(struct template_content, html)},
    {"text", offsetof(struct template_content, text)},
    {"fromName", offsetof(struct template_content, from_name)},
    {"fromEmail", offsetof(struct template_content, from_email)},
    {"replyTo", offsetof(struct template_content, reply_to)},
    {"profile", offsetof(struct template_content, profile)},
};
#define N_TEXTS (sizeof(texts) / sizeof(texts[0]))

void
template_content_to_bson(const struct template_content *c, bson_t *doc)
{
    bsonx_add_str(doc, "kind", slice_str(mail_kind_name(c->kind)));
    for (size_t i = 0; i < N_TEXTS; i++) {
        const struct slice *s = (const void *)((const char *)c + texts[i].offset);

        bsonx_add_str(doc, texts[i].name, s->p != NULL ? *s : SLICE_LIT(""));
    }
    bsonx_add_bool(doc, "isTextOnly", c->is_text_only);
    bsonx_add_bool(doc, "trackOpens", c->track_opens);
    bsonx_add_bool(doc, "trackClicks", c->track_clicks);
    bsonx_add_i64(doc, "nLinks", c->n_links);
}

void
template_content_from_bson(const bson_t *doc, struct template_content *c_r)
{
    int kind = mail_kind_parse(bsonx_str(doc, "kind"));

    memset(c_r, 0, sizeof(*c_r));
    c_r->kind = kind < 0 ? MAIL_MARKETING : (enum mail_kind)kind;
    for (size_t i = 0; i < N_TEXTS; i++) {
        struct slice *s = (void *)((char *)c_r + texts[i].offset);

        *s = bsonx_str(doc, texts[i].name);
    }
    c_r->is_text_only = bsonx_bool(doc, "isTextOnly", false);
    c_r->track_opens = bsonx_bool(doc, "trackOpens", false);
    c_r->track_clicks = bsonx_bool(doc, "trackClicks", false);
    c_r->n_links = (uint32_t)bsonx_i64(doc, "nLinks", 0);
}

static void
write_or_null(struct json_writer *w, const char *name, struct slice v)
{
    if (v.n > 0)
        jw_str(w, name, v);
    else
        jw_null(w, name);
}

void
template_content_write_members(
    struct json_writer *w, const struct template_content *c, bool with_body)
{
    jw_cstr(w, "kind", mail_kind_name(c->kind));
    jw_str(w, "subject", c->subject);
    jw_str(w, "preheader", c->preheader);
    write_or_null(w, "fromName", c->from_name);
    write_or_null(w, "fromEmail", c->from_email);
    write_or_null(w, "replyTo", c->reply_to);
    write_or_null(w, "providerOverride", c->profile);
    jw_cstr(w, "bodyFormat", c->is_text_only ? "text_only" : "multipart");
    jw_bool(w, "trackOpens", c->track_opens);
    jw_bool(w, "trackClicks", c->track_clicks);
    jw_int(w, "links", c->n_links);
    if (!with_body)
        return;
    jw_obj(w, "body");
    jw_str(w, "html", c->html);
    jw_str(w, "plainText", c->text);
    jw_end_obj(w);
}
