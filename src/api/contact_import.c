#include "api/contacts.h"

#include "audience/import.h"
#include "base/clock.h"

/*
 * CSV import: the body is one piece of a file with its header line. A file of any size goes through
 * several calls, each with the header in front (mailshotd import does it so), which keeps memory flat
 * and every call short.
 */

#define PIECE (256u << 10)

static int
feed(struct import *im, struct slice body, struct err *err)
{
    while (body.n > 0) {
        size_t n = body.n < PIECE ? body.n : PIECE;

        if (import_feed(im, slice_make(body.p, n), err) != 0)
            return -1;
        body = slice_from(body, n);
    }
    return import_finish(im, err);
}

int
contact_import(struct api_call *c, struct err *err)
{
    struct import_options o = {
        .is_dry_run = api_query_bool(c, "dryRun", false),
        .overwrite = api_query_bool(c, "overwrite", false),
        .subscribe = api_query_bool(c, "subscribe", false),
        .source = api_query(c, "source"),
        .actor = slice_str(c->actor.label),
        .now_ms = clock_now_ms(),
    };
    struct import *im = import_create(c->env->store, c->env->keys, &o, NULL);
    int rc = feed(im, c->raw_body, err);

    if (rc == 0)
        import_write_json(&c->w, NULL, im);
    import_free(&im);
    return rc;
}
