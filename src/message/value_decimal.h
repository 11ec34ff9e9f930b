#ifndef MESSAGE_VALUE_DECIMAL_H
#define MESSAGE_VALUE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * A number as the decimal digits people would write for it: 0.d1d2d3… × 10^point, no leading and no
 * trailing zero digit; zero has no digits. Rounding happens on these digits, so 1.005 rounds half up
 * although its binary form lies below.
 */
struct value_decimal {
    char digits[24]; /* ASCII, not terminated */
    int n;
    int point;
    bool is_negative;
};

/** Shortest digits that read back as `d`, which must be finite. */
void value_decimal_from_double(double d, struct value_decimal *dec_r);
void value_decimal_from_int(int64_t i, struct value_decimal *dec_r);
/** Keep `places` digits behind the point, half away from zero. */
void value_decimal_round(struct value_decimal *dec, int places);

/** Room for any double with grouping and up to four places. */
#define VALUE_DECIMAL_SIZE 448
/** Digits with a comma every three and at least `min_places` behind the point, without sign.
 * Returns the length written to `out`. */
size_t value_decimal_group(
    const struct value_decimal *dec, int min_places, char out[VALUE_DECIMAL_SIZE]);

#endif
