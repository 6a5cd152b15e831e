// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"
#include "base/err.h"
#include "jit/jit_code.h"
#include "jit/jitdump.h"
#include "tests/unit/unit.h"

#define CODE UINT64_C(0x7f0000001000)
#define V8   UINT32_C(0xdeadbeef)

static void put_header(struct buf *out, uint32_t pad)
{
	buf_append_u32(out, 0x4a695444);
	buf_append_u32(out, 1);
	buf_append_u32(out, 40);
	buf_append_u32(out, 62);
	buf_append_u32(out, pad);
	buf_append_u32(out, 100);
	buf_append_u64(out, 5);
	buf_append_u64(out, 0);
}

/* `size` bytes of it are said to be there, `bytes` are. */
static void put_code(struct buf *out, uint64_t address, const char *name, uint32_t size,
		     uint32_t bytes)
{
	buf_append_u32(out, 0);
	buf_append_u32(out, 56 + (uint32_t)strlen(name) + 1 + bytes);
	buf_append_u64(out, 6);
	buf_append_u32(out, 100);
	buf_append_u32(out, 100);
	buf_append_u64(out, address);
	buf_append_u64(out, address);
	buf_append_u64(out, size);
	buf_append_u64(out, 1);
	buf_append(out, name, strlen(name) + 1);
	for (uint32_t i = 0; i < bytes; i++)
		buf_append_byte(out, 0x90);
}

static void put_row(struct buf *out, uint64_t address, uint32_t line, const char *file)
{
	buf_append_u64(out, address);
	buf_append_u32(out, line);
	buf_append_u32(out, 0);
	buf_append(out, file, strlen(file) + 1);
}

static void put_lines(struct buf *out, uint64_t address, uint64_t nr_rows, const struct buf *rows)
{
	buf_append_u32(out, 2);
	buf_append_u32(out, 32 + (uint32_t)rows->nr_bytes);
	buf_append_u64(out, 6);
	buf_append_u64(out, address);
	buf_append_u64(out, nr_rows);
	buf_append(out, rows->bytes, rows->nr_bytes);
}

static int parse(const struct buf *in, struct jit_code *code, uint64_t *nr_taken)
{
	struct jitdump dump = {0};
	int status =
		jitdump_parse(&dump, in->bytes, in->nr_bytes, in->nr_bytes, code, nr_taken, NULL);

	jitdump_release(&dump);
	return status;
}

static void put_move(struct buf *out, uint64_t from, uint64_t to, uint32_t size)
{
	buf_append_u32(out, 1);
	buf_append_u32(out, 64);
	buf_append_u64(out, 6);
	buf_append_u32(out, 100);
	buf_append_u32(out, 100);
	buf_append_u64(out, to);
	buf_append_u64(out, from);
	buf_append_u64(out, to);
	buf_append_u64(out, size);
	buf_append_u64(out, 1);
}

static void assert_range(const struct jit_code *code, size_t index, uint64_t start,
			 const char *name, uint32_t line)
{
	const struct jit_range *range = &code->ranges[index];
	const struct jit_line *at = jit_code_line(code, range, range->start);

	assert_int_equal(range->start, start);
	assert_int_equal(range->end, start + 32);
	assert_string_equal(jit_code_name(code, range), name);
	assert_int_equal(at ? at->line : 0, line);
}

TEST(jitdump, names_go_with_code_that_is_moved)
{
	struct buf in = {0}, rows = {0};
	struct jit_code code = {0};
	uint64_t nr_taken;

	put_header(&in, 0);
	put_row(&rows, CODE, 7, "one.py");
	put_lines(&in, CODE, 1, &rows);
	put_code(&in, CODE, "one", 32, 32);
	put_move(&in, CODE, CODE + 4096, 32);
	put_code(&in, CODE, "two", 32, 32);
	put_move(&in, CODE + 4096, CODE + 8192, 32);
	put_move(&in, CODE, CODE + 4096, 32);
	put_move(&in, CODE + 12345, CODE + 16384, 32); /* it was never said what is there */
	assert_int_equal(parse(&in, &code, &nr_taken), 0);
	assert_int_equal(nr_taken, in.nr_bytes);
	assert_int_equal(code.nr, 5);
	assert_range(&code, 1, CODE + 4096, "one", 7);
	assert_range(&code, 2, CODE, "two", 0);
	assert_range(&code, 3, CODE + 8192, "one", 7);
	assert_range(&code, 4, CODE + 4096, "two", 0);
	buf_release(&in);
	buf_release(&rows);
	jit_code_release(&code);
}

TEST(jitdump, code_has_its_name)
{
	struct buf in = {0};
	struct jit_code code = {0};
	uint64_t nr_taken;

	put_header(&in, 0);
	put_code(&in, CODE, "_ZN3foo3barEv<int> (x)", 32, 32);
	put_code(&in, CODE + 32, "next", 8, 8);
	assert_int_equal(parse(&in, &code, &nr_taken), 0);
	assert_int_equal(nr_taken, in.nr_bytes);
	assert_int_equal(code.nr, 2);
	assert_string_equal(jit_code_name(&code, &code.ranges[0]), "_ZN3foo3barEv<int> (x)");
	assert_int_equal(code.ranges[1].start, CODE + 32);
	assert_int_equal(code.ranges[1].end, CODE + 40);
	buf_release(&in);
	jit_code_release(&code);
}

static void assert_line(const struct jit_code *code, uint64_t address, const char *file,
			uint32_t number)
{
	const struct jit_line *line = jit_code_line(code, &code->ranges[0], address);

	assert_non_null(line);
	assert_string_equal(jit_code_file(code, line), file);
	assert_int_equal(line->line, number);
}

static void check_lines(uint32_t pad, uint64_t shift)
{
	struct buf in = {0};
	struct buf rows = {0};
	struct jit_code code = {0};
	uint64_t nr_taken;

	put_header(&in, pad);
	put_row(&rows, CODE + shift + 4, 10, "/a.js");
	put_row(&rows, CODE + shift + 8, 11, "\xff");
	put_row(&rows, CODE + shift + 8, 3, "/b.js");
	put_lines(&in, CODE, 3, &rows);
	put_code(&in, CODE, "f", 32, 32);
	put_code(&in, CODE + 32, "g", 32, 32);
	assert_int_equal(parse(&in, &code, &nr_taken), 0);
	assert_int_equal(code.ranges[0].nr_lines, 3);
	assert_null(jit_code_line(&code, &code.ranges[0], CODE + 3));
	assert_line(&code, CODE + 7, "/a.js", 10);
	assert_line(&code, CODE + 31, "/b.js", 3);
	assert_int_equal(code.ranges[1].nr_lines, 0);
	buf_release(&in);
	buf_release(&rows);
	jit_code_release(&code);
}

TEST(jitdump, lines_belong_to_the_code_behind_them)
{
	check_lines(0, 0);
}

/* perf inject puts code behind 64 bytes of a header, and V8 counts from there. */
TEST(jitdump, lines_of_v8_are_moved)
{
	check_lines(V8, 64);
}

TEST(jitdump, lines_outside_of_the_code_are_none)
{
	struct buf in = {0};
	struct buf rows = {0};
	struct jit_code code = {0};
	uint64_t nr_taken;

	put_header(&in, 0);
	put_row(&rows, CODE, 10, "/a.js");
	put_row(&rows, CODE + 32, 11, "\xff");
	put_lines(&in, CODE, 2, &rows);
	put_code(&in, CODE, "f", 32, 32);
	assert_int_equal(parse(&in, &code, &nr_taken), 0);
	assert_int_equal(code.nr, 1);
	assert_int_equal(code.ranges[0].nr_lines, 0);
	buf_release(&in);
	buf_release(&rows);
	jit_code_release(&code);
}

TEST(jitdump, a_record_that_is_being_written_waits)
{
	struct buf in = {0};
	struct jit_code code = {0};
	struct jitdump dump = {0};
	uint64_t nr_taken;
	size_t nr_whole;

	put_header(&in, 0);
	put_code(&in, CODE, "f", 32, 32);
	nr_whole = in.nr_bytes;
	put_code(&in, CODE + 32, "g", 32, 32);
	assert_int_equal(jitdump_parse(&dump, in.bytes, in.nr_bytes - 1, in.nr_bytes - 1, &code,
				       &nr_taken, NULL),
			 0);
	assert_int_equal(nr_taken, nr_whole);
	assert_int_equal(code.nr, 1);
	/* The bytes of the code are not needed, if the file has them. */
	assert_int_equal(jitdump_parse(&dump, in.bytes + nr_whole, 60, in.nr_bytes - nr_whole,
				       &code, &nr_taken, NULL),
			 0);
	assert_int_equal(nr_taken, in.nr_bytes - nr_whole);
	assert_int_equal(code.nr, 2);
	buf_release(&in);
	jit_code_release(&code);
	jitdump_release(&dump);
}

TEST(jitdump, what_is_none_is_refused)
{
	struct buf in = {0};
	struct jit_code code = {0};
	uint64_t nr_taken;

	put_header(&in, 0);
	buf_append_u32(&in, 0);
	buf_append_u32(&in, 15); /* shorter than its own beginning */
	buf_append_u64(&in, 0);
	assert_int_equal(parse(&in, &code, &nr_taken), ERR_CORRUPT);
	in.bytes[4] = 2;
	assert_int_equal(parse(&in, &code, &nr_taken), ERR_UNSUPPORTED);
	in.bytes[0] = 'x';
	assert_int_equal(parse(&in, &code, &nr_taken), ERR_CORRUPT);
	assert_int_equal(code.nr, 0);
	buf_release(&in);
	jit_code_release(&code);
}
