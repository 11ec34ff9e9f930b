/* Allocation that ends the process instead of failing; seen from a child process. */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

#include "../support/suite.h"

START_TEST(an_overflow_of_the_product_ends_the_process)
{
    char line[64] = "";
    int out[2], status;
    pid_t child;

    ck_assert_int_eq(pipe(out), 0);
    child = fork();
    if (child == 0) {
        struct rlimit no_core = {0, 0};

        setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGABRT, SIG_DFL);
        dup2(out[1], STDERR_FILENO);
        mem_array(SIZE_MAX / 2, 3);
        _exit(0);
    }
    close(out[1]);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGABRT);
    ck_assert_int_gt(read(out[0], line, sizeof line - 1), 0);
    ck_assert_ptr_nonnull(strstr(line, "out of memory"));
    close(out[0]);
}
END_TEST

START_TEST(empty_sizes_are_pointers_too)
{
    void *p = mem_alloc(0);
    char *z = mem_zalloc(16);
    char *s = mem_strdup("abc");

    ck_assert_ptr_nonnull(p);
    for (int i = 0; i < 16; i++)
        ck_assert_int_eq(z[i], 0);
    ck_assert_str_eq(s, "abc");
    p = mem_realloc(p, 100);
    mem_wipe(s, 3);
    ck_assert_str_eq(s, "");
    mem_wipe(NULL, 0);
    mem_free(p);
    mem_free(z);
    mem_free(s);
    mem_free(NULL);
}
END_TEST

SUITE_MAIN("mem", an_overflow_of_the_product_ends_the_process, empty_sizes_are_pointers_too)
