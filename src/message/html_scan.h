#ifndef MESSAGE_HTML_SCAN_H
#define MESSAGE_HTML_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/slice.h"

/** Where in HTML the scanner stands: the states of the WHATWG tokenizer that matter for places. */
enum html_state {
    HTML_TEXT,         /* between tags */
    HTML_TAG_OPEN,     /* behind "<" */
    HTML_END_OPEN,     /* behind "</" */
    HTML_TAG_NAME,     /* inside the name of a tag */
    HTML_BEFORE_ATTR,  /* between attributes */
    HTML_AFTER_HOLE,   /* right behind a hole between attributes */
    HTML_ATTR_NAME,    /* inside the name of an attribute */
    HTML_AFTER_NAME,   /* blanks behind it */
    HTML_BEFORE_VALUE, /* behind "=" */
    HTML_VALUE_DOUBLE, /* inside a value in double quotes */
    HTML_VALUE_SINGLE, /* inside a value in single quotes */
    HTML_VALUE_BARE,   /* inside a value without quotes */
    HTML_COMMENT,      /* inside <!-- -->, conditional comments included */
    HTML_BOGUS,        /* inside <!doctype>, <?xml>, <![if]>: up to the next ">" */
    HTML_RAW           /* inside script, style, title and the like: up to their end tag */
};

/** One attribute; offsets count from the start of the source. */
struct html_attr {
    struct slice name; /* as written, up to the first hole */
    size_t from, to;   /* value without quotes; equal when there is none */
    char quote;        /* '"', '\'' or 0 */
    bool has_value;
    bool has_hole; /* a hole lies inside the value */
};

/** One tag, from "<" to behind ">". */
struct html_tag {
    size_t from, to;
    struct slice name; /* as written, up to the first hole */
    bool is_end;
    bool is_self_closed;
};

/** What the scanner reports; members may be NULL. Attributes of a tag come before the tag itself, and
 * text may come in several pieces. */
struct html_events {
    void (*text)(size_t from, size_t to, bool is_raw, void *arg);
    void (*attr)(const struct html_attr *attr, void *arg);
    void (*tag)(const struct html_tag *tag, void *arg);
    void *arg;
};

/** The scanner: plain data, so a copy is a snapshot that can be continued later. */
struct html_scan {
    enum html_state state;
    const char *src;
    const struct html_events *events;
    struct html_tag tag;
    struct html_attr attr;
    char raw_name[12]; /* the element whose end tag ends HTML_RAW */
    unsigned dashes;   /* '-' in a row inside a comment; 2 may be followed by ">" */
    bool is_query;     /* a '?' was seen in the value of a URL attribute */
};

/** Start in text. `events` may be NULL; `src` and `events` must outlive the scanner. */
void html_scan_init(struct html_scan *s, const char *src, const struct html_events *events);

/** Read src[from, to). Pieces are fed in order; what lies between two pieces was a hole or is left
 * out. The end of input needs no call: an unfinished tag is simply never reported. */
void html_scan_feed(struct html_scan *s, size_t from, size_t to);

/** A template expression stands at src[from, to): opaque, and never ends a tag, value or comment. */
void html_scan_hole(struct html_scan *s, size_t from, size_t to);

/** Elements that have no content and no end tag. */
bool html_is_void(struct slice name);

#endif
