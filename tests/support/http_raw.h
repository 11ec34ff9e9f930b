#ifndef TESTS_HTTP_RAW_H
#define TESTS_HTTP_RAW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/slice.h"

struct loop;

/** A client that writes and reads raw bytes, in the thread of the server's loop: every wait turns
 * the loop, so nothing here depends on timing. */
struct raw {
    struct loop *loop;
    int fd;
    struct buf in; /* received and not yet consumed */
    bool is_eof;
};

/** One answer, taken apart. Slices point into `head` and `body`. */
struct raw_answer {
    unsigned status; /* 0 = the connection ended, or nothing came in time */
    struct buf head, body;
};

void raw_open_tcp(struct raw *c, struct loop *l, unsigned port);
void raw_open_unix(struct raw *c, struct loop *l, const char *path);
void raw_close(struct raw *c);
/** Write all, turning the loop while the socket is full. False when the peer is gone. */
bool raw_send(struct raw *c, struct slice bytes);
bool raw_send_str(struct raw *c, const char *s);
/** One byte per write, a turn of the loop after each. */
bool raw_trickle(struct raw *c, const char *s);
/** Read the next answer; `is_head` = no body follows. Release with raw_answer_deinit(). */
void raw_read(struct raw *c, bool is_head, struct raw_answer *a_r);
void raw_answer_deinit(struct raw_answer *a);
/** Value of a header of the answer; p NULL when absent. */
struct slice raw_header(const struct raw_answer *a, const char *name);
/** Turn the loop until the peer has closed; false when it has not after 5 s. */
bool raw_wait_eof(struct raw *c);
/** Turn the loop `n` times without waiting long. */
void raw_turns(struct loop *l, unsigned n);

#endif
