/* Growing bytes. */
#include <limits.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

#include "../support/suite.h"

START_TEST(appends_grow_and_keep_content)
{
    struct buf b = BUF_INIT;

    for (int i = 0; i < 100000; i++)
        buf_append_char(&b, (char)('a' + i % 26));
    ck_assert_uint_eq(b.n, 100000);
    ck_assert(b.cap >= b.n && b.cap < 300000);
    for (int i = 0; i < 100000; i++)
        if (b.p[i] != 'a' + i % 26)
            ck_abort_msg("byte %d", i);
    buf_append(&b, NULL, 0);
    buf_append_slice(&b, SLICE_NONE);
    ck_assert_uint_eq(b.n, 100000);
    buf_deinit(&b);
    ck_assert_ptr_null(b.p);
}
END_TEST

START_TEST(numbers_are_written_in_full)
{
    struct buf b = BUF_INIT;

    buf_append_u64(&b, 0);
    buf_append_char(&b, ' ');
    buf_append_u64(&b, UINT64_MAX);
    buf_append_char(&b, ' ');
    buf_append_i64(&b, INT64_MIN);
    buf_append_char(&b, ' ');
    buf_append_i64(&b, -1);
    ck_assert_str_eq(buf_cstr(&b), "0 18446744073709551615 -9223372036854775808 -1");
    buf_deinit(&b);
}
END_TEST

START_TEST(printf_grows_when_the_text_is_longer)
{
    char text[5000];
    struct buf b = BUF_INIT;

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (int i = 0; i < 200; i++)
        buf_printf(&b, "%.*s", i, text);
    ck_assert_uint_eq(b.n, 199 * 200 / 2);
    buf_printf(&b, "%s|%d", text, 42);
    ck_assert(slice_ends(buf_slice(&b), SLICE_LIT("xx|42")));
    ck_assert_uint_eq(b.n, 199 * 200 / 2 + 4999 + 3);
    buf_deinit(&b);
}
END_TEST

START_TEST(consume_moves_the_rest_down)
{
    struct buf b = BUF_INIT;

    buf_append_str(&b, "abcdef");
    buf_consume(&b, 0);
    buf_consume(&b, 2);
    ck_assert_str_eq(buf_cstr(&b), "cdef");
    buf_consume(&b, 4);
    ck_assert_str_eq(buf_cstr(&b), "");
    buf_deinit(&b);
}
END_TEST

START_TEST(take_gives_the_memory_away)
{
    struct buf b = BUF_INIT;
    size_t n;
    char *p;

    buf_append_str(&b, "abc");
    p = buf_take(&b, &n);
    ck_assert_uint_eq(n, 3);
    ck_assert_int_eq(memcmp(p, "abc", 3), 0);
    ck_assert_ptr_null(b.p);
    ck_assert_ptr_null(buf_take(&b, NULL));
    mem_free(p);
}
END_TEST

START_TEST(reserve_gives_room_without_content)
{
    struct buf b = BUF_INIT;

    ck_assert_ptr_nonnull(buf_reserve(&b, 0));
    memset(buf_reserve(&b, 1000), 'z', 1000);
    ck_assert_uint_eq(b.n, 0);
    b.n += 1000;
    buf_clear(&b);
    ck_assert_uint_ge(b.cap, 1000);
    buf_deinit(&b);
}
END_TEST

SUITE_MAIN("buf", appends_grow_and_keep_content, numbers_are_written_in_full,
    printf_grows_when_the_text_is_longer, consume_moves_the_rest_down, take_gives_the_memory_away,
    reserve_gives_room_without_content)
