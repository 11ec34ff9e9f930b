#include "base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/id.h"
#include "base/timefmt.h"
#include "base/utf8.h"

/*
 * Streaming JSON writer (declared in json.h). Values go straight into the buffer; the only state is
 * one bit per level, "something was written here", which places the commas. Strings are copied in
 * runs: a table says which bytes end a run.
 */

#define MAX_LEVELS 64u

/* Bytes that cannot be copied as they are: controls, quote, backslash, '<', and all that is not
 * ASCII, which is checked character by character. */
static const bool stops_run[256] = {
    [0x00 ... 0x1f] = true,
    ['"'] = true,
    ['\\'] = true,
    ['<'] = true,
    [0x7f ... 0xff] = true,
};

void
jw_init(struct json_writer *w, struct buf *out)
{
    *w = (struct json_writer){.out = out};
}

static void
write_escape(struct buf *out, uint32_t cp)
{
    static const char short_forms[0x20] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};

    if (cp == '"' || cp == '\\') {
        buf_append_char(out, '\\');
        buf_append_char(out, (char)cp);
    } else if (cp < 0x20 && short_forms[cp] != '\0') {
        buf_append_char(out, '\\');
        buf_append_char(out, short_forms[cp]);
    } else {
        buf_printf(out, "\\u%04" PRIx32, cp);
    }
}

static void
write_string(struct buf *out, struct slice v)
{
    size_t run = 0;

    buf_append_char(out, '"');
    for (size_t pos = 0; pos < v.n;) {
        size_t at = pos;
        uint32_t cp;

        if (!stops_run[(unsigned char)v.p[pos]]) {
            pos++;
            continue;
        }
        cp = utf8_next(v, &pos);
        /* U+2028 and U+2029 end a line in scripts. A fault is one byte decoded as U+FFFD. */
        if (cp >= 0x80 && cp != 0x2028 && cp != 0x2029 && !(cp == 0xfffd && pos - at == 1))
            continue;
        buf_append(out, v.p + run, at - run);
        if (cp == 0xfffd)
            utf8_append(out, cp);
        else
            write_escape(out, cp);
        run = pos;
    }
    if (v.n != 0)
        buf_append(out, v.p + run, v.n - run);
    buf_append_char(out, '"');
}

/* What stands before every value: the comma, and the name of a member. */
static void
begin_value(struct json_writer *w, const char *name)
{
    uint64_t bit = UINT64_C(1) << w->depth;

    if (w->has_key) {
        assert(name == NULL);
        w->has_key = false;
        return;
    }
    if ((w->comma & bit) != 0)
        buf_append_char(w->out, ',');
    w->comma |= bit;
    if (name != NULL) {
        write_string(w->out, slice_str(name));
        buf_append_char(w->out, ':');
    }
}

void
jw_key(struct json_writer *w, struct slice name)
{
    begin_value(w, NULL);
    write_string(w->out, name);
    buf_append_char(w->out, ':');
    w->has_key = true;
}

static void
open_level(struct json_writer *w, const char *name, char bracket)
{
    begin_value(w, name);
    buf_append_char(w->out, bracket);
    w->depth++;
    assert(w->depth < MAX_LEVELS);
    w->comma &= ~(UINT64_C(1) << w->depth);
}

static void
close_level(struct json_writer *w, char bracket)
{
    assert(w->depth > 0 && !w->has_key);
    w->depth--;
    buf_append_char(w->out, bracket);
}

void
jw_obj(struct json_writer *w, const char *name)
{
    open_level(w, name, '{');
}

void
jw_arr(struct json_writer *w, const char *name)
{
    open_level(w, name, '[');
}

void
jw_end_obj(struct json_writer *w)
{
    close_level(w, '}');
}

void
jw_end_arr(struct json_writer *w)
{
    close_level(w, ']');
}

void
jw_str(struct json_writer *w, const char *name, struct slice v)
{
    begin_value(w, name);
    write_string(w->out, v);
}

void
jw_cstr(struct json_writer *w, const char *name, const char *v)
{
    if (v == NULL)
        jw_null(w, name);
    else
        jw_str(w, name, slice_str(v));
}

void
jw_int(struct json_writer *w, const char *name, int64_t v)
{
    begin_value(w, name);
    buf_append_i64(w->out, v);
}

void
jw_num(struct json_writer *w, const char *name, double v)
{
    char text[32];

    if (!isfinite(v)) {
        jw_null(w, name);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    begin_value(w, name);
    buf_append_str(w->out, text);
}

void
jw_bool(struct json_writer *w, const char *name, bool v)
{
    jw_raw(w, name, v ? SLICE_LIT("true") : SLICE_LIT("false"));
}

void
jw_null(struct json_writer *w, const char *name)
{
    jw_raw(w, name, SLICE_LIT("null"));
}

void
jw_id(struct json_writer *w, const char *name, uint64_t id)
{
    char text[ID_TEXT_SIZE];

    if (id == 0)
        jw_null(w, name);
    else
        jw_str(w, name, slice_make(id_text(id, text), ID_TEXT_SIZE - 1));
}

void
jw_time(struct json_writer *w, const char *name, int64_t ms)
{
    char text[TIMEFMT_ISO_SIZE];

    if (ms == 0)
        jw_null(w, name);
    else
        jw_str(w, name, slice_str(timefmt_iso(ms, text)));
}

void
jw_raw(struct json_writer *w, const char *name, struct slice json)
{
    begin_value(w, name);
    buf_append_slice(w->out, json);
}

static void
write_children(struct json_writer *w, const struct json *v, bool is_object)
{
    for (const struct json *c = json_first(v); c != NULL; c = json_next(c)) {
        if (is_object)
            jw_key(w, json_name(c));
        jw_json(w, NULL, c);
    }
}

void
jw_json(struct json_writer *w, const char *name, const struct json *v)
{
    int64_t integer;

    switch (v != NULL ? json_type(v) : JSON_NULL) {
    case JSON_NULL: jw_null(w, name); break;
    case JSON_BOOL: jw_bool(w, name, json_bool(v, false)); break;
    case JSON_STRING: jw_str(w, name, json_str(v)); break;
    case JSON_NUMBER:
        if (json_int(v, &integer))
            jw_int(w, name, integer);
        else
            jw_num(w, name, json_num(v, 0));
        break;
    case JSON_ARRAY:
        jw_arr(w, name);
        write_children(w, v, false);
        jw_end_arr(w);
        break;
    case JSON_OBJECT:
        jw_obj(w, name);
        write_children(w, v, true);
        jw_end_obj(w);
        break;
    }
}
