/*
 * Opening an installation. The order is the safety: nothing is read before the lock is held, nothing is
 * written before keys and database have been found to belong together.
 */
#include "daemon/installation.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "crypto/crypto.h"
#include "daemon/backends.h"
#include "daemon/config.h"
#include "daemon/datadir.h"
#include "daemon/folder_keys.h"
#include "mailshot/exit.h"
#include "store/store.h"

static int
open_store(struct installation *i, const struct config *c, struct loop *loop, bool must_exist,
    struct err *err)
{
    char fingerprint[17];
    struct store_open_args args = {
        .path = i->dir->path,
        .min_free_bytes = c->min_free_bytes,
        .n_readers = loop == NULL ? 1 : (unsigned)c->store_readers,
        .create = !must_exist,
        .fingerprint = fingerprint,
    };

    crypto_keys_fingerprint(i->keys, fingerprint);
    i->store = store_open(backend_store(c), &args, loop, err);
    return i->store != NULL ? 0 : -1;
}

static int
refuse_missing(const struct datadir *d, struct err *err)
{
    if (datadir_has_database(d->path))
        return 0;
    return err_sub(err, ERR_NOTFOUND, "no_store", "there is no database in %s", d->path);
}

int
installation_open(const struct config *c, struct loop *loop, bool must_exist,
    struct installation **i_r, struct err *err)
{
    struct installation *i = mem_zalloc(sizeof(*i));

    i->is_tool = loop == NULL;
    if (datadir_open(c->data_dir, !must_exist, &i->dir, err) != 0)
        goto fail;
    if (must_exist && refuse_missing(i->dir, err) != 0)
        goto fail;
    if (folder_keys_load(i->dir, &i->keys, err) != 0)
        goto fail;
    if (open_store(i, c, loop, must_exist, err) != 0)
        goto fail;
    if (instance_start(i->store, i->dir->fingerprint, i->is_tool, &i->instance, err) != 0)
        goto fail;
    *i_r = i;
    return 0;

fail:
    installation_close(&i);
    return -1;
}

/** The last beat: so many ids were used. */
static void
say_goodbye(struct installation *i)
{
    struct err err = {0};

    if (i->store == NULL || i->instance.incarnation == 0)
        return;
    if (instance_beat(i->store, &i->instance, i->is_tool, &err) != 0)
        log_warn(NULL, "instance.beat_failed", "error=\"%s\"", err.text);
}

void
installation_close(struct installation **ip)
{
    struct installation *i = *ip;

    if (i == NULL)
        return;
    say_goodbye(i);
    store_close(&i->store);
    crypto_keys_free(&i->keys);
    datadir_close(&i->dir);
    mem_free(i);
    *ip = NULL;
}

int
installation_exit_code(const struct err *err)
{
    static const struct {
        const char *sub;
        int code;
    } known[] = {
        {"locked", EXIT_LOCKED},
        {"keys_missing", EXIT_KEYS},
        {"keys_invalid", EXIT_KEYS},
        {"keys_readable", EXIT_KEYS},
        {"keys_differ", EXIT_KEYS},
        {"keys_exist", EXIT_KEYS},
        {"newer_store", EXIT_NEWER},
        {"unknown_option", EXIT_USAGE},
    };

    for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
        if (strcmp(err->sub, known[k].sub) == 0)
            return known[k].code;
    return err->code == ERR_INVALID ? EXIT_USAGE : EXIT_UNHEALTHY;
}
