#ifndef STORE_SQLITE_SQLITE_STORE_H
#define STORE_SQLITE_SQLITE_STORE_H

struct store_driver;

/** The embedded store: one writer thread with group commit, reader connections, WAL, FULL. */
const struct store_driver *sqlite_store_driver(void);

#endif
