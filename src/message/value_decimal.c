/*
 * Decimal digits of numbers: the shortest ones that read back as the same double, rounding half up
 * on those digits, and grouping for people.
 *
 * Shortest digits are found by printing with 15, 16 and 17 significant digits: any decimal of up to
 * 15 digits survives a round trip through a double, so when 15 digits read back, they are the
 * shortest once trailing zeros are cut.
 */
#include "message/value_decimal.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
decimal_strip(struct value_decimal *dec)
{
    while (dec->n > 0 && dec->digits[dec->n - 1] == '0')
        dec->n--;
    if (dec->n == 0)
        dec->point = 0;
}

void
value_decimal_from_double(double d, struct value_decimal *dec_r)
{
    char text[40];
    const char *exponent;

    assert(isfinite(d));
    memset(dec_r, 0, sizeof(*dec_r));
    dec_r->is_negative = signbit(d) != 0;
    d = fabs(d);
    if (d == 0)
        return;
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(text, sizeof(text), "%.*e", precision - 1, d);
        if (strtod(text, NULL) == d)
            break;
    }
    exponent = strchr(text, 'e');
    for (const char *p = text; p < exponent; p++) {
        if (*p >= '0' && *p <= '9')
            dec_r->digits[dec_r->n++] = *p;
    }
    dec_r->point = atoi(exponent + 1) + 1;
    decimal_strip(dec_r);
}

void
value_decimal_from_int(int64_t i, struct value_decimal *dec_r)
{
    uint64_t magnitude = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
    int first = (int)sizeof(dec_r->digits);

    memset(dec_r, 0, sizeof(*dec_r));
    dec_r->is_negative = i < 0;
    for (; magnitude > 0; magnitude /= 10)
        dec_r->digits[--first] = (char)('0' + magnitude % 10);
    dec_r->n = dec_r->point = (int)sizeof(dec_r->digits) - first;
    memmove(dec_r->digits, dec_r->digits + first, (size_t)dec_r->n);
    decimal_strip(dec_r);
}

void
value_decimal_round(struct value_decimal *dec, int places)
{
    int keep = dec->point + places;
    bool up;

    if (keep >= dec->n)
        return;
    up = keep >= 0 && dec->digits[keep] >= '5';
    dec->n = keep > 0 ? keep : 0;
    if (up) {
        while (dec->n > 0 && dec->digits[dec->n - 1] == '9')
            dec->n--;
        if (dec->n > 0) {
            dec->digits[dec->n - 1]++;
        } else {
            /* 0.0096 at two places leaves no digit: the carry is one unit of the last place */
            dec->point = keep > 0 ? dec->point + 1 : 1 - places;
            dec->digits[0] = '1';
            dec->n = 1;
        }
    }
    decimal_strip(dec);
}

size_t
value_decimal_group(const struct value_decimal *dec, int min_places, char out[VALUE_DECIMAL_SIZE])
{
    int whole = dec->n > 0 && dec->point > 0 ? dec->point : 0;
    int places = dec->n > 0 && dec->n > dec->point ? dec->n - dec->point : 0;
    size_t n = 0;

    if (whole == 0)
        out[n++] = '0';
    for (int i = 0; i < whole; i++) {
        out[n++] = i < dec->n ? dec->digits[i] : '0';
        if (i + 1 < whole && (whole - i - 1) % 3 == 0)
            out[n++] = ',';
    }
    if (places < min_places)
        places = min_places;
    assert(places <= 4);
    if (places > 0)
        out[n++] = '.';
    for (int i = dec->point; i < dec->point + places; i++)
        out[n++] = i >= 0 && i < dec->n ? dec->digits[i] : '0';
    return n;
}
