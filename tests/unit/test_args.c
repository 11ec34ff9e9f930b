/*
 * The command line: what belongs to the command, what to the configuration, and what is refused.
 */
#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "mailshot/exit.h"
#include "support/suite.h"

static int
parse(struct cli *c, size_t n, char **argv)
{
    memset(c, 0, sizeof(*c));
    return args_parse(c, (int)n, argv);
}

#define PARSE(c, ...)                                                                              \
    parse(c, sizeof((char *[]){"mailshotd", __VA_ARGS__}) / sizeof(char *),                        \
        (char *[]){"mailshotd", __VA_ARGS__})

START_TEST(test_options_and_flags_mix)
{
    struct cli c;

    ck_assert_int_eq(PARSE(&c, "--listen-port", "0", "db", "query", "--limit=5", "contacts",
                         "--dataDir=/x", "{}", "--log-pii", "--config", "f.conf"),
        EXIT_OK);
    ck_assert_str_eq(cli_command_get(&c)->name, "db");
    ck_assert_uint_eq(cli_n_words(&c), 3);
    ck_assert_str_eq(cli_word(&c, 1), "contacts");
    ck_assert_str_eq(cli_word(&c, 2), "{}");
    ck_assert_ptr_null(cli_word(&c, 3));
    ck_assert_str_eq(cli_value(&c, "limit"), "5");
    ck_assert(!cli_has(&c, "json"));
    ck_assert_uint_eq(c.sources.n_flags, 3);
    ck_assert_str_eq(c.options[0].name, "listenPort");
    ck_assert_str_eq(c.options[1].value, "/x");
    ck_assert_str_eq(c.options[2].name, "logPii");
    ck_assert_ptr_null(c.options[2].value);
    ck_assert_str_eq(c.sources.file, "f.conf");
}
END_TEST

START_TEST(test_refusals)
{
    struct cli c;

    ck_assert_int_eq(parse(&c, 1, (char *[]){"mailshotd"}), EXIT_USAGE);
    ck_assert_int_eq(PARSE(&c, "sevre"), EXIT_USAGE);
    ck_assert_int_eq(PARSE(&c, "serve", "now"), EXIT_USAGE);
    ck_assert_int_eq(PARSE(&c, "serve", "--lisenPort=1"), EXIT_USAGE);
    ck_assert_int_eq(PARSE(&c, "serve", "--listenPort"), EXIT_USAGE);
    ck_assert_int_eq(PARSE(&c, "serve", "-x"), EXIT_USAGE);
    ck_assert_int_eq(PARSE(&c, "config", "--json=1"), EXIT_USAGE);
    ck_assert_int_eq(PARSE(&c, "db"), EXIT_USAGE);
    ck_assert_int_eq(PARSE(&c, "db", "query", "--limit"), EXIT_USAGE);
    ck_assert_int_eq(PARSE(&c, "version", "--limit", "3"), EXIT_USAGE);
}
END_TEST

START_TEST(test_numbers_have_bounds)
{
    struct cli c;
    int64_t n = 7;

    ck_assert_int_eq(PARSE(&c, "db", "query", "x"), EXIT_OK);
    ck_assert_int_eq(cli_number(&c, "limit", 1, 10, &n), EXIT_OK);
    ck_assert_int_eq(n, 7);
    ck_assert_int_eq(PARSE(&c, "db", "query", "x", "--limit", "3", "--limit", "10"), EXIT_OK);
    ck_assert_int_eq(cli_number(&c, "limit", 1, 10, &n), EXIT_OK);
    ck_assert_int_eq(n, 10);
    ck_assert_int_eq(cli_number(&c, "limit", 1, 9, &n), EXIT_USAGE);
    ck_assert_int_eq(PARSE(&c, "db", "query", "x", "--limit", "ten"), EXIT_OK);
    ck_assert_int_eq(cli_number(&c, "limit", 1, 10, &n), EXIT_USAGE);
}
END_TEST

START_TEST(test_dashes_can_be_words)
{
    struct cli c;

    ck_assert_int_eq(PARSE(&c, "keys", "import", "-"), EXIT_OK);
    ck_assert_str_eq(cli_word(&c, 1), "-");
    ck_assert_int_eq(PARSE(&c, "api", "GET", "--", "--odd"), EXIT_OK);
    ck_assert_str_eq(cli_word(&c, 1), "--odd");
}
END_TEST

START_TEST(test_every_command_explains_itself)
{
    struct buf out = BUF_INIT;

    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        const struct cli_command *k = cli_commands[i];

        ck_assert_ptr_nonnull(k->run);
        ck_assert_msg(k->summary[0] != '\0' && k->usage != NULL, "%s", k->name);
        ck_assert_uint_le(k->min_words, k->max_words);
        buf_clear(&out);
        args_print_usage(k, &out);
        ck_assert_ptr_nonnull(strstr(buf_cstr(&out), k->name));
    }
    buf_clear(&out);
    args_print_usage(NULL, &out);
    ck_assert_ptr_nonnull(strstr(buf_cstr(&out), "serve"));
    buf_deinit(&out);
}
END_TEST

START_TEST(test_targets_are_escaped)
{
    struct buf target = BUF_INIT;

    cli_escape(&target, "a b/?&=é~");
    ck_assert_str_eq(buf_cstr(&target), "a%20b%2F%3F%26%3D%C3%A9~");
    buf_deinit(&target);
}
END_TEST

SUITE_MAIN("args", test_options_and_flags_mix, test_refusals, test_numbers_have_bounds,
    test_dashes_can_be_words, test_every_command_explains_itself, test_targets_are_escaped)
