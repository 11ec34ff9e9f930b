#ifndef API_TEMPLATES_H
#define API_TEMPLATES_H

#include "api/api.h"
#include "base/err.h"

struct template_doc;

/** The template that path parameter 0 names; 404 "template_not_found" with its slug as a detail. */
int template_find(struct api_call *c, struct template_doc *t, struct err *err);

/* Handlers of template_try.c, which templates.c names. */
int template_render_preview(struct api_call *c, struct err *err);
int template_send(struct api_call *c, struct err *err);

#endif
