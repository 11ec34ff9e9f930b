#ifndef MAILSHOT_STATES_H
#define MAILSHOT_STATES_H

/* Stored numbers: never renumber, only append. Names are in docs/states.md. */

/** State of one send row. */
enum send_state {
    SEND_QUEUED = 0,
    SEND_SENDING = 1,
    SEND_SENT = 2,
    SEND_DELIVERED = 3,
    SEND_BOUNCED = 4,
    SEND_COMPLAINED = 5,
    SEND_SUPPRESSED = 6,
    SEND_FAILED = 7,
    SEND_CANCELLED = 8,
    SEND_UNKNOWN = 9,
    SEND_HELD = 10,
    SEND_STATES = 11
};

/** Why a row failed, or why it was last put back (deferred). */
enum send_fail_class {
    FAIL_NONE = 0,
    FAIL_ADDRESS = 1,
    FAIL_MESSAGE = 2,
    FAIL_ACCOUNT = 3,
    FAIL_NETWORK = 4,
    FAIL_RENDER = 5,
    FAIL_ATTACHMENT = 6,
    FAIL_EXPIRED = 7,
    FAIL_RECIPIENT = 8,    /* refused recipient: goes with bounced */
    FAIL_MAILBOX_FULL = 9, /* goes with bounced, soft */
    FAIL_THROTTLED = 10,   /* put back at the relay's or receiver's wish */
    FAIL_CLASSES = 11
};

enum bounce_type { BOUNCE_NONE = 0, BOUNCE_HARD = 1, BOUNCE_SOFT = 2 };

/** State of a broadcast, kept in its run record. */
enum run_state {
    RUN_DRAFT = 0,
    RUN_SCHEDULED = 1,
    RUN_SENDING = 2,
    RUN_PAUSED = 3,
    RUN_SENT = 4,
    RUN_CANCELLED = 5,
    RUN_FAILED = 6,
    RUN_STATES = 7
};

/** Pause reasons stack: one bit each in the run record. */
enum pause_reason {
    PAUSE_MANUAL = 0,
    PAUSE_CAP_REACHED = 1,
    PAUSE_STOP_RULE = 2,
    PAUSE_CIRCUIT_BREAKER = 3,
    PAUSE_MISSED_START = 4,
    PAUSE_AUDIENCE_GREW = 5,
    PAUSE_SENDER_BROKEN = 6,
    PAUSE_RENDER_ERRORS = 7,
    PAUSE_DISPATCH_ERROR = 8,
    PAUSE_MESSAGE_REFUSED = 9,
    PAUSE_REASONS = 10
};

/** Why a matched contact gets no row. */
enum exclusion_reason {
    EXCL_INVALID_ADDRESS = 0,
    EXCL_NO_CONSENT = 1,
    EXCL_DUPLICATE_ADDRESS = 2,
    EXCL_SUPPRESSED_UNSUBSCRIBED = 3,
    EXCL_SUPPRESSED_HARD_BOUNCE = 4,
    EXCL_SUPPRESSED_COMPLAINT = 5,
    EXCL_SUPPRESSED_MANUAL = 6,
    EXCL_SUPPRESSED_LIST_CLEANING = 7,
    EXCL_SUPPRESSED_ERASURE = 8,
    EXCL_REASONS = 9
};

/** Lane of a send: immediate always has reserved sessions. */
enum send_lane { LANE_BULK = 0, LANE_IMMEDIATE = 1 };

/** API and log names; NULL for a number out of range. Parsing gives -1 for an unknown name. */
const char *send_state_name(int state);
const char *send_fail_class_name(int fail_class);
const char *run_state_name(int state);
const char *pause_reason_name(int reason);
const char *exclusion_reason_name(int reason);
int send_state_parse(const char *name);
int run_state_parse(const char *name);
int pause_reason_parse(const char *name);
int exclusion_reason_parse(const char *name);

#endif
