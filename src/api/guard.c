#include "api/guard.h"

#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "message/address.h"
#include "model/contact.h"

/*
 * Patterns come from the configuration, which has checked that they compile; addresses are compared by
 * their key (lower case, A-label domain). An entry without any character that only makes sense in an
 * expression is a literal: its dots are dots.
 */

#define PATTERN_MAX 512

static bool
is_literal(const char *pattern)
{
    return strpbrk(pattern, "*?[](){}|\\^$") == NULL;
}

static bool
fits(const char *pattern, const char *address)
{
    char whole[PATTERN_MAX + 5];
    regex_t re;
    bool is_match;

    if (is_literal(pattern))
        return strcmp(pattern, address) == 0;
    if (strlen(pattern) > PATTERN_MAX)
        return false;
    snprintf(whole, sizeof whole, "^(%s)$", pattern);
    if (regcomp(&re, whole, REG_EXTENDED | REG_NOSUB) != 0)
        return false;
    is_match = regexec(&re, address, 0, NULL, 0) == 0;
    regfree(&re);
    return is_match;
}

bool
api_guard_is_test(const struct api_env *env, const struct contact *contact)
{
    char address[ADDRESS_MAX + 1];

    if (contact->email_key.n == 0 || contact->email_key.n > ADDRESS_MAX)
        return false;
    memcpy(address, contact->email_key.p, contact->email_key.n);
    address[contact->email_key.n] = '\0';
    for (size_t i = 0; i < env->n_test_contacts; i++)
        if (fits(env->test_contacts[i], address))
            return true;
    return false;
}

int
api_guard_contact(struct api_call *c, const struct contact *contact, struct err *err)
{
    bool is_owner = c->actor.via == API_VIA_SOCKET || c->actor.via == API_VIA_LOCAL;

    if (is_owner || (c->route->flags & API_TEST_CONTACTS) == 0)
        return 0;
    if (c->env->n_test_contacts == 0)
        return err_sub(err, ERR_REFUSED, "test_contacts_not_configured",
            "agentTestContacts names no test addresses, so this is closed");
    if (api_guard_is_test(c->env, contact))
        return 0;
    jw_str(api_details(c), "externalId", contact->external_id);
    return err_sub(err, ERR_REFUSED, "not_a_test_contact",
        "the address of this contact is none of the configured test addresses");
}
