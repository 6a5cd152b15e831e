// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"
#include "base/cursor.h"
#include "tests/unit/unit.h"

TEST(buf, grows_and_clears)
{
	struct buf buf = {0};

	assert_string_equal(buf_str(&buf), "");
	for (int i = 0; i < 1000; i++)
		buf_append_str(&buf, "0123456789");
	assert_int_equal(buf.nr_bytes, 10000);
	assert_int_equal(strlen(buf_str(&buf)), 10000);
	buf_clear(&buf);
	buf_printf(&buf, "%s-%d", "a", 7);
	buf_append_byte(&buf, '!');
	buf_append(&buf, "", 0);
	assert_string_equal(buf_str(&buf), "a-7!");
	assert_int_equal(buf.nr_bytes, 4);
	buf_release(&buf);
	assert_null(buf.bytes);
}

TEST(buf, numbers_are_little_endian)
{
	static const uint8_t expected[] = {0x44, 0x33, 0x22, 0x11, 0xef, 0xcd,
					   0xab, 0x89, 0x67, 0x45, 0x23, 0x01};
	struct buf buf = {0};
	struct cursor cursor;

	buf_append_u32(&buf, 0x11223344);
	buf_append_u64(&buf, UINT64_C(0x0123456789abcdef));
	assert_int_equal(buf.nr_bytes, sizeof(expected));
	assert_memory_equal(buf.bytes, expected, sizeof(expected));
	cursor = cursor_over(buf.bytes, buf.nr_bytes);
	assert_int_equal(cursor_u32(&cursor), 0x11223344);
	assert_int_equal(cursor_u64(&cursor), UINT64_C(0x0123456789abcdef));
	assert_int_equal(cursor_left(&cursor), 0);
	assert_false(cursor.failed);
	buf_release(&buf);
}

TEST(buf, decimals)
{
	struct buf buf = {0};

	buf_append_decimal(&buf, 0);
	buf_append_byte(&buf, ' ');
	buf_append_decimal(&buf, 1000);
	buf_append_byte(&buf, ' ');
	buf_append_decimal(&buf, UINT64_MAX);
	assert_string_equal(buf_str(&buf), "0 1000 18446744073709551615");
	buf_release(&buf);
}

static void check_uleb(uint64_t value, const char *bytes, size_t nr_bytes)
{
	struct buf buf = {0};
	struct cursor cursor;

	buf_append_uleb(&buf, value);
	assert_int_equal(buf.nr_bytes, nr_bytes);
	assert_memory_equal(buf.bytes, bytes, nr_bytes);
	cursor = cursor_over(buf.bytes, buf.nr_bytes);
	assert_int_equal(cursor_uleb(&cursor), value);
	assert_false(cursor.failed);
	buf_release(&buf);
}

TEST(buf, uleb)
{
	check_uleb(0, "\x00", 1);
	check_uleb(127, "\x7f", 1);
	check_uleb(128, "\x80\x01", 2);
	check_uleb(624485, "\xe5\x8e\x26", 3); /* the example of DWARF, appendix C */
	check_uleb(UINT64_MAX, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
}

TEST(buf, zigzag)
{
	static const int64_t values[] = {0, -1, 1, -64, 64, INT64_MAX, INT64_MIN};
	struct buf buf = {0};
	struct cursor cursor;

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		buf_append_sleb_zigzag(&buf, values[i]);
	assert_memory_equal(buf.bytes, "\x00\x01\x02\x7f\x80\x01", 6);
	cursor = cursor_over(buf.bytes, buf.nr_bytes);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		assert_int_equal(cursor_sleb_zigzag(&cursor), values[i]);
	assert_int_equal(cursor_left(&cursor), 0);
	buf_release(&buf);
}

TEST(cursor, uleb_above_64_bits_fails)
{
	static const char *const bad[] = {
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
		"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
		"\x80\x80\x80",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct cursor cursor = cursor_over(bad[i], strlen(bad[i]));

		assert_int_equal(cursor_uleb(&cursor), 0);
		assert_true(cursor.failed);
	}
}

TEST(cursor, stays_failed)
{
	struct cursor cursor = cursor_over("\x01\x02\x03", 3);

	assert_int_equal(cursor_u32(&cursor), 0);
	assert_true(cursor.failed);
	assert_int_equal(cursor_byte(&cursor), 0); /* although there were bytes */
	assert_int_equal(cursor_u64(&cursor), 0);
	assert_int_equal(cursor_uleb(&cursor), 0);
	assert_null(cursor_bytes(&cursor, 0));
	assert_int_equal(cursor_left(&cursor), 0); /* so that loops over it end */
}

TEST(cursor, huge_counts_do_not_wrap)
{
	struct cursor cursor = cursor_over("abc", 3);

	assert_null(cursor_bytes(&cursor, UINT64_MAX));
	cursor = cursor_over("abc", 3);
	assert_null(cursor_bytes(&cursor, UINT64_C(1) << 63));
	cursor = cursor_over("abc", 3);
	assert_memory_equal(cursor_bytes(&cursor, 3), "abc", 3);
	assert_non_null(cursor_bytes(&cursor, 0));
	assert_false(cursor.failed);
}
