/*
 * A mailbox in a header field: display name and address (RFC 5322 §3.4).
 *
 * Only the name is ever encoded, never the address. A name of printable ASCII becomes a quoted
 * string; one with other characters, or with what a reader could take for an encoded word, becomes
 * encoded words in the alphabet that a phrase allows (RFC 2047 §5 (3)).
 */
#include "message/address.h"

#include "base/utf8.h"
#include "message/mime_internal.h"

#define NAME_MAX_BYTES 512
#define NAME_RUN_MAX   60 /* a longer word would not fold; encoded words do */

static bool
fits_quoted_string(struct slice name)
{
    size_t run = 0;

    if (!utf8_is_ascii(name) || slice_find(name, SLICE_LIT("=?")) >= 0)
        return false;
    for (size_t i = 0; i < name.n; i++) {
        run = name.p[i] == ' ' ? 0 : run + 1;
        if (run > NAME_RUN_MAX)
            return false;
    }
    return slice_find(name, SLICE_LIT("        ")) < 0;
}

static void
put_quoted(struct slice name, size_t *column, struct buf *out)
{
    char quoted[2 * NAME_MAX_BYTES + 2];
    size_t n = 0;

    quoted[n++] = '"';
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] == '"' || name.p[i] == '\\')
            quoted[n++] = '\\';
        quoted[n++] = name.p[i];
    }
    quoted[n++] = '"';
    mime_text_fold(slice_make(quoted, n), column, out);
}

int
address_mailbox(struct slice display_name, const struct address *a, size_t column, struct buf *out,
    struct err *err)
{
    struct slice name = display_name;
    size_t n_wire = a->local.n + 1 + strlen(a->ascii_domain);

    if (!utf8_valid(name))
        return err_set(err, ERR_INVALID, "display name is not UTF-8");
    if (utf8_has_control(name))
        return err_set(err, ERR_INVALID, "display name has a line break or control character");
    if (name.n > NAME_MAX_BYTES)
        return err_set(err, ERR_INVALID, "display name is longer than %d bytes", NAME_MAX_BYTES);
    name = slice_trim(name);
    if (name.n == 0) {
        address_wire(a, out);
        return 0;
    }
    if (fits_quoted_string(name))
        put_quoted(name, &column, out);
    else
        mime_text_words(name, &column, out);
    buf_append_str(out, column + n_wire + 3 > MIME_FOLD ? "\r\n <" : " <");
    address_wire(a, out);
    buf_append_char(out, '>');
    return 0;
}
