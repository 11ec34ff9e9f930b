/* mailshotd profile: where mail leaves. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "mailshot/exit.h"

#define PROFILES "/agent/profiles"

static int
put(struct cli *c)
{
    struct buf target = BUF_INIT, body = BUF_INIT;
    struct json *answer = NULL;
    int rc;

    if (cli_n_words(c) != 3)
        return cli_usage(c, "put wants a slug and a file");
    buf_append_str(&target, PROFILES "/");
    cli_escape(&target, cli_word(c, 1));
    if ((rc = cli_read_json(cli_word(c, 2), &body)) == EXIT_OK &&
        (rc = cli_request(c, "PUT", buf_cstr(&target), buf_slice(&body), &answer)) == EXIT_OK)
        printf("%s %s\n", cli_word(c, 1),
            json_bool(json_get(answer, "created"), false) ? "created" : "changed");
    json_free(&answer);
    buf_deinit(&body);
    buf_deinit(&target);
    return rc;
}

static int
show(struct cli *c)
{
    struct buf target = BUF_INIT;
    struct json *answer = NULL;
    int rc;

    if (cli_n_words(c) != 2)
        return cli_usage(c, "which profile? \"mailshotd profile list\" names them");
    buf_append_str(&target, PROFILES "/");
    cli_escape(&target, cli_word(c, 1));
    if ((rc = cli_request(c, "GET", buf_cstr(&target), SLICE_NONE, &answer)) == EXIT_OK)
        cli_print_json(answer);
    json_free(&answer);
    buf_deinit(&target);
    return rc;
}

static void
print_profile(const struct json *p)
{
    struct slice host = json_str(json_get(p, "host")), folder = json_str(json_get(p, "captureDir"));
    int64_t port = 0;

    printf("%-20.*s %-8.*s %-7.*s %s ", SLICE_FMT(json_str(json_get(p, "slug"))),
        SLICE_FMT(json_str(json_get(p, "kind"))), SLICE_FMT(json_str(json_get(p, "state"))),
        json_bool(json_get(p, "isDefault"), false) ? "default" : "       ");
    json_int(json_get(p, "port"), &port);
    if (host.n > 0)
        printf("%.*s:%" PRId64 " %.*s\n", SLICE_FMT(host), port,
            SLICE_FMT(json_str(json_get(p, "tls"))));
    else
        printf("%.*s\n", SLICE_FMT(folder));
}

static int
change(struct cli *c, const char *action)
{
    struct buf target = BUF_INIT;
    int rc;

    if (cli_n_words(c) != 2)
        return cli_usage(c, "%s which profile?", action);
    buf_append_str(&target, PROFILES "/");
    cli_escape(&target, cli_word(c, 1));
    buf_printf(&target, "/%s", action);
    if ((rc = cli_request(c, "POST", buf_cstr(&target), SLICE_LIT("{}"), NULL)) == EXIT_OK)
        printf("%s: %sd\n", cli_word(c, 1), action);
    buf_deinit(&target);
    return rc;
}

/* ---- test ------------------------------------------------------------------------------------ */

#define WAIT_QUERY "/wait?status=settled&timeoutMs=55000"

static int
order_test(struct cli *c, struct json **answer_r)
{
    struct buf target = BUF_INIT, body = BUF_INIT;
    struct json_writer w;
    int rc;

    buf_append_str(&target, PROFILES "/");
    cli_escape(&target, cli_word(c, 1));
    buf_append_str(&target, "/test");
    jw_init(&w, &body);
    jw_obj(&w, NULL);
    jw_cstr(&w, "contactId", cli_word(c, 2));
    jw_end_obj(&w);
    rc = cli_request(c, "POST", buf_cstr(&target), buf_slice(&body), answer_r);
    buf_deinit(&target);
    buf_deinit(&body);
    return rc;
}

/* Says what the far side said; 0 only when it took the mail. */
static int
print_send(const struct json *send)
{
    struct slice status = json_str(json_get(send, "status"));
    struct slice problem = json_str(json_get(send, "errorMessage"));

    printf("%.*s %.*s%s%.*s\n", SLICE_FMT(json_str(json_get(send, "id"))), SLICE_FMT(status),
        problem.n > 0 ? ": " : "", SLICE_FMT(problem));
    return slice_eq_str(status, "sent") || slice_eq_str(status, "delivered") ? EXIT_OK
                                                                             : EXIT_FAILED;
}

static int
test(struct cli *c)
{
    struct json *ordered = NULL, *answer = NULL;
    struct buf target = BUF_INIT;
    int rc;

    if (cli_n_words(c) != 3)
        return cli_usage(c, "test wants a profile and the external id of a contact");
    if ((rc = order_test(c, &ordered)) == EXIT_OK) {
        buf_printf(&target, "/agent/sends/%.*s" WAIT_QUERY,
            SLICE_FMT(json_str(json_get(ordered, "sendId"))));
        rc = cli_request(c, "GET", buf_cstr(&target), SLICE_NONE, &answer);
    }
    if (rc == EXIT_OK)
        rc = print_send(json_get(answer, "send"));
    json_free(&ordered);
    json_free(&answer);
    buf_deinit(&target);
    return rc;
}

static int
run(struct cli *c)
{
    const char *action = cli_word(c, 0);

    if (strcmp(action, "put") == 0)
        return put(c);
    if (strcmp(action, "show") == 0)
        return show(c);
    if (strcmp(action, "list") == 0 && cli_n_words(c) == 1)
        return cli_each(c, PROFILES, print_profile);
    if (strcmp(action, "test") == 0)
        return test(c);
    if (strcmp(action, "pause") == 0 || strcmp(action, "resume") == 0)
        return change(c, action);
    return cli_usage(c, "put, list, show, test, pause or resume?");
}

const struct cli_command cli_cmd_profile = {
    .name = "profile",
    .summary = "Where mail leaves: host, port, TLS, credentials and DKIM keys, as a JSON file.",
    .usage = "put SLUG FILE\nlist\nshow SLUG\ntest SLUG CONTACT\npause SLUG\nresume SLUG",
    .min_words = 1,
    .max_words = 3,
    .run = run,
};
