#ifndef MESSAGE_LETTER_CASE_H
#define MESSAGE_LETTER_CASE_H

#include <stdint.h>

/**
 * The other case of one character, or the character itself. Covers what has one-to-one pairs in
 * Latin (Latin-1, Extended-A), Greek, Cyrillic and Armenian; "ß" has no single upper case and stays.
 * No locale: Turkish dotless i is not treated.
 */
uint32_t letter_upper(uint32_t cp);
uint32_t letter_lower(uint32_t cp);

#endif
