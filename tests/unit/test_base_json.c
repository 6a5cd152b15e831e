// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>

#include "base/json.h"
#include "base/sink.h"
#include "tests/unit/unit.h"

static void check_json(void (*write)(struct json *json), const char *expected)
{
	struct sink sink = SINK_MEMORY;
	struct json json;

	json_init(&json, &sink);
	write(&json);
	json_finish(&json);
	assert_string_equal(buf_str(&sink.pending), expected);
	sink_release(&sink);
}

static void write_nested(struct json *json)
{
	json_object_begin(json);
	json_key(json, "a");
	json_array_begin(json);
	json_u64(json, UINT64_MAX);
	json_i64(json, INT64_MIN);
	json_array_begin(json);
	json_array_end(json);
	json_object_begin(json);
	json_object_end(json);
	json_array_end(json);
	json_key_str(json, "b\"", "c\n");
	json_key_str(json, "none", NULL);
	json_key_bool(json, "yes", true);
	json_key(json, "no");
	json_bool(json, false);
	json_key_array_begin(json, "empty");
	json_array_end(json);
	json_key_object_begin(json, "more");
	json_key_u64(json, "n", 7);
	json_object_end(json);
	json_key(json, "null");
	json_null(json);
	json_object_end(json);
}

TEST(json, commas_and_nesting)
{
	check_json(write_nested, "{\"a\":[18446744073709551615,-9223372036854775808,[],{}],"
				 "\"b\\\"\":\"c\\u000a\",\"none\":null,\"yes\":true,\"no\":false,"
				 "\"empty\":[],\"more\":{\"n\":7},\"null\":null}\n");
}

static void write_doubles(struct json *json)
{
	json_array_begin(json);
	json_double(json, 0, 4);
	json_double(json, 1.5, 4);
	json_double(json, 2.0 / 3, 4);
	json_double(json, 100, 0);
	json_double(json, -0.25, 2);
	json_double(json, 1e18, 2);
	json_double(json, (double)NAN, 2);
	json_double(json, (double)INFINITY, 2);
	json_array_end(json);
}

TEST(json, doubles_are_short_and_finite)
{
	check_json(write_doubles, "[0,1.5,0.6667,100,-0.25,1000000000000000000,null,null]\n");
}

static void write_unknown(struct json *json)
{
	json_object_begin(json);
	json_key_known_str(json, "a", NULL);
	json_key_known_str(json, "b", "");
	json_key_known_str(json, "c", "text");
	json_key_known_u64(json, "d", 0);
	json_key_known_u64(json, "e", UINT64_MAX);
	json_object_end(json);
}

TEST(json, what_is_not_known_is_null)
{
	check_json(write_unknown, "{\"a\":null,\"b\":null,\"c\":\"text\",\"d\":null,"
				  "\"e\":18446744073709551615}\n");
}
