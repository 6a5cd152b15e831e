// SPDX-License-Identifier: GPL-2.0-or-later
/* Saved snapshots, and walks over stacks that make no sense, by every unwinder. */
#include <assert.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "mapping/module.h"
#include "mapping/space.h"
#include "snapshot/snapshot.h"
#include "snapshot/snapshot_save.h"
#include "unwind/unwind.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes);

/* Anonymous code below 4 GiB and a stack: frame pointers are all there is to go by. */
static const char maps[] = "00001000-ffff0000 r-xp 00000000 00:00 0\n"
			   "7ffe00000000-7fff00000000 rw-p 00000000 00:00 0 [stack]\n";

static void walk(const struct snapshot *snapshot, enum unwinder_kind kind)
{
	struct module_table *modules = module_table_new();
	struct space *space = space_new(modules, 0);
	struct unwinder *unwinder = unwinder_new(kind, 1000);
	struct unwind_walk result = {0};

	if (space_update(space, maps, sizeof(maps) - 1, NULL) == 0)
		unwinder_walk(unwinder, space, snapshot, NULL, &result);
	assert(result.end < STACK_END_COUNT);
	assert(result.nr_frames <= 1001);
	unwinder_forget_space(unwinder, space);
	unwind_walk_release(&result);
	unwinder_free(unwinder);
	space_free(space);
	module_table_free(modules);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes)
{
	struct cursor in = cursor_over(bytes, nr_bytes);
	struct snapshot snapshot = {0};
	struct err err = ERR_INIT;

	if (snapshot_load(&snapshot, &in, &err) == 0) {
		struct buf again = {0};

		snapshot_save(&snapshot, &again);
		assert(again.nr_bytes <=
		       nr_bytes + 64); /* uleb may be written longer than needed */
		buf_release(&again);
		walk(&snapshot, UNWINDER_AUTO);
		walk(&snapshot, UNWINDER_FP);
		walk(&snapshot, UNWINDER_LIBUNWIND);
	} else {
		assert(err.code && err.what[0]);
	}
	snapshot_release(&snapshot);
	return 0;
}
