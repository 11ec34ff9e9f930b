#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/*
 * Whole small files: keys, certificates, configuration, markers. What is reported as written is on
 * the disk: data and the folder entry are flushed before success is returned. All calls block, so
 * the loop thread uses them at start and stop only.
 */

static int
read_all(int fd, const char *path, size_t limit_bytes, struct buf *out, struct err *err)
{
    size_t before = out->n;

    for (;;) {
        /* One byte beyond the limit is asked for: a file may have grown since fstat(). */
        size_t room = limit_bytes - (out->n - before);
        size_t chunk = room < 65536 ? room + 1 : 65536;
        ssize_t got = read(fd, buf_reserve(out, chunk), chunk);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_errno(err, errno, "read %s", path);
        if (got == 0)
            return 0;
        out->n += (size_t)got;
        if (out->n - before > limit_bytes)
            return err_set(err, ERR_LIMIT, "%s is larger than %zu bytes", path, limit_bytes);
    }
}

int
file_read(const char *path, size_t limit_bytes, struct buf *out, struct err *err)
{
    size_t before = out->n;
    struct stat st;
    /* O_NONBLOCK: opening a pipe by mistake must not hang. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int r;

    if (fd < 0)
        return err_errno(err, errno, "open %s", path);
    if (fstat(fd, &st) != 0)
        r = err_errno(err, errno, "stat %s", path);
    else if (!S_ISREG(st.st_mode))
        r = err_set(err, ERR_INVALID, "%s is not a regular file", path);
    else if ((uint64_t)st.st_size > limit_bytes)
        r = err_set(err, ERR_LIMIT, "%s is larger than %zu bytes", path, limit_bytes);
    else
        r = read_all(fd, path, limit_bytes, out, err);
    if (r != 0)
        out->n = before;
    close(fd);
    return r;
}

/* Write everything, flush it, close. The descriptor is gone afterwards in any case. */
static int
write_and_close(int fd, const char *path, struct slice data, mode_t mode, struct err *err)
{
    while (data.n > 0) {
        ssize_t put = write(fd, data.p, data.n);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            goto fail;
        data = slice_from(data, (size_t)put);
    }
    /* The umask may have taken bits away at open(). */
    if (fchmod(fd, mode) != 0 || fsync(fd) != 0)
        goto fail;
    if (close(fd) != 0)
        return err_errno(err, errno, "close %s", path);
    return 0;

fail:
    err_errno(err, errno, "write %s", path);
    close(fd);
    return -1;
}

static int
sync_folder_of(const char *path, struct err *err)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int fd, r = 0;

    if (slash == NULL)
        snprintf(folder, sizeof folder, ".");
    else
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path) + 1, path);
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(err, errno, "open folder %s", folder);
    if (fsync(fd) != 0)
        r = err_errno(err, errno, "flush folder %s", folder);
    close(fd);
    return r;
}

int
file_write(const char *path, struct slice data, mode_t mode, struct err *err)
{
    char temp[PATH_MAX];
    int fd;

    if ((size_t)snprintf(temp, sizeof temp, "%s.%ld.tmp", path, (long)getpid()) >= sizeof temp)
        return err_set(err, ERR_INVALID, "path too long");
    fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0)
        return err_errno(err, errno, "create %s", temp);
    if (write_and_close(fd, temp, data, mode, err) != 0)
        goto fail;
    if (rename(temp, path) != 0) {
        err_errno(err, errno, "rename to %s", path);
        goto fail;
    }
    return sync_folder_of(path, err);

fail:
    unlink(temp);
    return -1;
}

int
file_create(const char *path, struct slice data, mode_t mode, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

    if (fd < 0 && errno == EEXIST)
        return err_set(err, ERR_CONFLICT, "%s exists already", path);
    if (fd < 0)
        return err_errno(err, errno, "create %s", path);
    if (write_and_close(fd, path, data, mode, err) != 0) {
        unlink(path);
        return -1;
    }
    return sync_folder_of(path, err);
}

static int
make_folder(const char *path, mode_t mode, struct err *err)
{
    struct stat st;

    if (mkdir(path, mode) == 0)
        return 0;
    if (errno != EEXIST)
        return err_errno(err, errno, "create folder %s", path);
    if (stat(path, &st) != 0)
        return err_errno(err, errno, "stat %s", path);
    if (!S_ISDIR(st.st_mode))
        return err_set(err, ERR_CONFLICT, "%s is not a folder", path);
    return 0;
}

int
file_mkdirs(const char *path, mode_t mode, struct err *err)
{
    char part[PATH_MAX];

    if ((size_t)snprintf(part, sizeof part, "%s", path) >= sizeof part)
        return err_set(err, ERR_INVALID, "path too long");
    for (char *at = part; *at != '\0'; at++) {
        if (*at != '/' || at == part)
            continue;
        *at = '\0';
        if (make_folder(part, mode, err) != 0)
            return -1;
        *at = '/';
    }
    return make_folder(part, mode, err);
}

bool
file_exists(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0;
}

int64_t
file_free_bytes(const char *path, struct err *err)
{
    struct statvfs v;

    if (statvfs(path, &v) != 0)
        return err_errno(err, errno, "free space of %s", path);
    return (int64_t)v.f_bavail * (int64_t)v.f_frsize;
}
