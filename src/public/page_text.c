/*
 * What the pages say, one row per language. A new language is a new row: nothing else knows how many
 * there are.
 */
#include "public/page_text.h"

#include <stddef.h>

static const struct page_text texts[] = {
    {
        .language = "en",
        .leave_title = "Unsubscribe",
        .leave_lead_address = "Stop sending mail to this address?",
        .leave_lead = "Stop sending mail to the address that received this message?",
        .leave_button = "Unsubscribe",
        .scope_marketing = "You will get no more newsletters and announcements from us.",
        .scope_transactional = "You will get no more notices about your account or orders from us.",
        .scope_all = "You will get no more mail of any kind from us.",
        .left_title = "You are unsubscribed",
        .left_lead =
            "This has been recorded. A message that was already on its way may still arrive.",
        .invalid_title = "This link does not work",
        .invalid_lead = "It may have been cut off on the way. Please use the link from the message "
                        "again, in full.",
        .not_kept_title = "You are NOT unsubscribed yet",
        .not_kept_lead = "We could not record your request just now. Please try again in a minute.",
    },
};

const struct page_text *
page_text_for(struct slice accept_language)
{
    struct slice part, tag, rest = accept_language;

    /* Clients list languages by preference; weights only repeat that order. */
    while (slice_cut(&rest, ',', &part)) {
        part = slice_trim(part);
        if (!slice_cut(&part, ';', &tag) || !slice_cut(&tag, '-', &part))
            continue;
        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
            if (slice_ieq(slice_trim(part), slice_str(texts[i].language)))
                return &texts[i];
    }
    return &texts[0];
}
