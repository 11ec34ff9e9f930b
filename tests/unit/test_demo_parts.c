/*
 * The parts of the demo: its people, its folder, where it may send.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/utf8.h"
#include "cli/demo.h"
#include "daemon/config.h"
#include "message/address.h"
#include "support/suite.h"

/* ---- people ---------------------------------------------------------------------------------- */

#define COLUMNS 10

/* The fields of a line; nothing in it needs quotes. */
static void
split(struct slice line, struct slice out[COLUMNS])
{
    size_t n = 0;
    struct slice field;

    ck_assert(slice_ends(line, SLICE_LIT("\r\n")));
    line = slice_trim(line);
    while (slice_cut(&line, ',', &field)) {
        ck_assert_uint_lt(n, COLUMNS);
        ck_assert_int_lt(slice_find_char(field, '"'), 0);
        out[n++] = field;
    }
    ck_assert_uint_eq(n, COLUMNS);
}

static bool
is_reserved(struct slice email)
{
    return slice_ends(email, SLICE_LIT(".example.com")) ||
           slice_ends(email, SLICE_LIT(".example.org")) ||
           slice_ends(email, SLICE_LIT(".example.net"));
}

START_TEST(test_people_are_valid)
{
    size_t n_gone = 0, n_foreign = 0;

    for (int64_t i = 0; i < 3000; i++) {
        struct slice f[COLUMNS];
        struct address parsed;
        struct err err = {0};
        struct buf row = BUF_INIT;

        demo_people_row(i, &row);
        split(buf_slice(&row), f);
        ck_assert(utf8_valid(buf_slice(&row)));
        ck_assert_msg(address_parse(f[1], &parsed, &err) == 0, "%.*s", SLICE_FMT(f[1]));
        ck_assert_msg(is_reserved(f[1]), "%.*s", SLICE_FMT(f[1]));
        n_gone += f[COLUMNS - 1].n > 0;
        n_foreign += !utf8_is_ascii(f[2]);
        buf_deinit(&row);
    }
    ck_assert_uint_eq(n_gone, 60 + 15);
    ck_assert_uint_gt(n_foreign, 2000);
}
END_TEST

START_TEST(test_people_are_repeatable_and_distinct)
{
    struct buf a = BUF_INIT, b = BUF_INIT, next = BUF_INIT;

    for (int64_t i = 0; i < 9999999; i += 76543) {
        buf_clear(&a);
        buf_clear(&b);
        buf_clear(&next);
        demo_people_row(i, &a);
        demo_people_row(i + 1, &next);
        demo_people_row(i, &b);
        ck_assert(slice_eq(buf_slice(&a), buf_slice(&b)));
        ck_assert(!slice_eq(buf_slice(&a), buf_slice(&next)));
    }
    buf_deinit(&a);
    buf_deinit(&b);
    buf_deinit(&next);
}
END_TEST

START_TEST(test_some_share_an_address)
{
    struct slice mine[COLUMNS], theirs[COLUMNS];
    struct buf a = BUF_INIT, b = BUF_INIT;

    demo_people_row(60, &a);
    demo_people_row(59, &b);
    split(buf_slice(&a), mine);
    split(buf_slice(&b), theirs);
    ck_assert(slice_eq(mine[1], theirs[1]));
    ck_assert(!slice_eq(mine[0], theirs[0]));
    ck_assert_uint_eq(theirs[COLUMNS - 1].n, 0);
    buf_deinit(&a);
    buf_deinit(&b);
}
END_TEST

START_TEST(test_people_file)
{
    const char *path = suite_path("people.csv");
    struct slice fields[COLUMNS], rest, line;
    struct buf text = BUF_INIT, row = BUF_INIT;
    struct err err = {0};
    size_t n = 0;

    ck_assert_int_eq(demo_people_write(path, 20000, &err), 0);
    ck_assert_int_eq(file_read(path, 64u << 20, &text, &err), 0);
    rest = buf_slice(&text);
    while (slice_cut(&rest, '\n', &line) && line.n > 0)
        n++;
    ck_assert_uint_eq(n, 20001);
    demo_people_header(&row);
    split(buf_slice(&row), fields);
    ck_assert(slice_starts(buf_slice(&text), buf_slice(&row)));
    buf_clear(&row);
    demo_people_row(19999, &row);
    ck_assert(slice_ends(buf_slice(&text), buf_slice(&row)));
    buf_deinit(&text);
    buf_deinit(&row);
    ck_assert_int_eq(demo_people_write("/nonexistent/people.csv", 1, &err), -1);
}
END_TEST

/* ---- where it may send ----------------------------------------------------------------------- */

static const struct {
    const char *text, *host; /* NULL = refused */
    unsigned port;
} targets[] = {
    {"127.0.0.1:2525", "127.0.0.1", 2525},
    {"localhost:25", "localhost", 25},
    {"[::1]:65535", "::1", 65535},
    {"::1:25", "::1", 25},
    {"127.0.0.1", NULL, 0},
    {"127.0.0.1:", NULL, 0},
    {"127.0.0.1:0", NULL, 0},
    {"127.0.0.1:65536", NULL, 0},
    {"127.0.0.1:-1", NULL, 0},
    {"127.0.0.1:25x", NULL, 0},
    {":25", NULL, 0},
    {"", NULL, 0},
    {"[]:25", NULL, 0},
    {"127.example.com:25", NULL, 0},
    {"localhost.example.com:25", NULL, 0},
    {"mail.example.com:25", NULL, 0},
    {"10.0.0.1:25", NULL, 0},
};

START_TEST(test_smtp_targets)
{
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        struct buf host = BUF_INIT;
        struct err err = {0};
        unsigned port = 0;
        int rc = demo_setup_parse_smtp(targets[i].text, &host, &port, &err);

        ck_assert_msg((rc == 0) == (targets[i].host != NULL), "%s", targets[i].text);
        if (rc == 0) {
            ck_assert_str_eq(buf_cstr(&host), targets[i].host);
            ck_assert_uint_eq(port, targets[i].port);
        } else {
            ck_assert_int_eq(err.code, ERR_INVALID);
        }
        buf_deinit(&host);
    }
}
END_TEST

/* ---- the folder ------------------------------------------------------------------------------ */

/* Somebody else listens there. */
static int
occupy(unsigned port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    ck_assert_int_eq(listen(fd, 1), 0);
    return fd;
}

static unsigned
configured_port(const struct demo_folder *f)
{
    struct config_sources src = {.file = f->config};
    struct err err = {0};
    struct config *c = config_load(&src, &err);
    unsigned port;

    ck_assert_msg(c != NULL, "%s", err.text);
    port = (unsigned)c->listen_port;
    ck_assert_str_eq(c->data_dir, f->data);
    config_free(&c);
    return port;
}

START_TEST(test_folder_keeps_its_port)
{
    const char *path = suite_path("keeps/its/port");
    struct demo_folder f;
    struct err err = {0};
    struct stat st;
    unsigned port;
    int fd;

    ck_assert_msg(demo_folder_open(path, &f, &err) == 0, "%s", err.text);
    port = f.port;
    ck_assert_uint_eq(configured_port(&f), port);
    ck_assert_int_eq(stat(f.config, &st), 0);
    ck_assert_uint_eq(st.st_mode & 077, 0);
    demo_folder_deinit(&f);

    ck_assert_int_eq(demo_folder_open(path, &f, &err), 0);
    ck_assert_uint_eq(f.port, port);
    demo_folder_deinit(&f);

    fd = occupy(port);
    ck_assert_int_eq(demo_folder_open(path, &f, &err), 0);
    ck_assert_uint_ne(f.port, port);
    ck_assert_uint_eq(configured_port(&f), f.port);
    demo_folder_deinit(&f);
    close(fd);
}
END_TEST

START_TEST(test_foreign_folder_is_refused)
{
    const char *path = suite_path("foreign");
    struct demo_folder f;
    struct err err = {0};

    ck_assert_int_eq(file_mkdirs(path, 0700, &err), 0);
    ck_assert_int_eq(file_write(suite_path("foreign/notes"), SLICE_LIT("mine"), 0600, &err), 0);
    ck_assert_int_eq(demo_folder_open(path, &f, &err), -1);
    ck_assert_int_eq(err.code, ERR_REFUSED);
    demo_folder_deinit(&f);
    ck_assert(!file_exists(suite_path("foreign/mailshotd.conf")));
    ck_assert(file_exists(suite_path("foreign/notes")));
}
END_TEST

START_TEST(test_broken_configuration_is_rewritten)
{
    const char *path = suite_path("broken");
    struct demo_folder f;
    struct err err = {0};

    ck_assert_int_eq(demo_folder_open(path, &f, &err), 0);
    ck_assert_int_eq(file_write(f.config, SLICE_LIT("listenPort = often\n"), 0600, &err), 0);
    demo_folder_deinit(&f);
    ck_assert_int_eq(demo_folder_open(path, &f, &err), 0);
    ck_assert_uint_eq(configured_port(&f), f.port);
    demo_folder_deinit(&f);
}
END_TEST

START_TEST(test_count_mails)
{
    struct err err = {0};
    int64_t n = -1;

    ck_assert_int_eq(demo_folder_count_mails(suite_path("no-such-folder"), &n, &err), 0);
    ck_assert_int_eq(n, 0);
    ck_assert_int_eq(file_mkdirs(suite_path("mails"), 0700, &err), 0);
    ck_assert_int_eq(file_write(suite_path("mails/a.eml"), SLICE_LIT("a"), 0600, &err), 0);
    ck_assert_int_eq(file_write(suite_path("mails/b.eml"), SLICE_LIT("b"), 0600, &err), 0);
    ck_assert_int_eq(file_write(suite_path("mails/c.txt"), SLICE_LIT("c"), 0600, &err), 0);
    ck_assert_int_eq(demo_folder_count_mails(suite_path("mails"), &n, &err), 0);
    ck_assert_int_eq(n, 2);
    ck_assert_int_eq(demo_folder_count_mails(suite_path("mails/a.eml"), &n, &err), -1);
}
END_TEST

SUITE_MAIN("demo_parts", test_people_are_valid, test_people_are_repeatable_and_distinct,
    test_some_share_an_address, test_people_file, test_smtp_targets, test_folder_keeps_its_port,
    test_foreign_folder_is_refused, test_broken_configuration_is_rewritten, test_count_mails)
