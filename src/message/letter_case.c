/*
 * Upper and lower case of the alphabets that have them, as ranges. Within a range the pair lies a fixed
 * distance apart, or upper and lower case alternate.
 */
#include "message/letter_case.h"

#include <stddef.h>

struct range {
    uint16_t first, last; /* upper-case letters, or both when alternating */
    uint16_t distance;    /* to the lower-case letter; 1 = alternating from `first` */
};

static const struct range ranges[] = {
    {'A', 'Z', 32}, {0xC0, 0xD6, 32},    /* Latin-1 */
    {0xD8, 0xDE, 32}, {0x100, 0x12F, 1}, /* Latin Extended-A */
    {0x132, 0x137, 1}, {0x139, 0x148, 1}, {0x14A, 0x177, 1}, {0x179, 0x17E, 1},
    {0x388, 0x38A, 37},                     /* Greek with accents */
    {0x391, 0x3A1, 32},                     /* Greek */
    {0x3A3, 0x3AB, 32}, {0x400, 0x40F, 80}, /* Cyrillic */
    {0x410, 0x42F, 32}, {0x460, 0x481, 1}, {0x48A, 0x4BF, 1}, {0x4D0, 0x52F, 1},
    {0x531, 0x556, 48}, /* Armenian */
};

static const struct {
    uint16_t upper, lower;
} singles[] = {{0x178, 0xFF}, {0x386, 0x3AC}, {0x38C, 0x3CC}, {0x38E, 0x3CD}, {0x38F, 0x3CE}};

uint32_t
letter_lower(uint32_t cp)
{
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        const struct range *r = &ranges[i];

        if (cp < r->first || cp > r->last)
            continue;
        return r->distance != 1 || (cp - r->first) % 2 == 0 ? cp + r->distance : cp;
    }
    for (size_t i = 0; i < sizeof(singles) / sizeof(singles[0]); i++) {
        if (singles[i].upper == cp)
            return singles[i].lower;
    }
    return cp;
}

uint32_t
letter_upper(uint32_t cp)
{
    if (cp == 0x3C2) /* final sigma */
        return 0x3A3;
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        const struct range *r = &ranges[i];

        if (r->distance == 1 && cp >= r->first && cp <= r->last)
            return (cp - r->first) % 2 == 1 ? cp - 1 : cp;
        if (r->distance != 1 && cp >= r->first + (uint32_t)r->distance &&
            cp <= r->last + (uint32_t)r->distance)
            return cp - r->distance;
    }
    for (size_t i = 0; i < sizeof(singles) / sizeof(singles[0]); i++) {
        if (singles[i].lower == cp)
            return singles[i].upper;
    }
    return cp;
}
