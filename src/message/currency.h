#ifndef MESSAGE_CURRENCY_H
#define MESSAGE_CURRENCY_H

#include "base/slice.h"

/** A currency of ISO 4217. */
struct currency {
    char code[4];
    unsigned char places; /* digits of the minor unit: 2 for USD, 0 for JPY, 3 for KWD */
    const char *symbol;   /* as an American reader writes it; NULL: the code is used */
};

/** By code in any case; NULL when no such currency is in use. */
const struct currency *currency_find(struct slice code);

#endif
