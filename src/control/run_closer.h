#ifndef CONTROL_RUN_CLOSER_H
#define CONTROL_RUN_CLOSER_H

struct loop;
struct run_closer;
struct run_table;
struct store;

/** Closes each run when planning has finished and its last open row is settled: sending → sent. Acts on
 * what the run table reports; the store decides by one conditional update, and is asked again each
 * second while it fails. Loop thread. */
struct run_closer *run_closer_create(struct loop *l, struct store *st, struct run_table *t);
/** When run_table_busy() is 0. */
void run_closer_free(struct run_closer **c);

#endif
