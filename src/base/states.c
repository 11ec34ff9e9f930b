#include "mailshot/states.h"

#include <stddef.h>
#include <string.h>

/*
 * The names of stored numbers, one table per enum, index = number. A table is complete by its size:
 * a number without a name would be a NULL that the test of this file finds.
 */

static const char *const send_states[SEND_STATES] = {
    [SEND_QUEUED] = "queued",
    [SEND_SENDING] = "sending",
    [SEND_SENT] = "sent",
    [SEND_DELIVERED] = "delivered",
    [SEND_BOUNCED] = "bounced",
    [SEND_COMPLAINED] = "complained",
    [SEND_SUPPRESSED] = "suppressed",
    [SEND_FAILED] = "failed",
    [SEND_CANCELLED] = "cancelled",
    [SEND_UNKNOWN] = "unknown",
    [SEND_HELD] = "held",
};

static const char *const fail_classes[FAIL_CLASSES] = {
    [FAIL_NONE] = "none",
    [FAIL_ADDRESS] = "address",
    [FAIL_MESSAGE] = "message",
    [FAIL_ACCOUNT] = "account",
    [FAIL_NETWORK] = "network",
    [FAIL_RENDER] = "render",
    [FAIL_ATTACHMENT] = "attachment",
    [FAIL_EXPIRED] = "expired",
    [FAIL_RECIPIENT] = "recipient",
    [FAIL_MAILBOX_FULL] = "mailbox_full",
    [FAIL_THROTTLED] = "throttled",
};

static const char *const run_states[RUN_STATES] = {
    [RUN_DRAFT] = "draft",
    [RUN_SCHEDULED] = "scheduled",
    [RUN_SENDING] = "sending",
    [RUN_PAUSED] = "paused",
    [RUN_SENT] = "sent",
    [RUN_CANCELLED] = "cancelled",
    [RUN_FAILED] = "failed",
};

static const char *const pause_reasons[PAUSE_REASONS] = {
    [PAUSE_MANUAL] = "manual",
    [PAUSE_CAP_REACHED] = "cap_reached",
    [PAUSE_STOP_RULE] = "stop_rule",
    [PAUSE_CIRCUIT_BREAKER] = "circuit_breaker",
    [PAUSE_MISSED_START] = "missed_start",
    [PAUSE_AUDIENCE_GREW] = "audience_grew",
    [PAUSE_SENDER_BROKEN] = "sender_broken",
    [PAUSE_RENDER_ERRORS] = "render_errors",
    [PAUSE_DISPATCH_ERROR] = "dispatch_error",
    [PAUSE_MESSAGE_REFUSED] = "message_refused",
};

static const char *const exclusion_reasons[EXCL_REASONS] = {
    [EXCL_INVALID_ADDRESS] = "invalid_address",
    [EXCL_NO_CONSENT] = "no_consent",
    [EXCL_DUPLICATE_ADDRESS] = "duplicate_address",
    [EXCL_SUPPRESSED_UNSUBSCRIBED] = "suppressed_unsubscribed",
    [EXCL_SUPPRESSED_HARD_BOUNCE] = "suppressed_hard_bounce",
    [EXCL_SUPPRESSED_COMPLAINT] = "suppressed_complaint",
    [EXCL_SUPPRESSED_MANUAL] = "suppressed_manual",
    [EXCL_SUPPRESSED_LIST_CLEANING] = "suppressed_list_cleaning",
    [EXCL_SUPPRESSED_ERASURE] = "suppressed_erasure",
};

static const char *
name_of(const char *const *names, int n, int number)
{
    return number >= 0 && number < n ? names[number] : NULL;
}

static int
number_of(const char *const *names, int n, const char *name)
{
    for (int i = 0; name != NULL && i < n; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

const char *
send_state_name(int state)
{
    return name_of(send_states, SEND_STATES, state);
}

const char *
send_fail_class_name(int fail_class)
{
    return name_of(fail_classes, FAIL_CLASSES, fail_class);
}

const char *
run_state_name(int state)
{
    return name_of(run_states, RUN_STATES, state);
}

const char *
pause_reason_name(int reason)
{
    return name_of(pause_reasons, PAUSE_REASONS, reason);
}

const char *
exclusion_reason_name(int reason)
{
    return name_of(exclusion_reasons, EXCL_REASONS, reason);
}

int
send_state_parse(const char *name)
{
    return number_of(send_states, SEND_STATES, name);
}

int
run_state_parse(const char *name)
{
    return number_of(run_states, RUN_STATES, name);
}

int
pause_reason_parse(const char *name)
{
    return number_of(pause_reasons, PAUSE_REASONS, name);
}

int
exclusion_reason_parse(const char *name)
{
    return number_of(exclusion_reasons, EXCL_REASONS, name);
}
