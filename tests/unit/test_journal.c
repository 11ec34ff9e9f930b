#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "feedback/journal.h"
#include "support/suite.h"

/* The journal as a file: what was reported as kept is met by a fold, whatever happens in between. */

static char folder[600];

static void
fresh_folder(void)
{
    char command[700];

    snprintf(folder, sizeof(folder), "%s", suite_path("journal"));
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(mkdir(folder, 0700), 0);
}

static const char *
path_of(const char *name)
{
    static char path[2][700];
    static unsigned turn;
    char *p = path[turn++ % 2];

    snprintf(p, sizeof(path[0]), "%s/%s", folder, name);
    return p;
}

struct seen {
    struct buf text;
    int fail_at; /* the call that fails, counted from 1; 0 = none */
    int calls;
};

static int
take(struct slice lines, void *arg, struct err *err)
{
    struct seen *s = arg;

    if (++s->calls == s->fail_at)
        return err_set(err, ERR_TEMP, "not now");
    buf_append_slice(&s->text, lines);
    return 0;
}

static void
append(struct journal *j, const char *line)
{
    struct err err = {0};

    ck_assert_msg(journal_append(j, slice_str(line), &err) == 0, "%s", err.text);
}

START_TEST(appends_and_folds)
{
    struct journal *j;
    struct seen s = {0};
    struct err err = {0};

    fresh_folder();
    j = journal_create(folder);
    ck_assert(journal_is_empty(j));
    ck_assert_int_eq(journal_fold(j, take, &s, &err), 0);
    ck_assert_int_eq(s.calls, 0);
    append(j, "one\n");
    append(j, "two\nthree\n");
    ck_assert(!journal_is_empty(j));
    ck_assert_int_eq(journal_fold(j, take, &s, &err), 0);
    ck_assert(slice_eq_str(buf_slice(&s.text), "one\ntwo\nthree\n"));
    ck_assert(journal_is_empty(j));
    buf_deinit(&s.text);
    journal_free(&j);
}
END_TEST

START_TEST(torn_line_spoils_no_other)
{
    struct journal *j;
    struct seen s = {0};
    struct err err = {0};

    fresh_folder();
    ck_assert_int_eq(file_write(path_of("opt-outs.log"), SLICE_LIT("whole\nto"), 0644, &err), 0);
    j = journal_create(folder);
    append(j, "next\n");
    ck_assert_int_eq(journal_fold(j, take, &s, &err), 0);
    ck_assert(slice_eq_str(buf_slice(&s.text), "whole\nto\nnext\n"));
    buf_deinit(&s.text);
    journal_free(&j);
}
END_TEST

/* A fold that stops in the middle goes on where it stopped; another process starts that file over. */
START_TEST(stopped_fold_goes_on)
{
    struct buf all = BUF_INIT;
    struct journal *j;
    struct seen s = {.fail_at = 2}, other = {0};
    struct err err = {0};

    fresh_folder();
    j = journal_create(folder);
    for (int i = 0; i < 4000; i++)
        buf_printf(&all, "line %d of a journal that does not fit into one piece\n", i);
    ck_assert_int_eq(journal_append(j, buf_slice(&all), &err), 0);
    ck_assert_int_eq(journal_fold(j, take, &s, &err), -1);
    ck_assert(!journal_is_empty(j));
    append(j, "meanwhile\n");
    buf_append_str(&all, "meanwhile\n");
    ck_assert_int_eq(journal_fold(j, take, &s, &err), 0);
    ck_assert(slice_eq(buf_slice(&s.text), buf_slice(&all)));
    ck_assert(journal_is_empty(j));
    journal_free(&j);

    ck_assert_int_eq(file_write(path_of("opt-outs.folding"), buf_slice(&all), 0600, &err), 0);
    j = journal_create(folder);
    ck_assert_int_eq(journal_fold(j, take, &other, &err), 0);
    ck_assert(slice_eq(buf_slice(&other.text), buf_slice(&all)));
    journal_free(&j);
    buf_deinit(&s.text);
    buf_deinit(&other.text);
    buf_deinit(&all);
}
END_TEST

START_TEST(foreign_files_are_refused)
{
    static const char *const names[] = {"link", "second", "folder", "pipe"};
    struct err err;

    for (size_t i = 0; i < 4; i++) {
        struct journal *j;

        fresh_folder();
        j = journal_create(folder);
        err_clear(&err);
        ck_assert_int_eq(file_write(path_of("victim"), SLICE_LIT("mine"), 0600, &err), 0);
        switch (i) {
        case 0: ck_assert_int_eq(symlink(path_of("victim"), path_of("opt-outs.log")), 0); break;
        case 1: ck_assert_int_eq(link(path_of("victim"), path_of("opt-outs.log")), 0); break;
        case 2: ck_assert_int_eq(mkdir(path_of("opt-outs.log"), 0700), 0); break;
        default: ck_assert_int_eq(mkfifo(path_of("opt-outs.log"), 0600), 0); break;
        }
        ck_assert_msg(journal_append(j, SLICE_LIT("x\n"), &err) == -1, "%s", names[i]);
        ck_assert_int_ne(err.code, ERR_NONE);
        journal_free(&j);
    }
}
END_TEST

/* Two writers and a fold that takes the file away under their hands, again and again. */
#define PER_WRITER 300

struct writer {
    struct journal *j;
    int number;
    pthread_t thread;
};

static void *
write_lines(void *arg)
{
    struct writer *w = arg;
    char line[32];

    for (int i = 0; i < PER_WRITER; i++) {
        snprintf(line, sizeof(line), "%d %d\n", w->number, i);
        if (journal_append(w->j, slice_str(line), NULL) != 0)
            return "failed";
    }
    return NULL;
}

START_TEST(nothing_is_lost_between_writers_and_a_fold)
{
    struct writer w[2];
    struct seen s = {0};
    struct err err = {0};
    bool met[2][PER_WRITER] = {{false}};
    struct slice rest, line;
    int n = 0;

    fresh_folder();
    for (int i = 0; i < 2; i++) {
        w[i] = (struct writer){.j = journal_create(folder), .number = i};
        ck_assert_int_eq(pthread_create(&w[i].thread, NULL, write_lines, &w[i]), 0);
    }
    for (int i = 0; i < 200; i++)
        ck_assert_int_eq(journal_fold(w[0].j, take, &s, &err), 0);
    for (int i = 0; i < 2; i++) {
        void *failed;

        ck_assert_int_eq(pthread_join(w[i].thread, &failed), 0);
        ck_assert_ptr_null(failed);
    }
    ck_assert_int_eq(journal_fold(w[0].j, take, &s, &err), 0);
    rest = buf_slice(&s.text);
    while (slice_cut(&rest, '\n', &line)) {
        int writer, number;
        char text[32];

        snprintf(text, sizeof(text), "%.*s", SLICE_FMT(line));
        if (sscanf(text, "%d %d", &writer, &number) == 2) {
            ck_assert(!met[writer][number]);
            met[writer][number] = true;
            n++;
        }
    }
    ck_assert_int_eq(n, 2 * PER_WRITER);
    for (int i = 0; i < 2; i++)
        journal_free(&w[i].j);
    buf_deinit(&s.text);
}
END_TEST

SUITE_MAIN("journal", appends_and_folds, torn_line_spoils_no_other, stopped_fold_goes_on,
    foreign_files_are_refused, nothing_is_lost_between_writers_and_a_fold)
