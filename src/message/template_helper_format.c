/*
 * Helpers for dates, numbers and money.
 *
 * Results are American English, like the month names the helpers print; dates are UTC unless the call
 * names a zone. A value that cannot be read gives "", since one odd field must not stop a mail; a
 * mistake of the author (a currency or a zone that does not exist) fails the run.
 */
#include "message/template_helper.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/timefmt.h"
#include "base/tz.h"
#include "message/currency.h"
#include "message/template_run.h"
#include "message/value_decimal.h"
#include "message/value_text.h"

#define DAY_MS (24 * 3600 * 1000LL)
/* Years 0001 to 9999. */
#define DATE_MIN_MS (-62135596800000LL)
#define DATE_MAX_MS 253402300799999LL

static int
give_text(
    const struct template_args *a, const char *text, size_t n, struct value *out_r, struct err *err)
{
    char *copy = template_run_alloc(a->run, n, err);

    if (copy == NULL)
        return -1;
    memcpy(copy, text, n);
    *out_r = value_str(slice_make(copy, n));
    return 0;
}

static bool
parse_digits(struct slice s, size_t at, size_t n, int *value_r)
{
    uint64_t value;

    if (at + n > s.n || !slice_u64(slice_make(s.p + at, n), &value))
        return false;
    *value_r = (int)value;
    return true;
}

/* "2026-05-15", alone or with a time of day behind "T" or a blank; without an offset it is UTC. */
static bool
parse_date(struct slice s, int64_t *ms_r)
{
    struct civil date = {0}, check;
    char text[64] = "2000-01-01T";
    int64_t time_ms;
    struct slice time;
    bool has_zone;

    s = slice_trim(s);
    if (s.n < 10 || s.p[4] != '-' || s.p[7] != '-' || !parse_digits(s, 0, 4, &date.year) ||
        !parse_digits(s, 5, 2, &date.month) || !parse_digits(s, 8, 2, &date.day) || date.year < 1 ||
        date.month < 1 || date.month > 12 || date.day < 1 || date.day > 31)
        return false;
    *ms_r = civil_to_ms(&date);
    civil_from_ms(*ms_r, &check);
    if (check.day != date.day)
        return false; /* 30 February */
    if (s.n == 10)
        return true;

    /* The time of day is read on a fixed date, since the reader knows no years before 1970. */
    time = slice_from(s, 11);
    if ((s.p[10] != 'T' && s.p[10] != 't' && s.p[10] != ' ') || time.n < 5 || time.n > 40)
        return false;
    has_zone = slice_find_char(time, 'Z') >= 0 || slice_find_char(time, 'z') >= 0 ||
               slice_find_char(time, '+') >= 0 || slice_find_char(time, '-') >= 0;
    snprintf(text + 11, sizeof(text) - 11, "%.*s%s%s", SLICE_FMT(time), time.n == 5 ? ":00" : "",
        has_zone ? "" : "Z");
    if (!timefmt_parse(slice_str(text), &time_ms))
        return false;
    *ms_r += time_ms - 10957 * DAY_MS;
    return true;
}

/* The instant a value stands for. */
static bool
to_instant(const struct value *v, int64_t *ms_r)
{
    if (!value_is_truthy(v))
        return false;
    switch (v->type) {
    case VALUE_DATE:
    case VALUE_INT: *ms_r = v->i; break;
    case VALUE_NUMBER:
        if (!(fabs(v->d) <= (double)DATE_MAX_MS))
            return false;
        *ms_r = (int64_t)v->d;
        break;
    case VALUE_STRING:
        if (!parse_date(v->s, ms_r))
            return false;
        break;
    default: return false;
    }
    return *ms_r >= DATE_MIN_MS + DAY_MS && *ms_r <= DATE_MAX_MS - DAY_MS;
}

/* Seconds to add for the zone that the call asks for. */
static int
zone_offset(const struct template_args *a, int64_t ms, int *offset_s_r, struct err *err)
{
    const struct value *tz = template_hash_arg(a, "tz");
    bool is_contact;
    char name[65];

    *offset_s_r = 0;
    if (!value_is_truthy(tz))
        return 0;
    is_contact = tz->type == VALUE_STRING && slice_eq_str(tz->s, "contact");
    if (is_contact) {
        tz = value_get(value_get(a->run->root, SLICE_LIT("contact")), SLICE_LIT("timezone"));
        if (tz->type != VALUE_STRING)
            return 0;
    }
    if (tz->type == VALUE_STRING && tz->s.n > 0 && tz->s.n < sizeof(name)) {
        memcpy(name, tz->s.p, tz->s.n);
        name[tz->s.n] = '\0';
        if (strlen(name) == tz->s.n && tz_valid(name)) {
            *offset_s_r = tz_offset_s(name, ms);
            return 0;
        }
    }
    /* A contact's own odd zone is data; a zone in the template is the author's mistake. */
    return is_contact ? 0 : template_run_fail(a->run, err, "formatDate: no such time zone");
}

int
helper_format_date(const struct template_args *a, struct value *out_r, struct err *err)
{
    static const char *const months[] = {"January", "February", "March", "April", "May", "June",
        "July", "August", "September", "October", "November", "December"};
    const struct value *format = template_arg(a, 1);
    struct slice style = format->type == VALUE_STRING ? format->s : SLICE_NONE;
    struct civil c;
    char text[64];
    int64_t ms;
    int n, offset_s;

    *out_r = value_str(SLICE_NONE);
    if (!to_instant(template_arg(a, 0), &ms))
        return 0;
    if (zone_offset(a, ms, &offset_s, err) != 0)
        return -1;
    civil_from_ms(ms + offset_s * 1000LL, &c);
    if (slice_eq_str(style, "long"))
        n = snprintf(text, sizeof(text), "%s %d, %d", months[c.month - 1], c.day, c.year);
    else if (slice_eq_str(style, "short"))
        n = snprintf(text, sizeof(text), "%d/%d/%02d", c.month, c.day, c.year % 100);
    else
        n = snprintf(text, sizeof(text), "%04d-%02d-%02d", c.year, c.month, c.day);
    return give_text(a, text, (size_t)n, out_r, err);
}

/* Decimal digits of a value read as a number; false when it is not finite. */
static bool
to_decimal(const struct value *v, struct value_decimal *dec_r)
{
    double d;

    if (v->type == VALUE_INT) {
        value_decimal_from_int(v->i, dec_r);
        return true;
    }
    d = value_to_number(v);
    if (!isfinite(d))
        return false;
    value_decimal_from_double(d, dec_r);
    return true;
}

int
helper_format_number(const struct template_args *a, struct value *out_r, struct err *err)
{
    char text[VALUE_DECIMAL_SIZE + 1];
    struct value_decimal dec;
    size_t n = 0;

    *out_r = value_str(SLICE_NONE);
    if (!to_decimal(template_arg(a, 0), &dec))
        return 0;
    value_decimal_round(&dec, 3);
    if (dec.is_negative && dec.n > 0)
        text[n++] = '-';
    n += value_decimal_group(&dec, 0, text + n);
    return give_text(a, text, n, out_r, err);
}

int
helper_format_currency(const struct template_args *a, struct value *out_r, struct err *err)
{
    const struct value *code = template_arg(a, 1);
    const struct currency *currency = NULL;
    char text[VALUE_DECIMAL_SIZE + 32];
    struct value_decimal dec;
    struct slice symbol;
    size_t n = 0;

    *out_r = value_str(SLICE_NONE);
    if (code->type == VALUE_UNDEFINED)
        currency = currency_find(SLICE_LIT("usd"));
    else if (code->type == VALUE_STRING)
        currency = currency_find(code->s);
    if (currency == NULL)
        return template_run_fail(a->run, err, "formatCurrency: no such currency");
    if (!to_decimal(template_arg(a, 0), &dec))
        return 0;
    dec.point -= dec.n > 0 ? currency->places : 0;
    value_decimal_round(&dec, currency->places);
    if (dec.is_negative && dec.n > 0)
        text[n++] = '-';
    /* A code stands apart from the number (U+00A0), a symbol does not. */
    symbol = slice_str(currency->symbol != NULL ? currency->symbol : currency->code);
    memcpy(text + n, symbol.p, symbol.n);
    n += symbol.n;
    if (currency->symbol == NULL) {
        memcpy(text + n, "\u00a0", 2);
        n += 2;
    }
    n += value_decimal_group(&dec, currency->places, text + n);
    return give_text(a, text, n, out_r, err);
}

int
helper_pluralize(const struct template_args *a, struct value *out_r, struct err *err)
{
    (void)err;
    *out_r = *template_arg(a, value_to_number(template_arg(a, 0)) == 1 ? 1 : 2);
    return 0;
}
