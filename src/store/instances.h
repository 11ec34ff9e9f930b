#ifndef STORE_INSTANCES_H
#define STORE_INSTANCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

struct store_batch;

/** One record per running daemon: number (0–1023, goes into ids), incarnation (random per start, owner
 * of claims and leases), beat, and the fingerprint of its data folder. */
struct instance_record {
    unsigned number;
    uint64_t incarnation;
    int64_t started_at_ms, beat_at_ms;
    int64_t id_high_water_ms; /* ids below this may have been used */
    char fingerprint[65];     /* machine id, inode and birth time of the folder's id file, hashed */
    bool is_adopted;          /* false: a copied folder; it sends nothing until adopted */
};

/** Register a start: the number of a record with the same fingerprint, else 0 on an embedded store (one
 * process by its lock), else the lowest free one. A first start of a new store adopts itself; a
 * fingerprint unknown to a used store is recorded as not adopted. */
unsigned instances_start(struct store_batch *b, const struct instance_record *r);
/** Beat and high-water mark; conditional on the incarnation. */
unsigned instances_beat(struct store_batch *b, const struct instance_record *r);
unsigned instances_list(struct store_batch *b);
/** Accept this folder as the installation: drops other records of an embedded store. */
unsigned instances_adopt(struct store_batch *b, unsigned number, uint64_t incarnation);

struct instances_result {
    bool matched;
    const struct instance_record *records;
    size_t n_records;
};
const struct instances_result *instances_result(const struct store_batch *b, unsigned op);

#endif
