/*
 * External merge sort of 64-bit values. Full chunks are sorted and appended to a temporary file that has
 * no name (it vanishes with the process); the last, partial chunk stays in memory. Reading merges all
 * runs through a small buffer each, by a heap of their heads. One run per 64 Ki values: ten million
 * values are 153 runs, and all buffers together stay below 5 MiB.
 */
#include "audience/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define CHUNK_VALUES (64 * 1024)
#define READ_VALUES  4096

struct run {
    off_t next, end; /* bytes of the file still to be read */
    uint64_t *values;
    size_t n, at;
};

struct spill {
    char *dir;
    int fd;
    uint64_t *chunk;
    size_t n_chunk;
    uint64_t count;
    off_t size;
    struct run *runs;
    size_t n_runs;
    size_t *heap; /* numbers of runs, smallest head first */
    size_t n_heap;
};

struct spill *
spill_create(const char *dir)
{
    struct spill *s = mem_zalloc(sizeof(*s));

    s->dir = mem_strdup(dir);
    s->fd = -1;
    s->chunk = mem_array(CHUNK_VALUES, sizeof(*s->chunk));
    return s;
}

void
spill_free(struct spill **s)
{
    if (*s == NULL)
        return;
    for (size_t i = 0; i < (*s)->n_runs; i++)
        mem_free((*s)->runs[i].values);
    mem_free((*s)->runs);
    mem_free((*s)->heap);
    mem_free((*s)->chunk);
    mem_free((*s)->dir);
    if ((*s)->fd >= 0)
        close((*s)->fd);
    mem_free(*s);
    *s = NULL;
}

uint64_t
spill_count(const struct spill *s)
{
    return s->count;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int
compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static int
open_file(struct spill *s, struct err *err)
{
    char path[4096];
    int n;

    s->fd = open(s->dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (s->fd >= 0)
        return 0;
    /* Not every file system knows O_TMPFILE: a named file, unlinked at once, does the same. */
    n = snprintf(path, sizeof(path), "%s/spill-XXXXXX", s->dir);
    if (n < 0 || (size_t)n >= sizeof(path))
        return err_set(err, ERR_INTERNAL, "the folder's name is too long");
    s->fd = mkostemp(path, O_CLOEXEC);
    if (s->fd < 0)
        return err_errno(err, errno, "temporary file");
    unlink(path);
    return 0;
}

static int
write_all(int fd, const void *p, size_t n, off_t at, struct err *err)
{
    const char *from = p;

    while (n > 0) {
        ssize_t done = pwrite(fd, from, n, at);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0 && (errno == ENOSPC || errno == EDQUOT))
            return err_sub(err, ERR_TEMP, "disk_full", "no room for temporary data");
        if (done <= 0)
            return err_errno(err, errno, "temporary file");
        from += done;
        n -= (size_t)done;
        at += done;
    }
    return 0;
}

static int
flush_chunk(struct spill *s, struct err *err)
{
    size_t bytes = s->n_chunk * sizeof(*s->chunk);

    if (s->fd < 0 && open_file(s, err) != 0)
        return -1;
    qsort(s->chunk, s->n_chunk, sizeof(*s->chunk), compare_u64);
    if (write_all(s->fd, s->chunk, bytes, s->size, err) != 0)
        return -1;
    s->runs = mem_realloc(s->runs, (s->n_runs + 1) * sizeof(*s->runs));
    s->runs[s->n_runs++] = (struct run){.next = s->size, .end = s->size + (off_t)bytes};
    s->size += (off_t)bytes;
    s->n_chunk = 0;
    return 0;
}

int
spill_add(struct spill *s, uint64_t v, struct err *err)
{
    if (s->n_chunk == CHUNK_VALUES && flush_chunk(s, err) != 0)
        return -1;
    s->chunk[s->n_chunk++] = v;
    s->count++;
    return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Make the run's next value available. 1 = there is one, 0 = the run is empty, -1 = error. */
static int
run_fill(struct spill *s, struct run *r, struct err *err)
{
    size_t want;
    ssize_t got;

    if (r->at < r->n)
        return 1;
    if (r->next == r->end)
        return 0;
    want = READ_VALUES * sizeof(uint64_t);
    if ((off_t)want > r->end - r->next)
        want = (size_t)(r->end - r->next);
    do {
        got = pread(s->fd, r->values, want, r->next);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        return err_errno(err, errno, "temporary file");
    if ((size_t)got != want)
        return err_set(err, ERR_INTERNAL, "the temporary file was cut short");
    r->next += got;
    r->n = (size_t)got / sizeof(uint64_t);
    r->at = 0;
    return 1;
}

static uint64_t
head(const struct spill *s, size_t i)
{
    const struct run *r = &s->runs[s->heap[i]];

    return r->values[r->at];
}

static void
sift_down(struct spill *s, size_t i)
{
    for (;;) {
        size_t child = 2 * i + 1, swap;

        if (child >= s->n_heap)
            return;
        if (child + 1 < s->n_heap && head(s, child + 1) < head(s, child))
            child++;
        if (head(s, i) <= head(s, child))
            return;
        swap = s->heap[i];
        s->heap[i] = s->heap[child];
        s->heap[child] = swap;
        i = child;
    }
}

int
spill_sort(struct spill *s, struct err *err)
{
    qsort(s->chunk, s->n_chunk, sizeof(*s->chunk), compare_u64);
    s->runs = mem_realloc(s->runs, (s->n_runs + 1) * sizeof(*s->runs));
    for (size_t i = 0; i < s->n_runs; i++)
        s->runs[i].values = mem_array(READ_VALUES, sizeof(uint64_t));
    if (s->n_chunk > 0) {
        s->runs[s->n_runs++] = (struct run){.values = s->chunk, .n = s->n_chunk};
        s->chunk = NULL;
    }
    s->heap = mem_array(s->n_runs + 1, sizeof(*s->heap));
    for (size_t i = 0; i < s->n_runs; i++) {
        if (run_fill(s, &s->runs[i], err) < 0)
            return -1;
        s->heap[s->n_heap++] = i;
    }
    for (size_t i = s->n_heap; i-- > 0;)
        sift_down(s, i);
    return 0;
}

int
spill_next(struct spill *s, uint64_t *v_r, struct err *err)
{
    struct run *r;
    int more;

    if (s->n_heap == 0)
        return 0;
    r = &s->runs[s->heap[0]];
    *v_r = r->values[r->at++];
    more = run_fill(s, r, err);
    if (more < 0)
        return -1;
    if (more == 0)
        s->heap[0] = s->heap[--s->n_heap];
    sift_down(s, 0);
    return 1;
}
