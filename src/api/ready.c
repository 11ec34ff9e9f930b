#include "api/ready.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

/*
 * Readiness by part: store, serving, whatever the wiring names. Changes are logged once, not per look.
 * A part that is only noted tells why less is done than could be, while requests are still answered:
 * a probe that took the daemon out of service for it would take opt-outs away.
 */

#define PARTS_MAX 32

struct part {
    const char *name;
    bool ok, is_note;
    char reason[160];
};

struct api_ready {
    struct part parts[PARTS_MAX];
    size_t n;
};

struct api_ready *
api_ready_create(void)
{
    return mem_zalloc(sizeof(struct api_ready));
}

void
api_ready_free(struct api_ready **r)
{
    mem_free(*r);
    *r = NULL;
}

static struct part *
set_part(struct api_ready *r, const char *name, bool ok, const char *reason)
{
    struct part *p = NULL;

    for (size_t i = 0; i < r->n && p == NULL; i++)
        if (strcmp(r->parts[i].name, name) == 0)
            p = &r->parts[i];
    if (p == NULL) {
        assert(r->n < PARTS_MAX);
        p = &r->parts[r->n++];
        p->name = name;
        p->ok = !ok;
    }
    snprintf(p->reason, sizeof p->reason, "%s", reason != NULL ? reason : "");
    if (p->ok == ok)
        return p;
    p->ok = ok;
    if (ok)
        log_info(NULL, "ready.up", "part=%s", name);
    else
        log_warn(NULL, "ready.down", "part=%s reason=\"%s\"", name, p->reason);
    return p;
}

void
api_ready_set(struct api_ready *r, const char *name, bool ok, const char *reason)
{
    set_part(r, name, ok, reason)->is_note = false;
}

void
api_ready_note(struct api_ready *r, const char *name, bool ok, const char *reason)
{
    set_part(r, name, ok, reason)->is_note = true;
}

bool
api_ready_all(const struct api_ready *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (!r->parts[i].ok && !r->parts[i].is_note)
            return false;
    return true;
}

void
api_ready_write(const struct api_ready *r, struct json_writer *w, const char *name)
{
    jw_obj(w, name);
    for (size_t i = 0; i < r->n; i++) {
        jw_obj(w, r->parts[i].name);
        jw_bool(w, "ok", r->parts[i].ok);
        if (!r->parts[i].ok && r->parts[i].reason[0] != '\0')
            jw_cstr(w, "reason", r->parts[i].reason);
        jw_end_obj(w);
    }
    jw_end_obj(w);
}
