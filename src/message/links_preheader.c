/*
 * The hidden preheader: the line mail programs show behind the subject.
 *
 * It is put into the source before compilation, as template text, so it is rendered and escaped like
 * everything else and costs nothing when a contact's preheader comes out empty. The filler behind it
 * (joiner and space, which print as nothing) keeps the first words of the body out of the preview.
 */
#include "message/links.h"

#include <string.h>

#include "message/links_find.h"
#include "message/template_token.h"

#define FILLER_PAIRS 100

/* Does an expression of the source use the preheader already? */
static bool
mentions_preheader(struct slice html)
{
    struct template_tokens tokens;
    bool found = false;

    if (template_tokens_scan(html, &tokens, NULL) == 0) {
        for (size_t i = 0; i < tokens.n && !found; i++)
            found = tokens.items[i].kind != TOKEN_TEXT && tokens.items[i].kind != TOKEN_COMMENT &&
                    slice_find(tokens.items[i].text, SLICE_LIT("preheader")) >= 0;
    }
    template_tokens_deinit(&tokens);
    return found;
}

static void
append_block(struct buf *out)
{
    buf_append_str(out, "{{#if preheader}}<div style=\"display:none;max-height:0;overflow:hidden;"
                        "mso-hide:all\">{{preheader}}");
    for (int i = 0; i < FILLER_PAIRS; i++)
        buf_append_str(out, "&zwj; ");
    buf_append_str(out, "</div>{{/if}}");
}

void
links_insert_preheader(struct slice html_source, struct buf *out)
{
    struct links_found found;
    size_t at = 0;

    /* A source with mistakes is copied: compiling it tells what they are. */
    if (links_find(html_source, &found, NULL) != 0 || mentions_preheader(html_source)) {
        links_found_deinit(&found);
        buf_append_slice(out, html_source);
        return;
    }
    if (found.behind_body != SIZE_MAX)
        at = found.behind_body;
    else if (found.behind_head != SIZE_MAX)
        at = found.behind_head;
    links_found_deinit(&found);
    buf_append(out, html_source.p, at);
    append_block(out);
    buf_append_slice(out, slice_from(html_source, at));
}
