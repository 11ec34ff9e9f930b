/*
 * Checks of the two kinds of text that people give to things: slugs, which are keys and parts of
 * paths, and names, which are shown and may end in a header field. A name never holds a control
 * character, so nothing stored can break a header or a log line.
 */
#include "model/slug.h"

#include "base/utf8.h"

static bool
is_slug_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool
slug_valid(struct slice s)
{
    if (s.n < 1 || s.n > 128 || !is_slug_char(s.p[0]) || !is_slug_char(s.p[s.n - 1]))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (!is_slug_char(s.p[i]) && s.p[i] != '-')
            return false;
    }
    return true;
}

int
slug_check(const char *field, struct slice s, struct err *err)
{
    if (!slug_valid(s))
        return err_field(
            err, field, "must be 1 to 128 lower-case letters, digits and inner hyphens");
    return 0;
}

/* Control characters other than line ends and tabs. */
static bool
has_hard_control(struct slice s)
{
    size_t pos = 0;

    while (pos < s.n) {
        uint32_t cp = utf8_next(s, &pos);

        if (cp == '\n' || cp == '\r' || cp == '\t')
            continue;
        if (cp < 0x20 || (cp >= 0x7f && cp < 0xa0))
            return true;
    }
    return false;
}

int
text_check(
    const char *field, struct slice s, size_t min, size_t max, bool allow_breaks, struct err *err)
{
    size_t n;

    /* A character has at most four bytes, so a hostile length is refused before it is walked. */
    if (s.n > 4 * max)
        return err_field(err, field, "must have at most %zu characters", max);
    if (!utf8_valid(s))
        return err_field(err, field, "is no well-formed UTF-8");
    if (allow_breaks ? has_hard_control(s) : utf8_has_control(s))
        return err_field(err, field, "must not contain control characters");
    n = utf8_count(s);
    if (n < min)
        return err_field(err, field, "must have at least %zu characters", min);
    if (n > max)
        return err_field(err, field, "must have at most %zu characters", max);
    return 0;
}
