#include "transport/smtp_ehlo.h"

#include <string.h>

/*
 * One keyword per line, in any case, parameters after blanks. Some old servers write "AUTH=LOGIN" with
 * an equals sign beside or instead of the blank, so both separate.
 */

/* Cut a word off `line`; false at its end. */
static bool
next_word(struct slice *line, struct slice *word_r)
{
    size_t i = 0, start;

    while (i < line->n && (line->p[i] == ' ' || line->p[i] == '\t' || line->p[i] == '='))
        i++;
    start = i;
    while (i < line->n && line->p[i] != ' ' && line->p[i] != '\t' && line->p[i] != '=')
        i++;
    *word_r = slice_make(line->p + start, i - start);
    *line = slice_from(*line, i);
    return word_r->n > 0;
}

static void
parse_line(struct slice line, struct smtp_caps *caps)
{
    struct slice key, word;

    if (!next_word(&line, &key))
        return;
    if (slice_ieq(key, SLICE_LIT("PIPELINING"))) {
        caps->has_pipelining = true;
    } else if (slice_ieq(key, SLICE_LIT("STARTTLS"))) {
        caps->has_starttls = true;
    } else if (slice_ieq(key, SLICE_LIT("8BITMIME"))) {
        caps->has_8bitmime = true;
    } else if (slice_ieq(key, SLICE_LIT("SMTPUTF8"))) {
        caps->has_smtputf8 = true;
    } else if (slice_ieq(key, SLICE_LIT("SIZE"))) {
        caps->has_size = true;
        if (next_word(&line, &word) && !slice_u64(word, &caps->size_max))
            caps->size_max = 0;
    } else if (slice_ieq(key, SLICE_LIT("AUTH"))) {
        while (next_word(&line, &word)) {
            if (slice_ieq(word, SLICE_LIT("PLAIN")))
                caps->has_auth_plain = true;
            else if (slice_ieq(word, SLICE_LIT("LOGIN")))
                caps->has_auth_login = true;
        }
    }
}

void
smtp_ehlo_parse(struct slice text, struct smtp_caps *caps_r)
{
    struct slice line;
    bool is_first = true;

    memset(caps_r, 0, sizeof(*caps_r));
    while (slice_cut(&text, '\n', &line)) {
        if (!is_first)
            parse_line(line, caps_r);
        is_first = false;
    }
}
