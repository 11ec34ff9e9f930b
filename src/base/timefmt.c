#include "base/timefmt.h"

#include <string.h>

/*
 * Instants to calendar and back without the C library's tm functions, which know only the
 * process-wide time zone. Days are counted in eras of 400 years that start on 1 March, so the leap
 * day is the last of its year and month lengths follow one linear formula.
 */

#define MS_PER_DAY   INT64_C(86400000)
#define DAYS_PER_ERA 146097
#define DAYS_TO_UNIX 719468 /* from 0000-03-01 to 1970-01-01 */

static int64_t
floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static int64_t
days_from_civil(int year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = floor_div(y, 400);
    int64_t year_of_era = y - era * 400;
    int64_t months_since_march = (month + 9) % 12;
    int64_t day_of_year = (153 * months_since_march + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

    return era * DAYS_PER_ERA + day_of_era - DAYS_TO_UNIX;
}

static void
civil_from_days(int64_t days, struct civil *c)
{
    int64_t z = days + DAYS_TO_UNIX;
    int64_t era = floor_div(z, DAYS_PER_ERA);
    int64_t day_of_era = z - era * DAYS_PER_ERA;
    /* Leap days passed so far are taken out before dividing by 365. */
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (year_of_era * 365 + year_of_era / 4 - year_of_era / 100);
    int64_t months_since_march = (5 * day_of_year + 2) / 153;

    c->day = (int)(day_of_year - (153 * months_since_march + 2) / 5 + 1);
    c->month = (int)(months_since_march < 10 ? months_since_march + 3 : months_since_march - 9);
    c->year = (int)(era * 400 + year_of_era + (c->month <= 2));
    c->wday = (int)((days % 7 + 7 + 4) % 7); /* 1970-01-01 was a Thursday */
}

void
civil_from_ms(int64_t ms, struct civil *c_r)
{
    int64_t days = floor_div(ms, MS_PER_DAY);
    int rest = (int)(ms - days * MS_PER_DAY);

    civil_from_days(days, c_r);
    c_r->ms = rest % 1000;
    rest /= 1000;
    c_r->second = rest % 60;
    c_r->minute = rest / 60 % 60;
    c_r->hour = rest / 3600;
}

int64_t
civil_to_ms(const struct civil *c)
{
    int64_t seconds = ((int64_t)c->hour * 60 + c->minute) * 60 + c->second;

    return days_from_civil(c->year, c->month, c->day) * MS_PER_DAY + seconds * 1000 + c->ms;
}

/* `width` decimal digits of a number that is not negative, with leading zeros. */
static char *
put_digits(char *at, int value, int width)
{
    for (int i = width - 1; i >= 0; i--) {
        at[i] = (char)('0' + value % 10);
        value /= 10;
    }
    return at + width;
}

static char *
put_clock(char *at, const struct civil *c)
{
    at = put_digits(at, c->hour, 2);
    *at++ = ':';
    at = put_digits(at, c->minute, 2);
    *at++ = ':';
    return put_digits(at, c->second, 2);
}

char *
timefmt_iso(int64_t ms, char out[TIMEFMT_ISO_SIZE])
{
    struct civil c;
    char *at = out;

    civil_from_ms(ms, &c);
    at = put_digits(at, c.year, 4);
    *at++ = '-';
    at = put_digits(at, c.month, 2);
    *at++ = '-';
    at = put_digits(at, c.day, 2);
    *at++ = 'T';
    at = put_clock(at, &c);
    *at++ = '.';
    at = put_digits(at, c.ms, 3);
    memcpy(at, "Z", 2);
    return out;
}

char *
timefmt_mail(int64_t ms, char out[TIMEFMT_MAIL_SIZE])
{
    static const char days[][6] = {"Sun, ", "Mon, ", "Tue, ", "Wed, ", "Thu, ", "Fri, ", "Sat, "};
    static const char months[][6] = {" Jan ", " Feb ", " Mar ", " Apr ", " May ", " Jun ", " Jul ",
        " Aug ", " Sep ", " Oct ", " Nov ", " Dec "};
    struct civil c;
    char *at = out;

    civil_from_ms(ms, &c);
    at = mempcpy(at, days[c.wday], 5);
    at = put_digits(at, c.day, c.day < 10 ? 1 : 2);
    at = mempcpy(at, months[c.month - 1], 5);
    at = put_digits(at, c.year, 4);
    *at++ = ' ';
    at = put_clock(at, &c);
    memcpy(at, " +0000", 7);
    return out;
}

static int
days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

    return days[month - 1] + (month == 2 && is_leap);
}

/* Exactly `width` digits from the front of `s`, which are cut off. */
static bool
take_digits(struct slice *s, size_t width, int *value_r)
{
    uint64_t v;

    if (s->n < width || !slice_u64((struct slice){s->p, width}, &v))
        return false;
    *value_r = (int)v;
    *s = slice_from(*s, width);
    return true;
}

/* RFC 3339 §5.6 lets "T" and "Z" be lower case. */
static bool
take_char(struct slice *s, char c)
{
    bool is_letter = c >= 'A' && c <= 'Z';

    if (s->n == 0 || (s->p[0] != c && !(is_letter && s->p[0] == (c | 0x20))))
        return false;
    *s = slice_from(*s, 1);
    return true;
}

/* One to nine digits of a fraction, cut to milliseconds. */
static bool
take_fraction(struct slice *s, int *ms_r)
{
    int ms = 0;
    size_t n = 0;

    for (; n < s->n && s->p[n] >= '0' && s->p[n] <= '9'; n++)
        if (n < 3)
            ms = ms * 10 + (s->p[n] - '0');
    if (n == 0 || n > 9)
        return false;
    for (size_t i = n; i < 3; i++)
        ms *= 10;
    *ms_r = ms;
    *s = slice_from(*s, n);
    return true;
}

/* "Z" or "+hh:mm", to the end of the text. */
static bool
take_offset(struct slice *s, int *minutes_r)
{
    int hour, minute, sign;

    *minutes_r = 0;
    if (take_char(s, 'Z'))
        return s->n == 0;
    if (s->n == 0 || (s->p[0] != '+' && s->p[0] != '-'))
        return false;
    sign = s->p[0] == '-' ? -1 : 1;
    *s = slice_from(*s, 1);
    if (!take_digits(s, 2, &hour) || !take_char(s, ':') || !take_digits(s, 2, &minute))
        return false;
    *minutes_r = sign * (hour * 60 + minute);
    return hour <= 23 && minute <= 59 && s->n == 0;
}

static bool
is_calendar_time(const struct civil *c)
{
    return c->year >= 1970 && c->month >= 1 && c->month <= 12 && c->day >= 1 &&
           c->day <= days_in_month(c->year, c->month) && c->hour <= 23 && c->minute <= 59 &&
           c->second <= 59;
}

bool
timefmt_parse(struct slice s, int64_t *ms_r)
{
    struct civil c = {0};
    int offset_minutes;
    int64_t ms;

    if (!take_digits(&s, 4, &c.year) || !take_char(&s, '-') || !take_digits(&s, 2, &c.month) ||
        !take_char(&s, '-') || !take_digits(&s, 2, &c.day) || !take_char(&s, 'T'))
        return false;
    if (!take_digits(&s, 2, &c.hour) || !take_char(&s, ':') || !take_digits(&s, 2, &c.minute) ||
        !take_char(&s, ':') || !take_digits(&s, 2, &c.second))
        return false;
    if (take_char(&s, '.') && !take_fraction(&s, &c.ms))
        return false;
    if (!take_offset(&s, &offset_minutes) || !is_calendar_time(&c))
        return false;
    ms = civil_to_ms(&c) - (int64_t)offset_minutes * 60000;
    if (ms < 0)
        return false;
    *ms_r = ms;
    return true;
}
