#ifndef API_ROUTE_MATCH_H
#define API_ROUTE_MATCH_H

#include <stddef.h>

#include "api/api.h"

struct http_uri;
struct api_table;

/**
 * All routes of the daemon, ready to be searched. `groups` is an array of route arrays (each ended by
 * method NULL), itself ended by NULL; both must outlive the table. Two rows with the same method
 * and shape, a path that does not begin with "/", or more than API_PARAMS parameters are mistakes
 * of ours and end the process. Immutable, so any thread may use it.
 */
struct api_table *api_table_create(const struct api_route *const *groups);
void api_table_free(struct api_table **t);
size_t api_table_count(const struct api_table *t);
/** Rows in the order of the groups. */
const struct api_route *api_table_get(const struct api_table *t, size_t i);

enum api_match { API_MATCHED, API_NO_PATH, API_NO_METHOD };
/**
 * Find the row for a method and a path. A fixed part wins over a parameter, further left first. HEAD
 * finds GET. One "/" at the end of the path is ignored. Parameters are slices of `uri`.
 * With API_NO_METHOD `allow_r` names the methods there are, comma-separated.
 */
enum api_match api_table_match(const struct api_table *t, struct slice method,
    const struct http_uri *uri, const struct api_route **route_r, struct slice params_r[API_PARAMS],
    char allow_r[64]);

#endif
