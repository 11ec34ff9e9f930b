#include "net/net_chain.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

/*
 * Copies live in one growing buffer, which may move; so a copied piece keeps its offset there and a
 * borrowed one its pointer. When the chain runs empty both arrays start again at their beginning, which
 * for a session that writes one mail after the other means that nothing is ever allocated.
 */

struct net_piece {
    const char *p; /* NULL = copied */
    size_t off, n;
};

static void
chain_add(struct net_chain *c, struct net_piece piece)
{
    if (c->n_pieces == c->cap_pieces) {
        c->cap_pieces = c->cap_pieces == 0 ? 8 : c->cap_pieces * 2;
        c->pieces = mem_realloc(c->pieces, c->cap_pieces * sizeof(*c->pieces));
    }
    c->pieces[c->n_pieces++] = piece;
}

static struct slice
piece_slice(const struct net_chain *c, size_t i)
{
    const struct net_piece *p = &c->pieces[i];

    return slice_make(p->p != NULL ? p->p : c->copies.p + p->off, p->n);
}

void
net_chain_deinit(struct net_chain *c)
{
    buf_deinit(&c->copies);
    mem_free(c->pieces);
    memset(c, 0, sizeof(*c));
}

void
net_chain_copy(struct net_chain *c, struct slice bytes)
{
    bool is_after_copy = c->n_pieces > c->first && c->pieces[c->n_pieces - 1].p == NULL;

    if (bytes.n == 0)
        return;
    if (is_after_copy)
        c->pieces[c->n_pieces - 1].n += bytes.n;
    else
        chain_add(c, (struct net_piece){NULL, c->copies.n, bytes.n});
    buf_append_slice(&c->copies, bytes);
    c->n_bytes += bytes.n;
}

void
net_chain_ref(struct net_chain *c, struct slice bytes)
{
    if (bytes.n == 0)
        return;
    chain_add(c, (struct net_piece){bytes.p, 0, bytes.n});
    c->n_bytes += bytes.n;
}

void
net_chain_advance(struct net_chain *c, size_t n)
{
    c->n_bytes -= n;
    while (n > 0) {
        struct net_piece *p = &c->pieces[c->first];
        size_t step = n < p->n ? n : p->n;

        if (p->p != NULL)
            p->p += step;
        else
            p->off += step;
        p->n -= step;
        n -= step;
        if (p->n == 0)
            c->first++;
    }
    if (c->n_bytes == 0) {
        c->n_pieces = c->first = 0;
        buf_clear(&c->copies);
    }
}

struct slice
net_chain_head(const struct net_chain *c)
{
    return piece_slice(c, c->first);
}

size_t
net_chain_iov(const struct net_chain *c, struct iovec *iov, size_t max)
{
    size_t n = 0;

    for (size_t i = c->first; i < c->n_pieces && n < max; i++) {
        struct slice s = piece_slice(c, i);

        iov[n++] = (struct iovec){(void *)(uintptr_t)s.p, s.n};
    }
    return n;
}

size_t
net_chain_gather(const struct net_chain *c, char *out, size_t size_bytes)
{
    size_t n = 0;

    for (size_t i = c->first; i < c->n_pieces && n < size_bytes; i++) {
        struct slice s = piece_slice(c, i);
        size_t step = s.n < size_bytes - n ? s.n : size_bytes - n;

        memcpy(out + n, s.p, step);
        n += step;
    }
    return n;
}
