/*
 * The table of helpers and what they share. There is no way to add one at run time: what a template
 * may do is decided here.
 */
#include "message/template_helper.h"

#include <string.h>

#include "message/template_run.h"
#include "message/value_text.h"

static int
helper_log(const struct template_args *a, struct value *out_r, struct err *err)
{
    (void)a;
    (void)err;
    *out_r = value_undefined;
    return 0;
}

/* Sorted by name. */
static const struct template_helper helpers[] = {
    {"and", helper_and, 0, TEMPLATE_ARGS_MAX},
    {"default", helper_default, 2, 2},
    {"eq", helper_eq, 2, 2},
    {"formatCurrency", helper_format_currency, 1, 2},
    {"formatDate", helper_format_date, 1, 2},
    {"formatNumber", helper_format_number, 1, 1},
    {"gt", helper_gt, 2, 2},
    {"gte", helper_gte, 2, 2},
    {"join", helper_join, 1, 2},
    {"log", helper_log, 0, TEMPLATE_ARGS_MAX},
    {"lookup", helper_lookup, 2, 2},
    {"lower", helper_lower, 1, 1},
    {"lt", helper_lt, 2, 2},
    {"lte", helper_lte, 2, 2},
    {"ne", helper_ne, 2, 2},
    {"not", helper_not, 1, 1},
    {"or", helper_or, 0, TEMPLATE_ARGS_MAX},
    {"pluralize", helper_pluralize, 3, 3},
    {"truncate", helper_truncate, 2, 2},
    {"upper", helper_upper, 1, 1},
    {"urlencode", helper_urlencode, 1, 1},
};

const struct template_helper *
template_helper_find(struct slice name)
{
    size_t low = 0, high = sizeof(helpers) / sizeof(helpers[0]);

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = slice_cmp(name, slice_str(helpers[middle].name));

        if (order == 0)
            return &helpers[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

bool
template_helper_is_silent(const struct template_helper *helper)
{
    return helper->fn == helper_log;
}

bool
template_helper_is_encoder(const struct template_helper *helper)
{
    return helper->fn == helper_urlencode;
}

const struct value *
template_arg(const struct template_args *a, size_t i)
{
    return i < a->n ? &a->args[i] : &value_undefined;
}

const struct value *
template_hash_arg(const struct template_args *a, const char *name)
{
    for (size_t i = 0; i < a->call->n_hash; i++) {
        if (slice_eq_str(a->call->hash[i].name, name))
            return &a->hash[i];
    }
    return &value_undefined;
}

int
template_arg_text(const struct template_args *a, size_t i, struct slice *text_r, struct err *err)
{
    const struct value *v = template_arg(a, i);
    char tmp[VALUE_TEXT_SIZE], *copy;

    if (template_run_text(a->run, v, SLICE_LIT(","), tmp, text_r, err) != 0 ||
        template_run_charge(a->run, text_r->n / 256, err) != 0)
        return -1;
    if (v->type == VALUE_STRING || v->type == VALUE_ARRAY || text_r->n == 0)
        return 0;
    copy = template_run_alloc(a->run, text_r->n, err); /* out of `tmp` */
    if (copy == NULL)
        return -1;
    memcpy(copy, text_r->p, text_r->n);
    text_r->p = copy;
    return 0;
}
