#ifndef PUBLIC_PUBLIC_INTERNAL_H
#define PUBLIC_PUBLIC_INTERNAL_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/slice.h"
#include "http/server.h"
#include "public/public.h"

struct click_cache;

/* Shared by the files of public. */
struct public_site {
    struct public_args args;
    struct click_cache *clicks;
    struct buf scratch; /* for one token at a time */
    struct http_shared *pixel, *not_found, *no_method, *busy;
    struct http_shared *nothing; /* 200 without a body */
};

bool public_is_head(const struct http_request *r);

/* tracking.c */
struct http_shared *public_pixel_create(void);
/** GET or HEAD /m/open/<token>.png */
void public_open(struct public_site *p, struct http_request *r, struct slice name);
/** GET or HEAD /m/click/<token> */
void public_click(struct public_site *p, struct http_request *r, struct slice token);

/* unsubscribe.c */
/** GET or HEAD /m/unsub/<token>: the page, without any effect */
void public_unsubscribe_page(struct public_site *p, struct http_request *r, struct slice token);
/** POST /m/unsub/<token>: from the page, or one-click (RFC 8058) */
void public_unsubscribe(struct public_site *p, struct http_request *r, struct slice token);

#endif
