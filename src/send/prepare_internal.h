#ifndef SEND_PREPARE_INTERNAL_H
#define SEND_PREPARE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "send/internal.h"
#include "send/render.h"
#include "store/sends.h"

/** Shared by prepare.c (a batch of rows) and compose.c (one mail of it). */
struct contact;
struct store_batch;
struct value;

#define PREPARE_TEXT_MAX 256

/* Where the time of preparing goes, in microseconds of the workers' CPU time. */
enum stage { STAGE_READ, STAGE_RENDER, STAGE_MIME, STAGE_SIGN, STAGES };

/** Everything a worker needs and gives back. */
struct prepare {
    struct sender *sender;
    struct channel *channel;
    struct group *group;
    struct content *content; /* NULL for one-off mail: each row names its own */
    struct outlet *outlet;
    uint64_t ids[PREPARE_BATCH];
    size_t n_ids;
    struct job *jobs[PREPARE_BATCH]; /* lent; the first n_made are finished mails */
    size_t n_made;
    struct sends_settle dead[PREPARE_BATCH];
    char dead_text[PREPARE_BATCH][PREPARE_TEXT_MAX];
    size_t n_dead;
    bool is_again; /* a row could not be read for now */
    struct err err;
    int rc;
    /* worker's own */
    struct arena *scratch;
    struct render_env env;
    struct render_parts parts;
    struct buf message, key;
    uint64_t seen_seq;
    struct store_batch *facts;
    uint64_t spent_us[STAGES];
};

/** Add the time since `started_us` to a stage; returns now. */
uint64_t prepare_spend(struct prepare *p, enum stage stage, uint64_t started_us);

/**
 * Make the finished mail of a row in `j`: envelope, rendered and signed bytes, and what its claim needs.
 * On a worker. On failure `class_r` says what the row fails of, and `j` may be used for another row.
 */
int prepare_mail(struct prepare *p, struct job *j, const struct send_row *row,
    const struct content *c, const struct contact *contact, const struct value *vars,
    enum send_fail_class *class_r, struct err *err);

#endif
