/*
 * Configuration: the three sources and their order, every kind of mistake with the text a person gets,
 * what a reload may change, and that the printed references are those in the repository.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "daemon/config.h"
#include "support/suite.h"

static const char *
write_conf(const char *text)
{
    const char *path = suite_path("test.conf");

    ck_assert_int_eq(file_write(path, slice_str(text), 0600, NULL), 0);
    return path;
}

static struct config *
load(const char *file_text, const char *const *env, const struct config_flag *flags, size_t n_flags,
    struct err *err)
{
    struct config_sources src = {.file = write_conf(file_text != NULL ? file_text : ""),
        .env = env,
        .flags = flags,
        .n_flags = n_flags};

    err_clear(err);
    return config_load(&src, err);
}

START_TEST(test_defaults)
{
    struct err err = {0};
    struct config *c = load("# nothing\n\n   \n", NULL, NULL, 0, &err);

    ck_assert_msg(c != NULL, "%s", err.text);
    ck_assert_str_eq(c->listen_host, "127.0.0.1");
    ck_assert_int_eq(c->listen_port, 8460);
    ck_assert_int_eq(c->tick_interval_s, 60);
    ck_assert_int_eq(c->min_free_bytes, 512 * 1024 * 1024);
    ck_assert_int_eq(c->log_level, LOG_INFO);
    ck_assert_uint_eq(c->trusted_proxies.n, 0);
    ck_assert_int_ge(c->cpu_workers, 1);
    ck_assert(c->data_dir[0] != '\0');
    ck_assert(c->ehlo_name[0] != '\0');
    ck_assert_str_ne(c->ehlo_name, "localhost");
    config_free(&c);
}
END_TEST

START_TEST(test_later_sources_win)
{
    const char *const env[] = {
        "MAILSHOT_LISTEN_PORT=2", "MAILSHOT_LOG_LEVEL=debug", "HOME=/x", NULL};
    const struct config_flag flags[] = {{"listen-port", "3"}, {"logPii", NULL}};
    struct err err = {0};
    struct config *c =
        load("listenPort = 1\nlogLevel=warn\nsenderAddress = A # 1, Street\n", env, flags, 2, &err);
    struct buf out = BUF_INIT;

    ck_assert_msg(c != NULL, "%s", err.text);
    ck_assert_int_eq(c->listen_port, 3);
    ck_assert_int_eq(c->log_level, LOG_DEBUG);
    ck_assert(c->log_pii);
    ck_assert_str_eq(c->sender_address, "A # 1, Street");
    config_print(c, &out);
    ck_assert_ptr_nonnull(strstr(buf_cstr(&out), "flag         3"));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&out), "environment  debug"));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&out), "file:3       A # 1, Street"));
    buf_deinit(&out);
    config_free(&c);
}
END_TEST

struct bad {
    const char *line; /* of the file */
    const char *says; /* part of the message */
};

START_TEST(test_mistakes_in_the_file)
{
    static const struct bad bad[] = {
        {"listenPort", "test.conf:1: expected \"name = value\""},
        {"= 3", "expected \"name = value\""},
        {"lisenPort = 1", "did you mean \"listenPort\""},
        {"listen_port = 1", "did you mean \"listenPort\""},
        {"ListenPort = 1", "did you mean \"listenPort\""},
        {"zzzzzzzzzzz = 1", "no option is called \"zzzzzzzzzzz\""},
        {"\nlistenPort = 1\nlistenPort = 2", "test.conf:3: listenPort was set in line 2"},
        {"listenPort = 65536", "listenPort (line 1): 65536 is outside 0 to 65535"},
        {"listenPort = 12x", "expected a whole number"},
        {"listenPort =", "expected a whole number"},
        {"listenPort = -1", "outside"},
        {"tickIntervalSeconds = 0", "outside 1 to 3600"},
        {"tickIntervalSeconds = 3601", "outside 1 to 3600"},
        {"minFreeBytes = 5MB", "expected a size"},
        {"minFreeBytes = -1", "expected a size"},
        {"minFreeBytes = 9999999GiB", "more than"},
        {"logLevel = loud", "expected error, warn, info or debug"},
        {"logPii = maybe", "expected true or false"},
        {"listenHost = localhost", "expected an IPv4 or IPv6 address"},
        {"publicUrl = mail.example.org", "must begin with https://"},
        {"publicUrl = https://", "names no host"},
        {"publicUrl = https://example.org/", "must not end with a slash"},
        {"publicUrl = https://u@example.org", "scheme, host, port and path only"},
        {"publicUrl = https://example.org/?a", "scheme, host, port and path only"},
        {"ehloName = localhost", "says nothing"},
        {"ehloName = bad_name.example", "expected a host name"},
        {"ehloName = -a.example", "expected a host name"},
        {"ehloName = a..example", "expected a host name"},
        {"ehloName = [300.1.1.1]", "expected a host name"},
        {"trustedProxies = 10.0.0.0/33", "no address or CIDR block"},
        {"trustedProxies = 10.0.0.1 proxy.example", "no address or CIDR block"},
        {"agentTestContacts = *@example.org", "no extended regular expression"},
        {"legacyUnsubscribeSecret = a\nlegacyUnsubscribeSecretFile = /x", "exclude each other"},
        {"legacyUnsubscribeSecretFile = /nonexistent/secret", "legacyUnsubscribeSecretFile"},
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct err err = {0};
        struct config *c = load(bad[i].line, NULL, NULL, 0, &err);

        ck_assert_msg(c == NULL, "accepted: %s", bad[i].line);
        ck_assert_msg(strstr(err.text, bad[i].says) != NULL, "%s -> %s", bad[i].line, err.text);
    }
}
END_TEST

START_TEST(test_mistakes_elsewhere)
{
    const char *const env[] = {"MAILSHOT_LOG_LEVLE=debug", NULL};
    const char *const env_bad[] = {"MAILSHOT_API_WORKERS=0", NULL};
    const struct config_flag unknown = {"log-leve", "debug"}, bare = {"listenPort", NULL};
    struct config_sources src = {.file = "/nonexistent/mailshotd.conf"};
    struct err err = {0};

    ck_assert_ptr_null(load(NULL, env, NULL, 0, &err));
    ck_assert_ptr_nonnull(strstr(err.text, "did you mean \"logLevel\""));
    ck_assert_ptr_null(load(NULL, env_bad, NULL, 0, &err));
    ck_assert_ptr_nonnull(strstr(err.text, "apiWorkers (environment)"));
    ck_assert_ptr_null(load(NULL, NULL, &unknown, 1, &err));
    ck_assert_str_eq(err.sub, "unknown_option");
    ck_assert_ptr_null(load(NULL, NULL, &bare, 1, &err));
    ck_assert_ptr_nonnull(strstr(err.text, "needs a value"));
    ck_assert_ptr_null(config_load(&src, &err));
    ck_assert_int_eq(err.code, ERR_NOTFOUND);
}
END_TEST

START_TEST(test_values)
{
    struct err err = {0};
    struct config *c =
        load("minFreeBytes = 2GiB\n"
             "publicUrl = https://mail.example.org:8443/base\n"
             "ehloName = [IPv6:2001:db8::1]\n"
             "trustedProxies = 10.0.0.0/8\t2001:db8::/32   127.0.0.1\n"
             "agentTestContacts = Ana@Example.org (qa|dev)[+][a-z]{1,3}@example\\.com\n"
             "listenHost = ::1\r\n",
            NULL, NULL, 0, &err);

    ck_assert_msg(c != NULL, "%s", err.text);
    ck_assert_int_eq(c->min_free_bytes, INT64_C(2) << 30);
    ck_assert_str_eq(c->public_url, "https://mail.example.org:8443/base");
    ck_assert_uint_eq(c->trusted_proxies.n, 3);
    ck_assert_str_eq(c->trusted_proxies.items[1], "2001:db8::/32");
    ck_assert_uint_eq(c->agent_test_contacts.n, 2);
    ck_assert_str_eq(c->agent_test_contacts.items[0], "ana@example.org");
    ck_assert_str_eq(c->agent_test_contacts.items[1], "(qa|dev)[+][a-z]{1,3}@example\\.com");
    ck_assert_str_eq(c->listen_host, "::1");
    config_free(&c);
}
END_TEST

START_TEST(test_secrets_are_never_printed)
{
    const char *path = suite_path("secret");
    struct err err = {0};
    struct buf out = BUF_INIT, text = BUF_INIT;
    struct json_writer w;
    struct config *c = load("legacyUnsubscribeSecret = hunter2-plain\n", NULL, NULL, 0, &err);

    ck_assert_msg(c != NULL, "%s", err.text);
    ck_assert_str_eq(c->legacy_unsubscribe_secret, "hunter2-plain");
    config_print(c, &out);
    jw_init(&w, &out);
    config_print_json(c, &w);
    ck_assert_ptr_null(strstr(buf_cstr(&out), "hunter2"));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&out), "(hidden)"));
    config_free(&c);

    ck_assert_int_eq(file_write(path, SLICE_LIT("hunter2-file\n"), 0600, NULL), 0);
    buf_printf(&text, "legacyUnsubscribeSecretFile = %s\n", path);
    c = load(buf_cstr(&text), NULL, NULL, 0, &err);
    ck_assert_msg(c != NULL, "%s", err.text);
    ck_assert_str_eq(c->legacy_unsubscribe_secret, "hunter2-file");
    buf_clear(&out);
    config_print(c, &out);
    ck_assert_ptr_null(strstr(buf_cstr(&out), "hunter2"));
    config_free(&c);
    buf_deinit(&text);
    buf_deinit(&out);
}
END_TEST

START_TEST(test_compare_says_what_a_reload_does)
{
    struct err err = {0};
    struct config *old = load("logLevel = info\nlistenPort = 1\n", NULL, NULL, 0, &err);
    struct config *now =
        load("logLevel = debug\ntickIntervalSeconds = 5\nlistenPort = 2\n", NULL, NULL, 0, &err);
    struct buf changed = BUF_INIT, restart = BUF_INIT;

    config_compare(old, now, &changed, &restart);
    ck_assert_str_eq(buf_cstr(&changed), "logLevel, tickIntervalSeconds");
    ck_assert_str_eq(buf_cstr(&restart), "listenPort");
    buf_clear(&changed);
    buf_clear(&restart);
    config_compare(now, now, &changed, &restart);
    ck_assert_uint_eq(changed.n + restart.n, 0);
    buf_deinit(&changed);
    buf_deinit(&restart);
    config_free(&old);
    config_free(&now);
}
END_TEST

static void
compare_file(const char *name, struct buf *printed)
{
    const char *root = getenv("MAILSHOT_SOURCE_DIR");
    struct buf path = BUF_INIT, kept = BUF_INIT;

    ck_assert_ptr_nonnull(root);
    buf_printf(&path, "%s/%s", root, name);
    ck_assert_int_eq(file_read(buf_cstr(&path), 1 << 20, &kept, NULL), 0);
    ck_assert_msg(slice_eq(buf_slice(&kept), buf_slice(printed)),
        "%s is not what \"mailshotd config\" prints", name);
    buf_deinit(&path);
    buf_deinit(&kept);
    buf_clear(printed);
}

START_TEST(test_references_are_those_in_the_repository)
{
    struct buf out = BUF_INIT;
    struct err err = {0};
    struct config *c;

    config_print_docs(&out);
    compare_file("docs/config.md", &out);
    config_print_example(&out);
    c = load(buf_cstr(&out), NULL, NULL, 0, &err);
    ck_assert_msg(c != NULL, "%s", err.text);
    compare_file("config/mailshotd.conf.example", &out);
    config_free(&c);
    buf_deinit(&out);
}
END_TEST

START_TEST(test_json_is_json)
{
    struct err err = {0};
    struct config *c = load("senderAddress = \"Q\" <x>\n", NULL, NULL, 0, &err);
    struct buf out = BUF_INIT;
    struct json_writer w;
    struct json *j;

    ck_assert_msg(c != NULL, "%s", err.text);
    jw_init(&w, &out);
    config_print_json(c, &w);
    j = json_parse(buf_slice(&out), 0, 0, &err);
    ck_assert_msg(j != NULL, "%s", err.text);
    ck_assert_uint_gt(json_count(json_get(j, "options")), 15);
    json_free(&j);
    buf_deinit(&out);
    config_free(&c);
}
END_TEST

SUITE_MAIN("config", test_defaults, test_later_sources_win, test_mistakes_in_the_file,
    test_mistakes_elsewhere, test_values, test_secrets_are_never_printed,
    test_compare_says_what_a_reload_does, test_references_are_those_in_the_repository,
    test_json_is_json)
