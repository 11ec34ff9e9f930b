#include "base/json_scan.h"

#include <assert.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/utf8.h"

/*
 * The strict half of the JSON parser.
 *
 * The library that builds the tree is lenient where leniency hurts: it takes any byte up to space
 * as white space, numbers like "1." and "01", raw line breaks in strings, and cuts a string at
 * \u0000. So the text passes this scanner first, which knows the grammar and nothing else; what it
 * lets through means the same to every JSON parser. One loop, no recursion: a bit per open level
 * says whether it is an object.
 */

#define MAX_DEPTH        1024
#define MAX_NUMBER_CHARS 63

struct scan {
    const char *p, *end;
    const char *start;
    unsigned depth, max_depth;
    unsigned nodes, max_nodes;
    const char *fault; /* set once; NULL while all is well */
    unsigned char is_object[MAX_DEPTH / CHAR_BIT];
};

static bool
fail(struct scan *s, const char *fault)
{
    s->fault = fault;
    return false;
}

static void
skip_blank(struct scan *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r'))
        s->p++;
}

static bool
take(struct scan *s, char c)
{
    if (s->p == s->end || *s->p != c)
        return false;
    s->p++;
    return true;
}

static bool
take_digits(struct scan *s)
{
    const char *from = s->p;

    while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
        s->p++;
    return s->p != from;
}

static bool
scan_number(struct scan *s)
{
    const char *from = s->p;

    take(s, '-');
    if (!take(s, '0') && !take_digits(s))
        return fail(s, "bad number");
    if (take(s, '.') && !take_digits(s))
        return fail(s, "bad number");
    if (take(s, 'e') || take(s, 'E')) {
        if (!take(s, '+'))
            take(s, '-');
        if (!take_digits(s))
            return fail(s, "bad number");
    }
    /* What is longer, the tree builder would cut. */
    return s->p - from <= MAX_NUMBER_CHARS || fail(s, "number too long");
}

static bool
take_hex4(struct scan *s, unsigned *unit_r)
{
    unsigned unit = 0;

    if (s->end - s->p < 4)
        return fail(s, "bad escape");
    for (int i = 0; i < 4; i++) {
        char c = *s->p++;
        char lower = (char)(c | 0x20);

        if (c >= '0' && c <= '9')
            unit = unit << 4 | (unsigned)(c - '0');
        else if (lower >= 'a' && lower <= 'f')
            unit = unit << 4 | (unsigned)(lower - 'a' + 10);
        else
            return fail(s, "bad escape");
    }
    *unit_r = unit;
    return true;
}

/* Behind a backslash. */
static bool
scan_escape(struct scan *s)
{
    unsigned unit;

    if (s->p == s->end)
        return fail(s, "unfinished string");
    switch (*s->p++) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't': return true;
    case 'u': break;
    default: return fail(s, "bad escape");
    }
    if (!take_hex4(s, &unit))
        return false;
    if (unit == 0)
        return fail(s, "U+0000 in a string");
    if (unit >= 0xdc00 && unit <= 0xdfff)
        return fail(s, "unpaired surrogate");
    if (unit < 0xd800 || unit > 0xdbff)
        return true;
    if (!take(s, '\\') || !take(s, 'u') || !take_hex4(s, &unit) || unit < 0xdc00 || unit > 0xdfff)
        return fail(s, "unpaired surrogate");
    return true;
}

/* Behind the opening quote. UTF-8 is checked for the whole text beforehand. */
static bool
scan_string(struct scan *s)
{
    while (s->p < s->end) {
        unsigned char c = (unsigned char)*s->p++;

        if (c == '"')
            return true;
        if (c < 0x20)
            return fail(s, "control character in a string");
        if (c == '\\' && !scan_escape(s))
            return false;
    }
    return fail(s, "unfinished string");
}

static bool
scan_word(struct scan *s, struct slice word)
{
    if (!slice_starts(slice_make(s->p, (size_t)(s->end - s->p)), word))
        return fail(s, "unexpected character");
    s->p += word.n;
    return true;
}

static bool
in_object(const struct scan *s)
{
    unsigned level = s->depth - 1;

    return (s->is_object[level / CHAR_BIT] >> level % CHAR_BIT & 1) != 0;
}

static bool
open_level(struct scan *s, bool is_object)
{
    unsigned char bit = (unsigned char)(1u << s->depth % CHAR_BIT);

    if (s->depth == s->max_depth)
        return fail(s, "nested too deeply");
    if (is_object)
        s->is_object[s->depth / CHAR_BIT] |= bit;
    else
        s->is_object[s->depth / CHAR_BIT] &= (unsigned char)~bit;
    s->depth++;
    return true;
}

static bool
scan_name(struct scan *s)
{
    skip_blank(s);
    if (!take(s, '"'))
        return fail(s, "expected a name");
    if (!scan_string(s))
        return false;
    skip_blank(s);
    return take(s, ':') || fail(s, "expected a colon");
}

/* A scalar whole, or the opening of a level. `opened_r` tells which. */
static bool
scan_value(struct scan *s, bool *opened_r)
{
    *opened_r = false;
    skip_blank(s);
    if (s->nodes++ == s->max_nodes)
        return fail(s, "too many values");
    if (s->p == s->end)
        return fail(s, "unexpected end");
    switch (*s->p) {
    case '{':
    case '[': *opened_r = true; return open_level(s, *s->p++ == '{');
    case '"': s->p++; return scan_string(s);
    case 't': return scan_word(s, SLICE_LIT("true"));
    case 'f': return scan_word(s, SLICE_LIT("false"));
    case 'n': return scan_word(s, SLICE_LIT("null"));
    default: return scan_number(s);
    }
}

/* Behind a whole value: close levels until a comma says that another value follows. */
static bool
scan_after_value(struct scan *s)
{
    while (s->depth > 0) {
        skip_blank(s);
        if (take(s, ','))
            return !in_object(s) || scan_name(s);
        if (!take(s, in_object(s) ? '}' : ']'))
            return fail(s, s->p == s->end ? "unexpected end" : "unexpected character");
        s->depth--;
    }
    return true;
}

static bool
scan_text(struct scan *s)
{
    bool opened;

    do {
        if (!scan_value(s, &opened))
            return false;
        if (opened) {
            skip_blank(s);
            if (s->p < s->end && *s->p == (in_object(s) ? '}' : ']')) {
                opened = false; /* empty: scan_after_value() closes it */
            } else if (in_object(s) && !scan_name(s)) {
                return false;
            }
        }
        if (!opened && !scan_after_value(s))
            return false;
    } while (s->depth > 0);
    skip_blank(s);
    return s->p == s->end || fail(s, "bytes behind the value");
}

int
json_scan(struct slice text, unsigned max_depth, unsigned max_nodes, struct err *err)
{
    struct scan s = {.p = text.p,
        .end = text.p,
        .start = text.p,
        .max_depth = max_depth,
        .max_nodes = max_nodes};

    assert(max_depth <= MAX_DEPTH);
    if (text.n != 0)
        s.end += text.n;
    if (!utf8_valid(text))
        return err_sub(err, ERR_INVALID, "invalid_json", "not well-formed UTF-8");
    if (!scan_text(&s))
        return err_sub(err, ERR_INVALID, "invalid_json", "%s at byte %zu", s.fault,
            text.n != 0 ? (size_t)(s.p - s.start) : 0);
    return 0;
}
