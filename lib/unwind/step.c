// SPDX-License-Identifier: GPL-2.0-or-later
/* Exports cached rows as steps for the stack walker inside the target. */
#include "mapping/space.h"
#include "unwind/hot_rows.h"
#include "unwind/rows.h"
#include "unwind/unwind_priv.h"

bool rows_step(const struct rows *rows, const struct space *space, const struct unwind_frame *frame,
	       struct unwind_step *step)
{
	const struct hot_row *row = hot_rows_find(
		rows_hot(rows), hot_key(frame->pc, frame->is_exact), space_stamp(space));

	if (!row || !(row->flags & HOT_IS_STEP))
		return false;
	*step = (struct unwind_step){
		.return_address = frame->pc + frame->is_exact,
		.sp_offset = row->cfa_offset,
		.fp_offset = row->fp_offset,
		.is_from_fp = (row->flags & HOT_CFA_FROM_FP) != 0,
		.fp_is_saved = (row->flags & HOT_FP_AT_CFA) != 0,
		.fp_is_lost = (row->flags & HOT_FP_LOST) != 0,
	};
	return true;
}
