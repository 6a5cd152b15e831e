// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/step_sink.h"

#include <stddef.h>

#include "unwind/unwind.h"

void step_sink_tell(const struct step_sink *sink, uint32_t signer, const struct unwinder *unwinder,
		    const struct space *space, const struct unwind_walk *walk)
{
	if (!sink->add_step || walk->end != STACK_END_ROOT)
		return;
	for (size_t i = 0; i < walk->nr_frames; i++) {
		const struct unwind_frame *frame = &walk->frames[i];
		struct unwind_step step = {.return_address = frame->pc + frame->is_exact};
		bool is_root = i + 1 == walk->nr_frames;

		if (is_root || unwinder_step(unwinder, space, frame, &step))
			sink->add_step(sink->context, signer, &step, is_root);
	}
}
