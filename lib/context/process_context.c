// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads what a process says of itself. */
#include "context/process_context.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "mapping/space.h"
#include "proc/maps.h"
#include "proc/read.h"

/* --- the payload --- */

/* One member of a message of protobuf. */
struct member {
	uint64_t number;
	struct cursor bytes; /* empty unless it has a length */
};

enum wire_type {
	WIRE_VARINT = 0,
	WIRE_64_BITS = 1,
	WIRE_LENGTH = 2,
	WIRE_32_BITS = 5,
};

static bool next_member(struct cursor *message, struct member *member)
{
	uint64_t key, length;
	const uint8_t *bytes;

	if (message->failed || !cursor_left(message))
		return false;
	key = cursor_uleb(message);
	member->number = key >> 3;
	member->bytes = cursor_over(NULL, 0);
	switch (key & 7) {
	case WIRE_VARINT:
		cursor_uleb(message);
		break;
	case WIRE_64_BITS:
		cursor_skip(message, sizeof(uint64_t));
		break;
	case WIRE_32_BITS:
		cursor_skip(message, sizeof(uint32_t));
		break;
	case WIRE_LENGTH:
		length = cursor_uleb(message);
		bytes = cursor_bytes(message, length);
		if (bytes)
			member->bytes = cursor_over(bytes, length);
		break;
	default:
		cursor_fail(message);
	}
	return !message->failed;
}

/* The last member of that number, as protobuf has it. False: there is none. */
static bool find_member(struct cursor message, uint64_t number, struct cursor *bytes)
{
	struct member member;
	bool is_found = false;

	while (next_member(&message, &member)) {
		if (member.number != number)
			continue;
		*bytes = member.bytes;
		is_found = true;
	}
	return is_found;
}

/* Names for users: longer ones, or none, are of no use. */
#define TEXT_BYTES_MAX 255

static char *text_of(struct cursor bytes)
{
	size_t length = cursor_left(&bytes);
	const uint8_t *text = cursor_bytes(&bytes, length);

	return text && length && length <= TEXT_BYTES_MAX && !memchr(text, '\0', length)
		       ? xstrndup((const char *)text, length)
		       : NULL;
}

#define CONTEXT_ATTRIBUTES 2 /* ProcessContext */
#define PAIR_KEY	   1 /* KeyValue */
#define PAIR_VALUE	   2
#define VALUE_TEXT	   1 /* AnyValue */
#define VALUE_ARRAY	   5
#define ARRAY_VALUES	   1 /* ArrayValue */

#define SCHEMA_KEY "threadlocal.schema_version"
#define MAP_KEY	   "threadlocal.attribute_key_map"

static void forget_keys(struct process_context *context)
{
	while (context->nr_keys) {
		free(context->keys[--context->nr_keys]);
		context->keys[context->nr_keys] = NULL;
	}
}

static void take_keys(struct process_context *context, struct cursor array)
{
	struct member value;

	forget_keys(context);
	while (context->nr_keys < CONTEXT_KEYS_MAX && next_member(&array, &value)) {
		struct cursor text;

		if (value.number != ARRAY_VALUES)
			continue;
		context->keys[context->nr_keys++] =
			find_member(value.bytes, VALUE_TEXT, &text) ? text_of(text) : NULL;
	}
}

static void take_attribute(struct process_context *context, struct cursor pair)
{
	struct cursor key, value, inner;
	cleanup_free char *name = find_member(pair, PAIR_KEY, &key) ? text_of(key) : NULL;

	if (!name || !find_member(pair, PAIR_VALUE, &value))
		return;
	if (strcmp(name, SCHEMA_KEY) == 0 && find_member(value, VALUE_TEXT, &inner)) {
		free(context->schema);
		context->schema = text_of(inner);
	} else if (strcmp(name, MAP_KEY) == 0 && find_member(value, VALUE_ARRAY, &inner)) {
		take_keys(context, inner);
	}
}

bool process_context_parse(struct process_context *context, const void *payload, size_t nr_bytes)
{
	struct cursor message = cursor_over(payload, nr_bytes);
	struct member member;

	while (next_member(&message, &member)) {
		if (member.number == CONTEXT_ATTRIBUTES)
			take_attribute(context, member.bytes);
	}
	return !message.failed;
}

void process_context_release(struct process_context *context)
{
	forget_keys(context);
	free(context->schema);
	context->schema = NULL;
	context->header_at = context->published_ns = 0;
}

/* --- memory --- */

/* As it is in memory. */
struct header {
	char signature[8];
	uint32_t version, nr_payload_bytes;
	uint64_t published_ns, payload_at;
};

#define SIGNATURE	  "OTEL_CTX"
#define VERSION		  2
#define PAYLOAD_BYTES_MAX (UINT32_C(256) << 10)

static bool read_header(struct space *space, uint64_t at, struct header *header)
{
	return space_read_memory(space, at, header, sizeof(*header)) &&
	       !memcmp(header->signature, SIGNATURE, sizeof(header->signature)) &&
	       header->version == VERSION;
}

bool process_context_refresh(struct process_context *context, struct space *space)
{
	cleanup_free uint8_t *payload = NULL;
	struct header header, after;
	uint64_t at = context->header_at;

	if (!at || !read_header(space, at, &header)) {
		process_context_release(context);
		return false;
	}
	if (header.published_ns == context->published_ns)
		return header.published_ns;
	if (!header.published_ns || header.nr_payload_bytes > PAYLOAD_BYTES_MAX)
		return false;
	payload = xmalloc(header.nr_payload_bytes + 1);
	if (!space_read_memory(space, header.payload_at, payload, header.nr_payload_bytes) ||
	    !read_header(space, at, &after) || after.published_ns != header.published_ns)
		return false;
	process_context_release(context);
	context->header_at = at;
	context->published_ns = header.published_ns;
	process_context_parse(context, payload, header.nr_payload_bytes);
	return true;
}

static bool is_of_context(const struct proc_map *map)
{
	static const char *const names[] = {"[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]",
					    "/memfd:OTEL_CTX"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (map->nr_path_bytes >= strlen(names[i]) &&
		    !memcmp(map->path, names[i], strlen(names[i])))
			return map->readable;
	}
	return false;
}

/* There is one in a process; a damaged one is passed over. */
bool process_context_find(struct process_context *context, struct space *space)
{
	struct buf text = {0};
	struct proc_maps_iter iter;
	struct proc_map map;
	bool is_found = false;

	if (!proc_read_process_file(space_pid(space), "maps", &text))
		return false;
	iter = proc_maps_over((const char *)text.bytes, text.nr_bytes);
	while (!is_found && proc_maps_next(&iter, &map) == 1) {
		if (!is_of_context(&map))
			continue;
		context->header_at = map.start;
		is_found = process_context_refresh(context, space);
	}
	buf_release(&text);
	return is_found;
}
