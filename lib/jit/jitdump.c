// SPDX-License-Identifier: GPL-2.0-or-later
/* Parser for jitdumps. */
#include "jit/jitdump.h"

#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "jit/jit_code.h"

#define MAGIC		UINT32_C(0x4a695444)
#define MAGIC_SWAPPED	UINT32_C(0x4454694a)
#define VERSION		1
#define HEADER_BYTES	40
#define HEADER_MAX	4096
#define PREFIX_BYTES	16 /* id, size, time */
#define CODE_LOAD	0
#define CODE_LOAD_BYTES (PREFIX_BYTES + 40) /* then the name, then the code */
#define CODE_MOVE	1
#define CODE_MOVE_BYTES (PREFIX_BYTES + 48)
#define DEBUG_INFO	2
#define NAME_MAX_BYTES	65536
/* V8 writes this into the header's reserved field. */
#define V8_PAD UINT32_C(0xdeadbeef)
/*
 * V8 (node --perf-prof) counts the addresses of lines from the ELF header that `perf inject`
 * puts before the code.
 */
#define V8_OFFSET 64

/* Takes nothing if it is incomplete. */
static int take_header(struct jitdump *dump, struct cursor cursor, uint64_t nr_left,
		       uint64_t *nr_taken, struct err *err)
{
	uint32_t magic, version, nr_bytes, pad;

	if (cursor_left(&cursor) < HEADER_BYTES)
		return 0;
	magic = cursor_u32(&cursor);
	version = cursor_u32(&cursor);
	nr_bytes = cursor_u32(&cursor);
	cursor_u32(&cursor); /* the machine */
	pad = cursor_u32(&cursor);
	if (magic == MAGIC_SWAPPED)
		return err_set(err, ERR_UNSUPPORTED, "a jitdump of the other byte order");
	if (magic != MAGIC || nr_bytes < HEADER_BYTES || nr_bytes > HEADER_MAX)
		return err_set(err, ERR_CORRUPT, "not a jitdump");
	if (version != VERSION)
		return err_set(err, ERR_UNSUPPORTED, "a jitdump of version %u, not %d", version,
			       VERSION);
	if (nr_bytes > nr_left)
		return 0;
	dump->has_header = true;
	dump->is_v8 = pad == V8_PAD;
	*nr_taken = nr_bytes;
	return 0;
}

/* The last lines read, unless they are for other code or exceed this. */
static void give_lines(const struct jitdump *dump, const struct jit_code *code,
		       struct jit_range *range)
{
	const struct jit_line *lines = code->lines + dump->first_line;

	if (!dump->nr_lines || dump->lines_of != range->start)
		return;
	for (uint32_t i = 0; i < dump->nr_lines; i++) {
		if (lines[i].offset >= range->end - range->start)
			return;
	}
	range->first_line = dump->first_line;
	range->nr_lines = dump->nr_lines;
}

void jitdump_release(struct jitdump *dump)
{
	key_map_release(&dump->latest);
	*dump = (struct jitdump){.has_header = false};
}

/* For the moves to come. */
static void note_start(struct jitdump *dump, const struct jit_code *code,
		       const struct jit_range *range)
{
	if (range->start)
		key_map_put(&dump->latest, 0, range->start, (uint32_t)(range - code->ranges));
}

/* The name and the lines go with the code. */
static void take_move(struct jitdump *dump, struct cursor record, struct jit_code *code)
{
	uint64_t from, to, nr_bytes;
	const struct jit_range *range;
	uint32_t index;

	cursor_bytes(&record, PREFIX_BYTES + 16); /* process, thread, and link address */
	from = cursor_u64(&record);
	to = cursor_u64(&record);
	nr_bytes = cursor_u64(&record);
	if (record.failed || !key_map_find(&dump->latest, 0, from, &index))
		return;
	range = jit_code_add_moved(code, index, to, nr_bytes);
	if (range)
		note_start(dump, code, range);
}

static void take_code(struct jitdump *dump, struct cursor record, struct jit_code *code)
{
	uint64_t address, nr_bytes;
	const char *name;
	size_t nr_name_bytes;
	struct jit_range *range;

	cursor_bytes(&record, PREFIX_BYTES + 16); /* process, thread, and link address */
	address = cursor_u64(&record);
	nr_bytes = cursor_u64(&record);
	cursor_u64(&record); /* its number */
	if (record.failed)
		return;
	name = (const char *)record.at;
	nr_name_bytes =
		cursor_left(&record) < NAME_MAX_BYTES ? cursor_left(&record) : NAME_MAX_BYTES;
	range = jit_code_add(code, address, nr_bytes, name, strnlen(name, nr_name_bytes));
	if (range) {
		give_lines(dump, code, range);
		note_start(dump, code, range);
	}
	dump->nr_lines = 0;
}

/* "\xff" means the file of the row before. */
static bool is_same_file(const char *file, size_t nr_bytes)
{
	return nr_bytes == 1 && *file == '\xff';
}

/* One row; false at the end, and where the record is damaged. Rows must ascend. */
static bool take_row(struct jitdump *dump, struct cursor *record, struct jit_code *code)
{
	uint64_t offset = cursor_u64(record) - dump->lines_of - (dump->is_v8 ? V8_OFFSET : 0);
	uint32_t line = cursor_u32(record);
	const char *file;
	size_t nr_file_bytes;
	bool is_same;

	cursor_u32(record); /* the discriminator, or the column */
	file = (const char *)record->at;
	nr_file_bytes = strnlen(file, cursor_left(record));
	if (record->failed || nr_file_bytes == cursor_left(record) || offset > UINT32_MAX)
		return false;
	cursor_bytes(record, nr_file_bytes + 1);
	is_same = is_same_file(file, nr_file_bytes);
	if (is_same && !dump->nr_lines)
		return false;
	if (dump->nr_lines && offset < code->lines[code->nr_lines - 1].offset)
		return true;
	if (!jit_code_add_line(code, (uint32_t)offset, line, is_same ? NULL : file, nr_file_bytes))
		return false;
	dump->nr_lines++;
	return true;
}

static void take_lines(struct jitdump *dump, struct cursor record, struct jit_code *code)
{
	uint64_t nr_rows;

	cursor_bytes(&record, PREFIX_BYTES);
	dump->lines_of = cursor_u64(&record);
	nr_rows = cursor_u64(&record);
	dump->first_line = (uint32_t)code->nr_lines;
	dump->nr_lines = 0;
	if (record.failed)
		return;
	for (; nr_rows; nr_rows--) {
		if (!take_row(dump, &record, code)) {
			dump->nr_lines = 0; /* all or nothing */
			return;
		}
	}
}

/* Are there enough bytes to read a record of this type and size? */
static bool is_readable(uint32_t type, uint32_t nr_bytes, const struct cursor *record)
{
	size_t left = cursor_left(record);

	if (left >= nr_bytes)
		return true;
	if (type == CODE_MOVE)
		return left >= CODE_MOVE_BYTES;
	if (type == DEBUG_INFO)
		return nr_bytes > JITDUMP_RECORD_MAX_BYTES; /* it is skipped */
	if (type != CODE_LOAD)
		return true;
	if (left < CODE_LOAD_BYTES)
		return false;
	left -= CODE_LOAD_BYTES;
	return left > NAME_MAX_BYTES || memchr(record->at + CODE_LOAD_BYTES, '\0', left);
}

static void take_record(struct jitdump *dump, uint32_t type, uint32_t nr_bytes,
			struct cursor cursor, struct jit_code *code)
{
	size_t nr = cursor_left(&cursor) < nr_bytes ? cursor_left(&cursor) : nr_bytes;
	struct cursor record = cursor_over(cursor.at, nr);

	if (type == CODE_LOAD)
		take_code(dump, record, code);
	else if (type == CODE_MOVE && nr >= CODE_MOVE_BYTES)
		take_move(dump, record, code);
	else if (type == DEBUG_INFO && nr == nr_bytes && nr <= JITDUMP_RECORD_MAX_BYTES)
		take_lines(dump, record, code);
}

int jitdump_parse(struct jitdump *dump, const uint8_t *bytes, size_t nr_bytes, uint64_t nr_left,
		  struct jit_code *code, uint64_t *nr_taken, struct err *err)
{
	*nr_taken = 0;
	if (!dump->has_header) {
		int status =
			take_header(dump, cursor_over(bytes, nr_bytes), nr_left, nr_taken, err);

		if (status < 0 || !dump->has_header)
			return status;
	}
	while (*nr_taken < nr_bytes && nr_bytes - *nr_taken >= PREFIX_BYTES) {
		struct cursor cursor = cursor_over(bytes + *nr_taken, nr_bytes - *nr_taken);
		struct cursor prefix = cursor;
		uint32_t type = cursor_u32(&prefix);
		uint32_t nr_record_bytes = cursor_u32(&prefix);

		if (nr_record_bytes < PREFIX_BYTES)
			return err_set(err, ERR_CORRUPT, "the jitdump is damaged");
		/* It is still being written, or has not been read completely. */
		if (nr_record_bytes > nr_left - *nr_taken ||
		    !is_readable(type, nr_record_bytes, &cursor))
			break;
		take_record(dump, type, nr_record_bytes, cursor, code);
		*nr_taken += nr_record_bytes;
	}
	return 0;
}
