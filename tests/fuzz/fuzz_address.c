/*
 * Addresses: what is taken has a key that is its own key, a wire form that parses to the same key,
 * and nothing in it that could end a protocol line or a header field.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "message/address.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool holds)
{
    if (!holds)
        abort();
}

static void
check_line_safe(struct slice s)
{
    require(utf8_valid(s) && !utf8_has_control(s));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf key = BUF_INIT, wire = BUF_INIT, again = BUF_INIT, mailbox = BUF_INIT;
    struct slice text = slice_make(data, size);
    struct address a;
    struct err err;

    if (address_parse(text, &a, &err) == 0) {
        address_key(&a, &key);
        address_wire(&a, &wire);
        check_line_safe(buf_slice(&key));
        check_line_safe(buf_slice(&wire));
        require(key.n <= ADDRESS_MAX && a.local.n <= 64 && strlen(a.ascii_domain) <= 253);
        require(address_key_of(buf_slice(&key), &again, &err) == 0);
        require(slice_eq(buf_slice(&again), buf_slice(&key)));
        buf_clear(&again);
        require(address_key_of(buf_slice(&wire), &again, &err) == 0);
        require(slice_eq(buf_slice(&again), buf_slice(&key)));
        if (address_mailbox(text, &a, 4, &mailbox, &err) == 0)
            require(slice_ends(buf_slice(&mailbox), SLICE_LIT(">")));
    }
    buf_deinit(&key);
    buf_deinit(&wire);
    buf_deinit(&again);
    buf_deinit(&mailbox);
    return 0;
}
