/*
 * Keys on disk: 32 random bytes each, as a line of hex in a file of its own.
 *
 * New keys are written into keys.new/, which becomes keys/ by one rename, so there are all three or
 * none. Keys are never made beside a database: it was written with others, and whoever lost them must
 * hear so instead of finding links that no longer work.
 */
#include "daemon/folder_keys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rand.h"
#include "crypto/crypto.h"
#include "daemon/datadir.h"

#define N_KEYS       3
#define EXPORT_WORD  "mailshot-keys-1"
#define KEY_MAX_SIZE 256

struct key_set {
    uint8_t key[N_KEYS][CRYPTO_KEY_SIZE]; /* in the order of key_names */
};

static const char *const key_names[N_KEYS] = {"token.key", "seal.key", "address.key"};

static const char *
key_path(const char *path, const char *folder, const char *name, struct buf *out)
{
    buf_clear(out);
    buf_printf(out, "%s/%s/%s", path, folder, name);
    return buf_cstr(out);
}

static bool
parse_key(struct slice hex, uint8_t key[CRYPTO_KEY_SIZE])
{
    struct buf bytes = BUF_INIT;
    bool ok = hex_decode(slice_trim(hex), &bytes) && bytes.n == CRYPTO_KEY_SIZE;

    if (ok)
        memcpy(key, bytes.p, CRYPTO_KEY_SIZE);
    mem_wipe(bytes.p, bytes.n);
    buf_deinit(&bytes);
    return ok;
}

/* ---- reading --------------------------------------------------------------------------------- */

static unsigned
count_files(const char *path)
{
    struct buf file = BUF_INIT;
    unsigned n = 0;

    for (int i = 0; i < N_KEYS; i++)
        n += file_exists(key_path(path, "keys", key_names[i], &file));
    buf_deinit(&file);
    return n;
}

static int
read_key(const char *path, uint8_t key[CRYPTO_KEY_SIZE], struct err *err)
{
    struct buf text = BUF_INIT;
    struct stat st;
    int rc = -1;

    if (lstat(path, &st) != 0) {
        err_sub(err, ERR_PERM, "keys_missing", "%s: %s", path, strerror(errno));
    } else if ((st.st_mode & 077) != 0) {
        err_sub(err, ERR_PERM, "keys_readable", "%s may be read by others (mode %03o)", path,
            (unsigned)st.st_mode & 0777);
    } else if (file_read(path, KEY_MAX_SIZE, &text, err) == 0) {
        rc = 0;
        if (!parse_key(buf_slice(&text), key))
            rc = err_sub(err, ERR_PERM, "keys_invalid", "%s holds no key", path);
    }
    mem_wipe(text.p, text.n);
    buf_deinit(&text);
    return rc;
}

static int
read_set(const char *path, struct key_set *set, struct err *err)
{
    struct buf file = BUF_INIT;
    int rc = 0;

    for (int i = 0; i < N_KEYS && rc == 0; i++)
        rc = read_key(key_path(path, "keys", key_names[i], &file), set->key[i], err);
    buf_deinit(&file);
    return rc;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int
write_key(const char *path, const uint8_t key[CRYPTO_KEY_SIZE], struct err *err)
{
    struct buf text = BUF_INIT;
    int rc;

    hex_encode(slice_make(key, CRYPTO_KEY_SIZE), &text);
    buf_append_char(&text, '\n');
    unlink(path); /* a rest of an attempt that broke off */
    rc = file_create(path, buf_slice(&text), 0600, err);
    mem_wipe(text.p, text.n);
    buf_deinit(&text);
    return rc;
}

static int
write_set(const struct datadir *d, const struct key_set *set, struct err *err)
{
    struct buf path = BUF_INIT;
    int rc = datadir_mkdir(d, "keys.new", err);

    for (int i = 0; i < N_KEYS && rc == 0; i++)
        rc = write_key(key_path(d->path, "keys.new", key_names[i], &path), set->key[i], err);
    buf_deinit(&path);
    if (rc != 0)
        return -1;
    /* An empty keys/ is replaced, one with files is not. */
    if (renameat(d->folder_fd, "keys.new", d->folder_fd, "keys") != 0)
        return err_errno(err, errno, "rename %s/keys.new", d->path);
    if (fsync(d->folder_fd) != 0)
        return err_errno(err, errno, "sync %s", d->path);
    return 0;
}

/* ---- the whole ------------------------------------------------------------------------------- */

int
folder_keys_load(const struct datadir *d, struct crypto_keys **keys_r, struct err *err)
{
    struct key_set set;
    bool is_new = count_files(d->path) == 0 && !datadir_has_database(d->path);
    int rc;

    if (is_new) {
        rand_bytes(&set, sizeof(set));
        rc = write_set(d, &set, err);
    } else {
        rc = read_set(d->path, &set, err);
    }
    if (rc == 0) {
        *keys_r = crypto_keys_create(set.key[0], set.key[1], set.key[2]);
        if (is_new)
            log_info(NULL, "keys.created", "folder=%s/keys", d->path);
    }
    mem_wipe(&set, sizeof(set));
    return rc;
}

int
folder_keys_check(const char *path, char fingerprint[17], struct err *err)
{
    struct key_set set;
    struct crypto_keys *keys;
    int rc = read_set(path, &set, err);

    if (rc == 0) {
        keys = crypto_keys_create(set.key[0], set.key[1], set.key[2]);
        crypto_keys_fingerprint(keys, fingerprint);
        crypto_keys_free(&keys);
    }
    mem_wipe(&set, sizeof(set));
    return rc;
}

int
folder_keys_export(const char *path, struct buf *out, struct err *err)
{
    struct key_set set;
    int rc = read_set(path, &set, err);

    if (rc == 0) {
        buf_append_str(out, EXPORT_WORD);
        for (int i = 0; i < N_KEYS; i++) {
            buf_append_char(out, ' ');
            hex_encode(slice_make(set.key[i], CRYPTO_KEY_SIZE), out);
        }
        buf_append_char(out, '\n');
    }
    mem_wipe(&set, sizeof(set));
    return rc;
}

static bool
parse_line(struct slice line, struct key_set *set)
{
    struct slice rest = slice_trim(line), word;

    if (!slice_cut(&rest, ' ', &word) || !slice_eq(word, SLICE_LIT(EXPORT_WORD)))
        return false;
    for (int i = 0; i < N_KEYS; i++)
        if (!slice_cut(&rest, ' ', &word) || !parse_key(word, set->key[i]))
            return false;
    return !slice_cut(&rest, ' ', &word);
}

int
folder_keys_import(const struct datadir *d, struct slice line, struct err *err)
{
    struct key_set set;
    int rc = -1;

    if (count_files(d->path) > 0)
        return err_sub(err, ERR_CONFLICT, "keys_exist", "%s/keys holds keys already", d->path);
    if (!parse_line(line, &set))
        err_set(err, ERR_INVALID, "this is no line written by \"mailshotd keys export\"");
    else
        rc = write_set(d, &set, err);
    mem_wipe(&set, sizeof(set));
    return rc;
}
