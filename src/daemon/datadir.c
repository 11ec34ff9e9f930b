/*
 * The data folder: whose it is, and whether it is the one it was.
 *
 * The lock is flock() on a file in the folder: the kernel gives it back when the process ends, however
 * it ends. The fingerprint is a hash over what a copy cannot keep: the machine, and inode and birth
 * time of the id file. A folder that was moved by rename on the same file system stays itself.
 */
#include "daemon/datadir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rand.h"
#include "crypto/crypto.h"

#define LOCK_NAME   "lock"
#define ID_NAME     "folder-id"
#define MACHINE_ID  "/etc/machine-id"
#define ID_BYTES    16
#define ID_MAX_SIZE 256

void
datadir_join(const char *path, const char *name, struct buf *out)
{
    buf_printf(out, "%s/%s", path, name);
}

bool
datadir_has_database(const char *path)
{
    struct buf file = BUF_INIT;
    bool has;

    datadir_join(path, "mailshot.db", &file);
    has = file_exists(buf_cstr(&file));
    buf_deinit(&file);
    return has;
}

/* ---- folder ---------------------------------------------------------------------------------- */

/* The folder holds addresses and keys, so nobody else may look inside. */
static int
make_private(int fd, const char *path, struct err *err)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return err_errno(err, errno, "stat %s", path);
    if (st.st_uid != geteuid())
        return err_sub(err, ERR_PERM, "folder_owner", "%s belongs to another user", path);
    if ((st.st_mode & 077) == 0)
        return 0;
    log_warn(NULL, "datadir.mode", "was=%03o now=700", (unsigned)st.st_mode & 0777);
    if (fchmod(fd, 0700) != 0)
        return err_errno(err, errno, "chmod %s", path);
    return 0;
}

static int
open_folder(struct datadir *d, const char *path, bool create, struct err *err)
{
    char real[PATH_MAX];

    if (create && file_mkdirs(path, 0700, err) != 0)
        return -1;
    if (realpath(path, real) == NULL) {
        if (errno == ENOENT)
            return err_sub(err, ERR_NOTFOUND, "no_folder", "there is no data folder %s", path);
        return err_errno(err, errno, "data folder %s", path);
    }
    d->path = mem_strdup(real);
    d->folder_fd = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->folder_fd < 0)
        return err_errno(err, errno, "open %s", real);
    return 0;
}

/* ---- lock ------------------------------------------------------------------------------------ */

static long
read_pid(int fd)
{
    char text[24] = "";
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

    return n > 0 ? strtol(text, NULL, 10) : 0;
}

static int
take_lock(struct datadir *d, struct err *err)
{
    char text[24];
    int n;

    d->lock_fd = openat(d->folder_fd, LOCK_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (d->lock_fd < 0)
        return err_errno(err, errno, "open %s/" LOCK_NAME, d->path);
    if (flock(d->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK)
            return err_sub(err, ERR_CONFLICT, "locked", "another process (%ld) holds %s",
                read_pid(d->lock_fd), d->path);
        return err_errno(err, errno, "lock %s", d->path);
    }
    n = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
    if (ftruncate(d->lock_fd, 0) != 0 || pwrite(d->lock_fd, text, (size_t)n, 0) != n)
        log_warn(NULL, "datadir.pid", "error=\"the process number could not be written\"");
    return 0;
}

bool
datadir_is_locked(const char *path, long *pid_r)
{
    struct buf file = BUF_INIT;
    bool is_locked;
    int fd;

    datadir_join(path, LOCK_NAME, &file);
    fd = open(buf_cstr(&file), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    buf_deinit(&file);
    if (fd < 0)
        return false;
    is_locked = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (pid_r != NULL)
        *pid_r = is_locked ? read_pid(fd) : 0;
    close(fd);
    return is_locked;
}

/* ---- fingerprint ----------------------------------------------------------------------------- */

static int
read_or_make_id(struct datadir *d, const char *file, struct buf *id, struct err *err)
{
    uint8_t random[ID_BYTES];
    int rc;

    if (file_exists(file))
        return file_read(file, ID_MAX_SIZE, id, err);
    rand_bytes(random, sizeof(random));
    hex_encode(slice_make(random, sizeof(random)), id);
    buf_append_char(id, '\n');
    rc = file_create(file, buf_slice(id), 0600, err);
    return rc;
}

static int
make_fingerprint(struct datadir *d, const char *file, struct slice id, struct err *err)
{
    struct buf all = BUF_INIT, hex = BUF_INIT;
    uint8_t sum[CRYPTO_SHA256_SIZE];
    struct statx sx;
    long long born;

    if (statx(AT_FDCWD, file, AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &sx) != 0)
        return err_errno(err, errno, "stat %s", file);
    born = (sx.stx_mask & STATX_BTIME) != 0
               ? (long long)sx.stx_btime.tv_sec * 1000000000 + sx.stx_btime.tv_nsec
               : 0;
    buf_append_str(&all, "mailshot folder 1\n");
    (void)file_read(MACHINE_ID, ID_MAX_SIZE, &all, NULL); /* none in some containers */
    buf_printf(&all, "\n%llu %lld\n", (unsigned long long)sx.stx_ino, born);
    buf_append_slice(&all, id);
    crypto_sha256(buf_slice(&all), sum);
    hex_encode(slice_make(sum, sizeof(sum)), &hex);
    memcpy(d->fingerprint, hex.p, 64);
    d->fingerprint[64] = '\0';
    buf_deinit(&all);
    buf_deinit(&hex);
    return 0;
}

static int
identify(struct datadir *d, struct err *err)
{
    struct buf file = BUF_INIT, id = BUF_INIT;
    const char *name;
    int rc;

    datadir_join(d->path, ID_NAME, &file);
    name = buf_cstr(&file);
    if ((rc = read_or_make_id(d, name, &id, err)) == 0)
        rc = make_fingerprint(d, name, buf_slice(&id), err);
    buf_deinit(&file);
    buf_deinit(&id);
    return rc;
}

/* ---- life ------------------------------------------------------------------------------------ */

int
datadir_open(const char *path, bool create, struct datadir **d_r, struct err *err)
{
    struct datadir *d = mem_zalloc(sizeof(*d));

    d->folder_fd = d->lock_fd = -1;
    if (open_folder(d, path, create, err) != 0 || take_lock(d, err) != 0)
        goto fail;
    if (make_private(d->folder_fd, d->path, err) != 0 || identify(d, err) != 0)
        goto fail;
    *d_r = d;
    return 0;

fail:
    datadir_close(&d);
    return -1;
}

void
datadir_close(struct datadir **dp)
{
    struct datadir *d = *dp;

    if (d == NULL)
        return;
    if (d->lock_fd >= 0)
        close(d->lock_fd);
    if (d->folder_fd >= 0)
        close(d->folder_fd);
    mem_free(d->path);
    mem_free(d);
    *dp = NULL;
}

int
datadir_mkdir(const struct datadir *d, const char *name, struct err *err)
{
    if (mkdirat(d->folder_fd, name, 0700) != 0 && errno != EEXIST)
        return err_errno(err, errno, "create %s/%s", d->path, name);
    return 0;
}

int
datadir_socket(const char *path, int folder_fd, char out[DATADIR_SOCKET_SIZE], struct err *err)
{
    int n = snprintf(out, DATADIR_SOCKET_SIZE, "%s/control.sock", path);

    if (n > 0 && n < DATADIR_SOCKET_SIZE)
        return 0;
    if (folder_fd < 0)
        return err_set(err, ERR_INVALID, "the path of the data folder is too long for a socket");
    snprintf(out, DATADIR_SOCKET_SIZE, "/proc/self/fd/%d/control.sock", folder_fd);
    return 0;
}
