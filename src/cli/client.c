/*
 * Tools talk to the daemon. Who holds the lock of the data folder answers: a running daemon over its
 * control socket, or, with no daemon, this process itself. There is no third way into the database, so
 * every change passes the same checks, whoever asks for it.
 */
#include "cli/client.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "api/local.h"
#include "base/mem.h"
#include "daemon/config.h"
#include "daemon/datadir.h"
#include "daemon/installation.h"
#include "daemon/routes.h"
#include "net/http_client.h"

#define TIMEOUT_MS    120000
#define ANSWER_BYTES  (64u * 1024 * 1024)
#define KNOCK_TRIES   50 /* a daemon that starts or stops gets five seconds */
#define KNOCK_WAIT_MS 100

struct client {
    const struct config *config;
    bool is_decided, is_daemon;
    /* over the socket */
    int folder_fd;
    char socket[DATADIR_SOCKET_SIZE];
    /* in process */
    struct installation *home;
    struct daemon_env env;
    const struct api_route *const *routes;
    struct api_local *local;
};

struct client *
client_create(const struct config *c)
{
    struct client *cl = mem_zalloc(sizeof(*cl));

    cl->config = c;
    cl->folder_fd = -1;
    return cl;
}

void
client_free(struct client **clp)
{
    struct client *cl = *clp;

    if (cl == NULL)
        return;
    api_local_free(&cl->local);
    mem_free((void *)(uintptr_t)cl->routes);
    installation_close(&cl->home);
    if (cl->folder_fd >= 0)
        close(cl->folder_fd);
    mem_free(cl);
    *clp = NULL;
}

/* ---- which way ------------------------------------------------------------------------------- */

static bool
knock(const struct client *cl)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_open;

    if (fd < 0)
        return false;
    memcpy(to.sun_path, cl->socket, sizeof(to.sun_path));
    is_open = connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0;
    close(fd);
    return is_open;
}

static void
wait_a_little(void)
{
    struct timespec ts = {.tv_nsec = KNOCK_WAIT_MS * 1000000L};

    nanosleep(&ts, NULL);
}

static int
open_in_process(struct client *cl, struct err *err)
{
    if (installation_open(cl->config, NULL, true, &cl->home, err) != 0)
        return -1;
    daemon_env_init(&cl->env, cl->config, cl->home);
    cl->routes = daemon_routes_create();
    cl->local = api_local_create(&cl->env.api, cl->routes);
    return 0;
}

/* The lock tells whether somebody is there; the socket, whether it is a daemon that serves. */
static int
decide(struct client *cl, struct err *err)
{
    const char *path = cl->config->data_dir;
    long pid = 0;

    cl->folder_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (cl->folder_fd >= 0 && datadir_socket(path, cl->folder_fd, cl->socket, err) != 0)
        return -1;
    for (int i = 0; i < KNOCK_TRIES && datadir_is_locked(path, &pid); i++) {
        if (knock(cl)) {
            cl->is_daemon = cl->is_decided = true;
            return 0;
        }
        wait_a_little();
    }
    if (datadir_is_locked(path, &pid))
        return err_sub(err, ERR_CONFLICT, "locked",
            "process %ld holds %s and does not answer on its control socket", pid, path);
    if (open_in_process(cl, err) != 0)
        return -1;
    cl->is_decided = true;
    return 0;
}

int
client_connect(struct client *cl, bool *is_daemon_r, struct err *err)
{
    if (!cl->is_decided && decide(cl, err) != 0)
        return -1;
    *is_daemon_r = cl->is_daemon;
    return 0;
}

/* ---- the call -------------------------------------------------------------------------------- */

static int
call_daemon(struct client *cl, const char *method, const char *target, struct slice body,
    const struct client_options *o, unsigned *status_r, struct buf *out, struct err *err)
{
    struct buf url = BUF_INIT, type = BUF_INIT;
    struct http_client_request req = {.method = method, .unix_socket = cl->socket, .body = body};
    struct http_client_response res;
    const char *headers[1];
    int rc;

    buf_printf(&url, "http://localhost%s", target);
    buf_printf(&type, "Content-Type: %s",
        o != NULL && o->content_type != NULL ? o->content_type : "application/json");
    headers[0] = buf_cstr(&type);
    req.url = buf_cstr(&url);
    req.headers = headers;
    req.n_headers = 1;
    req.timeout_ms = o != NULL && o->timeout_ms > 0 ? o->timeout_ms : TIMEOUT_MS;
    req.max_body_bytes = ANSWER_BYTES;
    if ((rc = http_client_perform(&req, &res, err)) == 0) {
        *status_r = (unsigned)res.status;
        buf_append_slice(out, buf_slice(&res.body));
    } else {
        err_prefix(err, "the daemon");
    }
    http_client_response_deinit(&res);
    buf_deinit(&url);
    buf_deinit(&type);
    return rc;
}

int
client_call(struct client *cl, const char *method, const char *target, struct slice body,
    const struct client_options *o, unsigned *status_r, struct buf *out, struct err *err)
{
    bool is_daemon;

    if (client_connect(cl, &is_daemon, err) != 0)
        return -1;
    if (is_daemon)
        return call_daemon(cl, method, target, body, o, status_r, out, err);
    *status_r = api_local_run(cl->local, method, target, body, out);
    return 0;
}
