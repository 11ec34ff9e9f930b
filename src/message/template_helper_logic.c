/*
 * Helpers that compare and choose. They follow JavaScript where authors expect it: equality is
 * strict, order turns both sides into numbers unless both are text.
 */
#include "message/template_helper.h"

#include <math.h>

#include "message/template_run.h"
#include "message/value_text.h"

static int
give_bool(struct value *out_r, bool b)
{
    *out_r = (struct value){.type = VALUE_BOOL, .b = b};
    return 0;
}

int
helper_eq(const struct template_args *a, struct value *out_r, struct err *err)
{
    (void)err;
    return give_bool(out_r, value_is_equal(template_arg(a, 0), template_arg(a, 1)));
}

int
helper_ne(const struct template_args *a, struct value *out_r, struct err *err)
{
    (void)err;
    return give_bool(out_r, !value_is_equal(template_arg(a, 0), template_arg(a, 1)));
}

/* Order of the two arguments as -1, 0, 1; false when they have none. */
static bool
order(const struct template_args *a, int *order_r)
{
    const struct value *x = template_arg(a, 0), *y = template_arg(a, 1);
    double dx, dy;

    if (x->type == VALUE_STRING && y->type == VALUE_STRING) {
        int cmp = slice_cmp(x->s, y->s);

        *order_r = (cmp > 0) - (cmp < 0);
        return true;
    }
    if (x->type == VALUE_INT && y->type == VALUE_INT) {
        *order_r = (x->i > y->i) - (x->i < y->i);
        return true;
    }
    dx = value_to_number(x);
    dy = value_to_number(y);
    *order_r = (dx > dy) - (dx < dy);
    return !isnan(dx) && !isnan(dy);
}

int
helper_gt(const struct template_args *a, struct value *out_r, struct err *err)
{
    int o;

    (void)err;
    return give_bool(out_r, order(a, &o) && o > 0);
}

int
helper_lt(const struct template_args *a, struct value *out_r, struct err *err)
{
    int o;

    (void)err;
    return give_bool(out_r, order(a, &o) && o < 0);
}

int
helper_gte(const struct template_args *a, struct value *out_r, struct err *err)
{
    int o;

    (void)err;
    return give_bool(out_r, order(a, &o) && o >= 0);
}

int
helper_lte(const struct template_args *a, struct value *out_r, struct err *err)
{
    int o;

    (void)err;
    return give_bool(out_r, order(a, &o) && o <= 0);
}

int
helper_and(const struct template_args *a, struct value *out_r, struct err *err)
{
    bool all = true;

    (void)err;
    for (size_t i = 0; i < a->n; i++)
        all = all && value_is_truthy(&a->args[i]);
    return give_bool(out_r, all);
}

int
helper_or(const struct template_args *a, struct value *out_r, struct err *err)
{
    bool any = false;

    (void)err;
    for (size_t i = 0; i < a->n; i++)
        any = any || value_is_truthy(&a->args[i]);
    return give_bool(out_r, any);
}

int
helper_not(const struct template_args *a, struct value *out_r, struct err *err)
{
    (void)err;
    return give_bool(out_r, !value_is_truthy(template_arg(a, 0)));
}

/* {{default value fallback}}: the fallback for what would print as nothing. 0 and false print. */
int
helper_default(const struct template_args *a, struct value *out_r, struct err *err)
{
    const struct value *v = template_arg(a, 0);
    bool is_missing = v->type == VALUE_UNDEFINED || v->type == VALUE_NULL ||
                      (v->type == VALUE_STRING && v->s.n == 0) ||
                      (v->type == VALUE_NUMBER && isnan(v->d));

    (void)err;
    *out_r = is_missing ? *template_arg(a, 1) : *v;
    return 0;
}

/* {{lookup object key}}: a member by computed name. */
int
helper_lookup(const struct template_args *a, struct value *out_r, struct err *err)
{
    struct slice key;

    if (template_arg_text(a, 1, &key, err) != 0)
        return -1;
    *out_r = value_member(template_arg(a, 0), key);
    return 0;
}
