/* Filling, extending and cutting errors. */
#include <errno.h>
#include <string.h>

#include "base/err.h"

#include "../support/suite.h"

START_TEST(each_form_fills_its_members)
{
    struct err e = {0};

    ck_assert_int_eq(err_set(&e, ERR_TEMP, "peer %d away", 7), -1);
    ck_assert_int_eq(e.code, ERR_TEMP);
    ck_assert_str_eq(e.text, "peer 7 away");
    ck_assert_str_eq(e.sub, "");
    ck_assert_int_eq(err_sub(&e, ERR_CONFLICT, "not_draft", "it is %s", "sent"), -1);
    ck_assert_str_eq(e.sub, "not_draft");
    ck_assert_str_eq(e.text, "it is sent");
    ck_assert_int_eq(err_field(&e, "cap", "must be positive"), -1);
    ck_assert_int_eq(e.code, ERR_INVALID);
    ck_assert_str_eq(e.sub, "validation_failed");
    ck_assert_str_eq(e.field, "cap");
    ck_assert_int_eq(err_set(&e, ERR_PERM, "x"), -1);
    ck_assert_str_eq(e.field, "");
    err_clear(&e);
    ck_assert_int_eq(e.code, ERR_NONE);
    ck_assert_str_eq(e.text, "");
}
END_TEST

START_TEST(errno_gives_the_class)
{
    static const struct {
        int errnum;
        enum err_code code;
    } rows[] = {{ENOSPC, ERR_TEMP}, {EDQUOT, ERR_TEMP}, {EAGAIN, ERR_TEMP}, {EMFILE, ERR_TEMP},
        {ENOMEM, ERR_TEMP}, {EACCES, ERR_PERM}, {EPERM, ERR_PERM}, {ENOENT, ERR_NOTFOUND},
        {EIO, ERR_INTERNAL}};
    struct err e;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_assert_int_eq(err_errno(&e, rows[i].errnum, "open %s", "f"), -1);
        ck_assert_int_eq(e.code, rows[i].code);
        ck_assert_ptr_nonnull(strstr(e.text, strerror(rows[i].errnum)));
        ck_assert_int_eq(strncmp(e.text, "open f: ", 8), 0);
    }
}
END_TEST

START_TEST(prefix_adds_context_and_cuts)
{
    char long_text[400];
    struct err e = {0};

    err_set(&e, ERR_NOTFOUND, "no such template");
    err_prefix(&e, "broadcast %s", "spring");
    ck_assert_str_eq(e.text, "broadcast spring: no such template");
    ck_assert_int_eq(e.code, ERR_NOTFOUND);
    memset(long_text, 'p', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    err_prefix(&e, "%s", long_text);
    ck_assert_uint_eq(strlen(e.text), sizeof e.text - 1);
    err_set(&e, ERR_TEMP, "tail");
    err_prefix(&e, "%.316s", long_text);
    ck_assert_str_eq(e.text + 314, "pp: t");
    err_set(&e, ERR_TEMP, "again: %s", e.text + 314);
    ck_assert_str_eq(e.text, "again: pp: t");
}
END_TEST

START_TEST(null_is_accepted)
{
    ck_assert_int_eq(err_set(NULL, ERR_TEMP, "x"), -1);
    ck_assert_int_eq(err_sub(NULL, ERR_TEMP, "s", "x"), -1);
    ck_assert_int_eq(err_field(NULL, "f", "x"), -1);
    ck_assert_int_eq(err_errno(NULL, EIO, "x"), -1);
    err_prefix(NULL, "x");
    err_clear(NULL);
    ck_assert_str_eq(err_code_name(ERR_CONFLICT), "conflict");
    ck_assert_str_eq(err_code_name((enum err_code)99), "internal");
}
END_TEST

SUITE_MAIN("err", each_form_fills_its_members, errno_gives_the_class, prefix_adds_context_and_cuts,
    null_is_accepted)
