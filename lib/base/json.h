/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_JSON_H
#define PROFC_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

struct sink;

/*
 * A streaming JSON writer: it writes commas and quotes, its caller defines the structure. Inside an
 * object every value follows a json_key(). Unbalanced use is a bug and asserted in json_finish().
 */
struct json {
	struct sink *sink; /* borrowed */
	unsigned int depth;
	bool needs_comma;
};

void json_init(struct json *json, struct sink *sink);
void json_finish(struct json *json); /* ends the text with a newline */
void json_object_begin(struct json *json);
void json_object_end(struct json *json);
void json_array_begin(struct json *json);
void json_array_end(struct json *json);
void json_key(struct json *json, const char *key);
void json_str(struct json *json, const char *text); /* NULL writes null */
void json_u64(struct json *json, uint64_t value);
void json_i64(struct json *json, int64_t value);
/* With up to `decimals` decimal places, trailing zeroes dropped; NaN and infinity: null. */
void json_double(struct json *json, double value, int decimals);
void json_bool(struct json *json, bool value);
void json_null(struct json *json);

/* A key and its value, or the key and the start of its value. */
void json_key_str(struct json *json, const char *key, const char *text);
void json_key_u64(struct json *json, const char *key, uint64_t value);
void json_key_bool(struct json *json, const char *key, bool value);
/* Unknown values are null: a text that is NULL or empty, a number that is 0. */
void json_key_known_str(struct json *json, const char *key, const char *text);
void json_key_known_u64(struct json *json, const char *key, uint64_t value);
void json_key_object_begin(struct json *json, const char *key);
void json_key_array_begin(struct json *json, const char *key);

#endif
