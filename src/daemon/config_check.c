/*
 * Values: from text to the member of struct config, and what a text must look like to be accepted.
 */
#include <arpa/inet.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "daemon/config_table.h"

#define LIST_ITEM_MAX 300

static int
parse_int(const struct config_option *o, struct slice text, int64_t *value_r, struct err *err)
{
    if (!slice_i64(text, value_r))
        return err_set(err, ERR_INVALID, "expected a whole number, not \"%.*s\"",
            (int)(text.n < 40 ? text.n : 40), text.p);
    if (*value_r < o->min || *value_r > o->max)
        return err_set(err, ERR_INVALID, "%lld is outside %lld to %lld", (long long)*value_r,
            (long long)o->min, (long long)o->max);
    return 0;
}

/* "512MiB": a number and, without a blank, one of three units. */
static int
parse_bytes(const struct config_option *o, struct slice text, int64_t *value_r, struct err *err)
{
    static const struct {
        const char *name;
        int shift;
    } units[] = {{"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
    int shift = 0;

    for (size_t i = 0; i < 3; i++) {
        if (!slice_ends(text, slice_str(units[i].name)))
            continue;
        shift = units[i].shift;
        text.n -= 3;
        break;
    }
    if (!slice_i64(text, value_r) || *value_r < 0)
        return err_set(err, ERR_INVALID, "expected a size such as 1048576, 512MiB or 2GiB");
    if (*value_r > o->max >> shift)
        return err_set(err, ERR_INVALID, "more than %lld bytes", (long long)o->max);
    *value_r <<= shift;
    return 0;
}

static int
parse_bool(struct slice text, bool *value_r, struct err *err)
{
    static const char *const words[] = {"false", "no", "off", "0", "true", "yes", "on", "1"};

    for (size_t i = 0; i < 8; i++) {
        if (slice_eq_str(text, words[i])) {
            *value_r = i >= 4;
            return 0;
        }
    }
    return err_set(err, ERR_INVALID, "expected true or false");
}

static int
parse_level(struct slice text, enum log_level *level_r, struct err *err)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};

    for (size_t i = 0; i < 4; i++) {
        if (slice_eq_str(text, names[i])) {
            *level_r = (enum log_level)i;
            return 0;
        }
    }
    return err_set(err, ERR_INVALID, "expected error, warn, info or debug");
}

static int
parse_list(struct config *c, const struct config_option *o, const char *text,
    struct config_list *list_r, struct err *err)
{
    const char **items = arena_array(c->arena, (size_t)o->max, sizeof(*items));
    size_t n = 0;

    while (*(text += strspn(text, " \t")) != '\0') {
        size_t len = strcspn(text, " \t");

        if (n == (size_t)o->max)
            return err_set(err, ERR_INVALID, "more than %lld entries", (long long)o->max);
        if (len > LIST_ITEM_MAX)
            return err_set(err, ERR_INVALID, "an entry is longer than %d bytes", LIST_ITEM_MAX);
        items[n] = arena_cstr(c->arena, slice_make(text, len));
        if (o->check != NULL && o->check(items[n], err) != 0)
            return -1;
        n++;
        text += len;
    }
    *list_r = (struct config_list){.items = items, .n = n};
    return 0;
}

static int
parse_string(const struct config_option *o, const char *text, const char **value_r, struct err *err)
{
    size_t n = strlen(text);

    if ((int64_t)n < o->min)
        return err_set(err, ERR_INVALID, "must not be empty");
    if ((int64_t)n > o->max)
        return err_set(err, ERR_INVALID, "longer than %lld bytes", (long long)o->max);
    if (n > 0 && o->check != NULL && o->check(text, err) != 0)
        return -1;
    *value_r = text;
    return 0;
}

int
config_value_parse(struct config *c, size_t i, const char *text, struct err *err)
{
    const struct config_option *o = &config_options[i];
    void *member = (char *)c + o->member;
    struct slice s = slice_str(text);

    switch (o->type) {
    case OPTION_STRING: return parse_string(o, text, member, err);
    case OPTION_INT: return parse_int(o, s, member, err);
    case OPTION_BYTES: return parse_bytes(o, s, member, err);
    case OPTION_BOOL: return parse_bool(s, member, err);
    case OPTION_LEVEL: return parse_level(s, member, err);
    case OPTION_LIST: return parse_list(c, o, text, member, err);
    }
    return err_set(err, ERR_INTERNAL, "an option of no type");
}

/* ---- checks of single values ----------------------------------------------------------------- */

static bool
is_address(const char *text)
{
    unsigned char bytes[16];

    return inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1;
}

int
config_check_host(const char *text, struct err *err)
{
    if (!is_address(text))
        return err_set(err, ERR_INVALID, "expected an IPv4 or IPv6 address");
    return 0;
}

/* Labels of letters, digits and inner hyphens (RFC 1123 §2.1), or an address literal in brackets
 * (RFC 5321 §4.1.3). */
int
config_check_domain(const char *text, struct err *err)
{
    struct slice rest = slice_str(text), label;

    if (text[0] == '[' && strchr(text, ']') == text + rest.n - 1 && rest.n < 64) {
        char literal[64];
        const char *from = text + 1;

        if (strncmp(from, "IPv6:", 5) == 0)
            from += 5;
        snprintf(literal, sizeof(literal), "%.*s", (int)strcspn(from, "]"), from);
        if (is_address(literal))
            return 0;
    }
    if (strcmp(text, "localhost") == 0)
        return err_set(err, ERR_INVALID, "\"localhost\" says nothing to another host");
    while (slice_cut(&rest, '.', &label)) {
        if (label.n == 0 || label.n > 63 || label.p[0] == '-' || label.p[label.n - 1] == '-')
            return err_set(err, ERR_INVALID, "expected a host name such as mail.example.org");
        for (size_t i = 0; i < label.n; i++) {
            char ch = label.p[i];

            if (!(ch >= 'a' && ch <= 'z') && !(ch >= 'A' && ch <= 'Z') &&
                !(ch >= '0' && ch <= '9') && ch != '-')
                return err_set(err, ERR_INVALID, "expected a host name such as mail.example.org");
        }
    }
    return 0;
}

/* http or https, a host, maybe a port and a path; no user, query or fragment (RFC 3986 §3). */
int
config_check_url(const char *text, struct err *err)
{
    struct slice rest = slice_str(text);

    if (slice_starts(rest, SLICE_LIT("https://")))
        rest = slice_from(rest, 8);
    else if (slice_starts(rest, SLICE_LIT("http://")))
        rest = slice_from(rest, 7);
    else
        return err_set(err, ERR_INVALID, "must begin with https:// or http://");
    if (rest.n == 0 || rest.p[0] == '/' || rest.p[0] == ':')
        return err_set(err, ERR_INVALID, "names no host");
    for (size_t i = 0; i < rest.n; i++) {
        unsigned char ch = (unsigned char)rest.p[i];

        if (ch <= ' ' || ch >= 127 || strchr("?#@\\\"<>^`{|}", ch) != NULL)
            return err_set(err, ERR_INVALID, "must be scheme, host, port and path only");
    }
    if (slice_ends(rest, SLICE_LIT("/")))
        return err_set(err, ERR_INVALID, "must not end with a slash");
    return 0;
}

int
config_check_line(const char *text, struct err *err)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ' || *text == 127)
            return err_set(err, ERR_INVALID, "must be one line without control characters");
    return 0;
}

int
config_check_proxy(const char *text, struct err *err)
{
    const char *slash = strchr(text, '/');
    size_t n = slash != NULL ? (size_t)(slash - text) : strlen(text);
    char address[INET6_ADDRSTRLEN];
    uint64_t bits = 0, most = strchr(text, ':') != NULL ? 128 : 32;

    snprintf(address, sizeof(address), "%.*s", (int)(n < 45 ? n : 45), text);
    if (!is_address(address) ||
        (slash != NULL && (!slice_u64(slice_str(slash + 1), &bits) || bits > most)))
        return err_set(err, ERR_INVALID, "\"%.50s\" is no address or CIDR block", text);
    return 0;
}

int
config_check_test_contact(const char *text, struct err *err)
{
    char pattern[LIST_ITEM_MAX + 5];
    regex_t re;

    snprintf(pattern, sizeof(pattern), "^(%s)$", text);
    if (regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return err_set(err, ERR_INVALID, "\"%.100s\" is no extended regular expression", text);
    regfree(&re);
    return 0;
}
