/*
 * Values as text and as numbers, by the rules authors know from JavaScript.
 *
 * Arrays are measured first and written second, so that a list from outside is bounded before any
 * memory is taken for it. Nothing here depends on the locale: the process runs in "C".
 */
#include "message/value_text.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/timefmt.h"
#include "message/value_decimal.h"

#define JOIN_DEPTH_MAX 32

/* Digits from the end of `out`: printf costs more than the rest of a placeholder. */
static struct slice
int_text(int64_t i, char out[VALUE_TEXT_SIZE])
{
    uint64_t magnitude = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
    char *end = out + VALUE_TEXT_SIZE, *p = end;

    do {
        *--p = (char)('0' + magnitude % 10);
        magnitude /= 10;
    } while (magnitude > 0);
    if (i < 0)
        *--p = '-';
    return slice_make(p, (size_t)(end - p));
}

struct slice
value_number_text(double d, char out[VALUE_TEXT_SIZE])
{
    struct value_decimal dec;
    size_t n = 0;

    if (isnan(d))
        return SLICE_LIT("NaN");
    if (isinf(d))
        return d < 0 ? SLICE_LIT("-Infinity") : SLICE_LIT("Infinity");
    if (d == trunc(d) && fabs(d) < 1e15)
        return int_text((int64_t)d, out);

    value_decimal_from_double(d, &dec);
    if (dec.is_negative)
        out[n++] = '-';
    if (dec.point > 21 || dec.point <= -6) {
        out[n++] = dec.digits[0];
        if (dec.n > 1)
            out[n++] = '.';
        for (int i = 1; i < dec.n; i++)
            out[n++] = dec.digits[i];
        n += (size_t)snprintf(out + n, VALUE_TEXT_SIZE - n, "e%+d", dec.point - 1);
        return slice_make(out, n);
    }
    if (dec.point <= 0)
        out[n++] = '0';
    for (int i = dec.point <= 0 ? dec.point : 0; i < dec.n || i < dec.point; i++) {
        if (i == dec.point)
            out[n++] = '.';
        out[n++] = i >= 0 && i < dec.n ? dec.digits[i] : '0';
    }
    return slice_make(out, n);
}

static struct slice
scalar_text(const struct value *v, char tmp[VALUE_TEXT_SIZE])
{
    static_assert(VALUE_TEXT_SIZE >= TIMEFMT_ISO_SIZE, "a date fits");

    switch (v->type) {
    case VALUE_BOOL: return v->b ? SLICE_LIT("true") : SLICE_LIT("false");
    case VALUE_INT: return int_text(v->i, tmp);
    case VALUE_NUMBER: return value_number_text(v->d, tmp);
    case VALUE_STRING: return v->s;
    case VALUE_DATE: return slice_str(timefmt_iso(v->i, tmp));
    case VALUE_UNDEFINED:
    case VALUE_NULL:
    case VALUE_ARRAY:
    case VALUE_OBJECT: break;
    }
    return SLICE_NONE;
}

/* Length of a joined array, or SIZE_MAX as soon as it passes `max_bytes`. */
static size_t
joined_size(const struct value *v, struct slice separator, size_t max_bytes, unsigned depth)
{
    char tmp[VALUE_TEXT_SIZE];
    size_t sum = 0, n;

    if (depth >= JOIN_DEPTH_MAX)
        return 0;
    for (size_t i = 0; i < v->array.n; i++) {
        const struct value *item = &v->array.items[i];

        if (item->type == VALUE_ARRAY)
            n = joined_size(item, SLICE_LIT(","), max_bytes, depth + 1);
        else
            n = scalar_text(item, tmp).n;
        if (n > max_bytes || sum > max_bytes - n)
            return SIZE_MAX;
        sum += n;
        if (i > 0) {
            if (separator.n > max_bytes - sum)
                return SIZE_MAX;
            sum += separator.n;
        }
    }
    return sum;
}

static char *
joined_write(const struct value *v, struct slice separator, char *to, unsigned depth)
{
    char tmp[VALUE_TEXT_SIZE];

    if (depth >= JOIN_DEPTH_MAX)
        return to;
    for (size_t i = 0; i < v->array.n; i++) {
        const struct value *item = &v->array.items[i];

        if (i > 0 && separator.n > 0)
            to = (char *)memcpy(to, separator.p, separator.n) + separator.n;
        if (item->type == VALUE_ARRAY) {
            to = joined_write(item, SLICE_LIT(","), to, depth + 1);
        } else {
            struct slice s = scalar_text(item, tmp);

            if (s.n > 0)
                to = (char *)memcpy(to, s.p, s.n) + s.n;
        }
    }
    return to;
}

bool
value_text(const struct value *v, struct slice separator, size_t max_bytes,
    char tmp[VALUE_TEXT_SIZE], struct arena *a, struct slice *text_r)
{
    size_t n;
    char *p;

    if (v->type != VALUE_ARRAY) {
        *text_r = scalar_text(v, tmp);
        return true;
    }
    n = joined_size(v, separator, max_bytes, 0);
    if (n == SIZE_MAX)
        return false;
    p = arena_alloc(a, n);
    joined_write(v, separator, p, 0);
    *text_r = slice_make(p, n);
    return true;
}

/* Decimal text with optional sign, fraction and exponent, blanks around it allowed. Anything longer
 * than the longest useful number is no number. */
static double
text_to_number(struct slice s)
{
    char text[64];
    size_t i = 0, digits = 0;

    s = slice_trim(s);
    if (s.n == 0)
        return 0;
    if (s.n >= sizeof(text))
        return NAN;
    if (s.p[i] == '+' || s.p[i] == '-')
        i++;
    for (; i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; i++)
        digits++;
    if (i < s.n && s.p[i] == '.') {
        for (i++; i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; i++)
            digits++;
    }
    if (digits == 0)
        return NAN;
    if (i < s.n && (s.p[i] == 'e' || s.p[i] == 'E')) {
        i++;
        if (i < s.n && (s.p[i] == '+' || s.p[i] == '-'))
            i++;
        if (i == s.n)
            return NAN;
        while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9')
            i++;
    }
    if (i != s.n)
        return NAN;
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    return strtod(text, NULL);
}

double
value_to_number(const struct value *v)
{
    switch (v->type) {
    case VALUE_NULL: return 0;
    case VALUE_BOOL: return v->b ? 1 : 0;
    case VALUE_INT:
    case VALUE_DATE: return (double)v->i;
    case VALUE_NUMBER: return v->d;
    case VALUE_STRING: return text_to_number(v->s);
    case VALUE_UNDEFINED:
    case VALUE_ARRAY:
    case VALUE_OBJECT: break;
    }
    return NAN;
}
