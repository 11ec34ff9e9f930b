#ifndef SUPPORT_SUITE_H
#define SUPPORT_SUITE_H

#include <check.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/**
 * The main() of a Check program: one suite with one case that holds the tests given, run in this
 * process (no fork, so that sanitizers see everything). The exit status is 0 when all pass.
 */
#define SUITE_MAIN(name, ...)                                                                      \
    int main(void)                                                                                 \
    {                                                                                              \
        const TTest *const tests[] = {__VA_ARGS__};                                                \
                                                                                                   \
        return suite_run(name, tests, sizeof tests / sizeof tests[0]);                             \
    }

static inline int
suite_run(const char *name, const TTest *const *tests, size_t n)
{
    Suite *suite = suite_create(name);
    TCase *tc = tcase_create(name);
    SRunner *runner;
    int failed;

    tcase_set_timeout(tc, 0);
    for (size_t i = 0; i < n; i++)
        tcase_add_test(tc, tests[i]);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/** A path in the scratch folder of the test, in one of four static buffers. */
static inline const char *
suite_path(const char *name)
{
    static char ring[4][512];
    static unsigned turn;
    const char *folder = getenv("MAILSHOT_TEST_DIR");
    char *out = ring[turn++ % 4];

    snprintf(out, sizeof ring[0], "%s/%s", folder != NULL ? folder : "/tmp", name);
    return out;
}

#endif
