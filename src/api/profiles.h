#ifndef API_PROFILES_H
#define API_PROFILES_H

#include "api/api.h"
#include "base/err.h"

/** Handler of profile_test.c, which profiles.c names. */
int profile_test(struct api_call *c, struct err *err);

#endif
