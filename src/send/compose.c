/*
 * One mail: from a row, its content and its contact to an envelope and finished RFC 5322 bytes.
 *
 *   envelope ──► render ──► MIME ──► DKIM ──► the job's buffers
 *
 * Everything is a function of the row and what was loaded before; nothing is read here. The buffers of
 * job and batch keep their memory, so a batch in full swing allocates little.
 */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "message/address.h"
#include "message/dkim.h"
#include "message/mime.h"
#include "message/tokens.h"
#include "send/prepare_internal.h"

uint64_t
prepare_spend(struct prepare *p, enum stage stage, uint64_t started_us)
{
    uint64_t now_us = clock_thread_cpu_us();

    p->spent_us[stage] += now_us - started_us;
    return now_us;
}

static struct slice
or_else(struct slice a, struct slice b)
{
    return a.n > 0 ? a : b;
}

/* Return path, recipient and receiver domain, one behind the other in job->env. */
static int
fill_envelope(struct prepare *p, struct job *j, const struct send_row *row, const struct content *c,
    enum send_fail_class *class_r, struct err *err)
{
    const struct profile *pr = &p->outlet->profile;
    struct token_send ref = {.broadcast = row->broadcast, .send = row->id};
    struct address to, from;
    size_t from_n, to_n;

    if (address_parse(row->address, &to, err) != 0) {
        *class_r = FAIL_ADDRESS;
        return -1;
    }
    if (address_parse(or_else(c->from_address, pr->from_email), &from, err) != 0)
        return -1;
    buf_clear(&j->env);
    buf_clear(&j->recipient_key);
    address_key(&to, &j->recipient_key);
    token_verp_make(p->sender->args.keys, &ref, row->generation, &j->env);
    buf_append_char(&j->env, '@');
    if (pr->bounce_domain.n > 0)
        buf_append_slice(&j->env, pr->bounce_domain);
    else
        buf_append_str(&j->env, from.ascii_domain);
    from_n = j->env.n;
    address_wire(&to, &j->env);
    to_n = j->env.n - from_n;
    buf_append_str(&j->env, to.ascii_domain);
    j->mail.env_from = slice_make(j->env.p, from_n);
    j->mail.env_to = slice_make(j->env.p + from_n, to_n);
    j->mail.to_domain = slice_make(j->env.p + from_n + to_n, j->env.n - from_n - to_n);
    return 0;
}

static size_t
extra_headers(struct prepare *p, const struct content *c, struct mime_header *h)
{
    size_t n = 0;
    struct slice url = buf_slice(&p->parts.unsubscribe_url);

    if (c->kind == MAIL_MARKETING && p->env.public_url.n > 0) {
        char *angle = arena_printf(p->scratch, "<%.*s>", SLICE_FMT(url));

        h[n++] = (struct mime_header){SLICE_LIT("List-Unsubscribe"), slice_str(angle)};
        h[n++] = (struct mime_header){
            SLICE_LIT("List-Unsubscribe-Post"), SLICE_LIT("List-Unsubscribe=One-Click")};
    }
    if (c->slug.n > 0) {
        char *feedback = arena_printf(
            p->scratch, "%.*s:%s:mailshot", SLICE_FMT(c->slug), mail_kind_name(c->kind));

        h[n++] = (struct mime_header){SLICE_LIT("Feedback-ID"), slice_str(feedback)};
    }
    return n;
}

static int
sign(struct prepare *p, struct job *j, struct err *err)
{
    const struct profile *pr = &p->outlet->profile;
    struct dkim_params params[PROFILE_MAX_DKIM];

    buf_clear(&j->bytes);
    if (pr->n_dkim == 0) {
        struct buf t = j->bytes;

        j->bytes = p->message;
        p->message = t;
        return 0;
    }
    for (size_t i = 0; i < pr->n_dkim; i++)
        params[i] = (struct dkim_params){
            .signer = p->outlet->signers[i],
            .domain = pr->dkim[i].domain,
            .selector = pr->dkim[i].selector,
            .header_canon = DKIM_RELAXED,
            .body_canon = DKIM_RELAXED,
            .time_ms = p->env.now_ms,
        };
    return dkim_sign(params, pr->n_dkim, buf_slice(&p->message), &j->bytes, err);
}

static int
build_message(struct prepare *p, struct job *j, const struct send_row *row, const struct content *c,
    struct err *err)
{
    const struct profile *pr = &p->outlet->profile;
    struct token_send ref = {.broadcast = row->broadcast, .send = row->id};
    struct mime_header extra[4];
    struct slice from = or_else(c->from_address, pr->from_email);
    struct buf id = BUF_INIT;
    struct mime_message m = {
        .date_ms = p->env.now_ms,
        .from_name = or_else(c->from_name, pr->from_name),
        .from_address = from,
        .to_address = row->address,
        .reply_to = c->reply_to,
        .subject = buf_slice(&p->parts.subject),
        .text = buf_slice(&p->parts.text),
        .html = buf_slice(&p->parts.html),
        .extra = extra,
        .boundary_seed = row->id + row->generation,
    };
    bool needs_smtputf8 = false;
    uint64_t started_us;
    int rc;

    token_message_id(
        &ref, row->generation, slice_from(from, (size_t)slice_rfind_char(from, '@') + 1), &id);
    m.message_id = arena_dup(p->scratch, buf_slice(&id));
    buf_deinit(&id);
    m.n_extra = extra_headers(p, c, extra);
    buf_clear(&p->message);
    started_us = clock_thread_cpu_us();
    rc = mime_build(&m, &p->message, &needs_smtputf8, err);
    j->mail.needs_smtputf8 = needs_smtputf8;
    started_us = prepare_spend(p, STAGE_MIME, started_us);
    if (rc == 0)
        rc = sign(p, j, err);
    prepare_spend(p, STAGE_SIGN, started_us);
    return rc;
}

int
prepare_mail(struct prepare *p, struct job *j, const struct send_row *row, const struct content *c,
    const struct contact *contact, const struct value *vars, enum send_fail_class *class_r,
    struct err *err)
{
    struct render_recipient to = {
        .broadcast = row->broadcast,
        .send = row->id,
        .generation = row->generation,
        .contact = contact,
        .vars = vars,
    };
    uint64_t started_us;

    *class_r = FAIL_RENDER;
    if (fill_envelope(p, j, row, c, class_r, err) != 0)
        return -1;
    to.address_key = buf_slice(&j->recipient_key);
    started_us = clock_thread_cpu_us();
    if (render_mail(&p->env, c, &to, p->scratch, &p->parts, err) != 0)
        return -1;
    prepare_spend(p, STAGE_RENDER, started_us);
    if (build_message(p, j, row, c, err) != 0)
        return -1;
    j->broadcast = row->broadcast;
    j->group = row->group;
    j->id = row->id;
    j->contact = row->contact;
    j->lane = row->lane;
    j->generation = row->generation;
    j->attempt = row->attempt;
    j->delay_min = row->delay_min;
    j->address_hash = row->address_hash;
    j->seen_seq = p->seen_seq;
    j->mail.broadcast = row->broadcast;
    j->mail.send = row->id;
    j->mail.generation = row->generation;
    j->mail.attempt = row->attempt + 1;
    j->mail.data = buf_slice(&j->bytes);
    j->mail.is_8bit = false; /* bodies are encoded to 7 bits, for every relay can take them */
    j->mail.tag = j;
    return 0;
}
