/*
 * Leaving. GET shows a page and changes nothing, since mail scanners follow links; POST is the act,
 * whoever sends it: the page's button, or a mail program on its own (RFC 8058), whose body and type
 * we do not need. An authentic token is always honoured, however old. The answer waits until the
 * opt-out is durable; if it cannot be made so, the answer says so.
 */
#include <stddef.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/mem.h"
#include "feedback/opt_out_intake.h"
#include "message/tokens.h"
#include "model/opt_out.h"
#include "public/page.h"
#include "public/public_internal.h"

#define RETRY_AFTER_S "60"

static const char *const scope_names[] = {
    [TOKEN_SCOPE_ALL] = "all",
    [TOKEN_SCOPE_MARKETING] = "marketing",
    [TOKEN_SCOPE_TRANSACTIONAL] = "transactional",
};

static const struct page_text *
text_for(const struct http_request *r)
{
    return page_text_for(http_request_header(r, "Accept-Language"));
}

static const char *
scope_text(const struct page_text *t, enum token_scope scope)
{
    switch (scope) {
    case TOKEN_SCOPE_MARKETING: return t->scope_marketing;
    case TOKEN_SCOPE_TRANSACTIONAL: return t->scope_transactional;
    case TOKEN_SCOPE_ALL: break;
    }
    return t->scope_all;
}

static bool
verify(struct public_site *p, struct slice token, struct token_unsub *t_r)
{
    buf_clear(&p->scratch);
    return token_unsub_verify(
        p->args.keys, slice_str(p->args.legacy_secret), token, &p->scratch, t_r);
}

void
public_unsubscribe_page(struct public_site *p, struct http_request *r, struct slice token)
{
    const struct page_text *text = text_for(r);
    struct token_unsub t;
    bool is_fresh;

    if (!verify(p, token, &t)) {
        page_respond(r, &(struct page){.status = 400,
                            .text = text,
                            .title = text->invalid_title,
                            .lead = text->invalid_lead});
        return;
    }
    is_fresh = t.expires_ms >= clock_now_ms();
    page_respond(r, &(struct page){.status = 200,
                        .text = text,
                        .title = text->leave_title,
                        .lead = is_fresh ? text->leave_lead_address : text->leave_lead,
                        .address = is_fresh ? t.address_key : SLICE_NONE,
                        .detail = scope_text(text, t.scope),
                        .button = text->leave_button});
}

/* ---- the act --------------------------------------------------------------------------------- */

/* A request that waits for its opt-out; the opt-out does not wait for the request. */
struct leave_call {
    struct http_request *request; /* NULL once nobody waits */
    const struct page_text *text;
};

static void
on_cancel(struct http_request *r, void *arg)
{
    struct leave_call *call = arg;

    call->request = NULL;
}

static void
on_kept(enum opt_out_kept kept, void *arg)
{
    struct leave_call *call = arg;
    const struct page_text *text = call->text;
    struct page page = {
        .status = 200, .text = text, .title = text->left_title, .lead = text->left_lead};

    if (kept == OPT_OUT_NOT_KEPT)
        page = (struct page){.status = 503,
            .text = text,
            .title = text->not_kept_title,
            .lead = text->not_kept_lead,
            .retry_after = RETRY_AFTER_S};
    if (call->request != NULL)
        page_respond(call->request, &page);
    mem_free(call);
}

void
public_unsubscribe(struct public_site *p, struct http_request *r, struct slice token)
{
    struct leave_call *call;
    struct token_unsub t;
    struct opt_out o = {.reason = SUPPRESSION_UNSUBSCRIBED, .now_ms = clock_now_ms()};
    char broadcast[ID_TEXT_SIZE];

    if (!verify(p, token, &t)) {
        http_respond_shared(r, p->nothing); /* repeating it could not help */
        return;
    }
    suppression_address_of(p->args.keys, t.address_key, &o.address);
    o.scope = slice_str(scope_names[t.scope]);
    o.source = slice_eq_str(http_request_body(r), PAGE_FORM_BODY) ? SLICE_LIT("page")
                                                                  : SLICE_LIT("one-click");
    if (t.send.broadcast != 0)
        o.broadcast = slice_str(id_text(t.send.broadcast, broadcast));
    call = mem_zalloc(sizeof(*call));
    call->request = r;
    call->text = text_for(r);
    http_request_on_cancel(r, on_cancel, call);
    opt_out_submit(p->args.opt_outs, &o, &t.send, on_kept, call);
}
