/*
 * A page is put together from constant pieces and at most one foreign text, the address, which is
 * escaped. Colours have a contrast of more than 7 : 1; the button is a real button.
 */
#include "public/page.h"

#include "base/buf.h"

#define STYLE                                                                                      \
    "body{margin:0;background:#f4f4f2;color:#1c1c1a;font:1.0625rem/1.5 system-ui,sans-serif}"      \
    "main{max-width:34rem;margin:12vh auto;padding:2rem;background:#fff;border-radius:.5rem}"      \
    "h1{margin:0 0 1rem;font-size:1.5rem}"                                                         \
    "strong{overflow-wrap:anywhere}"                                                               \
    "button{margin-top:1rem;padding:.75rem 1.5rem;border:0;border-radius:.375rem;"                 \
    "background:#12355b;color:#fff;font:inherit;cursor:pointer}"                                   \
    "button:focus-visible{outline:3px solid #c05a00;outline-offset:2px}"

static void
append_escaped(struct buf *out, struct slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        switch (s.p[i]) {
        case '&': buf_append_str(out, "&amp;"); break;
        case '<': buf_append_str(out, "&lt;"); break;
        case '>': buf_append_str(out, "&gt;"); break;
        case '"': buf_append_str(out, "&quot;"); break;
        case '\'': buf_append_str(out, "&#39;"); break;
        default: buf_append_char(out, s.p[i]);
        }
    }
}

static void
append_paragraph(struct buf *out, const char *text)
{
    if (text == NULL)
        return;
    buf_append_str(out, "<p>");
    buf_append_str(out, text);
    buf_append_str(out, "</p>");
}

static void
append_body(struct buf *out, const struct page *p)
{
    buf_append_str(out, "<h1>");
    buf_append_str(out, p->title);
    buf_append_str(out, "</h1>");
    append_paragraph(out, p->lead);
    if (p->address.n > 0) {
        buf_append_str(out, "<p><strong>");
        append_escaped(out, p->address);
        buf_append_str(out, "</strong></p>");
    }
    append_paragraph(out, p->detail);
    if (p->button != NULL) {
        /* Without an action a form posts to the page's own address, token and all. */
        buf_append_str(
            out, "<form method=\"post\"><button type=\"submit\" name=\"via\" value=\"page\">");
        buf_append_str(out, p->button);
        buf_append_str(out, "</button></form>");
    }
}

static void
append_page(struct buf *out, const struct page *p)
{
    buf_printf(
        out, "<!doctype html><html lang=\"%s\"><head><meta charset=\"utf-8\">", p->text->language);
    buf_append_str(out, "<meta name=\"viewport\" content=\"width=device-width\">"
                        "<meta name=\"robots\" content=\"noindex\"><title>");
    buf_append_str(out, p->title);
    buf_append_str(out, "</title><style>" STYLE "</style></head><body><main>");
    append_body(out, p);
    buf_append_str(out, "</main></body></html>\n");
}

void
page_respond(struct http_request *r, const struct page *p)
{
    const struct http_field fields[] = {
        {"Content-Security-Policy",
            "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; "
            "frame-ancestors 'none'"},
        {"Referrer-Policy", "no-referrer"},
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
        {"Cache-Control", "no-store"},
        {"Retry-After", p->retry_after},
    };
    struct buf html = BUF_INIT;

    append_page(&html, p);
    http_respond(r, p->status, "text/html; charset=utf-8", fields,
        sizeof(fields) / sizeof(fields[0]), buf_slice(&html));
    buf_deinit(&html);
}
