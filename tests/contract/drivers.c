#include "contract/drivers.h"

#include <check.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/sqlite/sqlite_store.h"
#include "support/suite.h"

/*
 * Opens the stores that contract suites run on. One store is open at a time; its folder is emptied
 * before it is opened and after it is closed, so a suite never sees what an earlier one left.
 */

const struct contract_driver contract_drivers[] = {
    {"sqlite", sqlite_store_driver},
};
const int contract_n_drivers = sizeof contract_drivers / sizeof contract_drivers[0];

static const char *const files[] = {"mailshot.db", "mailshot.db-wal", "mailshot.db-shm"};
static char folder[512];

static void
empty_folder(void)
{
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[600];

        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
    }
}

struct store *
contract_open(const struct contract_driver *d)
{
    struct store_open_args args = {.path = folder, .create = true, .fingerprint = "contract"};
    struct store *st;
    struct err err;

    snprintf(folder, sizeof folder, "%s", suite_path("store"));
    mkdir(folder, 0700);
    empty_folder();
    err_clear(&err);
    st = store_open(d->driver(), &args, NULL, &err);
    ck_assert_msg(st != NULL, "%s: %s", d->name, err.text);
    return st;
}

void
contract_close(struct store **st)
{
    store_close(st);
    empty_folder();
}

void
contract_run(struct store_batch *b)
{
    struct err err;
    int rc;

    err_clear(&err);
    rc = store_run(b, &err);
    ck_assert_msg(rc == 0, "%s: %s", err.sub, err.text);
}

void
contract_run_fails(struct store_batch *b, enum err_code code, const char *sub)
{
    struct err err;

    err_clear(&err);
    ck_assert_int_eq(store_run(b, &err), -1);
    ck_assert_msg(err.code == code, "%s: %s", err.sub, err.text);
    ck_assert_str_eq(err.sub, sub);
}
