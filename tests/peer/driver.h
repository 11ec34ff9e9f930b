#ifndef PEER_DRIVER_H
#define PEER_DRIVER_H

#include "peer.h"
#include "transport/transport.h"

#define DRIVER_MAILS_MAX 4

/** What is done to a server, and what must come of it. A zeroed member means "as usual". */
struct scenario {
    const char *name;
    const struct peer_step *steps;      /* NULL = nobody listens */
    struct transport_settings settings; /* kind, host, port, ehlo_name are filled in */
    const char *data[DRIVER_MAILS_MAX]; /* messages; NULL = "Subject: x\r\n\r\nhello\r\n" */
    size_t data_n;                      /* length of data[0] when it holds NULs or is large */
    unsigned n_mails;                   /* 0 = 1; sent one after the other */
    bool needs_smtputf8, is_8bit;
    bool is_reserved;    /* reserve, let the loop turn for 50 ms, then send */
    bool is_late;        /* let the first session go unused, use the second */
    bool is_fence_shut;  /* may_commit says no */
    bool is_host_named;  /* connect to "localhost" instead of the address */
    const char *address; /* where the server listens, NULL = 127.0.0.1 */

    /* Expected: results of the mails in order, and trouble of a session without a mail. */
    struct expected {
        bool is_set;
        enum transport_outcome outcome;
        enum transport_scope scope;
        enum send_fail_class fail_class;
        enum bounce_type bounce;
        bool is_suppress;
        int code, enhanced;
        int64_t retry_after_ms;
        const char *text; /* must occur in the result's */
    } mails[DRIVER_MAILS_MAX], down;
};

#define EXPECT_OK                                                                                  \
    {                                                                                              \
        .is_set = true, .outcome = TRANSPORT_ACCEPTED, .code = 250                                 \
    }

/** Play it; fails the running Check test when anything is not as expected. */
void driver_run(const struct scenario *s);
/** Play a table. */
void driver_run_all(const struct scenario *table, size_t n);

#endif
