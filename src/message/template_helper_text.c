/*
 * Helpers that work on text. Characters are code points; results live in the scratch arena and count
 * against the memory budget of the run.
 */
#include "message/template_helper.h"

#include <string.h>

#include "base/utf8.h"
#include "message/letter_case.h"
#include "message/template_run.h"
#include "message/value_text.h"

/* {{truncate text n}}: the first n characters, with "…" when something was cut. */
int
helper_truncate(const struct template_args *a, struct value *out_r, struct err *err)
{
    double limit = value_to_number(template_arg(a, 1));
    struct slice s, ellipsis = SLICE_LIT("\u2026");
    size_t pos = 0;
    char *copy;

    if (template_arg_text(a, 0, &s, err) != 0)
        return -1;
    if (!(limit >= 0))
        return template_run_fail(a->run, err, "truncate: the length is no number");
    for (double n = 0; n < limit && pos < s.n; n++)
        utf8_next(s, &pos);
    *out_r = value_str(s);
    if (pos >= s.n)
        return 0;
    copy = template_run_alloc(a->run, pos + ellipsis.n, err);
    if (copy == NULL)
        return -1;
    memcpy(copy, s.p, pos);
    memcpy(copy + pos, ellipsis.p, ellipsis.n);
    *out_r = value_str(slice_make(copy, pos + ellipsis.n));
    return 0;
}

/* One character as UTF-8; returns the position behind it. */
static char *
put_utf8(char *to, uint32_t cp)
{
    if (cp < 0x80) {
        *to++ = (char)cp;
    } else if (cp < 0x800) {
        *to++ = (char)(0xC0 | (cp >> 6));
        *to++ = (char)(0x80 | (cp & 0x3F));
    } else if (cp < 0x10000) {
        *to++ = (char)(0xE0 | (cp >> 12));
        *to++ = (char)(0x80 | ((cp >> 6) & 0x3F));
        *to++ = (char)(0x80 | (cp & 0x3F));
    } else {
        *to++ = (char)(0xF0 | (cp >> 18));
        *to++ = (char)(0x80 | ((cp >> 12) & 0x3F));
        *to++ = (char)(0x80 | ((cp >> 6) & 0x3F));
        *to++ = (char)(0x80 | (cp & 0x3F));
    }
    return to;
}

static int
map_letters(
    const struct template_args *a, uint32_t (*map)(uint32_t), struct value *out_r, struct err *err)
{
    struct slice s;
    size_t pos = 0;
    char *copy, *to;

    if (template_arg_text(a, 0, &s, err) != 0)
        return -1;
    /* No pair takes more bytes than its partner, but a broken byte becomes U+FFFD: three. */
    copy = to = template_run_alloc(a->run, s.n * 3, err);
    if (copy == NULL)
        return -1;
    while (pos < s.n)
        to = put_utf8(to, map(utf8_next(s, &pos)));
    *out_r = value_str(slice_make(copy, (size_t)(to - copy)));
    return 0;
}

int
helper_upper(const struct template_args *a, struct value *out_r, struct err *err)
{
    return map_letters(a, letter_upper, out_r, err);
}

int
helper_lower(const struct template_args *a, struct value *out_r, struct err *err)
{
    return map_letters(a, letter_lower, out_r, err);
}

int
helper_urlencode(const struct template_args *a, struct value *out_r, struct err *err)
{
    struct slice s;
    char *copy;

    if (template_arg_text(a, 0, &s, err) != 0)
        return -1;
    copy = template_run_alloc(a->run, s.n * 3, err);
    if (copy == NULL)
        return -1;
    *out_r = value_str(slice_make(copy, (size_t)(template_escape_percent(s, copy) - copy)));
    return 0;
}

/* {{join list separator}}: elements with the separator between, "," when there is none. */
int
helper_join(const struct template_args *a, struct value *out_r, struct err *err)
{
    struct slice separator = SLICE_LIT(","), s;
    char tmp[VALUE_TEXT_SIZE];

    *out_r = value_str(SLICE_NONE);
    if (a->n > 1 && template_arg_text(a, 1, &separator, err) != 0)
        return -1;
    if (template_arg(a, 0)->type != VALUE_ARRAY) {
        if (template_arg_text(a, 0, &s, err) != 0)
            return -1;
    } else if (template_run_text(a->run, template_arg(a, 0), separator, tmp, &s, err) != 0) {
        return -1;
    }
    *out_r = value_str(s);
    return 0;
}
