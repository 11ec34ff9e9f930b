/*
 * A start without starting. Each point stands alone, so that one run shows everything that is wrong.
 */
#include "daemon/preflight.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "crypto/crypto.h"
#include "daemon/backends.h"
#include "daemon/config.h"
#include "daemon/datadir.h"
#include "daemon/folder_keys.h"
#include "daemon/installation.h"
#include "mailshot/exit.h"
#include "store/store.h"

struct preflight {
    const struct config *config;
    struct buf *out;
    int code;
    bool has_folder, has_database, is_running;
};

static void say(struct preflight *p, const char *verdict, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static void
say(struct preflight *p, const char *verdict, const char *name, const char *fmt, ...)
{
    va_list ap;

    buf_printf(p->out, "%-5s %-14s ", verdict, name);
    va_start(ap, fmt);
    buf_vprintf(p->out, fmt, ap);
    va_end(ap);
    buf_append_char(p->out, '\n');
}

static void
fail(struct preflight *p, const char *name, const struct err *err, int code)
{
    say(p, "FAIL", name, "%s", err->text);
    if (p->code == EXIT_OK)
        p->code = code;
}

static void
try_folder(struct preflight *p)
{
    const char *path = p->config->data_dir;
    struct err err = {0};
    struct stat st;
    long pid = 0;

    if (stat(path, &st) != 0 && errno == ENOENT) {
        say(p, "note", "folder", "%s is missing; the first start makes it", path);
        return;
    }
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode) || access(path, R_OK | W_OK | X_OK) != 0) {
        err_errno(&err, S_ISDIR(st.st_mode) ? errno : ENOTDIR, "%s", path);
        fail(p, "folder", &err, EXIT_UNHEALTHY);
        return;
    }
    p->has_folder = true;
    p->has_database = datadir_has_database(path);
    p->is_running = datadir_is_locked(path, &pid);
    if (p->is_running)
        say(p, "ok", "folder", "%s, held by process %ld", path, pid);
    else
        say(p, (st.st_mode & 077) == 0 ? "ok" : "note", "folder", "%s, mode %03o", path,
            (unsigned)st.st_mode & 0777);
}

static bool
try_keys(struct preflight *p, char fingerprint[17])
{
    struct err err = {0};

    if (!p->has_database) {
        say(p, "note", "keys", "no database yet; keys are made with it unless they are there");
        return false;
    }
    if (folder_keys_check(p->config->data_dir, fingerprint, &err) != 0) {
        fail(p, "keys", &err, EXIT_KEYS);
        return false;
    }
    say(p, "ok", "keys", "fingerprint %s", fingerprint);
    return true;
}

static void
try_store(struct preflight *p)
{
    char fingerprint[17];
    struct store_open_args args = {
        .path = p->config->data_dir, .n_readers = 1, .fingerprint = fingerprint};
    struct err err = {0};

    if (!try_keys(p, fingerprint))
        return;
    if (store_probe(backend_store(p->config), &args, &err) != 0)
        fail(p, "store", &err, installation_exit_code(&err));
    else
        say(p, "ok", "store", "%s/mailshot.db opens", p->config->data_dir);
}

static void
try_disk(struct preflight *p)
{
    struct err err = {0};
    int64_t free_bytes;

    if (!p->has_folder)
        return;
    if ((free_bytes = file_free_bytes(p->config->data_dir, &err)) < 0) {
        fail(p, "disk", &err, EXIT_UNHEALTHY);
    } else if (free_bytes < p->config->min_free_bytes) {
        err_set(&err, ERR_TEMP, "%lld MiB free, minFreeBytes wants %lld MiB",
            (long long)free_bytes >> 20, (long long)p->config->min_free_bytes >> 20);
        fail(p, "disk", &err, EXIT_UNHEALTHY);
    } else {
        say(p, "ok", "disk", "%lld MiB free", (long long)free_bytes >> 20);
    }
}

static int
try_bind(const struct config *c)
{
    struct sockaddr_in6 v6 = {
        .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)c->listen_port)};
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)c->listen_port)};
    bool is_v6 = inet_pton(AF_INET6, c->listen_host, &v6.sin6_addr) == 1;
    int fd = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, rc;

    if (fd < 0)
        return errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (!is_v6)
        inet_pton(AF_INET, c->listen_host, &v4.sin_addr);
    rc = is_v6 ? bind(fd, (struct sockaddr *)&v6, sizeof(v6))
               : bind(fd, (struct sockaddr *)&v4, sizeof(v4));
    rc = rc != 0 ? errno : 0;
    close(fd);
    return rc;
}

static void
try_port(struct preflight *p)
{
    const struct config *c = p->config;
    struct err err = {0};
    int rc;

    if (p->is_running) {
        say(p, "ok", "port", "left to the process that runs");
    } else if ((rc = try_bind(c)) != 0) {
        err_errno(&err, rc, "%s port %lld", c->listen_host, (long long)c->listen_port);
        fail(p, "port", &err, EXIT_FAILED);
    } else {
        say(p, "ok", "port", "%s port %lld is free", c->listen_host, (long long)c->listen_port);
    }
}

static void
try_marketing(struct preflight *p)
{
    const struct config *c = p->config;

    say(p, c->public_url[0] != '\0' ? "ok" : "note", "publicUrl", "%s",
        c->public_url[0] != '\0' ? c->public_url : "not set: marketing mail is refused");
    if (c->sender_address[0] == '\0')
        say(p, "note", "senderAddress", "not set: the law may want it in marketing mail");
    say(p, "ok", "ehloName", "%s", c->ehlo_name);
}

int
preflight(const struct config *c, struct buf *out)
{
    struct preflight p = {.config = c, .out = out, .code = EXIT_OK};

    say(&p, "ok", "config", "%s", c->file[0] != '\0' ? c->file : "no file");
    try_folder(&p);
    try_store(&p);
    try_disk(&p);
    try_port(&p);
    try_marketing(&p);
    return p.code;
}
