// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "calltree/diff.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/weights.h"
#include "tests/unit/made_profile.h"

/* One side: nr samples of 1 ms in each function. */
struct side {
	struct profile *profile;
	struct expansion *expansion;
	struct selection *selection;
	struct weights *weights;
};

static struct side side_of(unsigned int parse, unsigned int eval, unsigned int print)
{
	const struct filter everything = {.from_ns = 0};
	struct made made = made_begin();
	struct side side;

	for (unsigned int i = 0; i < parse; i++)
		made_sample(&made, "main;parse@a.c:1", 1);
	for (unsigned int i = 0; i < eval; i++)
		made_sample(&made, "main;eval", 1);
	for (unsigned int i = 0; i < print; i++)
		made_sample(&made, "main;libio.so!print", 1);
	side.profile = made_end(&made);
	side.expansion = expansion_new(side.profile, false);
	assert_int_equal(selection_new(side.expansion, &everything, &side.selection, NULL), 0);
	side.weights = weights_new(side.selection, METRIC_CPU);
	return side;
}

static void side_release(struct side *side)
{
	weights_free(side->weights);
	selection_free(side->selection);
	expansion_free(side->expansion);
	profile_free(side->profile);
}

/* "change ±half name" a row, the sure ones marked. */
static void expect_rows(const struct diff *diff, const struct side *old_side,
			const struct side *new_side, const char *expected)
{
	struct buf text = {0};

	for (size_t i = 0; i < diff->nr; i++) {
		const struct diff_row *row = &diff->rows[i];
		bool is_new = row->new_label != DIFF_NO_LABEL;

		buf_printf(&text, "%+.1f ±%.1f ", row->change, row->half);
		label_append_name(&text, is_new ? new_side->expansion : old_side->expansion,
				  is_new ? row->new_label : row->old_label, NAME_FULL);
		buf_append_str(&text, diff_row_is_sure(row) ? " sure\n" : "\n");
	}
	assert_string_equal(buf_str(&text), expected);
	buf_release(&text);
}

static void test_diff__amounts_in_percent_of_the_old_total(void **state)
{
	struct side before = side_of(500, 400, 100), after = side_of(510, 800, 0);
	struct diff *diff = diff_new(before.weights, after.weights, DIFF_AMOUNTS);

	(void)state;
	expect_rows(diff, &before, &after,
		    "+40.0 ±4.6 eval sure\n"
		    "-10.0 ±1.9 print sure\n"
		    "+1.0 ±4.6 parse\n"
		    "+0.0 ±0.3 main\n");
	assert_float_equal(diff_total_change(diff), 31, 0.001);
	diff_free(diff);
	side_release(&before);
	side_release(&after);
}

static void test_diff__shares_do_not_mind_the_length_of_a_look(void **state)
{
	struct side before = side_of(500, 400, 100), after = side_of(1000, 800, 200);
	struct diff *diff = diff_new(before.weights, after.weights, DIFF_SHARES);

	(void)state;
	for (size_t i = 0; i < diff->nr; i++) {
		assert_float_equal(diff->rows[i].change, 0, 0.001);
		assert_false(diff_row_is_sure(&diff->rows[i]));
	}
	assert_false(diff_exceeds(diff, 0));
	diff_free(diff);
	side_release(&before);
	side_release(&after);
}

static void test_diff__limit_is_exceeded_only_surely(void **state)
{
	struct side before = side_of(500, 500, 0), after = side_of(500, 500, 60);
	struct side noisy = side_of(505, 490, 5), shifted = side_of(500, 440, 60);
	struct diff *grown = diff_new(before.weights, after.weights, DIFF_AMOUNTS);
	struct diff *same = diff_new(before.weights, noisy.weights, DIFF_AMOUNTS);
	struct diff *moved = diff_new(before.weights, shifted.weights, DIFF_AMOUNTS);

	(void)state;
	assert_true(diff_exceeds(grown, 5)); /* the total by 6 % */
	assert_false(diff_exceeds(grown, 7));
	assert_true(diff_exceeds(moved, 4)); /* the total by nothing, print by 6 ± 1.5 */
	assert_false(diff_exceeds(moved, 5));
	assert_false(diff_exceeds(same, 0.2)); /* the total by nothing, the rest is noise */
	diff_free(grown);
	diff_free(same);
	diff_free(moved);
	side_release(&before);
	side_release(&after);
	side_release(&noisy);
	side_release(&shifted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_diff__amounts_in_percent_of_the_old_total),
		cmocka_unit_test(test_diff__shares_do_not_mind_the_length_of_a_look),
		cmocka_unit_test(test_diff__limit_is_exceeded_only_surely),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
