/*
 * What the demo makes: contacts through the import, a profile, a template, a broadcast. All of it goes
 * over the API of the running daemon, as it would for anybody else.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/slice.h"
#include "cli/broadcast_calls.h"
#include "cli/commands.h"
#include "cli/demo.h"
#include "mailshot/exit.h"

#define TEMPLATE_SLUG "demo-news"
#define TOKEN_BYTES   512
#define SLUGS_MAX     100000

static const char html[] =
    "<!doctype html>\n"
    "<html lang=\"{{contact.locale}}\"><body>\n"
    "<h1>Hello {{contact.fields.firstName}}</h1>\n"
    "<p>What is new in {{contact.fields.city}} this week:</p>\n"
    "<ul>\n"
    "<li><a href=\"https://www.example.com/news/spring?from=mail&amp;n=1\">The spring "
    "list</a></li>\n"
    "<li><a href=\"https://www.example.org/plans/{{contact.fields.plan}}\">Your plan:\n"
    "{{contact.fields.plan}}</a></li>\n"
    "<li><a href=\"https://www.example.net/events\">Events nearby</a></li>\n"
    "</ul>\n"
    "<p><a href=\"{{unsubscribeUrl}}\">Unsubscribe</a></p>\n"
    "</body></html>\n";

/* ---- where mail goes ------------------------------------------------------------------------- */

static bool
is_this_machine(struct slice host)
{
    return slice_ieq(host, SLICE_LIT("localhost")) || slice_eq_str(host, "127.0.0.1") ||
           slice_eq_str(host, "::1");
}

int
demo_setup_parse_smtp(const char *text, struct buf *host_r, unsigned *port_r, struct err *err)
{
    struct slice s = slice_str(text);
    ptrdiff_t colon = slice_rfind_char(s, ':');
    struct slice host = slice_make(s.p, colon < 0 ? 0 : (size_t)colon);
    int64_t port = 0;

    if (host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']')
        host = slice_make(host.p + 1, host.n - 2);
    if (colon < 0 || !slice_i64(slice_from(s, (size_t)colon + 1), &port) || port < 1 ||
        port > 65535)
        return err_set(err, ERR_INVALID, "--smtp wants HOST:PORT, such as 127.0.0.1:2525");
    if (!is_this_machine(host))
        return err_set(err, ERR_INVALID,
            "--smtp wants a mail sink on this machine (127.0.0.1, ::1 or localhost): the people "
            "are "
            "made up");
    buf_append_slice(host_r, host);
    *port_r = (unsigned)port;
    return 0;
}

int
demo_setup_profile(struct cli *c, const char *slug, const struct demo_target *t)
{
    struct buf target = BUF_INIT, body = BUF_INIT;
    struct json_writer w;
    int rc;

    jw_init(&w, &body);
    jw_obj(&w, NULL);
    jw_cstr(&w, "name", "Demo");
    jw_cstr(&w, "kind", t->capture_dir != NULL ? "capture" : "smtp");
    jw_cstr(&w, "fromName", "Mailshot Demo");
    jw_cstr(&w, "fromEmail", "news@demo.example.com");
    if (t->capture_dir != NULL) {
        jw_cstr(&w, "captureDir", t->capture_dir);
    } else {
        jw_cstr(&w, "host", t->host);
        jw_int(&w, "port", t->port);
        jw_cstr(&w, "tls", "none");
        jw_int(&w, "maxSessions", 20);
        jw_int(&w, "pacePerSecond", 1000000);
    }
    jw_end_obj(&w);
    buf_append_str(&target, "/agent/profiles/");
    cli_escape(&target, slug);
    rc = cli_request(c, "PUT", buf_cstr(&target), buf_slice(&body), NULL);
    buf_deinit(&target);
    buf_deinit(&body);
    return rc;
}

/* ---- contacts, template, broadcast ----------------------------------------------------------- */

int
demo_setup_import(struct cli *c, const struct demo_folder *f)
{
    int fd = open(f->people, O_RDONLY | O_CLOEXEC), rc;

    if (fd < 0) {
        fprintf(stderr, "mailshotd: %s: %s\n", f->people, strerror(errno));
        return EXIT_FAILED;
    }
    rc = cli_import(c, fd, "/v1/contacts/import?subscribe=true&source=demo", true);
    close(fd);
    return rc;
}

int
demo_setup_template(struct cli *c)
{
    struct buf body = BUF_INIT;
    struct json_writer w;
    int rc;

    jw_init(&w, &body);
    jw_obj(&w, NULL);
    jw_cstr(&w, "name", "Demo news");
    jw_cstr(&w, "kind", "marketing");
    jw_cstr(&w, "fromName", "Mailshot Demo");
    jw_cstr(&w, "fromEmail", "news@demo.example.com");
    jw_cstr(&w, "subject", "News for {{contact.fields.firstName}} in {{contact.fields.city}}");
    jw_cstr(&w, "preheader", "The spring list, your plan, events nearby");
    jw_obj(&w, "body");
    jw_cstr(&w, "html", html);
    jw_end_obj(&w);
    jw_end_obj(&w);
    rc = cli_request(c, "PUT", "/agent/templates/" TEMPLATE_SLUG, buf_slice(&body), NULL);
    buf_deinit(&body);
    return rc;
}

int
demo_setup_slug(struct cli *c, struct buf *slug)
{
    struct buf target = BUF_INIT, out = BUF_INIT;
    size_t before = slug->n;
    unsigned status = 200;
    int rc = EXIT_OK;

    for (int i = 1; rc == EXIT_OK && status != 404 && i < SLUGS_MAX; i++) {
        slug->n = before;
        buf_printf(slug, "demo-%d", i);
        buf_clear(&target);
        buf_clear(&out);
        broadcast_calls_target(&target, buf_cstr(slug) + before, "");
        rc = cli_call(c, "GET", buf_cstr(&target), SLICE_NONE, &status, &out);
        if (rc == EXIT_OK && status != 200 && status != 404) {
            fprintf(stderr, "mailshotd: status %u: %.*s\n", status, SLICE_FMT(buf_slice(&out)));
            rc = EXIT_FAILED;
        }
    }
    buf_deinit(&target);
    buf_deinit(&out);
    return rc;
}

int
demo_setup_broadcast(struct cli *c, const char *slug)
{
    struct broadcast_draft draft = {
        .slug = slug, .name = slug, .template_slug = TEMPLATE_SLUG, .profile = slug};

    return broadcast_calls_create(c, &draft, NULL);
}

/* ---- token ----------------------------------------------------------------------------------- */

static int
create_token(struct cli *c, struct buf *token)
{
    static const struct slice body =
        SLICE_LIT("{\"actor\":\"agent:demo\",\"scopes\":[\"read\",\"test\",\"templates\","
                  "\"broadcasts\",\"contacts\"]}");
    struct json *answer = NULL;
    int rc = cli_request(c, "POST", "/admin/tokens", body, &answer);

    if (rc == EXIT_OK)
        buf_append_slice(token, json_str(json_get(answer, "token")));
    json_free(&answer);
    return rc;
}

int
demo_setup_token(struct cli *c, const struct demo_folder *f, struct buf *token)
{
    struct err err = {0};
    size_t before = token->n;
    int rc;

    if (file_read(f->token, TOKEN_BYTES, token, &err) == 0)
        return EXIT_OK;
    if (err.code != ERR_NOTFOUND)
        return cli_fail(&err);
    if ((rc = create_token(c, token)) != EXIT_OK)
        return rc;
    if (file_write(f->token, slice_from(buf_slice(token), before), 0600, &err) != 0)
        return cli_fail(&err);
    return EXIT_OK;
}
