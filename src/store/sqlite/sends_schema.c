#include <string.h>

#include "store/sqlite/typed.h"

/*
 * Tables and indexes of the typed records.
 *
 * The row of a send is lean: integers, the address, and nothing that is constant for its broadcast.
 * The list of indexes is closed, since each is paid for by every send:
 *
 *   sends_contact      one row per contact of a broadcast; also the walk over all its rows
 *   sends_address      one row per address of a broadcast
 *   sends_due          the waiting rows of a group by due time; a row leaves it with the claim
 *   sends_sending      the rows under way, by owner: as many as there are sessions
 *   sends_exceptional  bounced and worse: the short lists people open
 *   sends_history      the rows of a contact, newest last
 *
 * Every partial index states its condition in the very words of the queries that use it; SQLite
 * proves it no other way. Where a query also asks for one state it says IS, not =, since SQLite would
 * otherwise search by the range of the condition and sort. An index always ends in the id, unwritten.
 */

static const char runs_sql[] =
    "CREATE TABLE runs("
    " broadcast INTEGER PRIMARY KEY, state INTEGER NOT NULL, reasons INTEGER NOT NULL,"
    " profile INTEGER NOT NULL, template_version INTEGER NOT NULL, scheduled_at INTEGER NOT NULL,"
    " confirmed_at INTEGER NOT NULL, started_at INTEGER NOT NULL, dispatched_at INTEGER NOT NULL,"
    " completed_at INTEGER NOT NULL, paused_at INTEGER NOT NULL, max_lateness INTEGER NOT NULL,"
    " confirmed_count INTEGER NOT NULL, growth_limit INTEGER NOT NULL, fence INTEGER NOT NULL,"
    " lease_owner INTEGER NOT NULL, lease_beat INTEGER NOT NULL, page INTEGER NOT NULL,"
    " cursor BLOB NOT NULL, counters BLOB NOT NULL, reason_detail TEXT NOT NULL) STRICT;"
    "CREATE INDEX runs_state ON runs(state);"
    "CREATE INDEX runs_due ON runs(scheduled_at) WHERE state = 1;";

static const char sends_sql[] =
    "CREATE TABLE sends("
    " id INTEGER PRIMARY KEY, broadcast INTEGER NOT NULL, state INTEGER NOT NULL,"
    " grp INTEGER NOT NULL, contact INTEGER NOT NULL, address TEXT NOT NULL,"
    " address_hash INTEGER NOT NULL, profile INTEGER NOT NULL, lane INTEGER NOT NULL,"
    " generation INTEGER NOT NULL, attempt INTEGER NOT NULL, page INTEGER NOT NULL,"
    " claim_token INTEGER NOT NULL, owner INTEGER NOT NULL, due_at INTEGER NOT NULL,"
    " delay_min INTEGER NOT NULL, fail_class INTEGER NOT NULL, reply_code INTEGER NOT NULL,"
    " enhanced_code INTEGER NOT NULL, created_at INTEGER NOT NULL, sent_at INTEGER NOT NULL,"
    " delivered_at INTEGER NOT NULL, bounced_at INTEGER NOT NULL, complained_at INTEGER NOT NULL,"
    " unsubscribed_at INTEGER NOT NULL, first_open INTEGER NOT NULL, first_click INTEGER NOT NULL,"
    " bounce INTEGER NOT NULL) STRICT;"
    "CREATE UNIQUE INDEX sends_contact ON sends(broadcast, contact) WHERE broadcast > 0;"
    "CREATE UNIQUE INDEX sends_address ON sends(broadcast, address_hash) WHERE broadcast > 0;"
    "CREATE INDEX sends_due ON sends(grp, due_at) WHERE state = 0;"
    "CREATE INDEX sends_sending ON sends(owner) WHERE state = 1;"
    "CREATE INDEX sends_exceptional ON sends(broadcast, state) WHERE state >= 4;"
    "CREATE INDEX sends_history ON sends(contact);"
    "CREATE TABLE send_details("
    " id INTEGER PRIMARY KEY, broadcast INTEGER NOT NULL, reply_text TEXT NOT NULL,"
    " provider_id TEXT NOT NULL, content BLOB NOT NULL) STRICT;"
    "CREATE TABLE exclusions("
    " broadcast INTEGER NOT NULL, reason INTEGER NOT NULL, page INTEGER NOT NULL,"
    " contacts BLOB NOT NULL) STRICT;"
    "CREATE UNIQUE INDEX exclusions_page ON exclusions(broadcast, reason, page);";

static const char instances_sql[] =
    "CREATE TABLE instances("
    " fingerprint TEXT PRIMARY KEY, number INTEGER NOT NULL, incarnation INTEGER NOT NULL,"
    " started_at INTEGER NOT NULL, beat_at INTEGER NOT NULL, id_high_water INTEGER NOT NULL,"
    " is_adopted INTEGER NOT NULL) STRICT, WITHOUT ROWID;";

_Static_assert(SEND_QUEUED == 0 && SEND_SENDING == 1 && SEND_BOUNCED == 4 && RUN_SCHEDULED == 1,
    "the conditions of the partial indexes hold these numbers");

int
sq_create_typed(struct sq_conn *c, const char *name, struct err *err)
{
    static const struct {
        const char *name, *sql;
    } steps[] = {{"runs", runs_sql}, {"sends", sends_sql}, {"instances", instances_sql}};

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        if (strcmp(steps[i].name, name) == 0) {
            int rc = sqlite3_exec(c->db, steps[i].sql, NULL, NULL, NULL);

            return rc == SQLITE_OK ? 0 : sq_error(c, rc, err);
        }
    }
    return err_set(err, ERR_INVALID, "unknown typed table \"%s\"", name);
}
