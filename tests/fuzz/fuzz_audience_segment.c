#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bsonx.h"
#include "audience/segment.h"

/*
 * The segment parser on arbitrary text. What it accepts must come back from its canonical form as the
 * same segment, be evaluable, and put nothing into the store filter that a caller wrote as an operator;
 * what it refuses must say why.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Names under a member that starts with '$' come from us: only these may occur. */
static void
check_names(bson_iter_t *it)
{
    static const char *const operators[] = {"$and", "$or", "$nor", "$eq", "$ne", "$in", "$exists"};
    bson_iter_t sub;

    while (bson_iter_next(it)) {
        const char *key = bson_iter_key(it);
        size_t i = 0, n = sizeof(operators) / sizeof(operators[0]);

        while (key[0] == '$' && i < n && strcmp(key, operators[i]) != 0)
            i++;
        assert(i < n);
        if ((BSON_ITER_HOLDS_DOCUMENT(it) || BSON_ITER_HOLDS_ARRAY(it)) &&
            bson_iter_recurse(it, &sub))
            check_names(&sub);
    }
}

static void
check_round_trip(const struct segment *s)
{
    char before[65], after[65];
    struct segment *back;
    struct err err;
    bson_t doc;

    err_clear(&err);
    bson_init(&doc);
    segment_to_bson(s, &doc);
    back = segment_from_bson(bsonx_bytes(&doc), &err);
    assert(back != NULL);
    segment_hash(s, before);
    segment_hash(back, after);
    assert(strcmp(before, after) == 0);
    segment_free(&back);
    bson_destroy(&doc);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf issues = BUF_INIT;
    struct segment *s;
    struct err err;
    bson_iter_t it;
    bson_t contact;

    err_clear(&err);
    s = segment_parse_text(slice_make(data, size), &issues, &err);
    if (s == NULL) {
        assert(err.code == ERR_INVALID);
        assert(strcmp(err.sub, "invalid_json") == 0 || issues.n > 0);
    } else {
        check_round_trip(s);
        assert(bson_iter_init(&it, segment_plan(s)->filter));
        check_names(&it);
        bson_init(&contact);
        bsonx_add_str(&contact, "email", SLICE_LIT("x"));
        for (int status = 0; status < SUBSCRIPTION_STATUSES; status++) {
            bool whole = segment_match(s, &contact, (enum subscription_status)status);

            /* What holds as a whole holds in every part. */
            assert(!whole || segment_match_rest(s, &contact, (enum subscription_status)status));
        }
        bson_destroy(&contact);
    }
    segment_free(&s);
    buf_deinit(&issues);
    return 0;
}
