/*
 * One opt-out, whoever brought it: the row that blocks, the consent that ends, the audit entry. All
 * three go into one batch, and each is idempotent, so a journal may be applied again after a crash.
 */
#include "model/opt_out.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "model/audit.h"
#include "model/subscription.h"
#include "store/store.h"

#define LINE_MAX_BYTES 16384

static enum subscription_status
status_after(enum suppression_reason reason)
{
    switch (reason) {
    case SUPPRESSION_HARD_BOUNCE: return SUBSCRIPTION_BOUNCED;
    case SUPPRESSION_COMPLAINT: return SUBSCRIPTION_COMPLAINED;
    default: return SUBSCRIPTION_UNSUBSCRIBED;
    }
}

static const char *
reason_for_subscription(enum suppression_reason reason)
{
    return reason == SUPPRESSION_UNSUBSCRIBED ? "user_request" : suppression_reason_name(reason);
}

static bool
ends_consent(struct slice scope)
{
    return slice_eq_str(scope, "all") || slice_eq_str(scope, "marketing");
}

static void
audit_op(struct store_batch *b, const struct opt_out *o)
{
    struct buf text = BUF_INIT;
    char hash[24];

    snprintf(hash, sizeof(hash), "%016llx", (unsigned long long)o->address.hash);
    buf_append_str(&text, suppression_reason_name(o->reason));
    buf_printf(&text, " for %.*s by %.*s", SLICE_FMT(o->scope), SLICE_FMT(o->source));
    if (o->broadcast.n > 0)
        buf_printf(&text, ", broadcast %.*s", SLICE_FMT(o->broadcast));
    audit_add_op(b, &(struct audit_entry){
                        .actor = o->actor.n > 0 ? o->actor : SLICE_LIT("system:opt-out"),
                        .action = SLICE_LIT("suppression.add"),
                        .resource = SLICE_LIT(SUPPRESSIONS_COLL),
                        .resource_id = slice_str(hash),
                        .summary = buf_slice(&text),
                        .at_ms = o->now_ms,
                    });
    buf_deinit(&text);
}

void
opt_out_ops(struct store_batch *b, const struct opt_out *o)
{
    suppression_add_ops(b, &(struct suppression_add){
                               .address = &o->address,
                               .is_hash_only = o->address.key.n == 0,
                               .scope = o->scope,
                               .reason = o->reason,
                               .source = o->source,
                               .notes = o->notes,
                               .now_ms = o->now_ms,
                               .expires_at_ms = o->expires_at_ms,
                           });
    if (ends_consent(o->scope))
        subscription_lower_ops(b, o->address.hash, status_after(o->reason),
            slice_str(reason_for_subscription(o->reason)), o->now_ms);
    audit_op(b, o);
}

/* ---- the journal ----------------------------------------------------------------------------- */

void
opt_out_to_line(const struct opt_out *o, struct buf *out)
{
    struct json_writer w;

    jw_init(&w, out);
    jw_obj(&w, NULL);
    jw_str(&w, "mac", slice_str(o->address.mac_hex));
    if (o->address.key.n > 0)
        jw_str(&w, "key", o->address.key);
    jw_str(&w, "scope", o->scope);
    jw_cstr(&w, "reason", suppression_reason_name(o->reason));
    jw_str(&w, "source", o->source);
    if (o->notes.n > 0)
        jw_str(&w, "notes", o->notes);
    if (o->actor.n > 0)
        jw_str(&w, "actor", o->actor);
    if (o->broadcast.n > 0)
        jw_str(&w, "broadcast", o->broadcast);
    jw_int(&w, "at", o->now_ms);
    if (o->expires_at_ms != 0)
        jw_int(&w, "expires", o->expires_at_ms);
    jw_end_obj(&w);
    buf_append_char(out, '\n');
}

/* The row hash is the head of the mac, with the top bit cleared. */
static bool
hash_of_mac(struct slice hex, int64_t *hash_r)
{
    uint64_t v = 0;

    if (hex.n != 64)
        return false;
    for (size_t i = 0; i < hex.n; i++) {
        char c = hex.p[i];
        unsigned digit;

        if (c >= '0' && c <= '9')
            digit = (unsigned)(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = (unsigned)(c - 'a') + 10;
        else
            return false;
        if (i < 16)
            v = v << 4 | digit;
    }
    *hash_r = (int64_t)(v & INT64_MAX);
    return *hash_r != 0;
}

/* Copy a text into the scratch buffer; positions are turned into slices once it stops growing. */
static struct slice
keep(struct buf *scratch, const struct json *j, const char *name)
{
    struct slice s = json_str(json_get(j, name));
    size_t start = scratch->n;

    buf_append_slice(scratch, s);
    return slice_make(scratch->p + start, s.n);
}

static bool
read_line(const struct json *j, struct buf *scratch, struct opt_out *o)
{
    int reason = suppression_reason_parse(json_str(json_get(j, "reason")));
    struct slice mac = json_str(json_get(j, "mac"));

    if (reason < 0 || !hash_of_mac(mac, &o->address.hash))
        return false;
    memcpy(o->address.mac_hex, mac.p, 64);
    o->address.mac_hex[64] = '\0';
    o->reason = (enum suppression_reason)reason;
    o->address.key = keep(scratch, j, "key");
    o->scope = keep(scratch, j, "scope");
    o->source = keep(scratch, j, "source");
    o->notes = keep(scratch, j, "notes");
    o->actor = keep(scratch, j, "actor");
    o->broadcast = keep(scratch, j, "broadcast");
    if (!json_int(json_get(j, "at"), &o->now_ms) || !suppression_scope_valid(o->scope))
        return false;
    if (json_get(j, "expires") != NULL && !json_int(json_get(j, "expires"), &o->expires_at_ms))
        return false;
    return o->source.n > 0;
}

bool
opt_out_from_line(struct slice line, struct buf *scratch, struct opt_out *o_r)
{
    struct json *j;
    bool ok;

    memset(o_r, 0, sizeof(*o_r));
    line = slice_trim(line);
    if (line.n == 0 || line.n > LINE_MAX_BYTES)
        return false;
    if ((j = json_parse(line, 2, 16, NULL)) == NULL)
        return false;
    /* Room for everything at once: slices into the buffer stay valid. */
    buf_reserve(scratch, line.n);
    ok = read_line(j, scratch, o_r);
    json_free(&j);
    return ok;
}
