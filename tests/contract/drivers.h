#ifndef CONTRACT_DRIVERS_H
#define CONTRACT_DRIVERS_H

#include "store/store.h"

/**
 * The backends of the store that must pass every contract suite. A new backend adds a row here and
 * nothing else. Each store gets a folder of its own under the scratch folder of the test.
 */
struct contract_driver {
    const char *name;
    const struct store_driver *(*driver)(void);
};

extern const struct contract_driver contract_drivers[];
extern const int contract_n_drivers;

/** A fresh, empty store of the backend, without a loop: batches run with store_run(). */
struct store *contract_open(const struct contract_driver *d);
/** Close it and remove what it left on disk. */
void contract_close(struct store **st);
/** Run a batch that must succeed. */
void contract_run(struct store_batch *b);
/** Run a batch that must fail with this code and sub-code. */
void contract_run_fails(struct store_batch *b, enum err_code code, const char *sub);

#endif
