/*
 * Bodies of requests that people keep in files (declared in cli.h).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cli.h"
#include "mailshot/exit.h"

#define BODY_BYTES (16u << 20)

static int
read_stdin(struct buf *out, struct err *err)
{
    ssize_t n;

    do {
        n = read(STDIN_FILENO, buf_reserve(out, 65536), 65536);
        if (n > 0)
            out->n += (size_t)n;
        if (out->n > BODY_BYTES)
            return err_set(err, ERR_LIMIT, "standard input: more than %u bytes", BODY_BYTES);
    } while (n > 0 || (n < 0 && errno == EINTR));
    return n == 0 ? 0 : err_errno(err, errno, "standard input");
}

int
cli_read_json(const char *path, struct buf *out)
{
    bool is_stdin = strcmp(path, "-") == 0;
    struct err err = {0};
    struct json *j = NULL;
    int rc = is_stdin ? read_stdin(out, &err) : file_read(path, BODY_BYTES, out, &err);

    if (rc == 0 && (j = json_parse(buf_slice(out), 0, 0, &err)) == NULL) {
        err_prefix(&err, "%s", is_stdin ? "standard input" : path);
        rc = -1;
    }
    if (rc != 0) {
        fprintf(stderr, "mailshotd: %s\n", err.text);
        return EXIT_FAILED;
    }
    json_free(&j);
    return EXIT_OK;
}
