/* Log lines: form, context, cleaning, cutting, levels, shortened addresses. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"

#include "../support/suite.h"

static char last_line[4096];
static unsigned n_lines;

static void
keep_line(enum log_level level, const char *line, void *arg)
{
    snprintf(last_line, sizeof last_line, "%s", line);
    n_lines++;
}

static void
begin(void)
{
    clock_set_fake(1750000000123);
    log_set_sink(keep_line, NULL);
    log_set_level(LOG_INFO);
    log_set_pii(false);
    n_lines = 0;
}

static void
end(void)
{
    log_set_sink(NULL, NULL);
    clock_set_fake(0);
}

START_TEST(a_line_has_time_level_event_context_and_pairs)
{
    struct log_ctx ctx = {.request = "r1", .broadcast = 1, .send = 31, .profile = "main"};

    begin();
    log_info(&ctx, "smtp.reply", "code=%d", 250);
    ck_assert_str_eq(last_line, "2025-06-15T15:06:40.123Z info smtp.reply request=r1 "
                                "broadcast=0000000000001 send=000000000000Z profile=main code=250");
    log_error(NULL, "disk.full", "%s", "");
    ck_assert_int_eq(strncmp(last_line, "2025-06-15T15:06:40.123Z error disk.full", 40), 0);
    end();
}
END_TEST

START_TEST(levels_above_the_set_one_are_silent)
{
    begin();
    log_debug(NULL, "x.y", "a=1");
    ck_assert_uint_eq(n_lines, 0);
    log_set_level(LOG_DEBUG);
    log_debug(NULL, "x.y", "a=1");
    ck_assert_uint_eq(n_lines, 1);
    log_set_level(LOG_ERROR);
    log_warn(NULL, "x.y", "a=1");
    ck_assert_uint_eq(n_lines, 1);
    end();
}
END_TEST

START_TEST(nothing_from_outside_breaks_the_line)
{
    begin();
    log_info(NULL, "t", "v=%s", "a\r\nb\x1b[2J\x7f\xc2\x85\xe2\x80\xa8z\xff\xc3");
    ck_assert_str_eq(last_line + 30, "t v=a??b?[2J???z??");
    log_info(NULL, "t", "v=%s", "Grüße \xef\xbf\xbd");
    ck_assert_str_eq(last_line + 30, "t v=Grüße \xef\xbf\xbd");
    end();
}
END_TEST

START_TEST(a_long_line_is_cut)
{
    char text[5000];

    begin();
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    log_info(NULL, "t", "v=%s", text);
    ck_assert_uint_gt(strlen(last_line), 2000);
    ck_assert_uint_lt(strlen(last_line), 2048);
    end();
}
END_TEST

START_TEST(addresses_are_shortened)
{
    begin();
    ck_assert_str_eq(log_addr("anna@example.com"), "a…@example.com");
    ck_assert_str_eq(log_addr("\xc3\xa9ric@example.com"), "\xc3\xa9…@example.com");
    ck_assert_str_eq(log_addr("\"a@b\"@example.com"), "\"…@example.com");
    ck_assert_str_eq(log_addr("@example.com"), "…@example.com");
    ck_assert_str_eq(log_addr("not-an-address"), "…");
    ck_assert_str_eq(log_addr(NULL), "…");
    log_set_pii(true);
    ck_assert_str_eq(log_addr("anna@example.com"), "anna@example.com");
    log_set_pii(false);
    end();
}
END_TEST

START_TEST(stderr_gets_whole_lines)
{
    const char *path = suite_path("stderr");
    int saved = dup(STDERR_FILENO);
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    struct buf b = BUF_INIT;

    log_set_level(LOG_INFO);
    dup2(fd, STDERR_FILENO);
    log_info(NULL, "one", "a=1");
    log_info(NULL, "two", "b=2");
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(fd);
    ck_assert_int_eq(file_read(path, 4096, &b, NULL), 0);
    ck_assert(slice_find(buf_slice(&b), SLICE_LIT(" info one a=1\n")) > 0);
    ck_assert(slice_ends(buf_slice(&b), SLICE_LIT(" info two b=2\n")));
    buf_deinit(&b);
}
END_TEST

SUITE_MAIN("log", a_line_has_time_level_event_context_and_pairs,
    levels_above_the_set_one_are_silent, nothing_from_outside_breaks_the_line, a_long_line_is_cut,
    addresses_are_shortened, stderr_gets_whole_lines)
