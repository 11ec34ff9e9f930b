#include "http/internal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"

/*
 * Answers. An answer is first stored in the request; it reaches the library when the library is
 * ready for it: inside its callback, or after the suspended connection has been resumed. Exactly
 * one answer is stored per request. Header values come from handlers and may hold what a client
 * sent, so a value that could start a new line is left out and logged.
 */

struct http_shared {
    unsigned status;
    struct MHD_Response *keep;  /* for connections that go on */
    struct MHD_Response *close; /* the same with "Connection: close" */
    char *body;
};

static bool
value_is_safe(const char *s)
{
    for (; *s != '\0'; s++)
        if ((unsigned char)*s < ' ' || *s == 0x7f)
            return false;
    return true;
}

static void
add_field(struct MHD_Response *m, const char *name, const char *value)
{
    if (value == NULL)
        return;
    if (!value_is_safe(value) || MHD_add_response_header(m, name, value) != MHD_YES)
        log_warn(NULL, "http.field_dropped", "name=%s", name);
}

static void
add_fields(struct MHD_Response *m, const char *content_type, const struct http_field *fields,
    size_t n_fields)
{
    if (content_type != NULL)
        add_field(m, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
    for (size_t i = 0; i < n_fields; i++)
        add_field(m, fields[i].name, fields[i].value);
}

static struct MHD_Response *
make_response(struct slice body, enum MHD_ResponseMemoryMode mode)
{
    static char none[1];
    void *p = body.n > 0 ? (void *)(uintptr_t)body.p : none;
    struct MHD_Response *m = MHD_create_response_from_buffer(body.n, p, mode);

    if (m == NULL) {
        log_error(NULL, "http.no_memory", "bytes=%zu", body.n);
        abort();
    }
    return m;
}

/** The answer is stored: get the library to take it. */
static void
answer(struct http_request *r, unsigned status)
{
    r->status = status;
    r->is_answered = true;
    r->on_cancel = NULL;
    http_request_unpark(r);
}

void
http_respond(struct http_request *r, unsigned status, const char *content_type,
    const struct http_field *fields, size_t n_fields, struct slice body)
{
    if (r->is_answered)
        return;
    r->response = make_response(body, MHD_RESPMEM_MUST_COPY);
    add_fields(r->response, content_type, fields, n_fields);
    answer(r, status);
}

void
http_respond_error(struct http_request *r, unsigned status, const char *code, const char *message)
{
    static const struct http_field no_store = {"Cache-Control", "no-store"};
    struct buf out = BUF_INIT;
    struct json_writer w;

    jw_init(&w, &out);
    jw_obj(&w, NULL);
    jw_cstr(&w, "error", code);
    jw_cstr(&w, "message", message);
    jw_end_obj(&w);
    http_respond(r, status, "application/json", &no_store, 1, buf_slice(&out));
    buf_deinit(&out);
}

void
http_respond_redirect(struct http_request *r, struct slice location)
{
    const struct http_field fields[] = {
        {"Location", arena_cstr(r->arena, location)},
        {"Cache-Control", "no-store"},
        {"Referrer-Policy", "no-referrer"},
    };

    http_respond(r, 302, NULL, fields, sizeof fields / sizeof fields[0], SLICE_NONE);
}

struct http_shared *
http_shared_create(unsigned status, const char *content_type, const struct http_field *fields,
    size_t n_fields, struct slice body)
{
    struct http_shared *s = mem_zalloc(sizeof *s);

    s->status = status;
    s->body = mem_alloc(body.n + 1);
    if (body.n > 0)
        memcpy(s->body, body.p, body.n);
    s->keep = make_response(slice_make(s->body, body.n), MHD_RESPMEM_PERSISTENT);
    s->close = make_response(slice_make(s->body, body.n), MHD_RESPMEM_PERSISTENT);
    add_fields(s->keep, content_type, fields, n_fields);
    add_fields(s->close, content_type, fields, n_fields);
    add_field(s->close, MHD_HTTP_HEADER_CONNECTION, "close");
    return s;
}

void
http_shared_free(struct http_shared **s)
{
    if (*s == NULL)
        return;
    MHD_destroy_response((*s)->keep);
    MHD_destroy_response((*s)->close);
    mem_free((*s)->body);
    mem_free(*s);
    *s = NULL;
}

void
http_respond_shared(struct http_request *r, const struct http_shared *s)
{
    if (r->is_answered)
        return;
    r->shared = s;
    answer(r, s->status);
}

enum MHD_Result
http_response_queue(struct http_request *r)
{
    bool close = r->must_close || r->server->is_stopping;
    struct MHD_Response *m = r->response;

    if (r->shared != NULL)
        m = close ? r->shared->close : r->shared->keep;
    else if (close)
        add_field(m, MHD_HTTP_HEADER_CONNECTION, "close");
    http_conn_set_phase(r, HTTP_ANSWERING);
    return MHD_queue_response(r->conn, r->status, m);
}
