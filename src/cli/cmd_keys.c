/* mailshotd keys: the secrets of an installation, for a copy in a safe place. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "daemon/config.h"
#include "daemon/datadir.h"
#include "daemon/folder_keys.h"
#include "daemon/installation.h"
#include "mailshot/exit.h"

#define LINE_LIMIT 1024

static int
export_keys(struct cli *c)
{
    struct buf line = BUF_INIT;
    struct err err = {0};
    int rc = EXIT_OK;

    if (folder_keys_export(cli_config(c)->data_dir, &line, &err) != 0)
        rc = cli_fail(&err);
    else if (fwrite(line.p, 1, line.n, stdout) != line.n)
        rc = EXIT_FAILED;
    mem_wipe(line.p, line.n);
    buf_deinit(&line);
    return rc;
}

static int
read_stdin(struct buf *line, struct err *err)
{
    size_t n = fread(buf_reserve(line, LINE_LIMIT + 1), 1, LINE_LIMIT + 1, stdin);

    line->n += n;
    if (n > LINE_LIMIT)
        return err_set(err, ERR_LIMIT, "the input is longer than a line of keys");
    return 0;
}

static int
store_line(struct cli *c, struct slice line, struct err *err)
{
    struct datadir *d = NULL;
    int rc;

    if (datadir_open(cli_config(c)->data_dir, true, &d, err) != 0)
        return -1;
    if (datadir_has_database(d->path))
        rc = err_sub(err, ERR_CONFLICT, "keys_exist",
            "%s has a database already; its keys cannot be exchanged", d->path);
    else
        rc = folder_keys_import(d, line, err);
    datadir_close(&d);
    return rc;
}

static int
import_keys(struct cli *c)
{
    const char *file = cli_word(c, 1);
    struct buf line = BUF_INIT;
    struct err err = {0};
    int rc;

    if (file == NULL || strcmp(file, "-") == 0)
        rc = read_stdin(&line, &err);
    else
        rc = file_read(file, LINE_LIMIT, &line, &err);
    if (rc == 0)
        rc = store_line(c, buf_slice(&line), &err);
    mem_wipe(line.p, line.n);
    buf_deinit(&line);
    if (rc != 0)
        return cli_fail(&err);
    printf("keys stored in %s/keys\n", cli_config(c)->data_dir);
    return EXIT_OK;
}

static int
run(struct cli *c)
{
    if (strcmp(cli_word(c, 0), "export") == 0 && cli_n_words(c) == 1)
        return export_keys(c);
    if (strcmp(cli_word(c, 0), "import") == 0)
        return import_keys(c);
    return cli_usage(c, "export or import?");
}

const struct cli_command cli_cmd_keys = {
    .name = "keys",
    .summary = "Print the keys of this installation as one line, or give a new folder the keys of "
               "another one. Whoever reads that line can forge links and open passwords.",
    .usage = "export > FILE\nimport [FILE]",
    .min_words = 1,
    .max_words = 2,
    .run = run,
};
