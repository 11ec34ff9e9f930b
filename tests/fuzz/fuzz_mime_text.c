/*
 * Header text and quoted-printable from any bytes: no bare line ends, no byte beyond ASCII, no line
 * beyond its limit, and no line that starts a field or ends the message.
 */
#include <stdint.h>
#include <stdlib.h>

#include "message/mime.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_lines(struct slice text, size_t column, size_t limit, bool is_header)
{
    struct slice rest = text, line;
    bool is_first = true;

    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] >= 0x80 || text.p[i] == '\0' ||
            (text.p[i] == '\r') != (i + 1 < text.n && text.p[i + 1] == '\n'))
            abort();
    while (slice_cut(&rest, '\n', &line)) {
        size_t n = line.n - slice_ends(line, SLICE_LIT("\r")) + (is_first ? column : 0);

        if (n > limit)
            abort();
        if (!is_first && is_header && (line.n == 0 || line.p[0] != ' '))
            abort();
        if (!is_header && slice_starts(line, SLICE_LIT(".")))
            abort();
        is_first = false;
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf out = BUF_INIT;

    if (mime_encode_text(slice_make(data, size), 9, &out, NULL) == 0)
        check_lines(buf_slice(&out), 9, 998, true);
    buf_clear(&out);
    mime_encode_qp(slice_make(data, size), &out);
    check_lines(buf_slice(&out), 0, 76, false);
    buf_deinit(&out);
    return 0;
}
