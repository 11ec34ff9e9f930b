#include "base/tz.h"

#include <glib.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/slice.h"

/*
 * Time zones by name, through GLib's GTimeZone.
 *
 * GLib also takes names that are rules in themselves ("XYZ5"), and anybody may send us names, so
 * only those of an installed zone file are let through to it: that bounds the cache and keeps
 * misspellings out. A GTimeZone never changes and may be read from any thread; the mutex guards the
 * cache alone.
 */

#define MAX_NAME   64
#define MAX_CACHED 1024

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct map_str *zones; /* name to GTimeZone */

static bool
is_safe_name(struct slice name)
{
    /* "right/…" counts leap seconds and so is 27 s off. */
    if (name.n == 0 || name.n > MAX_NAME || slice_find(name, SLICE_LIT("..")) >= 0 ||
        slice_starts(name, SLICE_LIT("right/")))
        return false;
    if (!g_ascii_isalpha(name.p[0]))
        return false;
    for (size_t i = 0; i < name.n; i++)
        if (!g_ascii_isalnum(name.p[i]) && strchr("_+-/", name.p[i]) == NULL)
            return false;
    return true;
}

/* GLib reports a file of another kind as a fault in the program, so the first bytes are checked
 * here (RFC 8536 §3.1). */
static bool
has_zone_file(const char *name)
{
    const char *folder = getenv("TZDIR");
    char path[512], magic[4];
    bool is_zone;
    FILE *f;
    int n =
        snprintf(path, sizeof path, "%s/%s", folder != NULL ? folder : "/usr/share/zoneinfo", name);

    if (n < 0 || (size_t)n >= sizeof path || (f = fopen(path, "rbe")) == NULL)
        return false;
    is_zone = fread(magic, 1, sizeof magic, f) == sizeof magic && memcmp(magic, "TZif", 4) == 0;
    fclose(f);
    return is_zone;
}

/* A reference of the caller's own, or NULL. */
static GTimeZone *
zone_get(const char *name)
{
    struct slice key = slice_str(name);
    GTimeZone *zone;

    if (!is_safe_name(key))
        return NULL;
    pthread_mutex_lock(&lock);
    if (zones == NULL)
        zones = map_str_create();
    zone = map_str_get(zones, key);
    if (zone != NULL) {
        g_time_zone_ref(zone);
    } else if (has_zone_file(name) && (zone = g_time_zone_new_identifier(name)) != NULL &&
               map_str_count(zones) < MAX_CACHED) {
        map_str_put(zones, key, g_time_zone_ref(zone));
    }
    pthread_mutex_unlock(&lock);
    return zone;
}

static int64_t
floor_seconds(int64_t ms)
{
    return ms / 1000 - (ms % 1000 < 0);
}

static int64_t
zone_offset_s(GTimeZone *zone, int64_t utc_s)
{
    int interval = g_time_zone_find_interval(zone, G_TIME_TYPE_UNIVERSAL, utc_s);

    return g_time_zone_get_offset(zone, interval);
}

bool
tz_valid(const char *name)
{
    GTimeZone *zone = zone_get(name);

    if (zone == NULL)
        return false;
    g_time_zone_unref(zone);
    return true;
}

int
tz_offset_s(const char *name, int64_t ms)
{
    GTimeZone *zone = zone_get(name);
    int offset_s;

    if (zone == NULL)
        return 0;
    offset_s = (int)zone_offset_s(zone, floor_seconds(ms));
    g_time_zone_unref(zone);
    return offset_s;
}

/*
 * The wall time read as UTC is at most a day away from the instant, so the offsets a day before and
 * after it are the two that can apply. In an overlap both fit, in a gap neither does.
 */
static int64_t
zone_instant_s(GTimeZone *zone, int64_t wall_s)
{
    int64_t offset_before = zone_offset_s(zone, wall_s - 86400);
    int64_t offset_after = zone_offset_s(zone, wall_s + 86400);
    int64_t before = wall_s - offset_before, after = wall_s - offset_after;
    bool before_fits = zone_offset_s(zone, before) == offset_before;
    bool after_fits = zone_offset_s(zone, after) == offset_after;

    if (before_fits && after_fits)
        return before < after ? before : after;
    return after_fits ? after : before;
}

bool
tz_local_to_ms(const char *name, const struct civil *local, int64_t *ms_r)
{
    GTimeZone *zone = zone_get(name);
    int64_t wall_ms = civil_to_ms(local);
    int64_t wall_s = floor_seconds(wall_ms);

    if (zone == NULL)
        return false;
    *ms_r = zone_instant_s(zone, wall_s) * 1000 + (wall_ms - wall_s * 1000);
    g_time_zone_unref(zone);
    return true;
}
