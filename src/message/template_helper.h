#ifndef MESSAGE_TEMPLATE_HELPER_H
#define MESSAGE_TEMPLATE_HELPER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/slice.h"
#include "message/template_expr.h"
#include "message/value.h"

struct template_run;

/** One call in progress: evaluated arguments, and the run it belongs to. */
struct template_args {
    struct template_run *run;
    const struct template_call *call;
    const struct value *args;
    size_t n;
    const struct value *hash; /* by position in call->hash */
};

/** Computes `out_r`. Fails through template_run_fail(), hence -1 with an error that names the place. */
typedef int template_helper_fn(const struct template_args *a, struct value *out_r, struct err *err);

struct template_helper {
    const char *name;
    template_helper_fn *fn;
    unsigned char min_args, max_args;
};

/** The helper of this exact name, or NULL. */
const struct template_helper *template_helper_find(struct slice name);

/** Argument `i`, undefined when there are fewer. */
const struct value *template_arg(const struct template_args *a, size_t i);
/** Value of `name=` in the call, undefined when absent. */
const struct value *template_hash_arg(const struct template_args *a, const char *name);
/** Text of argument `i` (see value_text()), charged to the run. */
int template_arg_text(
    const struct template_args *a, size_t i, struct slice *text_r, struct err *err);

template_helper_fn helper_eq, helper_ne, helper_gt, helper_lt, helper_gte, helper_lte, helper_and,
    helper_or, helper_not, helper_default, helper_lookup;
template_helper_fn helper_format_date, helper_format_number, helper_format_currency,
    helper_pluralize;
template_helper_fn helper_truncate, helper_upper, helper_lower, helper_urlencode, helper_join;

/** {{log}} and {{urlencode}} mean something to the compiler. */
bool template_helper_is_silent(const struct template_helper *helper);
bool template_helper_is_encoder(const struct template_helper *helper);

#endif
