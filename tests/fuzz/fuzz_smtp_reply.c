/*
 * Everything a mail server says passes here: the reply parser fed in cuts, the EHLO keywords, the
 * classification with its search for a delay. The first byte says how the rest is cut.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "transport/reply_class.h"
#include "transport/smtp_ehlo.h"
#include "transport/smtp_reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
look_at(const struct smtp_reply *r)
{
    struct transport_result result;
    struct smtp_caps caps;

    assert(r->code >= 200 && r->code <= 599);
    assert(r->enhanced == 0 || r->enhanced / 10000 == r->code / 100);
    assert(r->text.n <= SMTP_REPLY_TEXT_MAX + SMTP_REPLY_LINES_MAX);
    smtp_ehlo_parse(buf_slice(&r->text), &caps);
    for (int stage = REPLY_CONNECT; stage <= REPLY_DATA_END; stage++) {
        reply_classify(stage, r->code, r->enhanced, buf_slice(&r->text), &result);
        assert(result.retry_after_ms >= 0 && result.retry_after_ms <= 86400000);
        assert(r->code / 100 != 4 || result.outcome == TRANSPORT_DEFERRED);
        for (const char *c = result.text; *c != '\0'; c++)
            assert((unsigned char)*c >= 0x20 && *c != 0x7f);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct smtp_reply r = {0};
    struct buf in = BUF_INIT;
    size_t cut, used;

    if (size < 1)
        return 0;
    cut = data[0] % 64 + 1;
    for (size_t at = 1; at < size; at += cut) {
        enum smtp_reply_status status;

        buf_append(&in, data + at, size - at < cut ? size - at : cut);
        do {
            status = smtp_reply_feed(&r, buf_slice(&in), &used);
            assert(used <= in.n);
            buf_consume(&in, used);
            if (status == SMTP_REPLY_DONE)
                look_at(&r);
        } while (status == SMTP_REPLY_DONE);
        if (status == SMTP_REPLY_BAD)
            break;
        assert(in.n <= SMTP_REPLY_LINE_MAX);
    }
    buf_deinit(&in);
    smtp_reply_deinit(&r);
    return 0;
}
