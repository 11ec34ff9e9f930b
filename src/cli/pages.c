/*
 * Lists of the API, page by page (declared in cli.h).
 */
#include <string.h>

#include "cli/cli.h"
#include "mailshot/exit.h"

static void
append_text(struct buf *target, struct slice text)
{
    struct buf word = BUF_INIT;

    buf_append_slice(&word, text);
    cli_escape(target, buf_cstr(&word));
    buf_deinit(&word);
}

int
cli_each(struct cli *c, const char *target, void (*print)(const struct json *item))
{
    struct buf page = BUF_INIT;
    struct json *answer = NULL;
    struct slice cursor = SLICE_NONE;
    int rc;

    do {
        buf_clear(&page);
        buf_append_str(&page, target);
        if (cursor.n > 0) {
            buf_append_str(&page, strchr(target, '?') != NULL ? "&cursor=" : "?cursor=");
            append_text(&page, cursor);
        }
        json_free(&answer);
        if ((rc = cli_request(c, "GET", buf_cstr(&page), SLICE_NONE, &answer)) != EXIT_OK)
            break;
        for (const struct json *i = json_first(json_get(answer, "items")); i != NULL;
             i = json_next(i))
            print(i);
        cursor = json_str(json_get(answer, "nextCursor"));
    } while (cursor.n > 0);
    json_free(&answer);
    buf_deinit(&page);
    return rc;
}
