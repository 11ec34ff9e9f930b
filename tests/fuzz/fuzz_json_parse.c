/*
 * JSON bodies: whatever the bytes, the parser answers or refuses; and what it accepts, written and
 * parsed again, is written the same. The way through BSON must not lose or break anything either.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/bsonx.h"
#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
write_json(const struct json *j, struct buf *out)
{
    struct json_writer w;

    jw_init(&w, out);
    jw_json(&w, NULL, j);
}

static void
check_bson(const struct json *j)
{
    struct buf text = BUF_INIT;
    struct json_writer w;
    struct json *again;
    bson_t doc, view;

    if (bsonx_from_json(j, 32, &doc, NULL) != 0)
        return;
    if (!bsonx_view(bsonx_bytes(&doc), &view))
        abort();
    jw_init(&w, &text);
    bsonx_to_json(&w, NULL, &view);
    again = json_parse(buf_slice(&text), 0, 0, NULL);
    if (again == NULL)
        abort();
    json_free(&again);
    buf_deinit(&text);
    bson_destroy(&doc);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json *first = json_parse(slice_make(data, size), 0, 0, NULL);
    struct json *second;
    struct buf once = BUF_INIT, twice = BUF_INIT;

    if (first == NULL)
        return 0;
    write_json(first, &once);
    second = json_parse(buf_slice(&once), 0, 0, NULL);
    if (second == NULL)
        abort();
    write_json(second, &twice);
    if (!slice_eq(buf_slice(&once), buf_slice(&twice)))
        abort();
    check_bson(first);
    json_free(&first);
    json_free(&second);
    buf_deinit(&once);
    buf_deinit(&twice);
    return 0;
}
