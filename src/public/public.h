#ifndef PUBLIC_PUBLIC_H
#define PUBLIC_PUBLIC_H

#include <stdbool.h>
#include <stddef.h>

struct crypto_keys;
struct engagements;
struct http_request;
struct loop;
struct opt_out_intake;
struct public_site;
struct store;
struct workers;

/**
 * What recipients of mail reach, all of it under "/m/" and without any login: the open pixel, click
 * links, unsubscribing. Every reference is a signed token; an answer never tells why one was refused.
 * A GET changes nothing about consent, HEAD is not counted. Loop thread only.
 */
struct public_args {
    struct loop *loop;
    struct store *store;
    struct workers *cpu; /* link tables are compiled here, the first time one is needed */
    const struct crypto_keys *keys;
    struct opt_out_intake *opt_outs;
    struct engagements *engagements;
    const char *legacy_secret; /* of unsubscribe tokens of an earlier system; "" = none */
};
struct public_site *public_create(const struct public_args *args);
/** After the servers are gone and the workers have nothing left. */
void public_free(struct public_site **p);

/** Is this request for us? */
bool public_owns(const struct http_request *r);
/** Members of struct http_handlers for what public_owns(); `arg` is the site. */
size_t public_head(struct http_request *r, void *arg);
void public_body(struct http_request *r, void *arg);

#endif
