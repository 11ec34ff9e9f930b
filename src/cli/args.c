/*
 * The command line.
 *
 *   mailshotd [--option VALUE ...] COMMAND [word | --flag | --option ...] ...
 *
 * A name after "--" is a flag of the command or else an option of the configuration, so both may be
 * mixed freely; what is neither is refused with the nearest name there is. "--" ends the flags.
 */
#include "cli/args.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "mailshot/exit.h"

#define NAME_SIZE 64

struct walk {
    int argc, at;
    char **argv;
};

static const struct cli_command *
find_command(const char *name)
{
    for (size_t i = 0; cli_commands[i] != NULL; i++)
        if (strcmp(cli_commands[i]->name, name) == 0)
            return cli_commands[i];
    return NULL;
}

static const struct cli_flag *
find_flag(const struct cli_command *command, const char *name)
{
    if (command == NULL || command->flags == NULL)
        return NULL;
    for (const struct cli_flag *f = command->flags; f->name != NULL; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

static int
refuse_name(const struct cli *c, const char *name)
{
    const char *nearest = config_option_nearest(name);

    if (nearest != NULL)
        return cli_usage(c, "there is no --%s; did you mean --%s?", name, nearest);
    return cli_usage(c, "there is no --%s", name);
}

/* The value of a flag: after "=", or the next argument. */
static int
take_value(
    struct cli *c, struct walk *w, const char *name, const char *inline_value, const char **value_r)
{
    *value_r = inline_value;
    if (inline_value != NULL)
        return EXIT_OK;
    if (w->at == w->argc)
        return cli_usage(c, "--%s needs a value", name);
    *value_r = w->argv[w->at++];
    return EXIT_OK;
}

static int
add_option(struct cli *c, struct walk *w, const char *name, const char *inline_value)
{
    int option = config_option_find(name), rc;
    const char *value = inline_value;

    if (strcmp(name, "config") == 0)
        return take_value(c, w, name, inline_value, &c->sources.file);
    if (option < 0)
        return refuse_name(c, name);
    if (!config_option_is_switch(option) &&
        (rc = take_value(c, w, name, inline_value, &value)) != EXIT_OK)
        return rc;
    c->options[c->sources.n_flags++] =
        (struct config_flag){.name = config_option_name(option), .value = value};
    return EXIT_OK;
}

static int
add_flag(struct cli *c, struct walk *w, const char *arg)
{
    const char *eq = strchr(arg, '=');
    size_t n = eq != NULL ? (size_t)(eq - arg) : strlen(arg);
    const char *inline_value = eq != NULL ? eq + 1 : NULL;
    const struct cli_flag *flag;
    const char *value = NULL;
    char name[NAME_SIZE];
    int rc;

    snprintf(name, sizeof(name), "%.*s", (int)(n < NAME_SIZE ? n : NAME_SIZE - 1), arg);
    if (strcmp(name, "help") == 0) {
        c->wants_help = true;
        return EXIT_OK;
    }
    if ((flag = find_flag(c->command, name)) == NULL)
        return add_option(c, w, name, inline_value);
    if (flag->value == NULL && inline_value != NULL)
        return cli_usage(c, "--%s takes no value", name);
    if (flag->value != NULL && (rc = take_value(c, w, name, inline_value, &value)) != EXIT_OK)
        return rc;
    c->flags[c->n_flags++] = (struct args_flag){.name = flag->name, .value = value};
    return EXIT_OK;
}

static int
add_word(struct cli *c, const char *word)
{
    if (c->command != NULL) {
        c->words[c->n_words++] = word;
        return EXIT_OK;
    }
    if ((c->command = find_command(word)) == NULL)
        return cli_usage(c, "there is no command \"%s\"", word);
    return EXIT_OK;
}

int
args_parse(struct cli *c, int argc, char **argv)
{
    struct walk w = {.argc = argc, .at = 1, .argv = argv};
    bool only_words = false;
    int rc = EXIT_OK;

    c->sources.flags = c->options;
    if (argc > ARGS_MAX)
        return cli_usage(c, "more than %d arguments", ARGS_MAX);
    while (rc == EXIT_OK && w.at < argc) {
        const char *arg = argv[w.at++];

        if (only_words || arg[0] != '-' || arg[1] == '\0')
            rc = add_word(c, arg);
        else if (strcmp(arg, "--") == 0)
            only_words = true;
        else if (strcmp(arg, "--version") == 0 && c->command == NULL)
            rc = add_word(c, "version");
        else if (strcmp(arg, "-h") == 0)
            c->wants_help = true;
        else if (arg[1] == '-')
            rc = add_flag(c, &w, arg + 2);
        else
            rc = cli_usage(c, "there is no %s", arg);
    }
    if (rc != EXIT_OK || c->wants_help)
        return rc;
    if (c->command == NULL)
        return cli_usage(c, "which command?");
    if (c->n_words < c->command->min_words)
        return cli_usage(c, "something is missing");
    if (c->n_words > c->command->max_words)
        return cli_usage(c, "\"%s\" is too much", c->words[c->command->max_words]);
    return EXIT_OK;
}

/* ---- usage ----------------------------------------------------------------------------------- */

static void
print_forms(const struct cli_command *command, struct buf *out)
{
    struct slice rest = slice_str(command->usage), form;
    const char *lead = "usage:";

    while (slice_cut(&rest, '\n', &form)) {
        buf_printf(out, "%-6s mailshotd %s%s%.*s\n", lead, command->name, form.n > 0 ? " " : "",
            SLICE_FMT(form));
        lead = "";
    }
}

void
args_print_usage(const struct cli_command *command, struct buf *out)
{
    if (command != NULL) {
        print_forms(command, out);
        buf_printf(out, "\n%s\n", command->summary);
        for (const struct cli_flag *f = command->flags; f != NULL && f->name != NULL; f++) {
            char left[48];

            snprintf(left, sizeof(left), "--%s%s%s", f->name, f->value != NULL ? " " : "",
                f->value != NULL ? f->value : "");
            buf_printf(out, "  %-24s %s\n", left, f->help);
        }
        return;
    }
    buf_append_str(out, "usage: mailshotd COMMAND [--option VALUE ...]\n\n");
    for (size_t i = 0; cli_commands[i] != NULL; i++)
        buf_printf(out, "  %-12s %.*s\n", cli_commands[i]->name,
            (int)strcspn(cli_commands[i]->summary, ".;"), cli_commands[i]->summary);
    buf_append_str(out,
        "\n\"mailshotd COMMAND --help\" says more. Every option of the configuration may be given "
        "as a\nflag; \"mailshotd config\" lists them.\n");
}

int
cli_usage(const struct cli *c, const char *fmt, ...)
{
    struct buf text = BUF_INIT;
    va_list ap;

    buf_append_str(&text, "mailshotd: ");
    va_start(ap, fmt);
    buf_vprintf(&text, fmt, ap);
    va_end(ap);
    buf_append_char(&text, '\n');
    if (c->command != NULL)
        print_forms(c->command, &text);
    else
        buf_append_str(&text, "\"mailshotd help\" lists the commands.\n");
    fwrite(text.p, 1, text.n, stderr);
    buf_deinit(&text);
    return EXIT_USAGE;
}

/* ---- what a sub-command asks ----------------------------------------------------------------- */

const struct cli_command *
cli_command_get(const struct cli *c)
{
    return c->command;
}

const struct config *
cli_config(const struct cli *c)
{
    return c->config;
}

const struct config_sources *
cli_sources(const struct cli *c)
{
    return &c->sources;
}

struct config *
cli_take_config(struct cli *c)
{
    struct config *config = c->config;

    c->config = NULL;
    return config;
}

const char *
cli_word(const struct cli *c, size_t i)
{
    return i < c->n_words ? c->words[i] : NULL;
}

size_t
cli_n_words(const struct cli *c)
{
    return c->n_words;
}

static const struct args_flag *
given(const struct cli *c, const char *flag)
{
    for (size_t i = c->n_flags; i > 0; i--)
        if (strcmp(c->flags[i - 1].name, flag) == 0)
            return &c->flags[i - 1];
    return NULL;
}

bool
cli_has(const struct cli *c, const char *flag)
{
    return given(c, flag) != NULL;
}

const char *
cli_value(const struct cli *c, const char *flag)
{
    const struct args_flag *f = given(c, flag);

    return f != NULL ? f->value : NULL;
}

int
cli_number(const struct cli *c, const char *flag, int64_t min, int64_t max, int64_t *value_r)
{
    const char *text = cli_value(c, flag);
    int64_t value;

    if (text == NULL)
        return EXIT_OK;
    if (!slice_i64(slice_str(text), &value) || value < min || value > max)
        return cli_usage(
            c, "--%s wants a number from %lld to %lld", flag, (long long)min, (long long)max);
    *value_r = value;
    return EXIT_OK;
}
