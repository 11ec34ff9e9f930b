#include "support/model_world.h"

#include <string.h>

#include "crypto/crypto.h"
#include "model/opt_out.h"
#include "model/subscription.h"

#include "contract/drivers.h"

/*
 * A store of the first backend with keys that never change, so that hashes are the same in every run.
 * Steps assert that they worked; what a test is about it does itself.
 */

void
model_world_open(struct model_world *w)
{
    uint8_t key[3][CRYPTO_KEY_SIZE];

    memset(w, 0, sizeof(*w));
    for (int i = 0; i < 3; i++)
        memset(key[i], 'a' + i, sizeof(key[i]));
    w->st = contract_open(&contract_drivers[0]);
    w->keys = crypto_keys_create(key[0], key[1], key[2]);
    w->a = arena_create(0);
}

void
model_world_close(struct model_world *w)
{
    arena_free(&w->a);
    crypto_keys_free(&w->keys);
    contract_close(&w->st);
}

void
model_world_run(struct store_batch **b)
{
    contract_run(*b);
    store_batch_free(b);
}

struct json *
model_world_json(struct model_world *w, const char *text)
{
    char *copy = arena_strdup(w->a, text);
    struct json *j;

    for (char *p = copy; *p != '\0'; p++) {
        if (*p == '\'')
            *p = '"';
    }
    j = json_parse(slice_str(copy), 0, 0, &w->err);
    ck_assert_msg(j != NULL, "%s: %s", w->err.text, copy);
    return j;
}

struct contact
model_world_contact(struct model_world *w, const char *json)
{
    struct json *j = model_world_json(w, json);
    struct contact_input in;
    struct contact c;

    ck_assert_int_eq(contact_input_from_json(j, w->a, &in, &w->err), 0);
    ck_assert_msg(contact_create(w->st, w->keys, &in, MODEL_NOW, w->a, &c, &w->err) == 0, "%s: %s",
        w->err.field, w->err.text);
    json_free(&j);
    return c;
}

void
model_world_subscribe(struct model_world *w, const struct contact *c)
{
    struct subscription s;

    ck_assert_int_eq(subscription_subscribe(w->st,
                         &(struct subscription_change){.contact = c->id,
                             .email_hash = c->email_hash,
                             .source = SLICE_LIT("test"),
                             .now_ms = MODEL_NOW},
                         w->a, &s, &w->err),
        0);
    ck_assert_int_eq(s.status, SUBSCRIPTION_SUBSCRIBED);
}

void
model_world_opt_out(struct model_world *w, struct slice email, enum suppression_reason reason)
{
    struct opt_out o = {.scope = SLICE_LIT("marketing"),
        .reason = reason,
        .source = SLICE_LIT("test"),
        .now_ms = MODEL_NOW};
    struct store_batch *b = store_batch_create(w->st, STORE_URGENT);
    struct buf key = BUF_INIT;
    int64_t hash;

    ck_assert_int_eq(contact_address(w->keys, email, &key, &hash, &w->err), 0);
    suppression_address_of(w->keys, buf_slice(&key), &o.address);
    ck_assert_int_eq(o.address.hash, hash);
    opt_out_ops(b, &o);
    model_world_run(&b);
    buf_deinit(&key);
}
