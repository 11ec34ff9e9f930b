#include "api/run.h"

#include <inttypes.h>
#include <stdio.h>

#include "api/call.h"
#include "api/error.h"
#include "api/schema.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/log.h"
#include "crypto/crypto.h"
#include "http/uri.h"
#include "model/idempotency.h"

/*
 * The part of a call that is the same for HTTP, the control socket and a tool without a daemon.
 *
 *   body ─► JSON ─► schemas (all faults) ─► idempotency key ─► handler ─► answer or error object
 *
 * An answer is kept under its idempotency key whatever its status, unless nothing can have happened
 * (busy, rate-limited): then the key is given back and the same call may be tried again.
 */

#define BUSY_RETRY_S 1
#define KEY_MAX      128

void
api_run_fail(struct api_call *c, const struct err *err)
{
    struct log_ctx ctx = {.request = c->request_id};

    if (api_error_is_hidden(err))
        log_error(&ctx, "api.failed", "method=%s path=%s class=%s sub=%s text=\"%s\"",
            c->route != NULL ? c->route->method : "-", c->route != NULL ? c->route->path : "-",
            err_code_name(err->code), err->sub, err->text);
    c->status = api_error_status(err);
    c->content_type = "application/json";
    if (c->status == 503 && c->retry_after_s == 0)
        c->retry_after_s = BUSY_RETRY_S;
    c->again_ms = 0;
    buf_clear(&c->out);
    api_error_write(err, buf_slice(&c->message), buf_slice(&c->details), c->request_id, &c->out);
}

static int
check_input(struct api_call *c, struct err *err)
{
    struct api_faults faults;
    int rc;

    api_faults_init(&faults);
    api_schema_query(c->route->query, c->query, c->n_query, &faults);
    if ((c->route->flags & API_RAW_BODY) == 0)
        api_schema_body(c->route->body, c->body, &faults);
    rc = api_faults_raise(&faults, c, err);
    api_faults_deinit(&faults);
    return rc;
}

/* ---- idempotency ------------------------------------------------------------------------------- */

static void
digest_add(struct crypto_sha256_ctx *d, struct slice s)
{
    char n[24];

    /* Length first, so that no two lists of parts look the same. */
    snprintf(n, sizeof n, "%zu:", s.n);
    crypto_sha256_update(d, slice_str(n));
    crypto_sha256_update(d, s);
}

static const char *
digest_text(struct crypto_sha256_ctx **d, struct arena *a)
{
    uint8_t hash[CRYPTO_SHA256_SIZE];
    struct buf hex = BUF_INIT;
    const char *text;

    crypto_sha256_final(d, hash);
    hex_encode(slice_make(hash, sizeof hash), &hex);
    text = arena_cstr(a, buf_slice(&hex));
    buf_deinit(&hex);
    return text;
}

static const char *
key_digest(const struct api_call *c, struct slice key)
{
    struct crypto_sha256_ctx *d = crypto_sha256_create();

    digest_add(d, slice_str(c->actor.label));
    digest_add(d, key);
    return digest_text(&d, c->arena);
}

/** Everything the request consists of. */
static const char *
request_digest(const struct api_call *c, struct slice body)
{
    struct crypto_sha256_ctx *d = crypto_sha256_create();

    digest_add(d, slice_str(c->route->method));
    digest_add(d, slice_str(c->route->path));
    for (size_t i = 0; i < API_PARAMS; i++)
        digest_add(d, c->params[i]);
    for (size_t i = 0; i < c->n_query; i++) {
        digest_add(d, c->query[i].name);
        digest_add(d, c->query[i].value);
    }
    digest_add(d, body);
    return digest_text(&d, c->arena);
}

static int
check_key(struct slice key, struct err *err)
{
    bool ok = key.n >= 1 && key.n <= KEY_MAX;

    for (size_t i = 0; ok && i < key.n; i++)
        ok = key.p[i] > ' ' && key.p[i] < 0x7f;
    if (!ok)
        return err_field(
            err, "Idempotency-Key", "Idempotency-Key: must be 1 to 128 visible ASCII characters");
    return 0;
}

/** 0 = go on (`i_r` is taken), 1 = the answer is there already, -1 = error. */
static int
take_key(struct api_call *c, struct slice body, struct api_run_extra *extra,
    struct idempotency *i_r, struct err *err)
{
    enum idempotency_verdict verdict;

    if (check_key(extra->idempotency_header, err) != 0)
        return -1;
    c->idempotency_key = key_digest(c, extra->idempotency_header);
    if (idempotency_begin(c->env->store, slice_str(c->idempotency_key),
            slice_str(request_digest(c, body)), clock_now_ms(), c->arena, i_r, &verdict, err) != 0)
        return -1;
    switch (verdict) {
    case IDEMPOTENCY_FRESH: return 0;
    case IDEMPOTENCY_REPLAY:
        c->status = i_r->status;
        buf_append_slice(&c->out, i_r->answer);
        extra->is_replay = true;
        return 1;
    case IDEMPOTENCY_RUNNING:
        c->retry_after_s = BUSY_RETRY_S;
        return err_sub(err, ERR_CONFLICT, "idempotency_in_progress",
            "the first call with this Idempotency-Key is still running");
    case IDEMPOTENCY_MISMATCH: break;
    }
    return err_sub(err, ERR_REFUSED, "idempotency_mismatch",
        "this Idempotency-Key stands for another request");
}

static void
settle_key(struct api_call *c, uint64_t id)
{
    bool nothing_done = c->status == 503 || c->status == 429;
    struct err err = {0};
    int rc;

    if (nothing_done)
        rc = idempotency_release(c->env->store, id, &err);
    else
        rc = idempotency_finish(c->env->store, id, c->status, buf_slice(&c->out), &err);
    if (rc != 0)
        log_warn(&(struct log_ctx){.request = c->request_id}, "api.idempotency", "text=\"%s\"",
            err.text);
}

/* ---- the call ------------------------------------------------------------------------------------ */

static void
call_handler(struct api_call *c)
{
    struct err err = {0};

    if (c->route->handler(c, &err) != 0)
        api_run_fail(c, &err);
}

static void
run_checked(struct api_call *c, struct slice body, struct api_run_extra *extra)
{
    struct idempotency key;
    struct err err = {0};
    int rc;

    if ((c->route->flags & API_CREATES_MAIL) == 0 || extra->idempotency_header.p == NULL) {
        call_handler(c);
        return;
    }
    rc = take_key(c, body, extra, &key, &err);
    if (rc < 0)
        api_run_fail(c, &err);
    if (rc != 0)
        return;
    call_handler(c);
    settle_key(c, key.id);
}

void
api_run_with(struct api_call *c, struct slice body, struct api_run_extra *extra)
{
    struct json *json = NULL;
    struct err err = {0};

    extra->is_replay = false;
    api_call_reset(c);
    if ((c->route->flags & API_RAW_BODY) != 0) {
        c->raw_body = body;
    } else {
        json = json_parse(body.n > 0 ? body : SLICE_LIT("{}"), 0, 0, &err);
        if (json == NULL) {
            api_run_fail(c, &err);
            return;
        }
    }
    c->body = json;
    if (check_input(c, &err) != 0)
        api_run_fail(c, &err);
    else
        run_checked(c, body, extra);
    c->body = NULL;
    json_free(&json);
}

void
api_run(struct api_call *c, struct slice body)
{
    struct api_run_extra extra = {SLICE_NONE, false};

    api_run_with(c, body, &extra);
}
