/*
 * The daemon of the demo. It is the real one: this program run again as "serve", spoken to over its
 * control socket. Signals to us are blocked and waited for, so there is no handler and no flag; the
 * child has its own process group and ends with us whatever ends us (prctl(2)).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/slice.h"
#include "cli/demo.h"
#include "daemon/config.h"
#include "daemon/datadir.h"
#include "mailshot/exit.h"

#define SELF     "/proc/self/exe"
#define START_MS 60000
#define LOOK_MS  20

/* ---- start ----------------------------------------------------------------------------------- */

/* What the new process is given, prepared before the fork. */
struct launch {
    char **argv, **envp;
    int log_fd;
};

static char *
text_of(const char *name, const char *value)
{
    struct buf text = BUF_INIT;

    buf_printf(&text, "--%s=%s", name, value);
    buf_append_char(&text, '\0');
    return buf_take(&text, NULL);
}

static char **
make_argv(const struct demo_folder *f, const struct config_flag *options, size_t n_options)
{
    char **argv = mem_array(n_options + 4, sizeof(*argv));
    size_t n = 0;

    argv[n++] = mem_strdup("mailshotd");
    argv[n++] = mem_strdup("serve");
    argv[n++] = text_of("config", f->config);
    for (size_t i = 0; i < n_options; i++)
        argv[n++] = text_of(options[i].name, options[i].value != NULL ? options[i].value : "true");
    argv[n] = NULL;
    return argv;
}

/* Ours without options of the daemon, which are meant for another one. The texts are borrowed. */
static char **
make_envp(void)
{
    size_t n = 0, kept = 0;
    char **envp;

    while (environ[n] != NULL)
        n++;
    envp = mem_array(n + 1, sizeof(*envp));
    for (size_t i = 0; i < n; i++)
        if (!slice_starts(slice_str(environ[i]), SLICE_LIT("MAILSHOT_")))
            envp[kept++] = environ[i];
    envp[kept] = NULL;
    return envp;
}

/* Between fork and exec only calls that are safe there (signal-safety(7)). */
static void __attribute__((noreturn))
become_daemon(const struct demo_child *ch, const struct launch *l, pid_t parent)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigprocmask(SIG_SETMASK, &ch->before, NULL);
    if (getppid() == parent && dup2(l->log_fd, STDOUT_FILENO) >= 0 &&
        dup2(l->log_fd, STDERR_FILENO) >= 0)
        execve(SELF, l->argv, l->envp);
    _exit(EXIT_FAILED);
}

static int
launch(struct demo_child *ch, const struct demo_folder *f, const struct config_flag *options,
    size_t n_options, struct err *err)
{
    struct launch l = {.log_fd = open(f->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)};
    pid_t parent = getpid();
    int rc = 0;

    if (l.log_fd < 0)
        return err_errno(err, errno, "%s", f->log);
    l.argv = make_argv(f, options, n_options);
    l.envp = make_envp();
    if ((ch->pid = fork()) == 0)
        become_daemon(ch, &l, parent);
    if (ch->pid < 0) {
        rc = err_errno(err, errno, "fork");
        ch->pid = 0;
    }
    for (size_t i = 0; l.argv[i] != NULL; i++)
        mem_free(l.argv[i]);
    mem_free(l.argv);
    mem_free(l.envp);
    close(l.log_fd);
    return rc;
}

/* The daemon writes its file `listen` when it listens; one of an earlier process would deceive us. */
static int
wait_until_listening(struct demo_child *ch, const char *listen_file, struct err *err)
{
    int64_t end_ms = clock_mono_ms() + START_MS;

    while (!file_exists(listen_file)) {
        enum demo_event e = demo_child_wait(ch, LOOK_MS);

        if (e == DEMO_CHILD_ENDED)
            return err_set(err, ERR_PERM, "the daemon ended with code %d", ch->code);
        if (e == DEMO_STOP_WANTED)
            return err_set(err, ERR_REFUSED, "stopped");
        if (clock_mono_ms() > end_ms)
            return err_set(err, ERR_TEMP, "the daemon does not listen after %d s", START_MS / 1000);
    }
    return 0;
}

int
demo_child_start(struct demo_child *ch, const struct demo_folder *f,
    const struct config_flag *options, size_t n_options, struct err *err)
{
    struct buf listen_file = BUF_INIT;
    int rc;

    *ch = (struct demo_child){0};
    sigemptyset(&ch->watched);
    sigaddset(&ch->watched, SIGINT);
    sigaddset(&ch->watched, SIGTERM);
    sigaddset(&ch->watched, SIGHUP);
    sigaddset(&ch->watched, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ch->watched, &ch->before);
    datadir_join(f->data, "listen", &listen_file);
    unlink(buf_cstr(&listen_file));
    if ((rc = launch(ch, f, options, n_options, err)) == 0)
        rc = wait_until_listening(ch, buf_cstr(&listen_file), err);
    buf_deinit(&listen_file);
    if (rc != 0)
        demo_child_stop(ch);
    return rc;
}

/* ---- watch and stop -------------------------------------------------------------------------- */

static bool
has_ended(struct demo_child *ch, int flags)
{
    int status = 0;

    if (ch->pid == 0)
        return true;
    if (waitpid(ch->pid, &status, flags) != ch->pid)
        return false;
    ch->pid = 0;
    ch->code = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
    return true;
}

enum demo_event
demo_child_wait(struct demo_child *ch, int64_t timeout_ms)
{
    struct timespec ts = {timeout_ms / 1000, timeout_ms % 1000 * 1000000};
    int sig = sigtimedwait(&ch->watched, NULL, &ts);

    if (has_ended(ch, WNOHANG))
        return DEMO_CHILD_ENDED;
    return sig > 0 && sig != SIGCHLD ? DEMO_STOP_WANTED : DEMO_NOTHING;
}

int
demo_child_stop(struct demo_child *ch)
{
    if (ch->pid != 0)
        kill(ch->pid, SIGTERM);
    while (ch->pid != 0)
        if (demo_child_wait(ch, 1000) == DEMO_STOP_WANTED)
            kill(ch->pid, SIGKILL);
    sigprocmask(SIG_SETMASK, &ch->before, NULL);
    return ch->code;
}
