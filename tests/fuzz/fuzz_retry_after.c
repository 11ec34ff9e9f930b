/*
 * The search for a delay in free text: bounded, and never read beyond the text.
 */
#include <assert.h>
#include <stdint.h>

#include "transport/reply_class.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t ms = reply_retry_after_ms(slice_make(data, size));

    assert(ms >= 0 && ms <= 86400000);
    return 0;
}
