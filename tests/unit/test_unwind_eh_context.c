// SPDX-License-Identifier: GPL-2.0-or-later
/* What libgcc notes of the frame it is about to leave. */
#include "base/alloc.h"
#include "snapshot/snapshot.h"
#include "tests/unit/unit.h"
#include "unwind/eh_context.h"
#include "unwind/row.h"
#include "unwind/unwind_priv.h"

/* A frame of 200 words with room for two contexts, as gcc 3 to 14 lay them out. */
#define SP	      UINT64_C(0x7ffe00001000)
#define NR_WORDS      200
#define CFA	      (SP + NR_WORDS * 8)
#define TARGET_CFA    (CFA + 0x200)
#define ENTRY	      UINT64_C(0x401000)
#define CALLER	      UINT64_C(0x402010)
#define LANDING	      UINT64_C(0x403020)
#define THIS_AT	      10 /* words */
#define TARGET_AT     60
#define CONTEXT_FP    6 /* reg[6], in words from the context's start */
#define CONTEXT_RA_AT 16
#define CONTEXT_CFA   18
#define CONTEXT_RA    19
#define CONTEXT_FUNC  23

struct fixture {
	struct snapshot snapshot;
	uint64_t words[NR_WORDS];
};

static void put_context(struct fixture *fixture, size_t at, uint64_t cfa, uint64_t ra,
			uint64_t function)
{
	uint64_t *context = fixture->words + at;

	context[CONTEXT_FP] = cfa - 16;
	context[CONTEXT_RA_AT] = cfa - 8;
	context[CONTEXT_CFA] = cfa;
	context[CONTEXT_RA] = ra;
	context[CONTEXT_FUNC] = function;
}

static bool find(struct fixture *fixture, struct eh_notes *notes)
{
	const struct eh_frame frame = {.sp = SP, .cfa = CFA, .entry = ENTRY};
	struct walk_work work = {.limit = UINT64_MAX};
	const struct walk walk = {.work = &work, .snapshot = &fixture->snapshot};
	bool is_found;

	snapshot_clear(&fixture->snapshot);
	memcpy(snapshot_add_region(&fixture->snapshot, SP, sizeof(fixture->words)), fixture->words,
	       sizeof(fixture->words));
	is_found = eh_context_find(&walk, unwind_arch_x86_64.eh, &frame, notes);
	snapshot_release(&fixture->snapshot);
	return is_found;
}

TEST(eh_context, knows_the_return_address)
{
	struct fixture fixture = {0};
	struct eh_notes notes;

	put_context(&fixture, THIS_AT, CFA, CALLER, ENTRY);
	assert_true(find(&fixture, &notes));
	assert_int_equal(notes.return_address, CALLER);
	assert_int_equal(notes.nr_targets, 0);
}

TEST(eh_context, knows_whose_frame_pointer_comes)
{
	struct fixture fixture = {0};
	struct eh_notes notes;

	put_context(&fixture, THIS_AT, CFA, CALLER, ENTRY);
	put_context(&fixture, TARGET_AT, TARGET_CFA, LANDING, ENTRY + 0x10000);
	assert_true(find(&fixture, &notes));
	assert_int_equal(notes.return_address, CALLER);
	assert_int_equal(notes.nr_targets, 1);
	assert_int_equal(notes.targets[0].cfa, TARGET_CFA);
	assert_int_equal(notes.targets[0].pc, LANDING);
	assert_int_equal(notes.targets[0].fp_slot, TARGET_CFA - 16);
}

/* What was not overwritten since an earlier exception looks as true as what is. */
TEST(eh_context, all_that_may_be_are_told)
{
	struct fixture fixture = {0};
	struct eh_notes notes;

	put_context(&fixture, THIS_AT, CFA, CALLER, ENTRY);
	for (size_t i = 0; i <= EH_TARGETS_MAX; i++)
		put_context(&fixture, THIS_AT + 30 * (i + 1), TARGET_CFA + 16 * i, LANDING + i,
			    ENTRY + 0x10000);
	assert_true(find(&fixture, &notes));
	assert_int_equal(notes.nr_targets, EH_TARGETS_MAX);
	assert_int_equal(notes.targets[1].cfa, TARGET_CFA + 16);
	assert_int_equal(notes.targets[1].pc, LANDING + 1);
}

/* The caller's own landing pad: its context has the same CFA and another function. */
TEST(eh_context, landing_in_the_caller_is_not_the_return)
{
	struct fixture fixture = {0};
	struct eh_notes notes;

	put_context(&fixture, THIS_AT, CFA, LANDING, ENTRY + 0x10000);
	put_context(&fixture, TARGET_AT, CFA, CALLER, ENTRY);
	assert_true(find(&fixture, &notes));
	assert_int_equal(notes.return_address, CALLER);
}

TEST(eh_context, nothing_is_found_before_it_is_made)
{
	struct fixture fixture = {0};
	struct eh_notes notes;

	assert_false(find(&fixture, &notes));
	put_context(&fixture, THIS_AT, CFA - 0x100, CALLER, ENTRY); /* of a frame that is gone */
	assert_false(find(&fixture, &notes));
}

TEST(eh_context, frames_of_no_size_are_none)
{
	struct walk_work work = {.limit = UINT64_MAX};
	const struct walk walk = {.work = &work, .snapshot = &(struct snapshot){.nr_regions = 0}};
	const struct eh_frame below = {.sp = SP, .cfa = SP - 8, .entry = ENTRY};
	const struct eh_frame huge = {.sp = 0, .cfa = UINT64_MAX, .entry = ENTRY};
	struct eh_notes notes;

	assert_false(eh_context_find(&walk, unwind_arch_x86_64.eh, &below, &notes));
	assert_false(eh_context_find(&walk, unwind_arch_x86_64.eh, &huge, &notes));
}
