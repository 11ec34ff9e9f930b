#ifndef AUDIENCE_ELIGIBLE_H
#define AUDIENCE_ELIGIBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mailshot/states.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "model/mail_kind.h"

struct segment;
struct store;

#define ELIGIBLE_PAGE_MAX   500
#define ELIGIBLE_CURSOR_MAX 32 /* bytes */

/**
 * The one stream that decides who receives a broadcast. Counting, confirmation and planning all read
 * it. A contact that matches the segment (its top-level consent leaf aside) gets one verdict: eligible,
 * or the first of: invalid address, suppressed (by reason), no consent, duplicate address in this page.
 * An address met on an earlier page is the business of the reader (planning: unique rows; counting:
 * the sorted spill).
 */
struct eligible_contact {
    uint64_t contact;
    struct slice address;  /* as stored with the contact; lives in the page's arena */
    int64_t address_hash;  /* 0 when there is no usable address */
    struct slice timezone; /* empty = none */
    int verdict;           /* -1 = eligible, else enum exclusion_reason */
};

struct eligible_query {
    const struct segment *segment;
    enum mail_kind kind;
    struct slice category; /* empty = none */
    int64_t now_ms;        /* fixed for a whole pass: expiry of suppressions */
    unsigned limit;        /* contacts read per page, 1..500, 0 = 500 */
};

struct eligible_page {
    const struct eligible_contact
        *contacts; /* matched contacts in order; may be empty before the end */
    size_t n;
    size_t n_read;       /* contacts the store filter let through */
    bool is_last;        /* nothing stands behind this page */
    struct slice cursor; /* position of the last contact read; in the page's arena */
};

/**
 * Read the page behind `cursor` (empty = the start). Blocking: workers only. Results live in `a`.
 * ERR_INVALID "bad_cursor" for bytes that are no cursor of ours.
 */
int eligible_read_page(struct store *st, const struct eligible_query *q, struct slice cursor,
    struct arena *a, struct eligible_page *page_r, struct err *err);

/** The cursor that stands behind this contact; written to `out`, returns its length. Planning cuts a
 * page into slices with it. */
size_t eligible_cursor_make(uint64_t contact, char out[ELIGIBLE_CURSOR_MAX]);
/** Contact id of a cursor, 0 for the empty one; false for foreign bytes. */
bool eligible_cursor_parse(struct slice cursor, uint64_t *contact_r);

#endif
