#ifndef MAILSHOT_EXIT_H
#define MAILSHOT_EXIT_H

/** Exit codes of mailshotd, documented in docs/operations.md. */
enum mailshot_exit {
    EXIT_OK = 0,
    EXIT_FAILED = 1,   /* the task was understood and did not succeed */
    EXIT_USAGE = 2,    /* command line or configuration is wrong */
    EXIT_LOCKED = 3,   /* another process holds the data folder */
    EXIT_KEYS = 4,     /* keys missing, or not those of this database */
    EXIT_NEWER = 5,    /* the store was written by a newer version */
    EXIT_UNHEALTHY = 6 /* the store or the disk is not usable */
};

#endif
