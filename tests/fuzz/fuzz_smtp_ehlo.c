/*
 * The keywords of an answer to EHLO, and the cutting of a message into dot-stuffed pieces, which must
 * put back together give the message with each leading dot doubled.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "transport/smtp_dots.h"
#include "transport/smtp_ehlo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice message = slice_make(data, size), piece;
    struct smtp_caps caps;
    struct smtp_dots dots;
    size_t at = 0;
    bool is_dot;

    smtp_ehlo_parse(message, &caps);
    assert(caps.has_size || caps.size_max == 0);
    smtp_dots_init(&dots, message);
    while (smtp_dots_next(&dots, size > 0 ? data[0] + 1u : 1, &piece, &is_dot)) {
        assert(piece.p == message.p + at && piece.n > 0);
        assert(is_dot == (piece.p[0] == '.' && (at == 0 || message.p[at - 1] == '\n')));
        for (size_t i = 1; i < piece.n; i++)
            assert(piece.p[i] != '.' || piece.p[i - 1] != '\n');
        at += piece.n;
    }
    assert(at == size);
    return 0;
}
