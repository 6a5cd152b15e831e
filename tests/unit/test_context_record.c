// SPDX-License-Identifier: GPL-2.0-or-later
/* The records of threads and processes of OpenTelemetry (OTEPs 4947 and 4719), as bytes. */
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "context/context.h"
#include "tests/unit/unit.h"

static void append(struct buf *out, uint8_t tag, const void *bytes, size_t nr_bytes)
{
	buf_append_byte(out, tag);
	buf_append_uleb(out, nr_bytes);
	buf_append(out, bytes, nr_bytes);
}

/* An attribute of a ProcessContext, with a value of those bytes. */
static void append_attribute(struct buf *out, const char *key, const struct buf *value)
{
	struct buf pair = {0};

	append(&pair, 0x0a, key, strlen(key));
	append(&pair, 0x12, value->bytes, value->nr_bytes);
	append(out, 0x12, pair.bytes, pair.nr_bytes);
	buf_release(&pair);
}

static struct buf payload_of(const char *schema, const char *const *keys, size_t nr)
{
	struct buf payload = {0}, value = {0}, array = {0};

	append(&value, 0x0a, schema, strlen(schema));
	append_attribute(&payload, "threadlocal.schema_version", &value);
	for (size_t i = 0; i < nr; i++) {
		buf_clear(&value);
		append(&value, 0x0a, keys[i], strlen(keys[i]));
		append(&array, 0x0a, value.bytes, value.nr_bytes);
	}
	buf_clear(&value);
	append(&value, 0x2a, array.bytes, array.nr_bytes);
	append_attribute(&payload, "threadlocal.attribute_key_map", &value);
	/* A resource, numbers and fixed numbers: of no interest. */
	append(&payload, 0x0a, "resource", 8);
	buf_append(&payload,
		   "\x18\x96\x01\x25"
		   "1234"
		   "\x29"
		   "12345678",
		   17);
	buf_release(&value);
	buf_release(&array);
	return payload;
}

static const char *const names[] = {"http.route", "", "user", "http.route"};

TEST(context, takes_the_names_of_keys)
{
	struct buf payload = payload_of("tls_v1", names, ARRAY_SIZE(names));
	struct process_context context = {.header_at = 0};

	assert_true(process_context_parse(&context, payload.bytes, payload.nr_bytes));
	assert_string_equal(context.schema, "tls_v1");
	assert_int_equal(context.nr_keys, 4);
	assert_string_equal(context.keys[0], "http.route");
	assert_null(context.keys[1]); /* no name */
	assert_string_equal(context.keys[2], "user");
	process_context_release(&context);
	buf_release(&payload);
}

/* Each beginning, and each byte with each value. */
TEST(context, takes_damaged_names_within_their_bounds)
{
	struct buf payload = payload_of("tls_v1", names, ARRAY_SIZE(names));

	for (size_t nr = 0; nr < payload.nr_bytes; nr++) {
		struct process_context context = {.header_at = 0};
		uint8_t *exact = xmemdup(payload.bytes, nr);

		process_context_parse(&context, exact, nr);
		assert_true(context.nr_keys <= 4);
		process_context_release(&context);
		free(exact);
	}
	for (size_t i = 0; i < 256 * payload.nr_bytes; i++) {
		struct process_context context = {.header_at = 0};
		uint8_t before = payload.bytes[i / 256];

		payload.bytes[i / 256] = (uint8_t)i;
		process_context_parse(&context, payload.bytes, payload.nr_bytes);
		assert_true(context.nr_keys <= CONTEXT_KEYS_MAX);
		process_context_release(&context);
		payload.bytes[i / 256] = before;
	}
	buf_release(&payload);
}

static struct process_context names_of_keys(void)
{
	struct buf payload = payload_of("tls_v1", names, ARRAY_SIZE(names));
	struct process_context context = {.header_at = 0};

	process_context_parse(&context, payload.bytes, payload.nr_bytes);
	buf_release(&payload);
	return context;
}

/* A record without ids; attributes are "KEY LENGTH VALUE", each number one byte. */
static struct buf record_of(const char *attributes, size_t nr_bytes)
{
	static const uint8_t header[26] = {[24] = 1};
	const uint16_t size = (uint16_t)nr_bytes;
	struct buf record = {0};

	buf_append(&record, header, sizeof(header));
	buf_append(&record, &size, sizeof(size));
	buf_append(&record, attributes, nr_bytes);
	return record;
}

static const char *value_of(const struct context_labels *labels, const char *key)
{
	for (size_t i = 0; i < labels->nr; i++) {
		if (strcmp(labels->at[i].key, key) == 0)
			return labels->at[i].value;
	}
	return NULL;
}

#define PARSE(attributes, outcome)                                                                 \
	do {                                                                                       \
		struct buf record = record_of(attributes, sizeof(attributes) - 1);                 \
                                                                                                   \
		assert_int_equal(context_parse(&context, record.bytes, record.nr_bytes, &labels),  \
				 outcome);                                                         \
		buf_release(&record);                                                              \
	} while (0)

TEST(context, reads_labels)
{
	struct process_context context = names_of_keys();
	static struct context_labels labels;

	PARSE("\x00\x01/\x02\x03"
	      "eve"
	      "\x00\x03/a/",
	      CONTEXT_READ);
	assert_int_equal(labels.nr, 2);
	assert_string_equal(value_of(&labels, "http.route"), "/a/"); /* the last one */
	assert_string_equal(value_of(&labels, "user"), "eve");
	PARSE("", CONTEXT_READ);
	assert_int_equal(labels.nr, 0);
	PARSE("\x02\x00", CONTEXT_READ);
	assert_string_equal(value_of(&labels, "user"), "");
	/* Keys without a name, or beyond the map. */
	PARSE("\x01\x01x\x04\x01y\xff\x01z", CONTEXT_READ);
	assert_int_equal(labels.nr, 0);
	process_context_release(&context);
}

TEST(context, keeps_what_is_whole)
{
	struct process_context context = names_of_keys();
	static struct context_labels labels;

	PARSE("\x00\x01/\x02\x04"
	      "eve",
	      CONTEXT_DAMAGED);
	assert_int_equal(labels.nr, 1);
	assert_string_equal(value_of(&labels, "http.route"), "/");
	PARSE("\x00\x01/\x02", CONTEXT_DAMAGED);
	assert_int_equal(labels.nr, 1);
	PARSE("\x00\x01/\x02\x03"
	      "e\0e",
	      CONTEXT_DAMAGED);
	assert_int_equal(labels.nr, 1);
	process_context_release(&context);
}

TEST(context, reads_ids)
{
	struct process_context context = names_of_keys();
	struct buf record = record_of("", 0);
	static struct context_labels labels;

	record.bytes[0] = 0x4b;
	record.bytes[15] = 0xf3;
	record.bytes[16] = 0x0a;
	assert_int_equal(context_parse(&context, record.bytes, record.nr_bytes, &labels),
			 CONTEXT_READ);
	assert_string_equal(value_of(&labels, "trace_id"), "4b0000000000000000000000000000f3");
	assert_string_equal(value_of(&labels, "span_id"), "0a00000000000000");
	buf_release(&record);
	process_context_release(&context);
}

TEST(context, refuses_a_record_that_is_being_changed)
{
	struct process_context context = names_of_keys();
	struct buf record = record_of("\x00\x01/", 3);
	static struct context_labels labels;

	for (int valid = 0; valid < 256; valid++) {
		record.bytes[24] = (uint8_t)valid;
		assert_int_equal(context_parse(&context, record.bytes, record.nr_bytes, &labels),
				 valid == 1 ? CONTEXT_READ : CONTEXT_INVALID);
		assert_int_equal(labels.nr, valid == 1);
	}
	for (size_t nr = 0; nr < CONTEXT_HEADER_BYTES; nr++) {
		assert_int_equal(context_parse(&context, record.bytes, nr, &labels),
				 CONTEXT_REFUSED);
		assert_int_equal(labels.nr, 0);
	}
	buf_release(&record);
	process_context_release(&context);
}

/* As many bytes of texts as there can be. */
TEST(context, has_room_for_all_texts)
{
	static uint8_t record[CONTEXT_BYTES_MAX] = {[0] = 1, [16] = 1, [24] = 1};
	static struct context_labels labels;
	struct process_context context = {.header_at = 0};

	for (size_t i = 0; i < CONTEXT_KEYS_MAX; i++) {
		char key[8];

		snprintf(key, sizeof(key), "k%zu", i);
		context.keys[context.nr_keys++] = xstrdup(key);
	}
	for (size_t length = 0; length < 256; length++) {
		size_t at = CONTEXT_HEADER_BYTES;

		for (size_t i = 0; at + 2 + length <= sizeof(record); i++) {
			record[at] = (uint8_t)i;
			record[at + 1] = (uint8_t)length;
			memset(record + at + 2, 'x', length);
			at += 2 + length;
		}
		context_parse(&context, record, sizeof(record), &labels);
		assert_true(labels.nr <= CONTEXT_LABELS_MAX);
		assert_true(labels.nr_text_bytes <= sizeof(labels.texts));
		for (size_t i = 0; i < labels.nr; i++)
			assert_non_null(value_of(&labels, labels.at[i].key));
	}
	process_context_release(&context);
}
