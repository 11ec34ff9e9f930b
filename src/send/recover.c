/*
 * Recovery at start.
 *
 * The rows are found by the partial index on `sending`, which holds at most one row per session of the
 * dead process, so this takes milliseconds whatever the size of the store. Each profile may have a
 * policy of its own, so it goes profile by profile; rows of a profile that is gone come last, by the
 * policies of a new profile.
 */
#include "send/recover.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "model/profile.h"
#include "store/sends.h"
#include "store/store.h"

#define RECOVER_BATCH 500

static int
recover_rows(struct store *st, const struct sends_recover *r, uint64_t *moved, struct err *err)
{
    uint64_t n;

    do {
        struct store_batch *b = store_batch_create(st, STORE_URGENT);
        unsigned op = sends_recover(b, r);
        int rc = store_run(b, err);

        n = rc == 0 ? sends_result(b, op)->count : 0;
        store_batch_free(&b);
        if (rc != 0)
            return -1;
        *moved += n;
    } while (n == RECOVER_BATCH);
    return 0;
}

int
recover_sends(struct store *st, uint64_t live_owner, uint64_t *moved_r, struct err *err)
{
    struct arena *a = arena_create(0);
    struct sends_recover r = {
        .live_owner = live_owner, .now_ms = clock_now_ms(), .limit = RECOVER_BATCH};
    const struct profile *profiles;
    size_t n;
    int rc = profile_list(st, a, &profiles, &n, err);

    *moved_r = 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        r.repeat_bulk = profiles[i].doubt_bulk == PROFILE_DOUBT_REPEAT;
        r.leave_immediate = profiles[i].doubt_immediate == PROFILE_DOUBT_LEAVE;
        r.only_profile = profiles[i].id;
        rc = recover_rows(st, &r, moved_r, err);
    }
    r.only_profile = 0;
    r.repeat_bulk = r.leave_immediate = false;
    if (rc == 0)
        rc = recover_rows(st, &r, moved_r, err);
    if (*moved_r > 0)
        log_warn(NULL, "send.recovered", "rows=%llu", (unsigned long long)*moved_r);
    arena_free(&a);
    return rc;
}
