/* Plain text from any HTML: no more than one empty line, and none at the ends. */
#include <stdint.h>
#include <stdlib.h>

#include "message/links.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf out = BUF_INIT;
    struct slice text;

    if (links_html_to_text(slice_make(data, size), &out, NULL) != 0)
        abort();
    text = buf_slice(&out);
    /* An expression is kept as it is, with the line ends it may hold. */
    if (slice_find(slice_make(data, size), SLICE_LIT("{{")) < 0 && text.n > 0 &&
        (slice_find(text, SLICE_LIT("\n\n\n")) >= 0 || text.p[0] == '\n' ||
            text.p[text.n - 1] == '\n'))
        abort();
    buf_deinit(&out);
    return 0;
}
