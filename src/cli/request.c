/*
 * Calls of sub-commands (declared in cli.h): one client per run of the program, errors said in the way
 * a person at a terminal needs them.
 */
#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "cli/client.h"
#include "daemon/installation.h"
#include "mailshot/exit.h"

int
cli_fail(const struct err *err)
{
    fprintf(stderr, "mailshotd: %s\n", err->text);
    if (strcmp(err->sub, "no_store") == 0 || strcmp(err->sub, "no_folder") == 0)
        fprintf(stderr, "\"mailshotd serve\" or \"mailshotd migrate\" makes it.\n");
    return err->code == ERR_TEMP && err->sub[0] == '\0' ? EXIT_FAILED : installation_exit_code(err);
}

int
cli_call(struct cli *c, const char *method, const char *target, struct slice body,
    unsigned *status_r, struct buf *out)
{
    struct err err = {0};

    if (c->client == NULL)
        c->client = client_create(c->config);
    if (client_call(c->client, method, target, body, NULL, status_r, out, &err) != 0)
        return cli_fail(&err);
    return EXIT_OK;
}

/* {"error": word, "message": text, ...}: the message, the word, and what else there is to know. */
static int
say_refusal(unsigned status, const struct json *answer, struct slice raw)
{
    struct slice word = json_str(json_get(answer, "error"));
    struct slice message = json_str(json_get(answer, "message"));

    if (message.n == 0)
        fprintf(stderr, "mailshotd: status %u: %.*s\n", status, SLICE_FMT(raw));
    else
        fprintf(stderr, "mailshotd: %.*s (%.*s)\n", SLICE_FMT(message), SLICE_FMT(word));
    return EXIT_FAILED;
}

int
cli_request(struct cli *c, const char *method, const char *target, struct slice body,
    struct json **answer_r)
{
    struct buf out = BUF_INIT;
    struct json *answer = NULL;
    struct err err = {0};
    unsigned status = 0;
    int rc = cli_call(c, method, target, body, &status, &out);

    if (rc == EXIT_OK && out.n > 0 &&
        (answer = json_parse(buf_slice(&out), 0, 1000000, &err)) == NULL && status < 400)
        rc = cli_fail(&err);
    if (rc == EXIT_OK && status >= 400)
        rc = say_refusal(status, answer, buf_slice(&out));
    if (rc == EXIT_OK && answer_r != NULL)
        *answer_r = answer;
    else
        json_free(&answer);
    buf_deinit(&out);
    return rc;
}

void
cli_escape(struct buf *target, const char *word)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

    for (; *word != '\0'; word++) {
        if (strchr(plain, *word) != NULL)
            buf_append_char(target, *word);
        else
            buf_printf(target, "%%%02X", (unsigned char)*word);
    }
}

/* ---- printing -------------------------------------------------------------------------------- */

static void
print_scalar(const struct json *j)
{
    struct buf text = BUF_INIT;
    struct json_writer w;

    jw_init(&w, &text);
    jw_json(&w, NULL, j);
    fwrite(text.p, 1, text.n, stdout);
    buf_deinit(&text);
}

static void
print_name(const struct json *member)
{
    struct buf text = BUF_INIT;
    struct json_writer w;

    jw_init(&w, &text);
    jw_str(&w, NULL, json_name(member));
    printf("%.*s: ", SLICE_FMT(buf_slice(&text)));
    buf_deinit(&text);
}

static void
print_value(const struct json *j, int indent)
{
    bool is_object = json_type(j) == JSON_OBJECT;
    const struct json *m = json_first(j);

    if ((!is_object && json_type(j) != JSON_ARRAY) || m == NULL) {
        print_scalar(j);
        return;
    }
    puts(is_object ? "{" : "[");
    for (; m != NULL; m = json_next(m)) {
        printf("%*s", indent + 2, "");
        if (is_object)
            print_name(m);
        print_value(m, indent + 2);
        puts(json_next(m) != NULL ? "," : "");
    }
    printf("%*s%s", indent, "", is_object ? "}" : "]");
}

void
cli_print_json(const struct json *j)
{
    print_value(j, 0);
    putchar('\n');
}
