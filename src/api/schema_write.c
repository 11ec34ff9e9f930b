#include "api/schema.h"

/*
 * The same tables of fields as JSON Schema, so that what is described is what is checked.
 */

static const char *
json_type_of(enum api_field_type type)
{
    switch (type) {
    case FIELD_INT: return "integer";
    case FIELD_NUMBER: return "number";
    case FIELD_BOOL: return "boolean";
    case FIELD_OBJECT: return "object";
    case FIELD_ARRAY: return "array";
    case FIELD_ANY: return NULL;
    case FIELD_STRING:
    case FIELD_SLUG:
    case FIELD_EMAIL:
    case FIELD_TIME:
    case FIELD_ID: break;
    }
    return "string";
}

static void
write_type(struct json_writer *w, enum api_field_type type, bool is_nullable)
{
    const char *name = json_type_of(type);

    if (name == NULL)
        return;
    if (!is_nullable) {
        jw_cstr(w, "type", name);
        return;
    }
    jw_arr(w, "type");
    jw_cstr(w, NULL, name);
    jw_cstr(w, NULL, "null");
    jw_end_arr(w);
}

/** What the type itself demands of a text. */
static void
write_format(struct json_writer *w, enum api_field_type type)
{
    if (type == FIELD_EMAIL)
        jw_cstr(w, "format", "email");
    else if (type == FIELD_TIME)
        jw_cstr(w, "format", "date-time");
    else if (type == FIELD_SLUG)
        jw_cstr(w, "pattern", "^[a-z0-9]([a-z0-9-]{0,126}[a-z0-9])?$");
    else if (type == FIELD_ID)
        jw_cstr(w, "pattern", "^[0-9A-Za-z]{13}$");
}

static void
write_bounds(struct json_writer *w, const struct api_field *f)
{
    switch (f->type) {
    case FIELD_STRING:
        if (f->one_of != NULL)
            break;
        if (f->min > 0)
            jw_int(w, "minLength", f->min);
        jw_int(w, "maxLength", f->max > 0 ? f->max : API_STRING_MAX);
        break;
    case FIELD_INT:
    case FIELD_NUMBER:
        if (f->min != 0 || f->max != 0)
            jw_int(w, "minimum", f->min);
        if (f->max != 0)
            jw_int(w, "maximum", f->max);
        break;
    case FIELD_ARRAY:
        if (f->min > 0)
            jw_int(w, "minItems", f->min);
        jw_int(w, "maxItems", f->max > 0 ? f->max : API_ITEMS_MAX);
        break;
    default: break;
    }
}

static void
write_choices(struct json_writer *w, const struct api_field *f)
{
    if (f->one_of == NULL)
        return;
    jw_arr(w, "enum");
    for (const char *const *s = f->one_of; *s != NULL; s++)
        jw_cstr(w, NULL, *s);
    if (f->is_nullable)
        jw_null(w, NULL);
    jw_end_arr(w);
}

static void
write_members(struct json_writer *w, const struct api_field *fields)
{
    bool any_required = false;

    jw_obj(w, "properties");
    for (const struct api_field *f = fields; f != NULL && f->name != NULL; f++) {
        api_schema_write_field(w, f->name, f);
        any_required = any_required || f->is_required;
    }
    jw_end_obj(w);
    if (any_required) {
        jw_arr(w, "required");
        for (const struct api_field *f = fields; f->name != NULL; f++)
            if (f->is_required)
                jw_cstr(w, NULL, f->name);
        jw_end_arr(w);
    }
    jw_bool(w, "additionalProperties", false);
}

void
api_schema_write_field(struct json_writer *w, const char *name, const struct api_field *f)
{
    jw_obj(w, name);
    write_type(w, f->type, f->is_nullable);
    write_format(w, f->type);
    write_bounds(w, f);
    if (f->help != NULL)
        jw_cstr(w, "description", f->help);
    if (f->type == FIELD_ARRAY) {
        jw_obj(w, "items");
        if (f->items != NULL) {
            write_type(w, FIELD_OBJECT, false);
            write_members(w, f->items);
        } else {
            write_type(w, f->item_type, false);
            write_format(w, f->item_type);
            write_choices(w, f);
        }
        jw_end_obj(w);
    } else {
        write_choices(w, f);
        if (f->type == FIELD_OBJECT && f->items != NULL)
            write_members(w, f->items);
    }
    jw_end_obj(w);
}

void
api_schema_write(struct json_writer *w, const char *name, const struct api_field *fields)
{
    jw_obj(w, name);
    jw_cstr(w, "type", "object");
    write_members(w, fields);
    jw_end_obj(w);
}
