/* Names of the two kinds of mail, as stored and as shown. */
#include "model/mail_kind.h"

static const char *const names[] = {
    [MAIL_MARKETING] = "marketing", [MAIL_TRANSACTIONAL] = "transactional"};

const char *
mail_kind_name(enum mail_kind kind)
{
    return names[kind];
}

int
mail_kind_parse(struct slice name)
{
    for (int i = 0; i < 2; i++) {
        if (slice_eq_str(name, names[i]))
            return i;
    }
    return -1;
}
