#ifndef API_GUARD_H
#define API_GUARD_H

#include <stdbool.h>

#include "api/api.h"
#include "base/err.h"

struct contact;

/**
 * The test-contact guard: what an agent may mail, change or wipe by itself are only contacts whose
 * address is declared as a test address. An entry is a literal address or an extended regular expression
 * that must fit the whole address key. The owner (control socket, tool in process) is not guarded: who
 * can open the data folder can do anything. Routes without API_TEST_CONTACTS pass as well.
 */

/** 0, or -1 with 403 "test_contacts_not_configured" or "not_a_test_contact" (externalId as detail). */
int api_guard_contact(struct api_call *c, const struct contact *contact, struct err *err);

/** Is this a test contact? False when none are configured. */
bool api_guard_is_test(const struct api_env *env, const struct contact *contact);

#endif
