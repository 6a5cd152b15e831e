// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/unit.h"
#include "unwind/hot_rows.h"
#include "unwind/unwind.h"

enum { RBX = 3, RBP = 6, RSP = 7 };

static const struct hot_row *added(struct hot_rows *hot, uint64_t pc, bool is_exact, uint32_t stamp,
				   struct row row)
{
	const struct unwind_frame frame = {
		.pc = pc,
		.lookup = {.module.v = 3, .address = pc - 0x1000},
		.is_exact = is_exact,
	};

	hot_rows_add(hot, unwind_arch_x86_64.regs, stamp, &frame, &row);
	return hot_rows_find(hot, hot_key(pc, is_exact), stamp);
}

static struct row step_row(uint8_t cfa_reg, int32_t cfa_offset)
{
	return (struct row){
		.kind = ROW_STEP, .cfa_reg = cfa_reg, .cfa_offset = cfa_offset, .ra_offset = -8};
}

TEST(hot_rows, are_found_by_what_they_are_of)
{
	struct hot_rows hot;
	const struct hot_row *row;

	hot_rows_init(&hot);
	row = added(&hot, 0x5000, false, 7, step_row(RSP, 24));
	assert_non_null(row);
	assert_int_equal(row->module, 3);
	assert_int_equal(row->address, 0x4000);
	assert_int_equal(row->cfa_offset, 24);
	assert_null(hot_rows_find(&hot, hot_key(0x5000, true), 7));
	assert_null(hot_rows_find(&hot, hot_key(0x5000, false), 8));
	assert_null(hot_rows_find(&hot, hot_key(0x5008, false), 7));
	assert_null(hot_rows_find(&hot, hot_key(0, false), 7));
	hot_rows_release(&hot);
}

TEST(hot_rows, hold_plain_steps_only)
{
	struct row rows[6];
	struct hot_rows hot;

	hot_rows_init(&hot);
	for (size_t i = 0; i < 6; i++)
		rows[i] = step_row(RSP, 16);
	rows[0].cfa_reg = RBX;
	rows[1].ra_offset = -16;
	rows[2].ra = ROW_RA_IN_REG;
	rows[3].caller_is_exact = true;
	rows[4].fp = ROW_FP_AT_FP;
	rows[5].fp = ROW_FP_AT_CFA;
	rows[5].fp_offset = -40000;
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(added(&hot, 0x5000, true, 1, rows[i])->flags, 0);
	assert_int_equal(added(&hot, 0x5000, true, 1, row_of_kind(ROW_ROOT))->flags, 0);
	hot_rows_release(&hot);
}

TEST(hot_rows, say_what_becomes_of_the_frame_pointer)
{
	struct row row = step_row(RBP, 16);
	struct hot_rows hot;

	hot_rows_init(&hot);
	row.fp = ROW_FP_AT_CFA;
	row.fp_offset = -16;
	assert_int_equal(added(&hot, 0x5000, true, 1, row)->flags,
			 HOT_IS_STEP | HOT_CFA_FROM_FP | HOT_FP_AT_CFA);
	assert_int_equal(added(&hot, 0x5000, true, 1, row)->fp_offset, -16);
	row.fp = ROW_FP_LOST;
	row.rule = UNWIND_RULE_TO_RETURN;
	assert_int_equal(added(&hot, 0x5000, true, 1, row)->flags,
			 HOT_IS_STEP | HOT_CFA_FROM_FP | HOT_FP_LOST);
	assert_int_equal(added(&hot, 0x5000, true, 1, row)->rule, UNWIND_RULE_TO_RETURN);
	hot_rows_release(&hot);
}

TEST(hot_rows, kernel_addresses_are_none)
{
	struct hot_rows hot;

	hot_rows_init(&hot);
	assert_null(added(&hot, UINT64_C(0xffffffffff600000), true, 1, step_row(RSP, 8)));
	hot_rows_release(&hot);
}

#define MANY 10000

/* It grows with what is in use, so that nearly all of it stays. */
TEST(hot_rows, many_fit)
{
	struct hot_rows hot;
	size_t nr_found = 0;

	hot_rows_init(&hot);
	for (int round = 0; round < 8; round++) {
		for (uint64_t i = 0; i < MANY; i++) {
			if (!hot_rows_find(&hot, hot_key(0x400000 + i * 24, false), 1))
				added(&hot, 0x400000 + i * 24, false, 1, step_row(RSP, 16));
		}
	}
	for (uint64_t i = 0; i < MANY; i++)
		nr_found += hot_rows_find(&hot, hot_key(0x400000 + i * 24, false), 1) != NULL;
	assert_in_range(nr_found, MANY * 9 / 10, MANY);
	hot_rows_release(&hot);
}
