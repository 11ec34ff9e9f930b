/*
 * The three places a setting can come from: the file, the environment, the command line. They are read
 * in this order and the last one wins. Nothing is guessed: a name nobody knows ends the start, because
 * a misspelt limit that is silently ignored is worse than a daemon that does not come up.
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "daemon/config_table.h"

#define FILE_LIMIT_BYTES (256 * 1024)
#define ENV_PREFIX       "MAILSHOT_"

/* Variables with our prefix that are no options: the file's name, and what the test programs use. */
static const char *const foreign_env[] = {
    "MAILSHOT_CONFIG", "MAILSHOT_BUILD_DIR", "MAILSHOT_SOURCE_DIR"};
static const char test_env[] = ENV_PREFIX "TEST_";

static char
upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static char
lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

void
config_option_spell(const char *name, char sep, bool is_upper, char out[64])
{
    size_t n = 0;

    for (const char *p = name; *p != '\0' && n < 61; p++) {
        if (*p >= 'A' && *p <= 'Z')
            out[n++] = sep;
        out[n++] = is_upper ? upper(*p) : lower(*p);
    }
    out[n] = '\0';
}

static int
find_exact(struct slice name)
{
    for (size_t i = 0; i < config_n_options; i++)
        if (slice_eq_str(name, config_options[i].name))
            return (int)i;
    return -1;
}

int
config_option_find(const char *flag_name)
{
    int found = find_exact(slice_str(flag_name));
    char kebab[64];

    for (size_t i = 0; found < 0 && i < config_n_options; i++) {
        config_option_spell(config_options[i].name, '-', false, kebab);
        if (strcmp(kebab, flag_name) == 0)
            found = (int)i;
    }
    return found;
}

const char *
config_option_name(int option)
{
    return config_options[option].name;
}

bool
config_option_is_switch(int option)
{
    return config_options[option].type == OPTION_BOOL;
}

/* ---- the nearest name ------------------------------------------------------------------------ */

/* Letters without case and separators, so that spelling habits cost nothing. */
static size_t
fold(const char *name, char out[64])
{
    size_t n = 0;

    for (const char *p = name; *p != '\0' && n < 63; p++)
        if (*p != '-' && *p != '_')
            out[n++] = lower(*p);
    out[n] = '\0';
    return n;
}

/* Levenshtein distance of two short words, one row at a time. */
static unsigned
edit_distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
    unsigned row[65];

    for (size_t j = 0; j <= n_b; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= n_a; i++) {
        unsigned diagonal = row[0];

        row[0] = (unsigned)i;
        for (size_t j = 1; j <= n_b; j++) {
            unsigned best = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[n_b];
}

const char *
config_option_nearest(const char *name)
{
    const char *nearest = NULL;
    char wanted[64], known[64];
    size_t n_wanted = fold(name, wanted);
    unsigned best = (unsigned)n_wanted / 2 + 1;

    for (size_t i = 0; i < config_n_options; i++) {
        unsigned d = edit_distance(wanted, n_wanted, known, fold(config_options[i].name, known));

        if (d < best) {
            best = d;
            nearest = config_options[i].name;
        }
    }
    return nearest;
}

static int
refuse_unknown(const char *where, unsigned line, const char *name, struct err *err)
{
    const char *nearest = config_option_nearest(name);
    char at[32] = "";

    if (line > 0)
        snprintf(at, sizeof(at), ":%u", line);
    if (nearest != NULL)
        return err_sub(err, ERR_INVALID, "unknown_option",
            "%s%s: no option is called \"%.60s\"; did you mean \"%s\"?", where, at, name, nearest);
    return err_sub(
        err, ERR_INVALID, "unknown_option", "%s%s: no option is called \"%.60s\"", where, at, name);
}

/* ---- file ------------------------------------------------------------------------------------ */

static int
read_line(struct config *c, const char *path, unsigned line, struct slice text, struct err *err)
{
    ptrdiff_t eq;
    struct slice name;
    char name_z[64];
    int option;

    text = slice_trim(text);
    if (text.n == 0 || text.p[0] == '#')
        return 0;
    if ((eq = slice_find_char(text, '=')) < 0)
        return err_set(err, ERR_INVALID, "%s:%u: expected \"name = value\"", path, line);
    name = slice_trim(slice_make(text.p, (size_t)eq));
    if (name.n == 0 || name.n >= sizeof(name_z))
        return err_set(err, ERR_INVALID, "%s:%u: expected \"name = value\"", path, line);
    memcpy(name_z, name.p, name.n);
    name_z[name.n] = '\0';
    if ((option = find_exact(name)) < 0)
        return refuse_unknown(path, line, name_z, err);
    if (c->values[option].origin == CONFIG_FILE)
        return err_set(err, ERR_INVALID, "%s:%u: %s was set in line %u already", path, line, name_z,
            c->values[option].line);
    return config_set(
        c, (size_t)option, slice_trim(slice_from(text, (size_t)eq + 1)), CONFIG_FILE, line, err);
}

int
config_read_file(struct config *c, const char *path, struct err *err)
{
    struct buf text = BUF_INIT;
    struct slice rest, line;
    unsigned n = 0;
    int rc;

    if ((rc = file_read(path, FILE_LIMIT_BYTES, &text, err)) == 0) {
        c->file = path;
        rest = buf_slice(&text);
        while (rc == 0 && slice_cut(&rest, '\n', &line))
            rc = read_line(c, path, ++n, line, err);
    }
    buf_deinit(&text);
    return rc;
}

/* ---- environment ----------------------------------------------------------------------------- */

static bool
is_foreign(struct slice name)
{
    for (size_t i = 0; i < sizeof(foreign_env) / sizeof(foreign_env[0]); i++)
        if (slice_eq_str(name, foreign_env[i]))
            return true;
    return slice_starts(name, slice_str(test_env));
}

static int
read_variable(struct config *c, struct slice name, struct slice value, struct err *err)
{
    char spelt[64], name_z[64];

    for (size_t i = 0; i < config_n_options; i++) {
        config_option_spell(config_options[i].name, '_', true, spelt);
        if (slice_eq_str(slice_from(name, strlen(ENV_PREFIX)), spelt))
            return config_set(c, i, value, CONFIG_ENV, 0, err);
    }
    snprintf(name_z, sizeof(name_z), "%.*s", SLICE_FMT(slice_from(name, strlen(ENV_PREFIX))));
    return refuse_unknown("environment " ENV_PREFIX "...", 0, name_z, err);
}

int
config_read_env(struct config *c, const char *const *env, struct err *err)
{
    for (; *env != NULL; env++) {
        struct slice var = slice_str(*env);
        ptrdiff_t eq = slice_find_char(var, '=');
        struct slice name = slice_make(var.p, eq < 0 ? var.n : (size_t)eq);

        if (eq < 0 || !slice_starts(name, SLICE_LIT(ENV_PREFIX)) || is_foreign(name))
            continue;
        if (read_variable(c, name, slice_from(var, (size_t)eq + 1), err) != 0)
            return -1;
    }
    return 0;
}

/* ---- flags ----------------------------------------------------------------------------------- */

int
config_read_flags(struct config *c, const struct config_flag *flags, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        int option = config_option_find(flags[i].name);
        const char *value = flags[i].value;

        if (option < 0)
            return refuse_unknown("command line", 0, flags[i].name, err);
        if (value == NULL && !config_option_is_switch(option))
            return err_set(err, ERR_INVALID, "command line: --%s needs a value", flags[i].name);
        if (config_set(c, (size_t)option, slice_str(value != NULL ? value : "true"), CONFIG_FLAG, 0,
                err) != 0)
            return -1;
    }
    return 0;
}
