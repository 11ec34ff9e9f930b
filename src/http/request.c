#include "http/internal.h"

#include <string.h>

#include "base/log.h"
#include "base/metrics.h"
#include "base/rand.h"
#include "loop/loop.h"

/*
 * What handlers see of a request, and how it waits. While a request is with its handler the
 * connection is suspended: the library neither reads from it nor notices that the client left, and
 * its own time-out sleeps. So each waiting request carries a deadline of ours, and whoever comes
 * first, the answer or the deadline, cancels the other.
 */

struct slice
http_request_method(const struct http_request *r)
{
    return r->method;
}

struct slice
http_request_path(const struct http_request *r)
{
    return r->uri.path;
}

const struct http_uri *
http_request_uri(const struct http_request *r)
{
    return &r->uri;
}

struct slice
http_request_query(const struct http_request *r, const char *name)
{
    for (size_t i = 0; i < r->uri.n_params; i++)
        if (slice_eq_str(r->uri.params[i].name, name))
            return r->uri.params[i].value;
    return SLICE_NONE;
}

bool
http_request_query_next(
    const struct http_request *r, size_t *it, struct slice *name_r, struct slice *value_r)
{
    if (*it >= r->uri.n_params)
        return false;
    *name_r = r->uri.params[*it].name;
    *value_r = r->uri.params[*it].value;
    (*it)++;
    return true;
}

struct slice
http_request_header(const struct http_request *r, const char *name)
{
    const char *value = NULL;
    size_t n = 0;

    if (MHD_lookup_connection_value_n(r->conn, MHD_HEADER_KIND, name, strlen(name), &value, &n) !=
            MHD_YES ||
        value == NULL)
        return SLICE_NONE;
    return slice_trim(slice_make(value, n));
}

struct slice
http_request_body(const struct http_request *r)
{
    return buf_slice(&r->body);
}

void
http_request_take_body(struct http_request *r, struct buf *out)
{
    buf_deinit(out);
    *out = r->body;
    r->body = BUF_INIT;
}

struct arena *
http_request_arena(struct http_request *r)
{
    return r->arena;
}

struct join {
    struct buf text;
    unsigned n;
};

static enum MHD_Result
join_forwarded(void *arg, enum MHD_ValueKind kind, const char *name, size_t name_n,
    const char *value, size_t value_n)
{
    struct join *j = arg;

    if (value == NULL || !slice_ieq(slice_make(name, name_n), SLICE_LIT("X-Forwarded-For")))
        return MHD_YES;
    if (j->n++ > 0)
        buf_append_char(&j->text, ',');
    buf_append(&j->text, value, value_n);
    return MHD_YES;
}

/** The effective client; false on a Unix socket. `forwarded_r`: was there a forwarding header? */
static bool
find_client(const struct http_request *r, struct http_addr *client_r, bool *forwarded_r)
{
    struct join j = {BUF_INIT, 0};

    *forwarded_r = false;
    if (!r->has_peer)
        return false;
    *client_r = r->peer;
    MHD_get_connection_values_n(r->conn, MHD_HEADER_KIND, join_forwarded, &j);
    if (j.n > 0) {
        *client_r = http_proxies_client(r->server->trusted, &r->peer, buf_slice(&j.text));
        *forwarded_r = true;
    }
    buf_deinit(&j.text);
    return true;
}

const char *
http_request_client(struct http_request *r)
{
    struct http_addr client;
    bool forwarded;

    if (r->client != NULL)
        return r->client;
    if (find_client(r, &client, &forwarded)) {
        char *text = arena_alloc(r->arena, HTTP_ADDR_SIZE);

        r->client = http_addr_text(&client, text);
    } else {
        r->client = "local";
    }
    return r->client;
}

bool
http_request_is_loopback(const struct http_request *r)
{
    struct http_addr client;
    bool forwarded;

    if (!find_client(r, &client, &forwarded) || !http_addr_is_loopback(&client))
        return false;
    /* A proxy on this machine that nobody configured also connects from loopback. */
    if (forwarded && !http_proxies_trusts(r->server->trusted, &r->peer))
        return false;
    return http_request_header(r, "Forwarded").p == NULL;
}

bool
http_request_is_local_socket(const struct http_request *r)
{
    return r->server->unix_path != NULL;
}

const char *
http_request_id(struct http_request *r)
{
    if (r->id[0] == '\0')
        id_text(rand_below(UINT64_MAX >> 1) + 1, r->id);
    return r->id;
}

void
http_request_set_data(struct http_request *r, void *data)
{
    r->data = data;
}

void *
http_request_data(const struct http_request *r)
{
    return r->data;
}

void
http_request_on_cancel(
    struct http_request *r, void (*fn)(struct http_request *r, void *arg), void *arg)
{
    r->on_cancel = fn;
    r->cancel_arg = arg;
}

void
http_request_cancel(struct http_request *r)
{
    void (*fn)(struct http_request * r, void *arg) = r->on_cancel;

    r->on_cancel = NULL;
    if (fn != NULL)
        fn(r, r->cancel_arg);
}

void
http_request_unpark(struct http_request *r)
{
    loop_timer_cancel(&r->timer);
    if (!r->is_suspended)
        return;
    r->is_suspended = false;
    MHD_resume_connection(r->conn);
    r->server->is_ready = true;
}

static void
on_deadline(void *arg)
{
    struct http_request *r = arg;

    r->timer = NULL;
    metric_add(r->server->late, 1);
    log_warn(&(struct log_ctx){.request = http_request_id(r)}, "http.deadline", "after_ms=%lld",
        (long long)r->deadline_ms);
    http_request_cancel(r);
    http_respond_error(r, 504, "timeout", "no answer in time; the work may still complete");
}

void
http_request_park(struct http_request *r)
{
    r->is_suspended = true;
    MHD_suspend_connection(r->conn);
    r->timer = loop_timer_start(r->server->loop, r->deadline_ms, on_deadline, r);
}

void
http_request_accept(struct http_request *r, size_t limit_bytes)
{
    if (r->is_answered || r->phase != HTTP_DECIDING || !r->is_suspended)
        return;
    r->limit_bytes = limit_bytes;
    http_request_unpark(r);
}

void
http_request_set_deadline(struct http_request *r, int64_t deadline_ms)
{
    r->deadline_ms = deadline_ms;
    if (r->timer == NULL)
        return;
    loop_timer_cancel(&r->timer);
    r->timer = loop_timer_start(r->server->loop, deadline_ms, on_deadline, r);
}
