/*
 * The journal on disk. Three names in one folder:
 *
 *   opt-outs.log ──rename──► opt-outs.folding ──applied──► removed
 *                                     └── lines nobody can read ──► opt-outs.unreadable
 *
 * A writer that opened the file just before the fold renamed it must not write behind the fold's back:
 * it locks the file and compares inode and name under the lock; if they differ it opens again. The
 * fold locks the renamed file once before reading, so whoever wrote under the old name has finished.
 *
 * A torn last line (power cut) is closed by the next append, so it can spoil no other line.
 */
#include "feedback/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

#define LIVE         "opt-outs.log"
#define FOLDING      "opt-outs.folding"
#define UNREADABLE   "opt-outs.unreadable"
#define CHUNK_BYTES  (2 * JOURNAL_LINE_MAX)
#define OPEN_RETRIES 1000 /* each needs a whole fold between open and lock; a bound, not a wait */

struct journal {
    char *folder;
    off_t folded; /* bytes of the folding file that have been applied; the folding thread */
};

struct journal *
journal_create(const char *folder)
{
    struct journal *j = mem_zalloc(sizeof(*j));

    j->folder = mem_strdup(folder);
    return j;
}

void
journal_free(struct journal **jp)
{
    struct journal *j = *jp;

    *jp = NULL;
    if (j == NULL)
        return;
    mem_free(j->folder);
    mem_free(j);
}

static int
open_folder(const struct journal *j, struct err *err)
{
    int fd = open(j->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        err_errno(err, errno, "open the journal's folder");
    return fd;
}

/* A regular file with one name, ours, readable by nobody else. */
static int
check_file(int fd, struct stat *st, struct err *err)
{
    if (fstat(fd, st) != 0)
        return err_errno(err, errno, "stat the journal");
    if (!S_ISREG(st->st_mode) || st->st_nlink > 1 || st->st_uid != geteuid())
        return err_set(err, ERR_PERM, "the journal is not a plain file of our own");
    if ((st->st_mode & 0777) != 0600 && fchmod(fd, 0600) != 0)
        return err_errno(err, errno, "protect the journal");
    return 0;
}

static bool
has_name(int folder, const char *name, const struct stat *st)
{
    struct stat now;

    return fstatat(folder, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_ino == st->st_ino &&
           now.st_dev == st->st_dev;
}

/* Open and lock the file that bears the name; a rename in between means another try. */
static int
open_locked(int folder, const char *name, struct stat *st, struct err *err)
{
    for (int i = 0; i < OPEN_RETRIES; i++) {
        int fd = openat(
            folder, name, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

        if (fd < 0) {
            err_errno(err, errno, "open the journal");
            return -1;
        }
        if (flock(fd, LOCK_EX) != 0 || check_file(fd, st, err) != 0) {
            if (err != NULL && err->code == ERR_NONE)
                err_errno(err, errno, "lock the journal");
            close(fd);
            return -1;
        }
        if (has_name(folder, name, st))
            return fd;
        close(fd);
    }
    err_set(err, ERR_TEMP, "the journal is renamed faster than it is opened");
    return -1;
}

static int
write_all(int fd, struct slice data, struct err *err)
{
    while (data.n > 0) {
        ssize_t put = write(fd, data.p, data.n);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return err_errno(err, errno, "write the journal");
        data = slice_from(data, (size_t)put);
    }
    return 0;
}

/* The last line may have been torn by a crash: close it. */
static int
end_torn_line(int fd, off_t size, struct err *err)
{
    char last;

    if (size == 0 || (pread(fd, &last, 1, size - 1) == 1 && last == '\n'))
        return 0;
    return write_all(fd, SLICE_LIT("\n"), err);
}

static int
append_to(struct journal *j, const char *name, struct slice lines, struct err *err)
{
    struct stat st;
    int folder = open_folder(j, err), fd, rc = -1;

    if (folder < 0)
        return -1;
    if ((fd = open_locked(folder, name, &st, err)) >= 0) {
        if (end_torn_line(fd, st.st_size, err) != 0 || write_all(fd, lines, err) != 0)
            rc = -1;
        else if (fdatasync(fd) != 0 || (st.st_size == 0 && fsync(folder) != 0))
            rc = err_errno(err, errno, "flush the journal");
        else
            rc = 0;
        close(fd);
    }
    close(folder);
    return rc;
}

int
journal_append(struct journal *j, struct slice lines, struct err *err)
{
    return append_to(j, LIVE, lines, err);
}

int
journal_set_aside(struct journal *j, struct slice line, struct err *err)
{
    struct buf text = BUF_INIT;
    int rc;

    buf_append_slice(&text, line);
    buf_append_char(&text, '\n');
    rc = append_to(j, UNREADABLE, buf_slice(&text), err);
    buf_deinit(&text);
    return rc;
}

bool
journal_is_empty(const struct journal *j)
{
    struct stat st;
    int folder = open_folder(j, NULL);
    bool is_empty;

    if (folder < 0)
        return false;
    is_empty = fstatat(folder, LIVE, &st, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT &&
               fstatat(folder, FOLDING, &st, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
    close(folder);
    return is_empty;
}

/* ---- folding --------------------------------------------------------------------------------- */

/* How much of a chunk is whole lines. A line longer than any of ours is taken as it is, and so is
 * what stands at the end of the file without a line feed. */
static size_t
whole_lines(struct slice chunk, bool is_end)
{
    ptrdiff_t last = slice_rfind_char(chunk, '\n');

    return is_end || last < 0 ? chunk.n : (size_t)last + 1;
}

static ssize_t
read_chunk(int fd, off_t at, char *p, struct err *err)
{
    size_t n = 0;

    while (n < CHUNK_BYTES) {
        ssize_t got = pread(fd, p + n, CHUNK_BYTES - n, at + (off_t)n);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_errno(err, errno, "read the journal");
        if (got == 0)
            break;
        n += (size_t)got;
    }
    return (ssize_t)n;
}

static int
fold_file(struct journal *j, int fd, journal_apply_fn *apply, void *arg, struct err *err)
{
    char *chunk = mem_alloc(CHUNK_BYTES);
    ssize_t n;
    int rc = 0;

    while (rc == 0 && (n = read_chunk(fd, j->folded, chunk, err)) != 0) {
        struct slice lines;

        if (n < 0) {
            rc = -1;
            break;
        }
        lines = slice_make(chunk, (size_t)n);
        lines.n = whole_lines(lines, n < CHUNK_BYTES);
        if ((rc = apply(lines, arg, err)) == 0)
            j->folded += (off_t)lines.n;
    }
    mem_free(chunk);
    return rc;
}

/* Returns 1 when there was nothing to fold. */
static int
fold_renamed(struct journal *j, int folder, journal_apply_fn *apply, void *arg, struct err *err)
{
    struct stat st;
    int fd = openat(folder, FOLDING, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), rc;

    if (fd < 0)
        return errno == ENOENT ? 1 : err_errno(err, errno, "open the journal to fold");
    if (flock(fd, LOCK_EX) != 0)
        rc = err_errno(err, errno, "lock the journal");
    else if ((rc = check_file(fd, &st, err)) == 0)
        rc = fold_file(j, fd, apply, arg, err);
    if (rc == 0 && (unlinkat(folder, FOLDING, 0) != 0 || fsync(folder) != 0))
        rc = err_errno(err, errno, "remove the folded journal");
    if (rc == 0)
        j->folded = 0;
    close(fd);
    return rc;
}

int
journal_fold(struct journal *j, journal_apply_fn *apply, void *arg, struct err *err)
{
    int folder = open_folder(j, err);
    int rc;

    if (folder < 0)
        return -1;
    /* First what an earlier fold left behind, under a name of its own; then the live file. */
    rc = fold_renamed(j, folder, apply, arg, err);
    if (rc >= 0) {
        if (renameat(folder, LIVE, folder, FOLDING) == 0)
            rc = fold_renamed(j, folder, apply, arg, err);
        else
            rc = errno == ENOENT ? 0 : err_errno(err, errno, "claim the journal");
    }
    close(folder);
    return rc < 0 ? -1 : 0;
}
