/*
 * The list of options. Everything else about configuration follows from its rows: what the file, the
 * environment and the command line may say, the printed reference, the example file, the reload.
 */
#include "daemon/config_table.h"

#define MEMBER(m) offsetof(struct config, m)
#define MIB       (INT64_C(1024) * 1024)
#define TIB       (MIB * 1024 * 1024)

const struct config_option config_options[] = {
    {"dataDir", OPTION_STRING, MEMBER(data_dir), 1, 3000, "",
        "`/var/lib/mailshot` when that is writable, else `./data`", 0,
        "Folder of the database, the keys, the opt-out journal and the control socket.", NULL},
    {"listenHost", OPTION_STRING, MEMBER(listen_host), 1, 64, "127.0.0.1", NULL, 0,
        "Address to listen on for HTTP. Put a reverse proxy with TLS before it.",
        config_check_host},
    {"listenPort", OPTION_INT, MEMBER(listen_port), 0, 65535, "8460", NULL, 0,
        "Port for HTTP; 0 takes any free one, which the file `listen` in dataDir names.", NULL},
    {"publicUrl", OPTION_STRING, MEMBER(public_url), 0, 200, "", NULL, 0,
        "Address under which recipients reach this daemon. Marketing mail is refused without it.",
        config_check_url},
    {"senderAddress", OPTION_STRING, MEMBER(sender_address), 0, 300, "", NULL, 0,
        "Postal address for the foot of marketing mail, one line.", config_check_line},
    {"ehloName", OPTION_STRING, MEMBER(ehlo_name), 0, 253, "",
        "the host name, else the host of publicUrl", 0,
        "Name this host gives to SMTP servers; a profile may have its own.", config_check_domain},
    {"logLevel", OPTION_LEVEL, MEMBER(log_level), 0, 0, "info", NULL, OPTION_RELOADABLE,
        "What is logged: error, warn, info or debug.", NULL},
    {"logPii", OPTION_BOOL, MEMBER(log_pii), 0, 0, "false", NULL, OPTION_RELOADABLE,
        "Write mail addresses to the log in full.", NULL},
    {"tickIntervalSeconds", OPTION_INT, MEMBER(tick_interval_s), 1, 3600, "60", NULL,
        OPTION_RELOADABLE, "Time between two rounds of periodic work.", NULL},
    {"minFreeBytes", OPTION_BYTES, MEMBER(min_free_bytes), 0, TIB, "512MiB", NULL, 0,
        "Planning and sending stop while less disk space than this is free.", NULL},
    {"maxLatenessMinutes", OPTION_INT, MEMBER(max_lateness_min), 1, 10080, "60", NULL, 0,
        "A broadcast that would start later than this, or was interrupted for longer, waits for "
        "somebody's decision.",
        NULL},
    {"audienceGrowthPct", OPTION_INT, MEMBER(audience_growth_pct), 0, 1000, "10", NULL, 0,
        "How much an audience may grow after it was confirmed before its broadcast pauses; 0 "
        "allows nothing.",
        NULL},
    {"unsubscribeTokenLifetimeDays", OPTION_INT, MEMBER(unsubscribe_lifetime_days), 1, 3650, "90",
        NULL, 0, "How long an unsubscribe page names the address. One-click works for ever.", NULL},
    {"legacyUnsubscribeSecret", OPTION_STRING, MEMBER(legacy_unsubscribe_secret), 0, 256, "", NULL,
        OPTION_SECRET, "Secret of unsubscribe links that the predecessor of this system sent.",
        NULL},
    {"legacyUnsubscribeSecretFile", OPTION_STRING, MEMBER(legacy_unsubscribe_secret_file), 0, 3000,
        "", NULL, 0, "File that holds that secret, instead of writing it here.", NULL},
    {"trustedProxies", OPTION_LIST, MEMBER(trusted_proxies), 0, 64, "", NULL, 0,
        "Addresses or CIDR blocks of reverse proxies whose X-Forwarded-For is believed.",
        config_check_proxy},
    {"agentTestContacts", OPTION_LIST, MEMBER(agent_test_contacts), 0, 100, "", NULL, 0,
        "Addresses, or extended regular expressions that must fit a whole address, to which "
        "agents may send tests.",
        config_check_test_contact},
    {"cpuWorkers", OPTION_INT, MEMBER(cpu_workers), 0, 64, "0", "`0`: one for each core", 0,
        "Threads that render and sign.", NULL},
    {"apiWorkers", OPTION_INT, MEMBER(api_workers), 1, 64, "4", NULL, 0,
        "Threads that answer API requests.", NULL},
    {"storeReaders", OPTION_INT, MEMBER(store_readers), 1, 16, "4", NULL, 0,
        "Database connections that read.", NULL},
    {"maxConnections", OPTION_INT, MEMBER(max_connections), 16, 65536, "1024", NULL, 0,
        "HTTP connections at a time.", NULL},
#ifdef MAILSHOT_TEST_CLOCK
    {"allowTestClock", OPTION_BOOL, MEMBER(allow_test_clock), 0, 0, "false", NULL, OPTION_TEST_ONLY,
        "Let the control socket step the clock.", NULL},
#endif
};

const size_t config_n_options = sizeof(config_options) / sizeof(config_options[0]);

_Static_assert(sizeof(config_options) / sizeof(config_options[0]) <= CONFIG_MAX_OPTIONS,
    "struct config has room for every option");
