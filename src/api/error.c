#include "api/error.h"

#include <string.h>

#include "base/json.h"

/*
 * From err to HTTP. Nearly every error follows its class: invalid 400, missing 404, conflict 409,
 * and so on. The table holds the words that stand for a status of their own. What is our own fault
 * is answered with a fixed text and the request id; the log line has the rest.
 */

static const struct {
    const char *sub;
    unsigned status;
} statuses[] = {
    {"unauthorized", 401},
    {"method_not_allowed", 405},
    {"body_too_large", 413},
    {"too_large", 413},
    {"unsupported_media_type", 415},
    {"adapter_cannot_sort", 422},
    {"compile_failed", 422},
    {"idempotency_mismatch", 422},
    {"lint_failed", 422},
    {"render_failed", 422},
    {"segment_requires_subscribed", 422},
    {"vars_resolve_failed", 502},
    {"timeout", 504},
};

static unsigned
class_status(enum err_code code)
{
    switch (code) {
    case ERR_INVALID: return 400;
    case ERR_NOTFOUND: return 404;
    case ERR_CONFLICT: return 409;
    case ERR_REFUSED: return 403;
    case ERR_LIMIT: return 429;
    case ERR_TEMP: return 503;
    case ERR_NONE:
    case ERR_PERM:
    case ERR_INTERNAL: break;
    }
    return 500;
}

static const char *
class_word(enum err_code code)
{
    switch (code) {
    case ERR_INVALID: return "validation_failed";
    case ERR_NOTFOUND: return "not_found";
    case ERR_CONFLICT: return "conflict";
    case ERR_REFUSED: return "forbidden";
    case ERR_LIMIT: return "rate_limited";
    case ERR_TEMP: return "unavailable";
    case ERR_NONE:
    case ERR_PERM:
    case ERR_INTERNAL: break;
    }
    return "internal";
}

bool
api_error_is_hidden(const struct err *err)
{
    return api_error_status(err) == 500;
}

unsigned
api_error_status(const struct err *err)
{
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        if (strcmp(statuses[i].sub, err->sub) == 0)
            return statuses[i].status;
    return class_status(err->code);
}

const char *
api_error_word(const struct err *err)
{
    if (api_error_is_hidden(err))
        return "internal";
    return err->sub[0] != '\0' ? err->sub : class_word(err->code);
}

void
api_error_write(const struct err *err, struct slice message, struct slice details,
    const char *request_id, struct buf *out)
{
    bool hidden = api_error_is_hidden(err);
    struct json_writer w;

    jw_init(&w, out);
    jw_obj(&w, NULL);
    jw_cstr(&w, "error", api_error_word(err));
    if (hidden)
        jw_cstr(&w, "message", "unexpected error; the request id names it in the log");
    else
        jw_str(&w, "message", message.n > 0 ? message : slice_str(err->text));
    if (hidden)
        jw_cstr(&w, "requestId", request_id);
    else if (err->field[0] != '\0')
        jw_cstr(&w, "field", err->field);
    if (!hidden && details.n > 1) {
        buf_append_char(out, ',');
        buf_append_slice(out, slice_from(details, 1));
    }
    jw_end_obj(&w);
}
