/*
 * From the sources to one immutable configuration.
 *
 *   defaults ─► file ─► environment ─► flags ─► what is found out at start ─► checks of the whole
 *
 * Every value keeps its text and its origin beside the typed member, so that what runs can be printed
 * and two configurations can be compared option by option.
 */
#include "daemon/config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/mem.h"
#include "daemon/config_table.h"

#define DEFAULT_FILE "/etc/mailshot/mailshotd.conf"
#define SYSTEM_DATA  "/var/lib/mailshot"
#define LOCAL_DATA   "./data"
#define SECRET_LIMIT 256

int
config_set(struct config *c, size_t i, struct slice text, enum config_origin origin, unsigned line,
    struct err *err)
{
    static const char *const from[] = {"default", "file", "environment", "command line"};
    const char *copy = arena_cstr(c->arena, text);

    if (memchr(copy, '\0', text.n) != NULL)
        return err_set(err, ERR_INVALID, "%s: a NUL byte", config_options[i].name);
    if (config_value_parse(c, i, copy, err) != 0) {
        if (line > 0)
            err_prefix(err, "%s (line %u)", config_options[i].name, line);
        else
            err_prefix(err, "%s (%s)", config_options[i].name, from[origin]);
        return -1;
    }
    c->values[i] = (struct config_value){.text = copy, .origin = origin, .line = line};
    return 0;
}

static void
set_found(struct config *c, const char **member, const char *value)
{
    *member = arena_strdup(c->arena, value);
    for (size_t i = 0; i < config_n_options; i++)
        if ((const char **)(void *)((char *)c + config_options[i].member) == member)
            c->values[i].text = *member;
}

/* ---- what is found out at start -------------------------------------------------------------- */

static void
find_data_dir(struct config *c)
{
    bool is_ours = access(SYSTEM_DATA, W_OK) == 0 ||
                   (access(SYSTEM_DATA, F_OK) != 0 && access("/var/lib", W_OK) == 0);

    if (c->data_dir[0] == '\0')
        set_found(c, &c->data_dir, is_ours ? SYSTEM_DATA : LOCAL_DATA);
}

/* The host part of publicUrl, without port. */
static bool
url_host(const char *url, char *out, size_t size)
{
    const char *from = strstr(url, "://");
    size_t n;

    if (from == NULL)
        return false;
    from += 3;
    n = strcspn(from, from[0] == '[' ? "/" : ":/");
    if (n == 0 || n >= size)
        return false;
    memcpy(out, from, n);
    out[n] = '\0';
    return true;
}

static void
find_ehlo_name(struct config *c)
{
    char name[256] = "";

    if (c->ehlo_name[0] != '\0')
        return;
    if (gethostname(name, sizeof(name) - 1) != 0 || name[0] == '\0' ||
        config_check_domain(name, NULL) != 0) {
        if (!url_host(c->public_url, name, sizeof(name)) || config_check_domain(name, NULL) != 0)
            snprintf(name, sizeof(name), "[127.0.0.1]");
    }
    set_found(c, &c->ehlo_name, name);
}

static int
find_legacy_secret(struct config *c, struct err *err)
{
    struct buf text = BUF_INIT;
    struct slice secret;
    int rc = 0;

    if (c->legacy_unsubscribe_secret_file[0] == '\0')
        return 0;
    if (c->legacy_unsubscribe_secret[0] != '\0')
        return err_set(err, ERR_INVALID,
            "legacyUnsubscribeSecret and legacyUnsubscribeSecretFile exclude each other");
    if (file_read(c->legacy_unsubscribe_secret_file, SECRET_LIMIT + 2, &text, err) != 0) {
        err_prefix(err, "legacyUnsubscribeSecretFile");
        return -1;
    }
    secret = slice_trim(buf_slice(&text));
    if (secret.n == 0 || secret.n > SECRET_LIMIT || memchr(secret.p, '\0', secret.n) != NULL)
        rc = err_set(err, ERR_INVALID, "legacyUnsubscribeSecretFile: not one line of text");
    else
        c->legacy_unsubscribe_secret = arena_cstr(c->arena, secret);
    mem_wipe(text.p, text.n);
    buf_deinit(&text);
    return rc;
}

/* Addresses are compared in lower case, so the patterns are kept so. */
static void
lower_test_contacts(struct config *c)
{
    for (size_t i = 0; i < c->agent_test_contacts.n; i++)
        for (char *p = (char *)(uintptr_t)c->agent_test_contacts.items[i]; *p != '\0'; p++)
            if (*p >= 'A' && *p <= 'Z')
                *p = (char)(*p - 'A' + 'a');
}

static int
finish(struct config *c, struct err *err)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    find_data_dir(c);
    find_ehlo_name(c);
    lower_test_contacts(c);
    if (c->cpu_workers == 0)
        c->cpu_workers = cores < 1 ? 1 : cores > 64 ? 64 : cores;
    return find_legacy_secret(c, err);
}

/* ---- load ------------------------------------------------------------------------------------ */

static const char *
env_value(const char *const *env, const char *name)
{
    size_t n = strlen(name);

    for (; env != NULL && *env != NULL; env++)
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
            return *env + n + 1;
    return NULL;
}

/* The default file may be missing, a named one may not. */
static int
read_file(struct config *c, const struct config_sources *src, struct err *err)
{
    const char *path = src->file != NULL ? src->file : env_value(src->env, "MAILSHOT_CONFIG");

    if (path == NULL && !file_exists(DEFAULT_FILE))
        return 0;
    return config_read_file(c, arena_strdup(c->arena, path != NULL ? path : DEFAULT_FILE), err);
}

struct config *
config_load(const struct config_sources *src, struct err *err)
{
    struct config *c = mem_zalloc(sizeof(*c));

    c->arena = arena_create(0);
    c->file = "";
    for (size_t i = 0; i < config_n_options; i++) {
        const struct config_option *o = &config_options[i];

        if (o->min > 0 && o->fallback[0] == '\0')
            *(const char **)(void *)((char *)c + o->member) = ""; /* found out by finish() */
        else if (config_set(c, i, slice_str(o->fallback), CONFIG_DEFAULT, 0, err) != 0)
            goto fail;
        c->values[i].text = o->fallback;
    }
    if (read_file(c, src, err) != 0)
        goto fail;
    if (src->env != NULL && config_read_env(c, src->env, err) != 0)
        goto fail;
    if (config_read_flags(c, src->flags, src->n_flags, err) != 0)
        goto fail;
    if (finish(c, err) != 0)
        goto fail;
    return c;

fail:
    config_free(&c);
    return NULL;
}

void
config_free(struct config **cp)
{
    struct config *c = *cp;

    if (c == NULL)
        return;
    arena_free(&c->arena);
    mem_free(c);
    *cp = NULL;
}

static void
append_name(struct buf *out, const char *name)
{
    if (out->n > 0)
        buf_append_str(out, ", ");
    buf_append_str(out, name);
}

void
config_compare(
    const struct config *old, const struct config *now, struct buf *changed, struct buf *restart)
{
    for (size_t i = 0; i < config_n_options; i++) {
        const struct config_option *o = &config_options[i];

        if (strcmp(old->values[i].text, now->values[i].text) == 0)
            continue;
        append_name((o->flags & OPTION_RELOADABLE) != 0 ? changed : restart, o->name);
    }
}
