/*
 * Request targets and proxy headers: whatever the bytes, they are refused or taken apart into
 * clean parts. Clean: UTF-8, no NUL, no control character and no relative part in the path, within
 * the bounds; and the displayed path is the parts joined by slashes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "http/proxy.h"
#include "http/uri.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool ok)
{
    if (!ok)
        abort();
}

static bool
is_clean(struct slice s)
{
    return utf8_valid(s) && (s.n == 0 || memchr(s.p, '\0', s.n) == NULL) && s.p[s.n] == '\0';
}

static void
check_uri(const struct http_uri *u)
{
    struct buf joined = BUF_INIT;

    require(u->n_segments >= 1 && u->n_segments <= HTTP_URI_SEGMENTS);
    require(u->n_params <= HTTP_URI_PARAMS);
    for (size_t i = 0; i < u->n_segments; i++) {
        require(is_clean(u->segments[i]) && !utf8_has_control(u->segments[i]));
        require(!slice_eq_str(u->segments[i], "..") && !slice_eq_str(u->segments[i], "."));
        buf_append_char(&joined, '/');
        buf_append_slice(&joined, u->segments[i]);
    }
    require(slice_eq(buf_slice(&joined), u->path));
    for (size_t i = 0; i < u->n_params; i++)
        require(is_clean(u->params[i].name) && is_clean(u->params[i].value));
    buf_deinit(&joined);
}

static void
check_proxies(struct slice text)
{
    static const char *const blocks[] = {"10.0.0.0/8", "::1"};
    struct http_proxies *p = http_proxies_create(blocks, 2, NULL);
    struct http_addr peer, client, again;
    char shown[HTTP_ADDR_SIZE];

    require(p != NULL && http_addr_parse(SLICE_LIT("10.0.0.1"), &peer));
    client = http_proxies_client(p, &peer, text);
    require(http_addr_parse(slice_str(http_addr_text(&client, shown)), &again));
    require(memcmp(&client, &again, sizeof client) == 0);
    http_proxies_free(&p);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *a = arena_create(0);
    struct slice text = slice_make(data, size);
    struct http_uri u;

    if (http_uri_parse(text, a, &u, NULL) == 0)
        check_uri(&u);
    check_proxies(text);
    arena_free(&a);
    return 0;
}
