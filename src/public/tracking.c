/*
 * The pixel and the links. Both answer from memory: a token is verified, the answer queued, and the
 * event goes to the queue of engagements. The target of a click comes from the version the mail was
 * made from, or from the token itself, where it was signed; nothing in the request can choose it.
 */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "feedback/engagement.h"
#include "message/links.h"
#include "message/tokens.h"
#include "feedback/click_cache.h"
#include "public/public_internal.h"

/* 1 × 1, grey with alpha, transparent. */
static const unsigned char png[] = {
    0x89,
    0x50,
    0x4e,
    0x47,
    0x0d,
    0x0a,
    0x1a,
    0x0a,
    0x00,
    0x00,
    0x00,
    0x0d,
    0x49,
    0x48,
    0x44,
    0x52,
    0x00,
    0x00,
    0x00,
    0x01,
    0x00,
    0x00,
    0x00,
    0x01,
    0x08,
    0x04,
    0x00,
    0x00,
    0x00,
    0xb5,
    0x1c,
    0x0c,
    0x02,
    0x00,
    0x00,
    0x00,
    0x0b,
    0x49,
    0x44,
    0x41,
    0x54,
    0x78,
    0xda,
    0x63,
    0x60,
    0x60,
    0x00,
    0x00,
    0x00,
    0x03,
    0x00,
    0x01,
    0x2b,
    0x09,
    0x4d,
    0x84,
    0x00,
    0x00,
    0x00,
    0x00,
    0x49,
    0x45,
    0x4e,
    0x44,
    0xae,
    0x42,
    0x60,
    0x82,
};

struct http_shared *
public_pixel_create(void)
{
    static const struct http_field fields[] = {
        {"Cache-Control", "no-store, no-cache, must-revalidate, max-age=0"},
        {"X-Content-Type-Options", "nosniff"},
    };

    return http_shared_create(200, "image/png", fields, 2, slice_make(png, sizeof(png)));
}

/* The agent outlives the request here: a copy of what will be kept. */
struct agent {
    char text[ENGAGEMENT_AGENT_MAX];
    size_t n;
};

static void
copy_agent(const struct http_request *r, struct agent *a)
{
    struct slice s = http_request_header(r, "User-Agent");

    a->n = s.n < sizeof(a->text) ? s.n : sizeof(a->text);
    if (a->n > 0)
        memcpy(a->text, s.p, a->n);
}

static void
record(struct public_site *p, enum engagement_kind kind, const struct token_send *ref,
    uint32_t ordinal, struct slice url, const struct agent *agent)
{
    engagement_record(p->args.engagements, &(struct engagement){.kind = kind,
                                               .ref = *ref,
                                               .ordinal = ordinal,
                                               .at_ms = clock_now_ms(),
                                               .url = url,
                                               .user_agent = slice_make(agent->text, agent->n)});
}

/* ---- open ------------------------------------------------------------------------------------ */

void
public_open(struct public_site *p, struct http_request *r, struct slice name)
{
    struct token_send ref;
    struct agent agent;
    bool is_counted;

    if (!slice_ends(name, SLICE_LIT(".png"))) {
        http_respond_shared(r, p->not_found);
        return;
    }
    name.n -= strlen(".png");
    is_counted = !public_is_head(r) && token_open_verify(p->args.keys, name, &ref);
    if (is_counted)
        copy_agent(r, &agent);
    http_respond_shared(r, p->pixel);
    if (is_counted)
        record(p, ENGAGEMENT_OPEN, &ref, 0, SLICE_NONE, &agent);
}

/* ---- click ----------------------------------------------------------------------------------- */

struct click_call {
    struct public_site *site;
    struct http_request *request;
    struct click_wait *wait;
    struct token_send ref;
    uint32_t ordinal;
};

/* `url_kept` is what the row keeps: the target of a dynamic link, which no version knows. */
static void
go_to(struct public_site *p, struct http_request *r, const struct token_send *ref, uint32_t ordinal,
    struct slice url, struct slice url_kept)
{
    bool is_counted = !public_is_head(r);
    struct agent agent = {.n = 0};

    if (!links_is_http_url(url)) {
        http_respond_shared(r, p->not_found);
        return;
    }
    if (is_counted)
        copy_agent(r, &agent);
    http_respond_redirect(r, url);
    if (is_counted)
        record(p, ENGAGEMENT_CLICK, ref, ordinal, url_kept, &agent);
}

static void
on_loaded(bool is_loaded, void *arg)
{
    struct click_call *call = arg;
    struct public_site *p = call->site;
    struct slice url;

    http_request_on_cancel(call->request, NULL, NULL);
    if (!is_loaded)
        http_respond_shared(call->request, p->busy);
    else if (click_cache_find(p->clicks, &call->ref, call->ordinal, &url) == CLICK_TARGET)
        go_to(p, call->request, &call->ref, call->ordinal, url, SLICE_NONE);
    else
        http_respond_shared(call->request, p->not_found);
    mem_free(call);
}

static void
on_cancel(struct http_request *r, void *arg)
{
    struct click_call *call = arg;

    click_cache_cancel(call->site->clicks, &call->wait);
    mem_free(call);
}

static void
wait_for_links(
    struct public_site *p, struct http_request *r, const struct token_send *ref, uint32_t ordinal)
{
    struct click_call *call = mem_zalloc(sizeof(*call));

    call->site = p;
    call->request = r;
    call->ref = *ref;
    call->ordinal = ordinal;
    call->wait = click_cache_wait(p->clicks, ref, on_loaded, call);
    if (call->wait != NULL) {
        http_request_on_cancel(r, on_cancel, call);
    } else {
        mem_free(call);
        http_respond_shared(r, p->busy);
    }
}

void
public_click(struct public_site *p, struct http_request *r, struct slice token)
{
    struct token_send ref;
    uint32_t ordinal;
    struct slice url;

    buf_clear(&p->scratch);
    if (!token_click_verify(p->args.keys, token, &ref, &ordinal, &p->scratch)) {
        http_respond_shared(r, p->not_found);
        return;
    }
    if (p->scratch.n > 0) {
        go_to(p, r, &ref, ordinal, buf_slice(&p->scratch), buf_slice(&p->scratch));
        return;
    }
    switch (click_cache_find(p->clicks, &ref, ordinal, &url)) {
    case CLICK_TARGET: go_to(p, r, &ref, ordinal, url, SLICE_NONE); break;
    case CLICK_UNKNOWN: http_respond_shared(r, p->not_found); break;
    case CLICK_NOT_LOADED: wait_for_links(p, r, &ref, ordinal); break;
    }
}
