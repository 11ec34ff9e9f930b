#include "transport/reply_class.h"

#include <string.h>

#include "transport/reply_table.h"

/*
 * Applies the table to one reply. The text is looked at for two things only: words of throttling,
 * which no code distinguishes from other temporary trouble, and a delay (reply_delay.c).
 */

static const char *const throttle_words[] = {"throttl", "rate limit", "ratelimit", "rate exceeded",
    "sending rate", "send rate", "message rate", "too many messages", "too many connections",
    "too many concurrent", "too much mail", "too fast", "too quickly", "slow down", "sending limit",
    "sending quota", "daily quota"};

static char
lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Does `text` hold `word` (lower case), in any case, at a place of its own length? */
static bool
has_word(struct slice text, const char *word)
{
    size_t n = strlen(word);

    for (size_t i = 0; i + n <= text.n; i++) {
        size_t k = 0;

        while (k < n && lower(text.p[i + k]) == word[k])
            k++;
        if (k == n)
            return true;
    }
    return false;
}

static bool
is_throttle_text(struct slice text)
{
    for (size_t i = 0; i < sizeof(throttle_words) / sizeof(throttle_words[0]); i++) {
        if (has_word(text, throttle_words[i]))
            return true;
    }
    return false;
}

static bool
matches(const struct reply_rule *rule, enum reply_stage stage, int code, int enhanced,
    struct slice text)
{
    if (!(rule->stages & 1u << stage))
        return false;
    if (rule->code_max != 0 && (code < rule->code_min || code > rule->code_max))
        return false;
    if (rule->enhanced_max != 0 && (enhanced < rule->enhanced_min || enhanced > rule->enhanced_max))
        return false;
    return !rule->is_throttle_text || is_throttle_text(text);
}

/* Printable copy: control characters, line ends between reply lines included, become blanks. */
static void
copy_text(struct slice text, char *out, size_t size_bytes)
{
    size_t n = text.n < size_bytes - 1 ? text.n : size_bytes - 1;

    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text.p[i];

        out[i] = c < 0x20 || c == 0x7f ? ' ' : (char)c;
    }
    /* Never end in the middle of a character. */
    while (n < text.n && n > 0 && ((unsigned char)text.p[n] & 0xc0) == 0x80)
        n--;
    out[n] = '\0';
}

void
reply_classify(enum reply_stage stage, int code, int enhanced_code, struct slice text,
    struct transport_result *r)
{
    size_t n;
    const struct reply_rule *rule = reply_table(&n);

    while (!matches(rule, stage, code, enhanced_code, text))
        rule++;
    r->outcome = rule->outcome;
    r->scope = rule->scope;
    r->fail_class = rule->fail_class;
    r->bounce = rule->bounce;
    r->is_suppress = rule->is_suppress;
    r->reply_code = code;
    r->enhanced_code = enhanced_code;
    r->retry_after_ms = rule->outcome == TRANSPORT_DEFERRED ? reply_retry_after_ms(text) : 0;
    r->provider_id[0] = '\0';
    copy_text(text, r->text, sizeof(r->text));
}
