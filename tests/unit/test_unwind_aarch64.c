// SPDX-License-Identifier: GPL-2.0-or-later
/* aarch64 stacks, walked on whatever machine this runs on. */
#include "base/alloc.h"
#include "base/cursor.h"
#include "snapshot/snapshot.h"
#include "snapshot/snapshot_save.h"
#include "tests/unit/made_space.h"
#include "tests/unit/unit.h"
#include "unwind/unwind.h"

enum {
	LEAF = 0x401000,    /* no frame: the return address is in x30 */
	FRAMED = 0x401100,  /* stp x29, x30, [sp, #-32]! */
	ROOT = 0x401200,    /* no caller */
	HANDLER = 0x401300, /* the signal trampoline, without CFI */
	PLT = 0x401308,	    /* without CFI, too */
	RESOLVE = 0x401400, /* x30 saved at CFA+8 */
};

enum { X29 = 29, X30 = 30, SP = 31, PC = 32 };

#define TOP (MADE_STACK + MADE_STACK_BYTES)
#define PAC UINT64_C(0x2a3b000000000000) /* a signature in the bits above the address */

static const uint8_t trampoline[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};

/* adrp x16, .; ldr x17, [x16, #8]; add x16, x16, #8; br x17 */
static const uint8_t plt[] = {0x10, 0,	  0, 0x90, 0x11, 0x06, 0x40, 0xf9,
			      0x10, 0x22, 0, 0x91, 0x20, 0x02, 0x1f, 0xd6};
/* ldp x17, x30, [sp], #16; br x16 */
static const uint8_t resolve[] = {0xf1, 0x7b, 0xc1, 0xa8, 0, 0x02, 0x1f, 0xd6};
static const uint8_t blr_x8[] = {0, 0x01, 0x3f, 0xd6};

struct fixture {
	struct made_space made;
	struct snapshot snapshot;
	struct unwind_walk walk;
};

static void set_up(struct fixture *fixture)
{
	struct buf eh_frame = {0};
	struct buf code = {0};
	size_t cie = cfi_add_cie_ra(&eh_frame, "zR", X30, AARCH64_ENTRY, sizeof(AARCH64_ENTRY) - 1);

	*fixture = (struct fixture){0};
	cfi_add_fde(&eh_frame, cie, (struct cfi_range_bytes){LEAF, 0x100}, "", 0);
	cfi_add_fde(&eh_frame, cie, (struct cfi_range_bytes){FRAMED, 0x100},
		    "\x2d\x0e\x20\x9d\x04\x9e\x03", 7);
	cfi_add_fde(&eh_frame, cie, (struct cfi_range_bytes){ROOT, 0x100}, "\x07\x1e", 2);
	cfi_add_fde(&eh_frame, cie, (struct cfi_range_bytes){RESOLVE, 0x100}, "\x11\x1e\x7f", 3);
	buf_append_u32(&eh_frame, 0);
	memset(buf_extend(&code, HANDLER - LEAF), 0, HANDLER - LEAF);
	memcpy(code.bytes + FRAMED - LEAF + 0xc, blr_x8, sizeof(blr_x8));
	memcpy(code.bytes + ROOT - LEAF + 0xc, blr_x8, sizeof(blr_x8));
	buf_append(&code, trampoline, sizeof(trampoline));
	buf_append(&code, plt, sizeof(plt));
	memset(buf_extend(&code, RESOLVE - LEAF - code.nr_bytes), 0, RESOLVE - PLT - sizeof(plt));
	buf_append(&code, resolve, sizeof(resolve));
	made_space_set_up(&fixture->made, EM_AARCH64, &eh_frame, &code);
	snapshot_clear(&fixture->snapshot);
	fixture->snapshot.arch = ARCH_AARCH64;
	buf_release(&eh_frame);
	buf_release(&code);
}

static void tear_down(struct fixture *fixture)
{
	unwind_walk_release(&fixture->walk);
	snapshot_release(&fixture->snapshot);
	made_space_tear_down(&fixture->made);
}

static void put_words(struct fixture *fixture, uint64_t start, const uint64_t *words, size_t nr)
{
	memcpy(snapshot_add_region(&fixture->snapshot, start, nr * sizeof(*words)), words,
	       nr * sizeof(*words));
}

static void set_regs(struct fixture *fixture, uint64_t pc, uint64_t sp, uint64_t x29, uint64_t x30)
{
	regs_set(&fixture->snapshot.regs, PC, pc);
	regs_set(&fixture->snapshot.regs, SP, sp);
	regs_set(&fixture->snapshot.regs, X29, x29);
	regs_set(&fixture->snapshot.regs, X30, x30);
}

/* Through its bytes, as a snapshot from another machine comes. */
static void walk_saved(struct fixture *fixture, enum unwinder_kind kind)
{
	struct unwinder *unwinder = unwinder_new(kind, 0);
	struct snapshot loaded = {0};
	struct buf bytes = {0};
	struct cursor in;

	snapshot_save(&fixture->snapshot, &bytes);
	in = cursor_over(bytes.bytes, bytes.nr_bytes);
	assert_int_equal(snapshot_load(&loaded, &in, NULL), 0);
	unwinder_walk(unwinder, fixture->made.space, &loaded, NULL, &fixture->walk);
	unwinder_free(unwinder);
	snapshot_release(&loaded);
	buf_release(&bytes);
}

static void assert_frames(const struct unwind_walk *walk, const uint64_t *pcs, size_t nr)
{
	assert_int_equal(walk->nr_frames, nr);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(walk->frames[i].pc, pcs[i]);
}

TEST(aarch64, signatures_are_stripped)
{
	struct fixture fixture;
	const uint64_t words[] = {TOP - 16, PAC | (ROOT + 0x10), 0, 0};
	const uint64_t pcs[] = {LEAF, FRAMED + 0x10, ROOT + 0x10};

	set_up(&fixture);
	set_regs(&fixture, LEAF, TOP - 64, TOP - 64, PAC | (FRAMED + 0x10));
	put_words(&fixture, TOP - 64, words, ARRAY_SIZE(words));
	walk_saved(&fixture, UNWINDER_AUTO);
	assert_frames(&fixture.walk, pcs, ARRAY_SIZE(pcs));
	assert_int_equal(fixture.walk.end, STACK_END_ROOT);
	tear_down(&fixture);
}

TEST(aarch64, link_register_is_the_leafs_only)
{
	struct fixture fixture;
	const uint64_t words[] = {0, LEAF + 0x10, 0, 0};
	const uint64_t pcs[] = {FRAMED, LEAF + 0x10};

	set_up(&fixture);
	set_regs(&fixture, FRAMED, TOP - 64, 0, ROOT + 0x10);
	put_words(&fixture, TOP - 64, words, ARRAY_SIZE(words));
	walk_saved(&fixture, UNWINDER_AUTO);
	/* LEAF made a call and yet never saved x30: nobody knows where it returns to */
	assert_frames(&fixture.walk, pcs, ARRAY_SIZE(pcs));
	assert_int_equal(fixture.walk.end, STACK_END_UNKNOWN_REG);
	tear_down(&fixture);
}

TEST(aarch64, frame_records_are_followed)
{
	struct fixture fixture;
	const uint64_t words[] = {TOP - 32, MADE_JIT + 0x40, 0, 0, 0, PAC | (ROOT + 0x10)};
	const uint64_t pcs[] = {MADE_JIT, MADE_JIT + 0x40, ROOT + 0x10};

	set_up(&fixture);
	set_regs(&fixture, MADE_JIT, TOP - 64, TOP - 64, 0);
	put_words(&fixture, TOP - 64, words, ARRAY_SIZE(words));
	walk_saved(&fixture, UNWINDER_AUTO);
	assert_frames(&fixture.walk, pcs, ARRAY_SIZE(pcs));
	assert_int_equal(fixture.walk.frames[1].rule, UNWIND_RULE_FRAME_POINTER);
	assert_int_equal(fixture.walk.end, STACK_END_ROOT);
	tear_down(&fixture);
}

/* By the frame record alone whoever called through the PLT would be left out. */
TEST(aarch64, code_without_a_record_is_read)
{
	struct fixture fixture;
	const uint64_t words[] = {TOP - 16, PAC | (ROOT + 0x10), 0, 0};

	for (uint64_t pc = PLT; pc < PLT + sizeof(plt); pc += 4) {
		const uint64_t pcs[] = {pc, FRAMED + 0x10, ROOT + 0x10};

		set_up(&fixture);
		set_regs(&fixture, pc, TOP - 64, TOP - 64, PAC | (FRAMED + 0x10));
		put_words(&fixture, TOP - 64, words, ARRAY_SIZE(words));
		walk_saved(&fixture, UNWINDER_AUTO);
		assert_frames(&fixture.walk, pcs, ARRAY_SIZE(pcs));
		assert_int_equal(fixture.walk.frames[1].rule, UNWIND_RULE_TO_RETURN);
		assert_int_equal(fixture.walk.end, STACK_END_ROOT);
		tear_down(&fixture);
	}
}

/* As glibc describes _dl_runtime_resolve: without the 16 bytes that the PLT has pushed. */
TEST(aarch64, lazy_binding_is_read)
{
	struct fixture fixture;
	const uint64_t words[] = {0, FRAMED + 0x10, TOP - 16, ROOT + 0x10, 0, 0};
	const uint64_t pcs[] = {RESOLVE, FRAMED + 0x10, ROOT + 0x10};

	set_up(&fixture);
	set_regs(&fixture, RESOLVE, TOP - 64, TOP - 48, 0);
	put_words(&fixture, TOP - 64, words, ARRAY_SIZE(words));
	walk_saved(&fixture, UNWINDER_AUTO);
	assert_frames(&fixture.walk, pcs, ARRAY_SIZE(pcs));
	assert_int_equal(fixture.walk.end, STACK_END_ROOT);
	tear_down(&fixture);
}

TEST(aarch64, signal_frame_is_the_kernels)
{
	struct fixture fixture;
	uint64_t frame[80] = {0}; /* struct rt_sigframe; x0 is at 128 + 176 + 8 */
	const size_t x0 = (128 + 176 + 8) / 8;
	const uint64_t pcs[] = {LEAF, HANDLER, LEAF + 0x40, ROOT + 0x10};

	set_up(&fixture);
	frame[x0 + X30] = ROOT + 0x10;
	frame[x0 + SP] = TOP - 64;
	frame[x0 + PC] = LEAF + 0x40;
	set_regs(&fixture, LEAF, MADE_OTHER_STACK, 0, HANDLER);
	put_words(&fixture, MADE_OTHER_STACK, frame, ARRAY_SIZE(frame));
	walk_saved(&fixture, UNWINDER_AUTO);
	assert_frames(&fixture.walk, pcs, ARRAY_SIZE(pcs));
	assert_true(fixture.walk.frames[2].is_exact);
	assert_int_equal(fixture.walk.end, STACK_END_ROOT);
	tear_down(&fixture);
}

/* What cannot be said by rows needs libunwind, which knows its own machine only. */
TEST(aarch64, libunwind_is_not_asked_elsewhere)
{
	struct fixture fixture;
	const uint64_t pcs[] = {LEAF};

	if (arch_native() == ARCH_AARCH64)
		skip();
	set_up(&fixture);
	set_regs(&fixture, LEAF, TOP - 64, TOP - 64, FRAMED + 0x10);
	walk_saved(&fixture, UNWINDER_LIBUNWIND);
	assert_frames(&fixture.walk, pcs, ARRAY_SIZE(pcs));
	assert_int_equal(fixture.walk.end, STACK_END_UNKNOWN_REG);
	tear_down(&fixture);
}
