/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_FLAT_FIELDS_H
#define PROFC_VIEW_FLAT_FIELDS_H

#include <stddef.h>

#include "profile/profile.h"

struct flat;
struct json;
struct sink;
struct tally;
struct weights;

/*
 * Flat tables for other programs: the same fields as JSON and as CSV (RFC 4180, with a header
 * line), full names and whole nanoseconds. Field names are stable: profc-report(1).
 */
void flat_print_json(const struct flat *flat, size_t limit, struct sink *sink);
void flat_print_csv(const struct flat *flat, size_t limit, struct sink *sink);

/*
 * Begin the object of any JSON view of a profile, with the members before "rows": version, metric,
 * unit, total, samples, duration, command. The caller writes its own members and ends it.
 */
void json_begin_view(struct json *json, const struct weights *weights);

/*
 * Write an amount: KEY_ns or KEY_bytes, and for memory KEY_blocks. Nothing for samples, which have
 * members of their own.
 */
void json_key_amount(struct json *json, const char *key, enum metric metric,
		     const struct tally *tally);

#endif
