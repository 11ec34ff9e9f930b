#include "net/http_client.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <curl/curl.h>

/*
 * A thin blocking wrapper around libcurl's easy interface. Nothing is kept between requests: the
 * command-line tools make a handful of them per run. The answer is bounded while it arrives.
 */

#define TIMEOUT_DEFAULT_MS 30000
#define BODY_DEFAULT_BYTES (16u * 1024 * 1024)

struct sink {
    struct buf *body;
    size_t limit;
    bool is_too_large;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
init_once(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

static size_t
on_body(char *p, size_t size, size_t n, void *arg)
{
    struct sink *sink = arg;

    if (size * n > sink->limit - sink->body->n) {
        sink->is_too_large = true;
        return 0;
    }
    buf_append(sink->body, p, size * n);
    return size * n;
}

/* NULL only when there are no headers. Expect: is emptied, since it costs a round trip. */
static struct curl_slist *
header_list(const struct http_client_request *req)
{
    struct curl_slist *list = curl_slist_append(NULL, "Expect:");

    for (size_t i = 0; i < req->n_headers; i++)
        list = curl_slist_append(list, req->headers[i]);
    return list;
}

static void
set_options(CURL *curl, const struct http_client_request *req, struct curl_slist *headers,
    struct sink *sink)
{
    curl_easy_setopt(curl, CURLOPT_URL, req->url);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS,
        (long)(req->timeout_ms > 0 ? req->timeout_ms : TIMEOUT_DEFAULT_MS));
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, sink);
    if (req->unix_socket != NULL) {
        curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, req->unix_socket);
        curl_easy_setopt(curl, CURLOPT_PROXY, "");
    }
    if (req->body.p != NULL) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)req->body.n);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, req->body.p);
    }
    if (strcmp(req->method, "HEAD") == 0)
        curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    else
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, req->method);
}

static int
map_error(CURLcode rc, const struct sink *sink, const char *detail, struct err *err)
{
    const char *text = detail[0] != '\0' ? detail : curl_easy_strerror(rc);

    if (sink->is_too_large)
        return err_set(err, ERR_LIMIT, "the answer is larger than %zu bytes", sink->limit);
    switch (rc) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_BAD_FUNCTION_ARGUMENT: return err_set(err, ERR_INVALID, "%s", text);
    default: return err_set(err, ERR_TEMP, "%s", text);
    }
}

int
http_client_perform(
    const struct http_client_request *req, struct http_client_response *res, struct err *err)
{
    struct sink sink = {.body = &res->body,
        .limit = req->max_body_bytes > 0 ? req->max_body_bytes : BODY_DEFAULT_BYTES};
    char detail[CURL_ERROR_SIZE] = "";
    struct curl_slist *headers;
    const char *type = NULL;
    long status = 0;
    CURLcode rc;
    CURL *curl;

    memset(res, 0, sizeof(*res));
    pthread_once(&once, init_once);
    if ((curl = curl_easy_init()) == NULL)
        return err_set(err, ERR_TEMP, "no HTTP handle");
    headers = header_list(req);
    set_options(curl, req, headers, &sink);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, detail);
    rc = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    res->status = (int)status;
    if (curl_easy_getinfo(curl, CURLINFO_CONTENT_TYPE, &type) == CURLE_OK && type != NULL)
        snprintf(res->content_type, sizeof(res->content_type), "%s", type);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    return rc == CURLE_OK ? 0 : map_error(rc, &sink, detail, err);
}

void
http_client_response_deinit(struct http_client_response *res)
{
    buf_deinit(&res->body);
}
