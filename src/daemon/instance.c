/*
 * One process among the records of its store.
 *
 * On the embedded store the folder lock proves that a predecessor is dead, so nobody waits for beats.
 * They are kept for two other uses: the gap since the last one shows that the machine slept, or that
 * an old state came back; and the high-water mark keeps ids rising across a clock that was set back.
 */
#include "daemon/instance.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/rand.h"
#include "control/run_control.h"
#include "daemon/park.h"
#include "store/instances.h"
#include "store/store.h"

/* Room for four million ids, more than are made between two beats. */
#define RESERVED_MS 1000

static int
find_previous(struct store *st, const char *fingerprint, struct instance *i, struct err *err)
{
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    unsigned op = instances_list(b);
    int rc = store_run(b, err);

    if (rc == 0) {
        const struct instances_result *all = instances_result(b, op);

        for (size_t k = 0; k < all->n_records; k++)
            if (strcmp(all->records[k].fingerprint, fingerprint) == 0)
                i->previous_beat_at_ms = all->records[k].beat_at_ms;
    }
    store_batch_free(&b);
    return rc;
}

static int
register_start(struct store *st, const char *fingerprint, struct instance *i, struct err *err)
{
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    struct instance_record r = {.incarnation = i->incarnation,
        .started_at_ms = clock_now_ms(),
        .beat_at_ms = i->beat_at_ms};
    unsigned op;
    int rc;

    snprintf(r.fingerprint, sizeof(r.fingerprint), "%s", fingerprint);
    op = instances_start(b, &r);
    if ((rc = store_run(b, err)) == 0) {
        const struct instance_record *mine = instances_result(b, op)->records;

        i->number = mine->number;
        i->is_adopted = mine->is_adopted;
        id_init(mine->number, mine->id_high_water_ms + 1);
    }
    store_batch_free(&b);
    return rc;
}

int
instance_start(
    struct store *st, const char *fingerprint, bool is_tool, struct instance *i_r, struct err *err)
{
    memset(i_r, 0, sizeof(*i_r));
    i_r->incarnation = rand_u64() >> 1 | 1;
    if (find_previous(st, fingerprint, i_r, err) != 0)
        return -1;
    i_r->beat_at_ms = is_tool ? i_r->previous_beat_at_ms : clock_now_ms();
    if (register_start(st, fingerprint, i_r, err) != 0)
        return -1;
    /* Reserve ids before the first one is used: this process may die before its first beat. */
    return instance_beat(st, i_r, is_tool, err);
}

unsigned
instance_beat_op(
    struct store_batch *b, const struct instance *i, int64_t now_ms, int64_t lookahead_ms)
{
    struct instance_record r = {
        .number = i->number, .incarnation = i->incarnation, .beat_at_ms = now_ms};
    int64_t ahead = clock_now_ms() + lookahead_ms;

    /* Ids ahead of the clock advance by their number, not by time. */
    r.id_high_water_ms = id_high_water_ms() + RESERVED_MS;
    if (r.id_high_water_ms < ahead)
        r.id_high_water_ms = ahead;
    return instances_beat(b, &r);
}

int
instance_beat(struct store *st, struct instance *i, bool is_tool, struct err *err)
{
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    int64_t at = is_tool ? i->beat_at_ms : clock_now_ms();
    int rc;

    instance_beat_op(b, i, at, 0);
    if ((rc = store_run(b, err)) == 0)
        i->beat_at_ms = at;
    store_batch_free(&b);
    return rc;
}

int
instance_adopt(struct store *st, const struct instance *i, unsigned *n_parked_r, struct err *err)
{
    static const struct run_reason why = {.code = PAUSE_MANUAL,
        .message = "the data folder was adopted after a copy or restore: check before resuming "
                   "what may have been sent elsewhere",
        .actor = "system:adopt"};
    struct store_batch *b;
    unsigned op;
    int rc;

    if (park_runs(st, 0, 0, &why, n_parked_r, err) != 0)
        return -1;
    b = store_batch_create(st, STORE_URGENT);
    op = instances_adopt(b, i->number, i->incarnation);
    rc = store_run(b, err);
    if (rc == 0 && !instances_result(b, op)->matched)
        rc = err_sub(err, ERR_CONFLICT, "not_the_instance", "another start took this number");
    store_batch_free(&b);
    if (rc == 0)
        log_warn(NULL, "instance.adopted", "parked=%u", *n_parked_r);
    return rc;
}
