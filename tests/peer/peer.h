#ifndef PEER_PEER_H
#define PEER_PEER_H

#include <stdbool.h>
#include <stddef.h>

/**
 * A server that plays a script on a thread of its own: accepts a connection and takes the steps one
 * after the other. What does not go as the script says is kept and makes peer_finish() fail.
 */
enum peer_kind {
    PEER_KIND_END = 0, /* the last step: the client must close */
    PEER_KIND_SEND,    /* write the text */
    PEER_KIND_TRICKLE, /* write the text one byte a time */
    PEER_KIND_EXPECT,  /* read a line, which must be the text (CRLF not given) */
    PEER_KIND_PREFIX,  /* read a line, which must begin with the text */
    PEER_KIND_BODY,    /* read up to CR LF . CR LF; all of it must be the text, if one is given */
    PEER_KIND_READ,    /* read at least that many bytes */
    PEER_KIND_DRAIN,   /* read and forget until the client closes or breaks off */
    PEER_KIND_PAUSE,   /* wait that many milliseconds */
    PEER_KIND_CLOSE,   /* close in order */
    PEER_KIND_RESET,   /* close with a reset */
    PEER_KIND_ACCEPT,  /* take the next connection (after CLOSE, RESET or the client's own close) */
    PEER_KIND_EOF,     /* the client must close */
    PEER_KIND_TLS,     /* TLS handshake as the server */
    PEER_KIND_TLS_REFUSED /* the same, and the client must break it off */
};

struct peer_step {
    enum peer_kind kind;
    const char *text;
    size_t n;
};

#define PEER_SEND(t)                                                                               \
    {                                                                                              \
        PEER_KIND_SEND, t, 0                                                                       \
    }
#define PEER_TRICKLE(t)                                                                            \
    {                                                                                              \
        PEER_KIND_TRICKLE, t, 0                                                                    \
    }
#define PEER_EXPECT(t)                                                                             \
    {                                                                                              \
        PEER_KIND_EXPECT, t, 0                                                                     \
    }
#define PEER_PREFIX(t)                                                                             \
    {                                                                                              \
        PEER_KIND_PREFIX, t, 0                                                                     \
    }
#define PEER_BODY(t)                                                                               \
    {                                                                                              \
        PEER_KIND_BODY, t, 0                                                                       \
    }
#define PEER_READ(n)                                                                               \
    {                                                                                              \
        PEER_KIND_READ, NULL, n                                                                    \
    }
#define PEER_DRAIN                                                                                 \
    {                                                                                              \
        PEER_KIND_DRAIN, NULL, 0                                                                   \
    }
#define PEER_PAUSE(ms)                                                                             \
    {                                                                                              \
        PEER_KIND_PAUSE, NULL, ms                                                                  \
    }
#define PEER_CLOSE                                                                                 \
    {                                                                                              \
        PEER_KIND_CLOSE, NULL, 0                                                                   \
    }
#define PEER_RESET                                                                                 \
    {                                                                                              \
        PEER_KIND_RESET, NULL, 0                                                                   \
    }
#define PEER_ACCEPT                                                                                \
    {                                                                                              \
        PEER_KIND_ACCEPT, NULL, 0                                                                  \
    }
#define PEER_EOF                                                                                   \
    {                                                                                              \
        PEER_KIND_EOF, NULL, 0                                                                     \
    }
#define PEER_TLS                                                                                   \
    {                                                                                              \
        PEER_KIND_TLS, NULL, 0                                                                     \
    }
#define PEER_TLS_REFUSED                                                                           \
    {                                                                                              \
        PEER_KIND_TLS_REFUSED, NULL, 0                                                             \
    }
#define PEER_END                                                                                   \
    {                                                                                              \
        PEER_KIND_END, NULL, 0                                                                     \
    }

struct peer;

/** Listen on a free port of `address` ("127.0.0.1") and start playing. `steps` must outlive it. */
struct peer *peer_start(const char *address, const struct peer_step *steps);
unsigned peer_port(const struct peer *p);
/** Wait for the end of the script and free the peer. NULL when all went as it says, else what did not
 * (static storage). */
const char *peer_finish(struct peer **p);

/** Make a key and a self-signed certificate for `name` (a host name or an address) with which PEER_TLS
 * steps answer from now on; returns the path of the certificate as a file of trusted authorities. */
const char *peer_certificate(const char *name);

#endif
