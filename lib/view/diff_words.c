// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/diff_words.h"

#include "base/buf.h"
#include "base/minmax.h"
#include "calltree/diff.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/weights.h"

enum metric diff_metric(const struct diff *diff)
{
	return diff->old_side.runs[0]->metric;
}

struct unit diff_unit(const struct diff *diff, enum time_unit wanted)
{
	uint64_t largest = 0;

	for (size_t i = 0; i < diff->nr; i++) {
		const struct diff_row *row = &diff->rows[i];

		largest = max_u64(largest, diff_mean(&diff->old_side, &row->old_self));
		largest = max_u64(largest, diff_mean(&diff->new_side, &row->new_self));
	}
	return unit_chosen(wanted, diff_metric(diff), largest);
}

/* Sides are of different lengths: what they add up to tells nothing. */
static void append_rates(struct buf *out, const struct diff *diff)
{
	buf_printf(out,
		   "comparing rates, in percentage points of one %s: from %.1f%% to %.1f%% in all",
		   diff_metric(diff) == METRIC_CPU ? "CPU" : "thread",
		   diff_percent(diff, &diff->old_side, &diff->old_side.total),
		   diff_percent(diff, &diff->new_side, &diff->new_side.total));
}

static void append_amounts(struct buf *out, const struct diff *diff)
{
	uint64_t before = diff_mean(&diff->old_side, &diff->old_side.total);
	uint64_t after = diff_mean(&diff->new_side, &diff->new_side.total);

	if (after == before) {
		buf_append_str(out, "total: unchanged");
		return;
	}
	buf_append_str(out, after < before ? "total: -" : "total: +");
	append_weight(out, diff_metric(diff), after < before ? before - after : after - before);
	buf_printf(out, " (%+.1f%%", diff_total_change(diff));
	if (diff_has_runs(diff) || diff->noise.is_known)
		buf_printf(out, " \xc2\xb1 %.1f", diff_total_half(diff));
	buf_append_str(out, ")");
}

void diff_append_total(struct buf *out, const struct diff *diff)
{
	switch (diff->mode) {
	case DIFF_AMOUNTS:
		append_amounts(out, diff);
		break;
	case DIFF_SHARES:
		buf_printf(out, "comparing shares of the %s, in percentage points",
			   metric_is_memory(diff_metric(diff)) ? "memory" : "time");
		break;
	case DIFF_RATES:
		append_rates(out, diff);
		break;
	}
}

void diff_append_kind(struct buf *out, const struct diff *diff, size_t nr)
{
	if (diff->by == BY_FUNCTION)
		buf_append_str(out, nr == 1 ? "function" : "functions");
	else
		buf_append_str(out, nr == 1 ? "row" : "rows");
}

const char *diff_presence_word(const struct diff *diff, const struct diff_row *row)
{
	const struct diff_at *at = diff_known_at(row);
	const struct expansion *expansion = diff_weights(diff, at)->selection->expansion;

	if (at->label != DIFF_NONE && !label_module(expansion, at->label))
		return "";
	if (row->old_at.row == DIFF_NONE)
		return "new";
	return row->new_at.row == DIFF_NONE ? "gone" : "";
}

void diff_append_unsure(struct buf *out, const struct diff *diff, size_t nr)
{
	append_count(out, nr);
	buf_append_byte(out, ' ');
	diff_append_kind(out, diff, nr);
	buf_printf(out, " changed %s",
		   diff_has_runs(diff) ? "no more than runs of one side differ" : "within noise");
}
