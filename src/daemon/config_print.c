/*
 * Configuration as text: what runs now, the reference in docs/config.md, and the example file. All
 * three walk the same table, so an option cannot exist in one and be missing in another.
 */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "daemon/config_table.h"

static const char *
origin_name(enum config_origin origin)
{
    static const char *const names[] = {"default", "file", "environment", "flag"};

    return names[origin];
}

static bool
is_hidden(const struct config *c, size_t i)
{
    return (config_options[i].flags & OPTION_SECRET) != 0 && c->values[i].text[0] != '\0';
}

void
config_print(const struct config *c, struct buf *out)
{
    if (c->file[0] != '\0')
        buf_printf(out, "# file: %s\n", c->file);
    for (size_t i = 0; i < config_n_options; i++) {
        const struct config_value *v = &c->values[i];
        char origin[32];

        if (v->origin == CONFIG_FILE)
            snprintf(origin, sizeof(origin), "file:%u", v->line);
        else
            snprintf(origin, sizeof(origin), "%s", origin_name(v->origin));
        buf_printf(out, "%-30s %-12s %s\n", config_options[i].name, origin,
            is_hidden(c, i) ? "(hidden)" : v->text);
    }
}

void
config_print_json(const struct config *c, struct json_writer *w)
{
    jw_obj(w, NULL);
    jw_cstr(w, "file", c->file[0] != '\0' ? c->file : NULL);
    jw_arr(w, "options");
    for (size_t i = 0; i < config_n_options; i++) {
        const struct config_value *v = &c->values[i];

        jw_obj(w, NULL);
        jw_cstr(w, "name", config_options[i].name);
        if (is_hidden(c, i))
            jw_null(w, "value");
        else
            jw_cstr(w, "value", v->text);
        jw_bool(w, "isHidden", is_hidden(c, i));
        jw_cstr(w, "origin", origin_name(v->origin));
        if (v->origin == CONFIG_FILE)
            jw_int(w, "line", v->line);
        jw_bool(w, "isReloadable", (config_options[i].flags & OPTION_RELOADABLE) != 0);
        jw_end_obj(w);
    }
    jw_end_arr(w);
    jw_end_obj(w);
}

/* ---- reference ------------------------------------------------------------------------------- */

static void
print_type(struct buf *out, const struct config_option *o)
{
    switch (o->type) {
    case OPTION_STRING: buf_append_str(out, "text"); break;
    case OPTION_INT: buf_printf(out, "%lld to %lld", (long long)o->min, (long long)o->max); break;
    case OPTION_BYTES: buf_append_str(out, "size"); break;
    case OPTION_BOOL: buf_append_str(out, "true, false"); break;
    case OPTION_LEVEL: buf_append_str(out, "word"); break;
    case OPTION_LIST: buf_printf(out, "list, at most %lld", (long long)o->max); break;
    }
}

static const char docs_head[] =
    "# Options\n"
    "\n"
    "This page is printed by `mailshotd config --docs`. `mailshotd config` prints what applies "
    "here and "
    "now,\n"
    "with the origin of each value; `mailshotd check` tries it all without starting anything.\n"
    "\n"
    "An option can be set in three places; the later wins:\n"
    "\n"
    "1. the file, named by `--config FILE` or `MAILSHOT_CONFIG`, else "
    "`/etc/mailshot/mailshotd.conf` "
    "if\n"
    "   there is one. One `name = value` per line; a line that begins with `#` is a comment.\n"
    "2. the environment: `MAILSHOT_` and the name in capitals, `MAILSHOT_LISTEN_PORT=8460`.\n"
    "3. the command line: `--listenPort=8460`, `--listenPort 8460` or `--listen-port 8460`.\n"
    "\n"
    "A name that is not in this list ends the start with the nearest one that is. Lists are parted "
    "by\n"
    "blanks. Sizes may end with `KiB`, `MiB` or `GiB`. Options marked *reload* are read again on "
    "SIGHUP;\n"
    "the others need a restart, which the log says when they have changed. A file that is wrong "
    "leaves\n"
    "the running configuration as it is.\n"
    "\n"
    "| Option | Value | Default | Reload | What it is |\n"
    "|---|---|---|---|---|\n";

void
config_print_docs(struct buf *out)
{
    buf_append_str(out, docs_head);
    for (size_t i = 0; i < config_n_options; i++) {
        const struct config_option *o = &config_options[i];

        if ((o->flags & OPTION_TEST_ONLY) != 0)
            continue;
        buf_printf(out, "| `%s` | ", o->name);
        print_type(out, o);
        if (o->fallback_doc != NULL)
            buf_printf(out, " | %s | ", o->fallback_doc);
        else if (o->fallback[0] != '\0')
            buf_printf(out, " | `%s` | ", o->fallback);
        else
            buf_append_str(out, " | – | ");
        buf_printf(
            out, "%s | %s |\n", (o->flags & OPTION_RELOADABLE) != 0 ? "reload" : "", o->help);
    }
}

void
config_print_example(struct buf *out)
{
    buf_append_str(out,
        "# Configuration of mailshotd. Every option stands here with its default, commented out.\n"
        "# `mailshotd config --docs` explains them; `mailshotd check` tries this file.\n");
    for (size_t i = 0; i < config_n_options; i++) {
        const struct config_option *o = &config_options[i];

        if ((o->flags & OPTION_TEST_ONLY) == 0)
            buf_printf(out, "\n# %s\n#%s =%s%s\n", o->help, o->name,
                o->fallback[0] != '\0' ? " " : "", o->fallback);
    }
}
