/*
 * The folder of a demo. A marker file says that it is one: a folder with anything else in it is left
 * alone, since everything here may be thrown away. Options live in a configuration file and not on the
 * child's command line, so that every other tool can be pointed at the demo with one flag.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/slice.h"
#include "cli/demo.h"
#include "daemon/config.h"
#include "daemon/datadir.h"

#define MARKER ".mailshot-demo"

static char *
join(const char *folder, const char *name)
{
    struct buf path = BUF_INIT;

    buf_printf(&path, "%s/%s", folder, name);
    buf_append_char(&path, '\0');
    return buf_take(&path, NULL);
}

/* ---- whose folder ---------------------------------------------------------------------------- */

static int
is_empty(const char *path, bool *is_empty_r, struct err *err)
{
    DIR *d = opendir(path);
    const struct dirent *e;

    if (d == NULL)
        return err_errno(err, errno, "%s", path);
    *is_empty_r = true;
    while ((e = readdir(d)) != NULL)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            *is_empty_r = false;
    closedir(d);
    return 0;
}

static int
claim(const char *root, struct err *err)
{
    char *marker = join(root, MARKER);
    bool empty = false;
    int rc = 0;

    if (!file_exists(marker)) {
        if ((rc = is_empty(root, &empty, err)) == 0 && !empty)
            rc = err_set(err, ERR_REFUSED,
                "%s holds something and no demo made it; choose another folder with --dir", root);
        if (rc == 0)
            rc = file_create(marker,
                SLICE_LIT("A demo of Mailshot. The whole folder may be deleted.\n"), 0600, err);
    }
    mem_free(marker);
    return rc;
}

static int
make_root(const char *path, char **root_r, struct err *err)
{
    char *real;

    if (file_mkdirs(path, 0700, err) != 0)
        return -1;
    if ((real = realpath(path, NULL)) == NULL)
        return err_errno(err, errno, "%s", path);
    *root_r = mem_strdup(real);
    free(real);
    return claim(*root_r, err);
}

/* ---- port and configuration ------------------------------------------------------------------ */

/* Is it free now? 0 asks for any, which is put into `port_r`. */
static bool
try_port(unsigned port, unsigned *port_r)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    bool ok = false;

    if (fd < 0)
        return false;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
        bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 &&
        getsockname(fd, (struct sockaddr *)&at, &len) == 0) {
        *port_r = ntohs(at.sin_port);
        ok = true;
    }
    close(fd);
    return ok;
}

/* Links of mails from an earlier run lead to its port, so that one is tried first. */
static int
choose_port(struct demo_folder *f, struct err *err)
{
    struct config_sources src = {.file = f->config};
    struct config *c = file_exists(f->config) ? config_load(&src, NULL) : NULL;
    unsigned last = c != NULL ? (unsigned)c->listen_port : 0;

    config_free(&c);
    if ((last != 0 && try_port(last, &f->port)) || try_port(0, &f->port))
        return 0;
    return err_set(err, ERR_TEMP, "there is no free port on 127.0.0.1");
}

static int
write_config(const struct demo_folder *f, struct err *err)
{
    struct buf text = BUF_INIT;
    int rc;

    buf_printf(&text,
        "# Written by \"mailshotd demo\" at each start.\n"
        "dataDir = %s\n"
        "listenPort = %u\n"
        "publicUrl = http://127.0.0.1:%u\n"
        "senderAddress = Mailshot Demo, 1 Example Street, Exampletown\n"
        "ehloName = demo.example.com\n"
        "agentTestContacts = .*@[a-z]+\\.example\\.(com|org|net)\n"
        "minFreeBytes = 64MiB\n"
        "tickIntervalSeconds = 5\n",
        f->data, f->port, f->port);
    rc = file_write(f->config, buf_slice(&text), 0600, err);
    buf_deinit(&text);
    return rc;
}

int
demo_folder_open(const char *path, struct demo_folder *f_r, struct err *err)
{
    *f_r = (struct demo_folder){0};
    if (make_root(path, &f_r->root, err) != 0)
        return -1;
    f_r->data = join(f_r->root, "data");
    f_r->config = join(f_r->root, "mailshotd.conf");
    f_r->people = join(f_r->root, "people.csv");
    f_r->mails = join(f_r->root, "mails");
    f_r->log = join(f_r->root, "daemon.log");
    f_r->token = join(f_r->root, "token");
    if (datadir_is_locked(f_r->data, NULL))
        return err_sub(err, ERR_CONFLICT, "locked", "a daemon works in %s already", f_r->data);
    if (choose_port(f_r, err) != 0)
        return -1;
    return write_config(f_r, err);
}

void
demo_folder_deinit(struct demo_folder *f)
{
    mem_free(f->root);
    mem_free(f->data);
    mem_free(f->config);
    mem_free(f->people);
    mem_free(f->mails);
    mem_free(f->log);
    mem_free(f->token);
    *f = (struct demo_folder){0};
}

/* ---- mails ----------------------------------------------------------------------------------- */

int
demo_folder_count_mails(const char *path, int64_t *n_r, struct err *err)
{
    DIR *d = opendir(path);
    const struct dirent *e;

    *n_r = 0;
    if (d == NULL)
        return errno == ENOENT ? 0 : err_errno(err, errno, "%s", path);
    while ((e = readdir(d)) != NULL)
        if (slice_ends(slice_str(e->d_name), SLICE_LIT(".eml")))
            ++*n_r;
    closedir(d);
    return 0;
}
