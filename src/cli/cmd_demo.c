/*
 * mailshotd demo: the whole way of a broadcast on this machine, with nothing but this program.
 *
 *   folder ─► daemon (a child) ─► people ─► import ─► profile, template ─► count ─► confirm ─► schedule
 *          ─► progress ─► ledger ─► count the files ─► stay up, or end
 *
 * The verdict is made here from what lies on disk and what the ledger says, so that the status of
 * "demo --exit" is worth something to a script.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/broadcast_calls.h"
#include "cli/commands.h"
#include "cli/demo.h"
#include "cli/ledger.h"
#include "cli/progress.h"
#include "daemon/config.h"
#include "mailshot/exit.h"

#define CONTACTS_DEFAULT 10000
#define CONTACTS_MAX     10000000
#define IDLE_MS          60000

struct demo {
    struct cli *c;
    int64_t n_people;
    struct demo_folder folder;
    struct demo_child child;
    bool is_stopped;     /* somebody asked, or the daemon is gone */
    bool is_daemon_gone; /* by itself */
    struct buf slug, capture_dir, smtp_host;
    unsigned smtp_port;
};

static bool
is_smtp(const struct demo *d)
{
    return d->smtp_host.n > 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Has somebody asked us to stop, or is the daemon gone? */
static bool
wait_for_end(struct demo *d, int64_t timeout_ms)
{
    switch (demo_child_wait(&d->child, timeout_ms)) {
    case DEMO_CHILD_ENDED:
        fprintf(stderr, "mailshotd: the daemon ended with code %d; see %s\n", d->child.code,
            d->folder.log);
        d->is_daemon_gone = d->is_stopped = true;
        break;
    case DEMO_STOP_WANTED: d->is_stopped = true; break;
    case DEMO_NOTHING: break;
    }
    return d->is_stopped;
}

static bool
is_over(void *arg)
{
    struct demo *d = arg;

    return d->is_stopped || wait_for_end(d, 0);
}

/* A step that failed because somebody stopped us needs no further words. */
static int
step(struct demo *d, int rc)
{
    if (rc != EXIT_OK)
        return rc;
    return is_over(d) ? EXIT_FAILED : EXIT_OK;
}

/* ---- before the broadcast -------------------------------------------------------------------- */

static int
make_people(struct demo *d)
{
    struct err err = {0};

    printf("Writing %" PRId64 " made-up people to %s\n", d->n_people, d->folder.people);
    if (demo_people_write(d->folder.people, d->n_people, &err) != 0)
        return cli_fail(&err);
    return EXIT_OK;
}

static int
start_daemon(struct demo *d)
{
    struct config_sources src = {
        .file = d->folder.config, .flags = d->c->options, .n_flags = d->c->sources.n_flags};
    struct err err = {0};

    if ((d->c->config = config_load(&src, &err)) == NULL)
        return cli_fail(&err);
    printf("Starting the daemon at http://127.0.0.1:%u\n", d->folder.port);
    fflush(stdout);
    if (demo_child_start(&d->child, &d->folder, src.flags, src.n_flags, &err) == 0)
        return EXIT_OK;
    fprintf(stderr, "mailshotd: %s; see %s\n", err.text, d->folder.log);
    return EXIT_FAILED;
}

static int
set_up(struct demo *d)
{
    struct demo_target target = {.port = d->smtp_port};
    int rc;

    if ((rc = step(d, demo_setup_slug(d->c, &d->slug))) != EXIT_OK)
        return rc;
    if (is_smtp(d)) {
        target.host = buf_cstr(&d->smtp_host);
    } else {
        buf_printf(&d->capture_dir, "%s/%s", d->folder.mails, buf_cstr(&d->slug));
        target.capture_dir = buf_cstr(&d->capture_dir);
    }
    printf("Importing\n");
    fflush(stdout);
    if ((rc = step(d, demo_setup_import(d->c, &d->folder))) != EXIT_OK ||
        (rc = step(d, demo_setup_profile(d->c, buf_cstr(&d->slug), &target))) != EXIT_OK ||
        (rc = step(d, demo_setup_template(d->c))) != EXIT_OK)
        return rc;
    return step(d, demo_setup_broadcast(d->c, buf_cstr(&d->slug)));
}

/* ---- the broadcast --------------------------------------------------------------------------- */

static int
count_and_schedule(struct demo *d)
{
    const char *slug = buf_cstr(&d->slug);
    struct json *count = NULL;
    int64_t n = 0;
    int rc = step(d, broadcast_calls_count(d->c, slug, &count));

    if (rc == EXIT_OK) {
        printf("Broadcast %s, counted:\n", slug);
        ledger_print_matched(count, stdout);
        fflush(stdout);
        json_int(json_get(count, "recipientCount"), &n);
        rc = step(d, broadcast_calls_schedule(
                         d->c, slug, "now", json_str(json_get(count, "countToken")), n, NULL));
    }
    json_free(&count);
    return rc;
}

/* What must be true in the end. Says what is not. */
static int
judge(const struct demo *d, const struct json *answer)
{
    struct slice status = json_str(json_get(json_get(answer, "broadcast"), "status"));
    const struct json *ledger = json_get(answer, "ledger");
    const char *folder = d->capture_dir.n > 0 ? d->capture_dir.p : NULL;
    struct err err = {0};
    struct ledger l;
    int64_t files = 0;

    printf("%s is %.*s:\n", d->slug.p, SLICE_FMT(status));
    ledger_print(ledger, stdout);
    if (folder != NULL && demo_folder_count_mails(folder, &files, &err) != 0)
        return cli_fail(&err);
    if (folder != NULL)
        printf("%" PRId64 " .eml files in %s\n", files, folder);
    fflush(stdout);
    if (ledger_read(ledger, &l) != 0 || !ledger_closes(&l))
        return EXIT_FAILED;
    if (slice_eq_str(status, "sent") && l.states[SEND_SENT] == l.eligible &&
        l.states[SEND_FAILED] == 0 && l.states[SEND_UNKNOWN] == 0 &&
        (folder == NULL || files == l.eligible))
        return EXIT_OK;
    fprintf(stderr, "mailshotd: not everybody who should have got the mail got it once\n");
    return EXIT_FAILED;
}

static int
watch(struct demo *d)
{
    struct progress_options o = {.is_over = is_over, .arg = d};
    const char *slug = buf_cstr(&d->slug);
    struct json *answer = NULL;
    int rc = progress_watch(d->c, slug, &o, &answer);

    json_free(&answer);
    if (rc != EXIT_OK || d->is_stopped)
        return EXIT_FAILED;
    if ((rc = broadcast_calls_get(d->c, slug, "?recount=true", &answer)) == EXIT_OK)
        rc = judge(d, answer);
    json_free(&answer);
    return rc;
}

/* ---- afterwards ------------------------------------------------------------------------------ */

/* How to call this program again from any folder. */
static void
find_program(char out[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);

    if (n <= 0)
        n = snprintf(out, PATH_MAX, "mailshotd");
    out[n] = '\0';
}

static void
print_invitation(struct demo *d, const char *token)
{
    const char *slug = buf_cstr(&d->slug);
    char program[PATH_MAX];

    find_program(program);
    printf("\nThe daemon stays up until Ctrl-C. Look around:\n"
           "  %s broadcast show %s --config=%s\n"
           "  curl -H 'Authorization: Bearer %s' http://127.0.0.1:%u/agent\n"
           "  curl -H 'Authorization: Bearer %s' http://127.0.0.1:%u/agent/broadcasts/%s\n"
           "Its log is %s\n",
        program, slug, d->folder.config, token, d->folder.port, token, d->folder.port, slug,
        d->folder.log);
    fflush(stdout);
}

static int
stay_up(struct demo *d)
{
    struct buf token = BUF_INIT;
    int rc = demo_setup_token(d->c, &d->folder, &token);

    if (rc == EXIT_OK)
        print_invitation(d, buf_cstr(&token));
    buf_deinit(&token);
    while (rc == EXIT_OK && !wait_for_end(d, IDLE_MS))
        ;
    return d->is_daemon_gone ? EXIT_FAILED : rc;
}

static int
run_with_daemon(struct demo *d)
{
    int rc = set_up(d);

    if (rc == EXIT_OK)
        rc = count_and_schedule(d);
    if (rc == EXIT_OK)
        rc = watch(d);
    if (rc == EXIT_OK && !cli_has(d->c, "exit"))
        rc = stay_up(d);
    return rc;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Options that the demo decides itself. */
static int
check_options(const struct cli *c)
{
    static const char *const ours[] = {"dataDir", "listenHost", "listenPort", "publicUrl"};

    if (c->sources.file != NULL)
        return cli_usage(c, "the demo writes its own configuration file");
    for (size_t i = 0; i < c->sources.n_flags; i++)
        for (size_t k = 0; k < sizeof(ours) / sizeof(ours[0]); k++)
            if (strcmp(c->options[i].name, ours[k]) == 0)
                return cli_usage(c, "the demo chooses %s itself; --dir is its folder", ours[k]);
    return EXIT_OK;
}

static int
read_flags(struct demo *d)
{
    const char *smtp = cli_value(d->c, "smtp");
    struct err err = {0};
    int rc = check_options(d->c);

    if (rc == EXIT_OK)
        rc = cli_number(d->c, "contacts", 1, CONTACTS_MAX, &d->n_people);
    if (rc != EXIT_OK || smtp == NULL)
        return rc;
    if (demo_setup_parse_smtp(smtp, &d->smtp_host, &d->smtp_port, &err) != 0)
        return cli_usage(d->c, "%s", err.text);
    return EXIT_OK;
}

static int
run_in_folder(struct demo *d)
{
    const char *dir = cli_value(d->c, "dir");
    struct err err = {0};
    int rc, daemon_rc;

    if (demo_folder_open(dir != NULL ? dir : "mailshot-demo", &d->folder, &err) != 0) {
        fprintf(stderr, "mailshotd: %s\n", err.text);
        return err.code == ERR_CONFLICT ? EXIT_LOCKED : EXIT_FAILED;
    }
    if ((rc = make_people(d)) != EXIT_OK || (rc = start_daemon(d)) != EXIT_OK)
        return rc;
    rc = run_with_daemon(d);
    daemon_rc = demo_child_stop(&d->child);
    if (daemon_rc != EXIT_OK && !d->is_daemon_gone)
        fprintf(
            stderr, "mailshotd: the daemon ended with code %d; see %s\n", daemon_rc, d->folder.log);
    return rc != EXIT_OK ? rc : daemon_rc;
}

static int
run(struct cli *c)
{
    struct demo d = {.c = c, .n_people = CONTACTS_DEFAULT};
    int rc = read_flags(&d);

    if (rc == EXIT_OK)
        rc = run_in_folder(&d);
    demo_folder_deinit(&d.folder);
    buf_deinit(&d.slug);
    buf_deinit(&d.capture_dir);
    buf_deinit(&d.smtp_host);
    return rc;
}

static const struct cli_flag flags[] = {
    {"contacts", "N", "how many people, 10000 unless given"},
    {"smtp", "HOST:PORT", "send into a mail sink on this machine instead of files"},
    {"exit", NULL, "end after the ledger; status 0 only when everybody got the mail once"},
    {"dir", "FOLDER", "where everything goes, ./mailshot-demo unless given"},
    {NULL, NULL, NULL},
};

const struct cli_command cli_cmd_demo = {
    .name = "demo",
    .summary =
        "Send a real broadcast to made-up people, into files or a mail sink, with a daemon of "
        "its own in a folder of its own.",
    .usage = "[--contacts N] [--smtp HOST:PORT] [--exit] [--dir FOLDER]",
    .flags = flags,
    .needs_no_config = true,
    .run = run,
};
