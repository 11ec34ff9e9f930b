#ifndef NET_NET_CHAIN_H
#define NET_NET_CHAIN_H

#include <stddef.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/slice.h"

struct net_piece;

/** Output that waits: slices in order, small ones copied, large ones borrowed. A zeroed struct is an
 * empty chain. */
struct net_chain {
    struct net_piece *pieces;
    size_t n_pieces, cap_pieces, first;
    struct buf copies;
    size_t n_bytes; /* waiting */
};

void net_chain_deinit(struct net_chain *c);
/** Append a copy; neighbouring copies become one piece. */
void net_chain_copy(struct net_chain *c, struct slice bytes);
/** Append by reference; the bytes must stay until they have been advanced over. */
void net_chain_ref(struct net_chain *c, struct slice bytes);
/** Drop `n` bytes from the head. */
void net_chain_advance(struct net_chain *c, size_t n);
/** The first piece; the chain must not be empty. Valid until the chain changes. */
struct slice net_chain_head(const struct net_chain *c);
/** Describe up to `max` pieces from the head; returns how many. */
size_t net_chain_iov(const struct net_chain *c, struct iovec *iov, size_t max);
/** Copy up to `size_bytes` from the head into `out` without dropping them; returns how many. */
size_t net_chain_gather(const struct net_chain *c, char *out, size_t size_bytes);

#endif
