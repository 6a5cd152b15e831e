// SPDX-License-Identifier: GPL-2.0-or-later
/* The code in thunks for each kind of pass. */
#include "patch/maker_x86_64.h"

#if defined(__x86_64__)

void maker_put_pass(struct maker *maker, const struct patch_counter *counter)
{
	switch (counter->pass) {
	case PATCH_COUNT:
		maker_put_count(maker, counter);
		break;
	case PATCH_COUNT_WITHIN:
		maker_put_count_within(maker, counter);
		break;
	case PATCH_ENTER:
		maker_put_enter(maker, counter);
		break;
	case PATCH_LEAVE:
		maker_put_leave(maker, counter);
		break;
	case PATCH_SPAN_BEGIN:
	case PATCH_SPAN_FROM:
		maker_put_span_begin(maker, counter);
		break;
	case PATCH_SPAN_END:
	case PATCH_SPAN_TO:
		maker_put_span_end(maker, counter);
		break;
	case PATCH_SPAN_LEAVE:
		maker_put_span_leave(maker, counter);
		break;
	case PATCH_NOTE: /* patch_syscall() puts it */
		break;
	}
}

#endif
