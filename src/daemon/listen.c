/*
 * Where the daemon is spoken to: the HTTP port, and the control socket in the data folder, whose file
 * mode is its permission. The file `listen` names the port, for those who asked for any free one.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/dispatch.h"
#include "base/file.h"
#include "daemon/config.h"
#include "daemon/daemon_internal.h"
#include "daemon/datadir.h"
#include "daemon/installation.h"
#include "http/server.h"
#include "public/public.h"

#define IDLE_MS     60000
#define DEADLINE_MS 30000
#define LISTEN_FILE "listen"

static size_t
on_head(struct http_request *r, void *arg)
{
    struct daemon *d = arg;

    return public_owns(r) ? public_head(r, d->site) : api_http_head(r, d->api);
}

static void
on_body(struct http_request *r, void *arg)
{
    struct daemon *d = arg;

    if (public_owns(r))
        public_body(r, d->site);
    else
        api_http_body(r, d->api);
}

static const struct http_handlers handlers = {.head = on_head, .body = on_body};

static int
listen_control(struct daemon *d, struct err *err)
{
    char path[DATADIR_SOCKET_SIZE];
    struct http_server_args args = {.unix_path = path,
        .max_connections = 64,
        .idle_timeout_ms = IDLE_MS,
        .deadline_ms = DEADLINE_MS};

    if (datadir_socket(d->home->dir->path, d->home->dir->folder_fd, path, err) != 0)
        return -1;
    d->control = http_server_start(d->loop, &args, &handlers, d, err);
    return d->control != NULL ? 0 : -1;
}

static int
listen_http(struct daemon *d, struct err *err)
{
    const struct config *c = d->boot;
    struct http_server_args args = {.host = c->listen_host,
        .port = (unsigned)c->listen_port,
        .max_connections = (unsigned)c->max_connections,
        .idle_timeout_ms = IDLE_MS,
        .deadline_ms = DEADLINE_MS,
        .trusted_proxies = c->trusted_proxies.items,
        .n_trusted_proxies = c->trusted_proxies.n};

    d->http = http_server_start(d->loop, &args, &handlers, d, err);
    return d->http != NULL ? 0 : -1;
}

static int
write_listen_file(const struct daemon *d, struct err *err)
{
    struct buf path = BUF_INIT, text = BUF_INIT;
    bool is_v6 = strchr(d->boot->listen_host, ':') != NULL;
    int rc;

    datadir_join(d->home->dir->path, LISTEN_FILE, &path);
    buf_printf(
        &text, is_v6 ? "[%s]:%u\n" : "%s:%u\n", d->boot->listen_host, http_server_port(d->http));
    rc = file_write(buf_cstr(&path), buf_slice(&text), 0600, err);
    buf_deinit(&path);
    buf_deinit(&text);
    return rc;
}

int
daemon_listen(struct daemon *d, struct err *err)
{
    if (listen_http(d, err) != 0 || listen_control(d, err) != 0)
        return -1;
    return write_listen_file(d, err);
}

void
daemon_unlisten(struct daemon *d)
{
    if (d->control != NULL)
        unlinkat(d->home->dir->folder_fd, "control.sock", 0);
    if (d->http != NULL)
        unlinkat(d->home->dir->folder_fd, LISTEN_FILE, 0);
    http_server_free(&d->http);
    http_server_free(&d->control);
}
