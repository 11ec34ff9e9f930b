/*
 * Incremental CSV (RFC 4180), byte for byte through a state machine. One record at a time is gathered
 * into a buffer with the fields' ends beside it, so pieces of any size may be fed and memory is bounded
 * by one record. A record that is too long or has too many fields is skipped to its end and reported; a
 * quote in the middle of an unquoted field is taken as it is, as every spreadsheet does.
 */
#include "audience/csv.h"

#include <string.h>

#include "base/mem.h"

enum state {
    AT_START,    /* of a record */
    AT_FIELD,    /* of a field */
    IN_PLAIN,    /* unquoted field */
    IN_QUOTED,   /* inside quotes */
    AFTER_QUOTE, /* a quote inside quotes: an end, or the first half of two */
    AFTER_CR     /* a record has ended by CR: swallow an LF */
};

struct csv {
    struct buf in; /* bytes fed and not yet read */
    size_t at;
    bool is_finished;
    enum state state;
    char separator;
    bool bom_checked;
    uint64_t line, record_line;
    struct buf record;
    size_t ends[CSV_MAX_COLUMNS];
    struct slice fields[CSV_MAX_COLUMNS];
    size_t n;
    const char *problem;
};

struct csv *
csv_create(void)
{
    struct csv *c = mem_zalloc(sizeof(*c));

    c->line = c->record_line = 1;
    return c;
}

void
csv_free(struct csv **c)
{
    if (*c == NULL)
        return;
    buf_deinit(&(*c)->in);
    buf_deinit(&(*c)->record);
    mem_free(*c);
    *c = NULL;
}

void
csv_feed(struct csv *c, struct slice bytes)
{
    buf_consume(&c->in, c->at);
    c->at = 0;
    buf_append_slice(&c->in, bytes);
}

void
csv_finish(struct csv *c)
{
    c->is_finished = true;
}

char
csv_separator(const struct csv *c)
{
    return c->separator;
}

/* ---- the first line -------------------------------------------------------------------------- */

/* The separator that occurs most often outside quotes; comma when none does. */
static char
pick_separator(struct slice line)
{
    static const char candidates[] = {',', ';', '\t'};
    size_t counts[sizeof(candidates)] = {0}, best = 0;
    bool in_quotes = false;

    for (size_t i = 0; i < line.n; i++) {
        if (line.p[i] == '"')
            in_quotes = !in_quotes;
        for (size_t k = 0; !in_quotes && k < sizeof(candidates); k++)
            counts[k] += line.p[i] == candidates[k];
    }
    for (size_t k = 1; k < sizeof(candidates); k++) {
        if (counts[k] > counts[best])
            best = k;
    }
    return candidates[best];
}

/* Where the first line ends, by CR or LF; the number of bytes when it does not. */
static size_t
line_end(struct slice s)
{
    size_t i = 0;

    while (i < s.n && s.p[i] != '\n' && s.p[i] != '\r')
        i++;
    return i;
}

/* Skip a byte order mark and find the separator. False: the first line is not there yet. */
static bool
begin(struct csv *c)
{
    struct slice rest = slice_from(buf_slice(&c->in), c->at);
    size_t end;

    if (!c->bom_checked) {
        if (rest.n < 3 && !c->is_finished)
            return false;
        if (slice_starts(rest, SLICE_LIT("\xef\xbb\xbf")))
            c->at += 3;
        c->bom_checked = true;
        rest = slice_from(buf_slice(&c->in), c->at);
    }
    /* However the bytes come in pieces, the same ones decide. */
    end = line_end(rest);
    if (end == rest.n && !c->is_finished && rest.n < CSV_MAX_RECORD)
        return false;
    c->separator = pick_separator(slice_make(rest.p, end < CSV_MAX_RECORD ? end : CSV_MAX_RECORD));
    return true;
}

/* ---- records --------------------------------------------------------------------------------- */

static void
put(struct csv *c, char byte)
{
    if (c->record.n < CSV_MAX_RECORD)
        buf_append_char(&c->record, byte);
    else
        c->problem = "the line is too long";
}

static void
end_field(struct csv *c)
{
    if (c->n < CSV_MAX_COLUMNS)
        c->ends[c->n++] = c->record.n;
    else
        c->problem = "the line has too many columns";
}

/* Slices over the gathered bytes, once the buffer has stopped moving. */
static enum csv_status
end_record(struct csv *c, struct csv_record *r_r)
{
    size_t from = 0;

    end_field(c);
    for (size_t i = 0; i < c->n; i++) {
        c->fields[i] = slice_make(c->record.p != NULL ? c->record.p + from : "", c->ends[i] - from);
        from = c->ends[i];
    }
    *r_r = (struct csv_record){c->fields, c->n, c->record_line, c->problem};
    return c->problem != NULL ? CSV_BAD : CSV_RECORD;
}

static void
start_record(struct csv *c)
{
    buf_clear(&c->record);
    c->n = 0;
    c->problem = NULL;
    c->record_line = c->line;
}

/* A line end outside quotes. Empty lines are no records. */
static bool
end_line(struct csv *c, char byte)
{
    bool is_empty = c->state == AT_START;

    c->state = byte == '\r' ? AFTER_CR : AT_START;
    return !is_empty;
}

/* One byte; true when it ended a record. */
static bool
step(struct csv *c, char byte)
{
    bool is_end = byte == '\n' || byte == '\r';

    if (c->state == AFTER_CR) {
        c->state = AT_START;
        if (byte == '\n')
            return false;
    }
    if (byte == '\n' || (byte == '\r' && c->state != IN_QUOTED))
        c->line++;
    if (c->state == IN_QUOTED) {
        if (byte == '"')
            c->state = AFTER_QUOTE;
        else
            put(c, byte);
        return false;
    }
    if (is_end)
        return end_line(c, byte);
    if (byte == c->separator) {
        end_field(c);
        c->state = AT_FIELD;
    } else if (byte == '"' && (c->state == AT_START || c->state == AT_FIELD)) {
        c->state = IN_QUOTED;
    } else if (byte == '"' && c->state == AFTER_QUOTE) {
        put(c, byte);
        c->state = IN_QUOTED;
    } else {
        put(c, byte);
        c->state = IN_PLAIN;
    }
    return false;
}

enum csv_status
csv_next(struct csv *c, struct csv_record *r_r)
{
    if (c->separator == 0 && !begin(c))
        return CSV_MORE;
    if (c->state == AT_START || c->state == AFTER_CR)
        start_record(c);
    while (c->at < c->in.n) {
        if (step(c, c->in.p[c->at++]))
            return end_record(c, r_r);
        if (c->state == AT_START || c->state == AFTER_CR)
            c->record_line = c->line; /* behind an empty line */
    }
    if (!c->is_finished)
        return CSV_MORE;
    if (c->state == AT_START || c->state == AFTER_CR)
        return CSV_END;
    if (c->state == IN_QUOTED)
        c->problem = "a quote is not closed";
    c->state = AT_START;
    return end_record(c, r_r);
}
