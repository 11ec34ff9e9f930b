#include "api/resource.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/timefmt.h"
#include "broadcast/broadcasts.h"
#include "model/audit.h"
#include "model/contact.h"
#include "store/store.h"

/*
 * What the resource files have in common. Lists look the same everywhere: {"items", "nextCursor"}, the
 * cursor being the position behind the last item, so that a walk meets everything that was there from
 * its start to its end, whatever is added or removed meanwhile.
 */

unsigned
api_page_limit(const struct api_call *c)
{
    return (unsigned)api_query_int(c, "limit", API_PAGE_DEFAULT);
}

int
api_page_after(const struct api_call *c, uint64_t *after_r, struct err *err)
{
    struct slice cursor = api_query(c, "cursor");

    *after_r = 0;
    if (cursor.p == NULL || id_parse(cursor, after_r))
        return 0;
    return err_sub(err, ERR_INVALID, "bad_cursor", "cursor: not one that this list gave");
}

void
api_page_begin(struct api_call *c)
{
    jw_obj(&c->w, NULL);
    jw_arr(&c->w, "items");
}

void
api_page_end(struct api_call *c, uint64_t next)
{
    jw_end_arr(&c->w);
    jw_id(&c->w, "nextCursor", next);
    jw_end_obj(&c->w);
}

void
api_page_end_text(struct api_call *c, struct slice next)
{
    jw_end_arr(&c->w);
    if (next.n > 0)
        jw_str(&c->w, "nextCursor", next);
    else
        jw_null(&c->w, "nextCursor");
    jw_end_obj(&c->w);
}

int
api_id_param(const struct api_call *c, size_t i, uint64_t *id_r, struct err *err)
{
    if (id_parse(c->params[i], id_r))
        return 0;
    return err_sub(err, ERR_NOTFOUND, "not_found", "there is nothing with this id");
}

struct slice
api_body_str(const struct api_call *c, const char *name)
{
    return json_str(json_get(c->body, name));
}

int64_t
api_body_time(const struct api_call *c, const char *name)
{
    int64_t ms = 0;

    return timefmt_parse(api_body_str(c, name), &ms) ? ms : 0;
}

int
api_broadcast_call(struct api_call *c, struct broadcast_call *out_r, struct err *err)
{
    if (c->env->broadcasts == NULL)
        return err_sub(err, ERR_CONFLICT, "daemon_required", "this needs a running daemon");
    *out_r = (struct broadcast_call){
        .b = c->env->broadcasts,
        .actor = slice_str(c->actor.label),
        .arena = c->arena,
        .now_ms = clock_now_ms(),
    };
    return 0;
}

int
api_contact_find(
    struct api_call *c, struct slice external_id, struct contact *out_r, struct err *err)
{
    if (contact_get_external(c->env->store, external_id, c->arena, out_r, err) == 0)
        return 0;
    if (err->code == ERR_NOTFOUND) {
        jw_str(api_details(c), "externalId", external_id);
        err_sub(err, ERR_NOTFOUND, "contact_not_found", "there is no contact with this externalId");
    }
    return -1;
}

int
api_reword(struct err *err, const char *sub, const char *text)
{
    if (strcmp(err->sub, sub) == 0)
        snprintf(err->text, sizeof err->text, "%s", text);
    return -1;
}

int
api_audit(struct api_call *c, const char *action, const char *resource, struct slice id,
    const char *summary, struct err *err)
{
    struct store_batch *b = store_batch_create(c->env->store, STORE_URGENT);
    int rc;

    audit_add_op(b, &(struct audit_entry){
                        .actor = slice_str(c->actor.label),
                        .action = slice_str(action),
                        .resource = slice_str(resource),
                        .resource_id = id,
                        .summary = slice_str(summary),
                        .request_id = slice_str(c->request_id),
                        .at_ms = clock_now_ms(),
                    });
    rc = store_run(b, err);
    store_batch_free(&b);
    return rc;
}
