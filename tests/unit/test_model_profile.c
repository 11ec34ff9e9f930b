/* Sending identities: defaults, refusals, sealed secrets. */
#include <string.h>

#include "crypto/crypto.h"
#include "model/profile.h"
#include "support/model_world.h"
#include "support/suite.h"

static struct model_world w;

static struct profile_input
smtp(const char *slug, const char *host)
{
    struct profile_input in;

    profile_input_init(&in, PROFILE_SMTP);
    in.p.slug = slice_str(slug);
    in.p.name = SLICE_LIT("Main");
    in.p.host = slice_str(host);
    in.p.from_email = SLICE_LIT("news@example.org");
    in.p.username = SLICE_LIT("user");
    in.password = SLICE_LIT("secret");
    return in;
}

static int
put(const struct profile_input *in, struct profile *p)
{
    bool created;

    return profile_put(
        w.st, w.keys, in, SLICE_LIT("agent:test"), MODEL_NOW, w.a, p, &created, &w.err);
}

START_TEST(keeps_secrets_sealed)
{
    struct profile_input in;
    struct profile p;
    struct buf out = BUF_INIT, shown = BUF_INIT;
    struct json_writer jw;

    model_world_open(&w);
    in = smtp("main", "mx.example.org");
    ck_assert_int_eq(put(&in, &p), 0);
    ck_assert(p.is_default && p.version == 1);
    ck_assert_int_eq(profile_password(w.keys, &p, &out, &w.err), 0);
    ck_assert(slice_eq_str(buf_slice(&out), "secret"));
    ck_assert_int_eq(slice_find(p.sealed_password, SLICE_LIT("secret")), -1);
    jw_init(&jw, &shown);
    profile_write_json(&jw, NULL, &p);
    ck_assert_int_eq(slice_find(buf_slice(&shown), SLICE_LIT("secret")), -1);
    ck_assert_int_ge(slice_find(buf_slice(&shown), SLICE_LIT("\"hasPassword\":true")), 0);

    /* Kept when not given, but never posted to another host unasked. */
    in.password = SLICE_NONE;
    in.p.name = SLICE_LIT("Renamed");
    ck_assert_int_eq(put(&in, &p), 0);
    ck_assert(p.version == 2 && slice_eq_str(p.name, "Renamed"));
    buf_clear(&out);
    ck_assert_int_eq(profile_password(w.keys, &p, &out, &w.err), 0);
    ck_assert(slice_eq_str(buf_slice(&out), "secret"));
    in.p.host = SLICE_LIT("evil.example.com");
    ck_assert_int_eq(put(&in, &p), -1);
    ck_assert_str_eq(w.err.field, "password");
    in.p.host = SLICE_LIT("MX.example.org");
    ck_assert_int_eq(put(&in, &p), 0);

    /* Ciphertext of one profile does not open in another. */
    p.id++;
    ck_assert_int_eq(profile_password(w.keys, &p, &out, &w.err), -1);
    ck_assert_int_eq(w.err.code, ERR_PERM);
    buf_deinit(&out);
    buf_deinit(&shown);
    model_world_close(&w);
}
END_TEST

START_TEST(seals_dkim_keys)
{
    struct profile_input in;
    struct profile p;
    struct buf pem = BUF_INIT, out = BUF_INIT;

    model_world_open(&w);
    ck_assert_int_eq(crypto_generate_key(0, &pem, &w.err), 0);
    in = smtp("main", "mx.example.org");
    in.p.n_dkim = 1;
    in.p.dkim[0].domain = SLICE_LIT("example.org");
    in.p.dkim[0].selector = SLICE_LIT("s1");
    ck_assert_int_eq(put(&in, &p), -1);
    ck_assert_str_eq(w.err.field, "dkim");
    in.dkim_pem[0] = SLICE_LIT("not a key");
    ck_assert_int_eq(put(&in, &p), -1);
    in.dkim_pem[0] = buf_slice(&pem);
    ck_assert_int_eq(put(&in, &p), 0);
    ck_assert(slice_eq_str(p.dkim[0].algorithm, "ed25519-sha256"));
    in.dkim_pem[0] = SLICE_NONE;
    ck_assert_int_eq(put(&in, &p), 0);
    ck_assert_uint_eq(p.n_dkim, 1);
    ck_assert_int_eq(profile_dkim_key(w.keys, &p, 0, &out, &w.err), 0);
    ck_assert(slice_eq(buf_slice(&out), buf_slice(&pem)));
    buf_deinit(&pem);
    buf_deinit(&out);
    model_world_close(&w);
}
END_TEST

START_TEST(there_is_one_default)
{
    struct profile_input in;
    const struct profile *all;
    struct profile p;
    size_t n;

    model_world_open(&w);
    ck_assert_int_eq(profile_get_default(w.st, w.a, &p, &w.err), -1);
    ck_assert_str_eq(w.err.sub, "mail_unavailable");
    in = smtp("one", "mx.example.org");
    ck_assert_int_eq(put(&in, &p), 0);
    in = smtp("two", "mx.example.org");
    ck_assert_int_eq(put(&in, &p), 0);
    ck_assert(!p.is_default);
    ck_assert_int_eq(profile_get_default(w.st, w.a, &p, &w.err), 0);
    ck_assert(slice_eq_str(p.slug, "one"));
    in.p.is_default = true;
    ck_assert_int_eq(put(&in, &p), 0);
    ck_assert_int_eq(profile_list(w.st, w.a, &all, &n, &w.err), 0);
    ck_assert_uint_eq(n, 2);
    ck_assert(!all[0].is_default && all[1].is_default);
    model_world_close(&w);
}
END_TEST

START_TEST(a_second_pause_keeps_the_first_reason)
{
    struct profile_input in;
    struct profile p;
    struct store_batch *b;
    unsigned first, second;

    model_world_open(&w);
    in = smtp("one", "mx.example.org");
    ck_assert_int_eq(put(&in, &p), 0);
    b = store_batch_create(w.st, STORE_URGENT);
    first = profile_set_state_op(b, p.id, PROFILE_PAUSED, SLICE_LIT("535"), MODEL_NOW);
    second = profile_set_state_op(b, p.id, PROFILE_PAUSED, SLICE_LIT("other"), MODEL_NOW);
    ck_assert_int_eq(store_run(b, &w.err), 0);
    ck_assert_uint_eq(store_batch_result(b, first)->changed, 1);
    ck_assert_uint_eq(store_batch_result(b, second)->changed, 0);
    store_batch_free(&b);
    ck_assert_int_eq(profile_get_id(w.st, p.id, w.a, &p, &w.err), 0);
    ck_assert_int_eq(p.state, PROFILE_PAUSED);
    ck_assert(slice_eq_str(p.state_reason, "535"));
    model_world_close(&w);
}
END_TEST

START_TEST(refuses_bad_profiles)
{
    static const struct {
        const char *json, *field;
    } cases[] = {
        {"{'slug':'No'}", "slug"},
        {"{'name':'a\\nb'}", "name"},
        {"{'host':'mx example'}", "host"},
        {"{'host':'mx\\r\\nQUIT'}", "host"},
        {"{'host':''}", "host"},
        {"{'port':0}", "port"},
        {"{'port':70000}", "port"},
        {"{'tls':'maybe'}", "tls"},
        {"{'tls':'none'}", "tls"},
        {"{'fromEmail':'x'}", "fromEmail"},
        {"{'ehloName':'a b'}", "ehloName"},
        {"{'pacePerSecond':0}", "pacePerSecond"},
        {"{'maxSessions':0}", "maxSessions"},
        {"{'dkim':[{'domain':'exa mple','selector':'a'}]}", "dkim"},
        {"{'dkim':[{},{},{}]}", "dkim"},
        {"{'inDoubtBulk':'hope'}", "inDoubtBulk"},
        {"{'kind':'pigeon'}", "kind"},
    };

    model_world_open(&w);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct json *j = model_world_json(&w, cases[i].json);
        struct profile_input in = smtp("main", "mx.example.org");
        int rc = profile_input_from_json(j, &in, &w.err);

        if (rc == 0)
            rc = profile_input_check(&in, &w.err);
        ck_assert_msg(rc == -1, "accepted: %s", cases[i].json);
        ck_assert_str_eq(w.err.field, cases[i].field);
        json_free(&j);
    }
    model_world_close(&w);
}
END_TEST

START_TEST(a_clear_password_stays_on_loopback)
{
    struct profile_input in;

    model_world_open(&w);
    in = smtp("main", "127.0.0.1");
    in.p.tls = PROFILE_TLS_NONE;
    ck_assert_int_eq(profile_input_check(&in, &w.err), 0);
    in.p.host = SLICE_LIT("localhost");
    ck_assert_int_eq(profile_input_check(&in, &w.err), 0);
    in.p.host = SLICE_LIT("127.example.org");
    ck_assert_int_eq(profile_input_check(&in, &w.err), -1);
    ck_assert_str_eq(w.err.field, "tls");
    model_world_close(&w);
}
END_TEST

SUITE_MAIN("model_profile", keeps_secrets_sealed, seals_dkim_keys, there_is_one_default,
    a_second_pause_keeps_the_first_reason, refuses_bad_profiles, a_clear_password_stays_on_loopback)
