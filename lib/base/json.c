// SPDX-License-Identifier: GPL-2.0-or-later
/* The streaming JSON writer. */
#include "base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/escape.h"
#include "base/sink.h"

void json_init(struct json *json, struct sink *sink)
{
	*json = (struct json){.sink = sink};
}

void json_finish(struct json *json)
{
	assert(json->depth == 0);
	sink_str(json->sink, "\n");
}

static void before_value(struct json *json)
{
	if (json->needs_comma)
		sink_write(json->sink, ",", 1);
	json->needs_comma = true;
}

static void begin(struct json *json, const char *bracket)
{
	before_value(json);
	sink_write(json->sink, bracket, 1);
	json->needs_comma = false;
	json->depth++;
}

static void end(struct json *json, const char *bracket)
{
	assert(json->depth > 0);
	sink_write(json->sink, bracket, 1);
	json->needs_comma = true;
	json->depth--;
}

void json_object_begin(struct json *json)
{
	begin(json, "{");
}

void json_object_end(struct json *json)
{
	end(json, "}");
}

void json_array_begin(struct json *json)
{
	begin(json, "[");
}

void json_array_end(struct json *json)
{
	end(json, "]");
}

static void quoted(struct json *json, const char *text)
{
	struct buf escaped = {0};

	escape_json(&escaped, text);
	sink_write(json->sink, "\"", 1);
	sink_write(json->sink, escaped.bytes, escaped.nr_bytes);
	sink_write(json->sink, "\"", 1);
	buf_release(&escaped);
}

void json_key(struct json *json, const char *key)
{
	before_value(json);
	quoted(json, key);
	sink_write(json->sink, ":", 1);
	json->needs_comma = false;
}

void json_str(struct json *json, const char *text)
{
	if (!text) {
		json_null(json);
		return;
	}
	before_value(json);
	quoted(json, text);
}

void json_u64(struct json *json, uint64_t value)
{
	before_value(json);
	sink_printf(json->sink, "%" PRIu64, value);
}

void json_i64(struct json *json, int64_t value)
{
	before_value(json);
	sink_printf(json->sink, "%" PRId64, value);
}

void json_double(struct json *json, double value, int decimals)
{
	char text[400];
	size_t length;

	if (!isfinite(value)) {
		json_null(json);
		return;
	}
	snprintf(text, sizeof(text), "%.*f", decimals, value);
	length = strlen(text);
	if (strchr(text, '.')) {
		while (text[length - 1] == '0')
			length--;
		if (text[length - 1] == '.')
			length--;
	}
	before_value(json);
	sink_write(json->sink, text, length);
}

void json_bool(struct json *json, bool value)
{
	before_value(json);
	sink_str(json->sink, value ? "true" : "false");
}

void json_null(struct json *json)
{
	before_value(json);
	sink_str(json->sink, "null");
}

void json_key_str(struct json *json, const char *key, const char *text)
{
	json_key(json, key);
	json_str(json, text);
}

void json_key_u64(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_u64(json, value);
}

void json_key_bool(struct json *json, const char *key, bool value)
{
	json_key(json, key);
	json_bool(json, value);
}

void json_key_known_str(struct json *json, const char *key, const char *text)
{
	json_key_str(json, key, text && *text ? text : NULL);
}

void json_key_known_u64(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	if (value)
		json_u64(json, value);
	else
		json_null(json);
}

void json_key_object_begin(struct json *json, const char *key)
{
	json_key(json, key);
	json_object_begin(json);
}

void json_key_array_begin(struct json *json, const char *key)
{
	json_key(json, key);
	json_array_begin(json);
}
