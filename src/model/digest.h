#ifndef MODEL_DIGEST_H
#define MODEL_DIGEST_H

#include <stdint.h>

#include "base/slice.h"

/** SHA-256 of bytes as 64 lower-case hex characters, NUL-terminated: what stored definitions and
 * tokens are compared by. Any thread. */
void digest_hex(struct slice bytes, char out[65]);
/** 32 bytes of a digest in that form. */
void digest_hex_of(const uint8_t sum[32], char out[65]);

#endif
