// SPDX-License-Identifier: GPL-2.0-or-later
/* Walks over stacks that were never a program's: every word is in the test. */
#include <sys/mman.h>

#include "base/alloc.h"
#include "snapshot/snapshot.h"
#include "tests/unit/made_space.h"
#include "tests/unit/unit.h"
#include "unwind/unwind.h"

/*
 * The program's functions, 0x100 bytes each, by what their CFI says. A return
 * address into one is FUNCTION + 0x10.
 */
enum {
	SP8 = 0x401000,	      /* CFA rsp+8 */
	SP16 = 0x401100,      /* CFA rsp+16 */
	FRAMED = 0x401200,    /* CFA rbp+16, rbp saved at CFA-16 */
	ROOT = 0x401300,      /* no caller */
	STUCK = 0x401400,     /* CFA rbp+16, rbp not saved: leads to itself */
	BAD = 0x401500,	      /* no such instruction */
	FROM_RBX = 0x401600,  /* CFA rbx+16 */
	HANDLER = 0x401700,   /* the signal trampoline */
	NO_CFI = 0x401800,    /* nothing */
	EXPRESSED = 0x401900, /* CFA by an expression that no row can hold */
	LOST_FP = 0x401a00,   /* CFA rsp+8, rbp undefined */
	LEAVES = 0x401b00,    /* code without CFI that does not come back */
	CLIMBS = 0x401c00,    /* CFA rsp+8, likewise by such an expression */
	CIRCLES = 0x401d00,   /* CFA by an expression that jumps back to its beginning */
	ALLOCA = 0x401880,    /* as FRAMED, and the code makes its frame as large as rax says */
};

/* Behind the one call that is there, to SP16. */
#define CALLED (ROOT + 0x30)

/* Behind the one to ALLOCA. */
#define CALLED_ALLOCA (ROOT + 0x40)

/* nop, push %rbx, mov (%rdi),%rsp, pop %rcx, jmp *%rcx */
static const uint8_t leaves[] = {0x90, 0x53, 0x48, 0x8b, 0x27, 0x59, 0xff, 0xe1};

/* push %rbp, mov %rsp,%rbp, sub %rax,%rsp, syscall, jmp *%rcx */
static const uint8_t alloca_code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x29,
				      0xc4, 0x0f, 0x05, 0xff, 0xe1};

/* From behind the move on: CFA rbp+16, rbp saved at CFA-16. */
#define ALLOCA_CFI "\x44\x0e\x10\x86\x02\x0d\x06"

#define TOP (MADE_STACK + MADE_STACK_BYTES)

struct fixture {
	struct made_space made;
	struct snapshot snapshot;
	struct unwind_walk walk;
};

static void add_function(struct buf *eh_frame, size_t cie, uint64_t start, const char *instructions,
			 size_t nr_bytes)
{
	cfi_add_fde(eh_frame, cie, (struct cfi_range_bytes){start, 0x100}, instructions, nr_bytes);
}

#define FUNCTION(start, instructions)                                                              \
	add_function(&eh_frame, cie, start, instructions, sizeof(instructions) - 1)

/* A function that makes its frame as large as it likes, and a call to it. */
static void put_alloca(struct buf *code)
{
	uint32_t distance = (uint32_t)(ALLOCA - CALLED_ALLOCA);

	code->bytes[CALLED_ALLOCA - SP8 - 5] = 0xe8;
	memcpy(code->bytes + CALLED_ALLOCA - SP8 - 4, &distance, sizeof(distance));
	memcpy(code->bytes + ALLOCA - SP8, alloca_code, sizeof(alloca_code));
}

static void set_up_with(struct fixture *fixture, bool has_alloca)
{
	struct buf eh_frame = {0};
	struct buf code = {0};
	size_t cie = cfi_add_cie(&eh_frame, "zR", X86_ENTRY, sizeof(X86_ENTRY) - 1);

	*fixture = (struct fixture){0};
	FUNCTION(SP8, "");
	FUNCTION(SP16, "\x0e\x10");
	FUNCTION(FRAMED, "\x0e\x10\x86\x02\x0d\x06");
	FUNCTION(ROOT, "\x07\x10");
	FUNCTION(STUCK, "\x0c\x06\x10");
	FUNCTION(BAD, "\x3f");
	FUNCTION(FROM_RBX, "\x0c\x03\x10");
	FUNCTION(EXPRESSED, "\x0f\x03\x30\x31\x22");
	FUNCTION(LOST_FP, "\x07\x06");
	FUNCTION(CLIMBS, "\x0f\x05\x77\x08\x30\x22\x96");
	FUNCTION(CIRCLES, "\x0f\x03\x2f\xfd\xff");
	if (has_alloca)
		cfi_add_fde(&eh_frame, cie, (struct cfi_range_bytes){ALLOCA, 0x80}, ALLOCA_CFI,
			    sizeof(ALLOCA_CFI) - 1);
	cie = cfi_add_cie(&eh_frame, "zRS", X86_ENTRY, sizeof(X86_ENTRY) - 1);
	FUNCTION(HANDLER, "\x0f\x04\x77\xa0\x01\x06");
	buf_append_u32(&eh_frame, 0);
	memset(buf_extend(&code, CALLED - SP8 - 5), 0, CALLED - SP8 - 5);
	buf_append_byte(&code, 0xe8);
	buf_append_u32(&code, (uint32_t)(SP16 - CALLED));
	memset(buf_extend(&code, LEAVES - CALLED), 0, LEAVES - CALLED);
	memcpy(code.bytes + ROOT - SP8 + 0xe, "\xff\xd0", 2); /* call *%rax */
	memcpy(code.bytes + SP16 - SP8 - 2, "\xff\xd0", 2);
	buf_append(&code, leaves, sizeof(leaves));
	if (has_alloca)
		put_alloca(&code);
	made_space_set_up(&fixture->made, EM_X86_64, &eh_frame, &code);
	snapshot_clear(&fixture->snapshot);
	fixture->snapshot.arch = ARCH_X86_64;
	buf_release(&eh_frame);
	buf_release(&code);
}

static void tear_down(struct fixture *fixture)
{
	unwind_walk_release(&fixture->walk);
	snapshot_release(&fixture->snapshot);
	made_space_tear_down(&fixture->made);
}

static void set_regs(struct fixture *fixture, uint64_t pc, uint64_t sp, uint64_t fp)
{
	regs_set(&fixture->snapshot.regs, 16, pc);
	regs_set(&fixture->snapshot.regs, 7, sp);
	regs_set(&fixture->snapshot.regs, 6, fp);
}

static void clear_snapshot(struct fixture *fixture)
{
	snapshot_clear(&fixture->snapshot);
	fixture->snapshot.arch = ARCH_X86_64;
}

static void put_words(struct fixture *fixture, uint64_t start, const uint64_t *words, size_t nr)
{
	uint8_t *room = snapshot_add_region(&fixture->snapshot, start, nr * sizeof(*words));

	assert_non_null(room);
	memcpy(room, words, nr * sizeof(*words));
}

#define WORDS(start, ...)                                                                          \
	do {                                                                                       \
		const uint64_t words_[] = {__VA_ARGS__};                                           \
		put_words(&fixture, start, words_, ARRAY_SIZE(words_));                            \
	} while (0)

static void set_up(struct fixture *fixture)
{
	set_up_with(fixture, false);
}

/* Twice: the second time everything has been seen before, and must be no different for it. */
static void walk_as(struct fixture *fixture, enum unwinder_kind kind)
{
	struct unwinder *unwinder = unwinder_new(kind, 0);
	struct unwind_walk cold = {0};

	unwinder_walk(unwinder, fixture->made.space, &fixture->snapshot, NULL, &cold);
	unwinder_walk(unwinder, fixture->made.space, &fixture->snapshot, NULL, &fixture->walk);
	assert_int_equal(cold.nr_frames, fixture->walk.nr_frames);
	for (size_t i = 0; i < cold.nr_frames; i++) {
		assert_int_equal(cold.frames[i].lookup.address,
				 fixture->walk.frames[i].lookup.address);
		assert_int_equal(cold.frames[i].rule, fixture->walk.frames[i].rule);
	}
	unwind_walk_release(&cold);
	unwinder_free(unwinder);
}

static void assert_frames(const struct unwind_walk *walk, const uint64_t *pcs, size_t nr)
{
	assert_int_equal(walk->nr_frames, nr);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(walk->frames[i].pc, pcs[i]);
}

#define ASSERT_FRAMES(...)                                                                         \
	do {                                                                                       \
		const uint64_t pcs_[] = {__VA_ARGS__};                                             \
		assert_frames(&fixture.walk, pcs_, ARRAY_SIZE(pcs_));                              \
	} while (0)

TEST(walk, goes_to_the_root)
{
	struct fixture fixture;

	set_up(&fixture);
	set_regs(&fixture, SP8, TOP - 64, 0);
	WORDS(TOP - 64, SP16 + 0x10, 0, FRAMED + 0x10);
	/* FRAMED's rbp is the one of the leaf */
	regs_set(&fixture.snapshot.regs, 6, TOP - 24);
	WORDS(TOP - 40, 0, 0, 0x1234, ROOT + 0x10, 0);
	walk_as(&fixture, UNWINDER_AUTO);
	ASSERT_FRAMES(SP8, SP16 + 0x10, FRAMED + 0x10, ROOT + 0x10);
	assert_int_equal(fixture.walk.end, STACK_END_ROOT);
	assert_int_equal(fixture.walk.end_pc, 0);
	assert_int_equal(fixture.walk.frames[0].lookup.address, SP8);
	assert_int_equal(fixture.walk.frames[1].lookup.address, SP16 + 0xf);
	assert_int_equal(fixture.walk.frames[1].rule, UNWIND_RULE_CFI);
	tear_down(&fixture);
}

/* The last instruction of a function that never returns is a call: its pc is the next function's.
 */
TEST(walk, call_at_the_end_belongs_to_the_caller)
{
	struct fixture fixture;

	set_up(&fixture);
	set_regs(&fixture, SP8, TOP - 64, 0);
	WORDS(TOP - 64, SP16, SP16, ROOT + 0x10); /* SP16 is the end of SP8, whose CFA is rsp+8 */
	walk_as(&fixture, UNWINDER_CFI);
	ASSERT_FRAMES(SP8, SP16, SP16, ROOT + 0x10);
	assert_int_equal(fixture.walk.frames[1].lookup.address, SP16 - 1);
	tear_down(&fixture);
}

TEST(walk, zero_return_address_is_a_root_at_the_top)
{
	struct fixture fixture;

	set_up(&fixture);
	set_regs(&fixture, SP8, TOP - 64, 0);
	WORDS(TOP - 64, SP8 + 0x10, 0);
	walk_as(&fixture, UNWINDER_AUTO);
	ASSERT_FRAMES(SP8, SP8 + 0x10);
	assert_int_equal(fixture.walk.end, STACK_END_UNPROVED);
	fixture.snapshot.tid = 2; /* no main thread */
	fixture.snapshot.thread_pointer = TOP - 16;
	walk_as(&fixture, UNWINDER_AUTO);
	ASSERT_FRAMES(SP8, SP8 + 0x10);
	assert_int_equal(fixture.walk.end, STACK_END_ROOT);
	/* What stands above may be a caller's: then it is no top. */
	WORDS(TOP - 40, ROOT + 0x10);
	walk_as(&fixture, UNWINDER_AUTO);
	assert_int_equal(fixture.walk.end, STACK_END_UNPROVED);
	/* Its own stack is elsewhere: a coroutine's. */
	fixture.snapshot.thread_pointer = MADE_JIT + 16;
	walk_as(&fixture, UNWINDER_AUTO);
	ASSERT_FRAMES(SP8, SP8 + 0x10);
	assert_int_equal(fixture.walk.end, STACK_END_OTHER_STACK);
	tear_down(&fixture);
}

/* The word where a return address should be is the number of the program's arguments. */
TEST(walk, program_begins_where_its_arguments_are)
{
	struct fixture fixture;

	set_up(&fixture);
	set_regs(&fixture, SP8, TOP - 64, 0);
	WORDS(TOP - 64, SP8 + 0x10, 1);
	fixture.snapshot.first_sp = TOP - 56;
	walk_as(&fixture, UNWINDER_AUTO);
	ASSERT_FRAMES(SP8, SP8 + 0x10);
	assert_int_equal(fixture.walk.end, STACK_END_ROOT);
	tear_down(&fixture);
}

/* A call through a null pointer, or a wild one, has left its return address. */
TEST(walk, call_to_nowhere_keeps_its_caller)
{
	static const uint64_t wild[] = {0, 0x77, 0xdead0000};
	struct fixture fixture;

	set_up(&fixture);
	WORDS(TOP - 64, ROOT + 0x10);
	for (size_t i = 0; i < ARRAY_SIZE(wild); i++) {
		set_regs(&fixture, wild[i], TOP - 64, 0);
		walk_as(&fixture, UNWINDER_AUTO);
		ASSERT_FRAMES(wild[i], ROOT + 0x10);
		assert_int_equal(fixture.walk.end, STACK_END_ROOT);
		assert_true(fixture.walk.left_map);
	}
	tear_down(&fixture);
}

TEST(walk, missing_memory_is_named)
{
	struct fixture fixture;

	set_up(&fixture);
	set_regs(&fixture, SP8, TOP - 64, 0);
	WORDS(TOP - 64, SP16 + 0x10);
	walk_as(&fixture, UNWINDER_AUTO);
	ASSERT_FRAMES(SP8, SP16 + 0x10);
	assert_int_equal(fixture.walk.end, STACK_END_BAD_MEMORY);
	assert_int_equal(fixture.walk.end_pc, SP16 + 0x10);
	assert_int_equal(fixture.walk.wanted_address, TOP - 64 + 8 + 8);
	tear_down(&fixture);
}

static bool read_beyond(void *context, uint64_t address, void *out, size_t nr_bytes)
{
	const uint64_t *word = context;

	if (address != TOP - 48 || nr_bytes != sizeof(*word))
		return false;
	memcpy(out, word, sizeof(*word));
	return true;
}

TEST(walk, memory_beyond_the_copy_is_asked_for)
{
	struct fixture fixture;
	struct unwinder *unwinder = unwinder_new(UNWINDER_AUTO, 0);
	uint64_t word = ROOT + 0x10;
	struct unwind_memory memory = {.read = read_beyond, .context = &word};

	set_up(&fixture);
	set_regs(&fixture, SP8, TOP - 64, 0);
	WORDS(TOP - 64, SP16 + 0x10);
	unwinder_walk(unwinder, fixture.made.space, &fixture.snapshot, &memory, &fixture.walk);
	ASSERT_FRAMES(SP8, SP16 + 0x10, ROOT + 0x10);
	assert_int_equal(fixture.walk.end, STACK_END_ROOT);
	unwinder_free(unwinder);
	tear_down(&fixture);
}

TEST(walk, return_to_nowhere_is_no_frame)
{
	struct fixture fixture;

	set_up(&fixture);
	set_regs(&fixture, SP8, TOP - 64, 0);
	WORDS(TOP - 64, 0xdeadbeef);
	walk_as(&fixture, UNWINDER_AUTO);
	ASSERT_FRAMES(SP8);
	assert_int_equal(fixture.walk.end, STACK_END_NO_MAPPING);
	assert_int_equal(fixture.walk.end_pc, 0xdeadbeef);
	tear_down(&fixture);
}

TEST(walk, leaf_outside_every_mapping_is_kept)
{
	static const uint64_t pcs[] = {0, 0xdeadbeef, UINT64_MAX};
	struct fixture fixture;

	set_up(&fixture);
	for (size_t i = 0; i < ARRAY_SIZE(pcs); i++) {
		set_regs(&fixture, pcs[i], 0, 0);
		walk_as(&fixture, UNWINDER_AUTO);
		ASSERT_FRAMES(pcs[i]);
		assert_int_equal(fixture.walk.end, STACK_END_NO_MAPPING);
		assert_int_equal(fixture.walk.frames[0].lookup.module.v, MODULE_UNKNOWN.v);
	}
	tear_down(&fixture);
}

TEST(walk, frame_that_leads_to_itself_is_a_loop)
{
	struct fixture fixture;

	set_up(&fixture);
	/* the CFA is the same again and again, and so is the return address there */
	set_regs(&fixture, STUCK, TOP - 64, TOP - 64);
	WORDS(TOP - 64, 0, STUCK + 0x10);
	walk_as(&fixture, UNWINDER_AUTO);
	ASSERT_FRAMES(STUCK, STUCK + 0x10);
	assert_int_equal(fixture.walk.end, STACK_END_LOOP);
	tear_down(&fixture);
}

/* FRAMED to FRAMED, each saved frame pointer leading to the other record. */
TEST(walk, circle_of_frames_is_a_loop)
{
	struct fixture fixture;

	set_up(&fixture);
	set_regs(&fixture, FRAMED, TOP - 64, TOP - 64);
	WORDS(TOP - 64, TOP - 32, FRAMED + 0x10);
	WORDS(TOP - 32, TOP - 64, FRAMED + 0x20);
	walk_as(&fixture, UNWINDER_AUTO);
	assert_int_equal(fixture.walk.end, STACK_END_LOOP);
	assert_in_range(fixture.walk.nr_frames, 3, 10);
	tear_down(&fixture);
}

TEST(walk, stack_may_go_down_to_another_one)
{
	struct fixture fixture;

	set_up(&fixture);
	set_regs(&fixture, FRAMED, TOP - 64, TOP - 64);
	WORDS(TOP - 64, MADE_OTHER_STACK + 0x100, FRAMED + 0x10);
	WORDS(MADE_OTHER_STACK + 0x100, 0, ROOT + 0x10);
	walk_as(&fixture, UNWINDER_AUTO);
	ASSERT_FRAMES(FRAMED, FRAMED + 0x10, ROOT + 0x10);
	assert_int_equal(fixture.walk.end, STACK_END_ROOT);
	tear_down(&fixture);
}

TEST(walk, bad_cfi_is_said)
{
	struct fixture fixture;

	set_up(&fixture);
	set_regs(&fixture, SP8, TOP - 64, 0);
	WORDS(TOP - 64, BAD + 0x10);
	walk_as(&fixture, UNWINDER_AUTO);
	ASSERT_FRAMES(SP8, BAD + 0x10);
	assert_int_equal(fixture.walk.end, STACK_END_BAD_CFI);
	assert_int_equal(fixture.walk.end_pc, BAD + 0x10);
	tear_down(&fixture);
}

TEST(walk, lost_registers_stay_unknown)
{
	struct fixture fixture;

	set_up(&fixture);
	set_regs(&fixture, LOST_FP, TOP - 64, TOP - 32);
	WORDS(TOP - 64, FRAMED + 0x10, 0, 0, 0, 0, ROOT + 0x10);
	walk_as(&fixture, UNWINDER_AUTO);
	ASSERT_FRAMES(LOST_FP, FRAMED + 0x10);
	assert_int_equal(fixture.walk.end, STACK_END_UNKNOWN_REG);
	tear_down(&fixture);
}

TEST(walk, leaf_may_use_any_register)
{
	struct fixture fixture;

	set_up(&fixture);
	set_regs(&fixture, FROM_RBX, TOP - 64, 0);
	regs_set(&fixture.snapshot.regs, 3, TOP - 48);
	WORDS(TOP - 64, 0, 0, 0, ROOT + 0x10);
	walk_as(&fixture, UNWINDER_CFI);
	ASSERT_FRAMES(FROM_RBX, ROOT + 0x10);
	assert_int_equal(fixture.walk.end, STACK_END_ROOT);
	tear_down(&fixture);
}

TEST(walk, deeper_frames_know_no_other_register)
{
	struct fixture fixture;

	set_up(&fixture);
	set_regs(&fixture, SP8, TOP - 64, 0);
	WORDS(TOP - 64, FROM_RBX + 0x10, 0, 0, ROOT + 0x10);
	walk_as(&fixture,
		UNWINDER_AUTO); /* rbx is not in the snapshot: libunwind has none either */
	ASSERT_FRAMES(SP8, FROM_RBX + 0x10);
	assert_int_equal(fixture.walk.end, STACK_END_UNKNOWN_REG);
	tear_down(&fixture);
}

TEST(walk, rows_alone_end_where_they_cannot_say)
{
	struct fixture fixture;

	set_up(&fixture);
	set_regs(&fixture, EXPRESSED, TOP - 64, 0);
	WORDS(TOP - 64, 0);
	walk_as(&fixture, UNWINDER_CFI);
	ASSERT_FRAMES(EXPRESSED);
	assert_int_equal(fixture.walk.end, STACK_END_UNKNOWN_REG);
	tear_down(&fixture);
}

TEST(walk, signal_frame_restores_every_register)
{
	struct fixture fixture;
	uint64_t ucontext[32] = {0};

	set_up(&fixture);
	/* the handler returns to the trampoline; struck was FROM_RBX, which needs rbx */
	ucontext[120 / 8] = 0x77;     /* rbp */
	ucontext[128 / 8] = TOP - 48; /* rbx */
	ucontext[160 / 8] = TOP - 64; /* rsp */
	ucontext[168 / 8] = FROM_RBX; /* rip */
	set_regs(&fixture, SP8, MADE_OTHER_STACK + 0x100, 0);
	WORDS(MADE_OTHER_STACK + 0x100, HANDLER);
	put_words(&fixture, MADE_OTHER_STACK + 0x108, ucontext, ARRAY_SIZE(ucontext));
	WORDS(TOP - 64, 0, 0, 0, ROOT + 0x10);
	/* glibc puts a nop before its trampoline, because pc - 1 is looked up */
	fixture.snapshot.bytes[0] = (uint8_t)(HANDLER + 1);
	walk_as(&fixture, UNWINDER_CFI);
	ASSERT_FRAMES(SP8, HANDLER + 1, FROM_RBX, ROOT + 0x10);
	assert_false(fixture.walk.frames[1].is_exact);
	assert_true(fixture.walk.frames[2].is_exact);
	assert_int_equal(fixture.walk.frames[2].lookup.address, FROM_RBX);
	assert_int_equal(fixture.walk.end, STACK_END_ROOT);
	tear_down(&fixture);
}

TEST(walk, jit_code_is_followed_by_frame_pointers)
{
	struct fixture fixture;

	set_up(&fixture);
	set_regs(&fixture, MADE_JIT + 0x20, TOP - 64, TOP - 48);
	WORDS(TOP - 64, 0, 0, TOP - 24, MADE_JIT + 0x100, 0, 0x77, ROOT + 0x10);
	walk_as(&fixture, UNWINDER_AUTO);
	ASSERT_FRAMES(MADE_JIT + 0x20, MADE_JIT + 0x100, ROOT + 0x10);
	assert_int_equal(fixture.walk.frames[1].rule, UNWIND_RULE_FRAME_POINTER);
	assert_int_equal(fixture.walk.frames[2].rule, UNWIND_RULE_FRAME_POINTER);
	assert_int_equal(fixture.walk.end, STACK_END_ROOT);
	walk_as(&fixture, UNWINDER_CFI);
	ASSERT_FRAMES(MADE_JIT + 0x20);
	assert_int_equal(fixture.walk.end, STACK_END_NO_CFI);
	tear_down(&fixture);
}

/* Frame pointers that are none: each stack ends at the leaf, for want of CFI. */
/* sub $8,%rsp; call *%rcx; add $8,%rsp; ret: what Python makes for perf's sake */
#define TRAMPOLINE	  "\x48\x83\xec\x08\xff\xd1\x48\x83\xc4\x08\xc3"
#define TRAMPOLINE_RETURN 6

TEST(walk, jit_code_without_frame_pointers_is_read)
{
	struct fixture fixture;
	/* The made space is of this process, so that its code is to be found here. */
	void *page = mmap((void *)(uintptr_t)MADE_JIT, MADE_JIT_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	assert_int_equal((uintptr_t)page, MADE_JIT);
	memcpy(page, TRAMPOLINE, sizeof(TRAMPOLINE));
	set_up(&fixture);
	set_regs(&fixture, SP8, TOP - 64, 1); /* no frame pointer */
	WORDS(TOP - 64, MADE_JIT + TRAMPOLINE_RETURN, 0x77, MADE_JIT + TRAMPOLINE_RETURN, 0x77,
	      ROOT + 0x20);
	walk_as(&fixture, UNWINDER_AUTO);
	assert_in_range(fixture.walk.nr_frames, 3, 3); /* the last leads behind no call */
	assert_int_equal(fixture.walk.end, STACK_END_NO_CFI);
	assert_int_equal(fixture.walk.frames[1].pc, MADE_JIT + TRAMPOLINE_RETURN);
	assert_int_equal(fixture.walk.frames[2].pc, MADE_JIT + TRAMPOLINE_RETURN);
	assert_int_equal(fixture.walk.frames[2].rule, UNWIND_RULE_JIT);
	tear_down(&fixture);
	munmap(page, MADE_JIT_BYTES);
}

/* push %rbp; sub $16,%rsp; call *%rax; jmp .: compiled by HotSpot, and never to return */
#define METHOD	      "\x55\x48\x83\xec\x10\xff\xd0\xeb\xfe"
#define METHOD_AT     0x100
#define METHOD_RETURN (MADE_JIT + METHOD_AT + 7)

/*
 * HotSpot's interpreter keeps frame pointers, and below each the stack pointer that the
 * caller had before the adapter between them pushed the arguments: two words here.
 */
TEST(walk, methods_that_never_return_are_read_from_their_entry)
{
	struct fixture fixture;
	char *page = mmap((void *)(uintptr_t)MADE_JIT, MADE_JIT_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	assert_int_equal((uintptr_t)page, MADE_JIT);
	memcpy(page + METHOD_AT, METHOD, sizeof(METHOD));
	set_up(&fixture);
	set_regs(&fixture, MADE_JIT + 0x20, TOP - 128, TOP - 112);
	WORDS(TOP - 128, 0, TOP - 80, 0x55, METHOD_RETURN, 0x77, 0x77, /* the interpreter's */
	      1, 2, 3, METHOD_RETURN, /* the method's, called there */
	      1, 2, 3, 0x77);
	walk_as(&fixture, UNWINDER_AUTO);
	ASSERT_FRAMES(MADE_JIT + 0x20, METHOD_RETURN, METHOD_RETURN);
	assert_int_equal(fixture.walk.frames[1].rule, UNWIND_RULE_FRAME_POINTER);
	assert_int_equal(fixture.walk.frames[2].rule, UNWIND_RULE_JIT_ADAPTER);
	assert_int_equal(fixture.walk.end, STACK_END_NO_CFI);
	tear_down(&fixture);
	munmap(page, MADE_JIT_BYTES);
}

/* A trace of LuaJIT: it runs in its interpreter's frame and goes from there to the next. */
TEST(walk, code_in_anothers_frame_is_left_by_its_return)
{
	struct fixture fixture;
	char *page = mmap((void *)(uintptr_t)MADE_JIT, MADE_JIT_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	assert_int_equal((uintptr_t)page, MADE_JIT);
	memcpy(page, "\xeb\xfe", 2); /* jmp . */
	set_up(&fixture);
	set_regs(&fixture, MADE_JIT, TOP - 64, 1); /* no frame pointer */
	WORDS(TOP - 64, 0x77, SP8 + 0x20 /* behind no call */, 0x77, CALLED);
	walk_as(&fixture, UNWINDER_AUTO);
	ASSERT_FRAMES(MADE_JIT, CALLED);
	assert_int_equal(fixture.walk.frames[1].rule, UNWIND_RULE_JIT_HOST);
	assert_int_equal(fixture.walk.end, STACK_END_ROOT);
	clear_snapshot(&fixture);
	set_regs(&fixture, MADE_JIT, TOP - 64, 1);
	WORDS(TOP - 64, 0x77, MADE_JIT + 0x20 /* behind no call */, 0x77, CALLED);
	walk_as(&fixture, UNWINDER_AUTO);
	ASSERT_FRAMES(MADE_JIT, CALLED);
	memcpy(page + 0x1e, "\xff\xd0", 2); /* call *%rax: now it may be what is returned to */
	walk_as(&fixture, UNWINDER_AUTO);
	ASSERT_FRAMES(MADE_JIT);
	assert_int_equal(fixture.walk.end, STACK_END_NO_CFI);
	tear_down(&fixture);
	munmap(page, MADE_JIT_BYTES);
}

/* It falls out of the function that was called, as nothing between them returns. */
TEST(walk, code_that_leaves_is_read_from_what_was_called)
{
	struct fixture fixture;

	set_up(&fixture);
	WORDS(TOP - 64, 0, CALLED, 0, 0);
	set_regs(&fixture, LEAVES + 2, TOP - 64, 1);
	walk_as(&fixture, UNWINDER_AUTO);
	ASSERT_FRAMES(LEAVES + 2, CALLED);
	assert_int_equal(fixture.walk.frames[1].rule, UNWIND_RULE_FROM_CALL);
	assert_int_equal(fixture.walk.end, STACK_END_ROOT);
	set_regs(&fixture, LEAVES + 5, TOP - 64, 1); /* on a stack that nobody knows */
	walk_as(&fixture, UNWINDER_AUTO);
	ASSERT_FRAMES(LEAVES + 5);
	tear_down(&fixture);
}

TEST(walk, wrong_frame_pointers_are_not_followed)
{
	static const uint64_t wrong[] = {
		TOP - 47, /* unaligned */
		TOP - 72, /* below the stack pointer */
		0,	  /* none, in the leaf */
		TOP,	  /* beyond the stack */
		TOP + 64, MADE_JIT, UINT64_MAX - 7,
	};
	struct fixture fixture;

	set_up(&fixture);
	WORDS(TOP - 64, 0, 0, TOP - 24, MADE_JIT + 0x100, 0, 0x77, ROOT + 0x10, 0);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		set_regs(&fixture, NO_CFI, TOP - 64, wrong[i]);
		walk_as(&fixture, UNWINDER_AUTO);
		ASSERT_FRAMES(NO_CFI);
		assert_int_equal(fixture.walk.end, STACK_END_NO_CFI);
		walk_as(&fixture, UNWINDER_FP);
		ASSERT_FRAMES(NO_CFI);
		assert_int_equal(fixture.walk.end, STACK_END_NO_CFI);
	}
	tear_down(&fixture);
}

TEST(walk, frame_pointer_chains_only_rise)
{
	struct fixture fixture;
	/* the second record leads to itself, down to the first, and to an odd address */
	const uint64_t second[] = {TOP - 32, TOP - 64, TOP - 31};

	set_up(&fixture);
	WORDS(TOP - 64, TOP - 32, MADE_JIT + 0x10, 0, 0, 0, MADE_JIT + 0x20);
	for (size_t i = 0; i < ARRAY_SIZE(second); i++) {
		memcpy(fixture.snapshot.bytes + 32, &second[i], sizeof(second[i]));
		set_regs(&fixture, MADE_JIT, TOP - 64, TOP - 64);
		walk_as(&fixture, UNWINDER_FP);
		ASSERT_FRAMES(MADE_JIT, MADE_JIT + 0x10, MADE_JIT + 0x20);
		assert_int_equal(fixture.walk.end, STACK_END_NO_CFI);
	}
	tear_down(&fixture);
}

TEST(walk, outermost_frame_pointer_is_zero)
{
	struct fixture fixture;

	set_up(&fixture);
	set_regs(&fixture, MADE_JIT, TOP - 64, TOP - 64);
	WORDS(TOP - 64, 0, MADE_JIT + 0x10);
	walk_as(&fixture, UNWINDER_FP);
	ASSERT_FRAMES(MADE_JIT, MADE_JIT + 0x10);
	assert_int_equal(fixture.walk.end, STACK_END_UNPROVED);
	fixture.snapshot.tid = 2;
	fixture.snapshot.thread_pointer = TOP - 16;
	walk_as(&fixture, UNWINDER_FP);
	assert_int_equal(fixture.walk.end, STACK_END_ROOT);
	tear_down(&fixture);
}

/* A thread that sleeps was not stopped: its frame pointer is not known. */
TEST(walk, frame_of_unknown_depth_is_found_by_its_call)
{
	struct fixture fixture;

	set_up_with(&fixture, true);
	set_regs(&fixture, ALLOCA + 9, TOP - 96, 0);
	fixture.snapshot.regs.known &= ~(UINT64_C(1) << 6);
	/* between them an old return address, of a call to another function */
	WORDS(TOP - 96, 0x77, CALLED, 0x77, NO_CFI + 0x10, 0x77, TOP - 8, CALLED_ALLOCA);
	walk_as(&fixture, UNWINDER_AUTO);
	ASSERT_FRAMES(ALLOCA + 9, CALLED_ALLOCA);
	assert_int_equal(fixture.walk.frames[1].rule, UNWIND_RULE_BY_CALL);
	assert_int_equal(fixture.walk.end, STACK_END_ROOT);
	clear_snapshot(&fixture);
	set_regs(&fixture, ALLOCA + 9, TOP - 96, 0);
	fixture.snapshot.regs.known &= ~(UINT64_C(1) << 6);
	WORDS(TOP - 96, 0x77, CALLED, 0x77, NO_CFI + 0x10, 0x77, TOP - 8, 0x77);
	walk_as(&fixture, UNWINDER_AUTO);
	ASSERT_FRAMES(ALLOCA + 9);
	assert_int_equal(fixture.walk.end, STACK_END_UNKNOWN_REG);
	tear_down(&fixture);
}

TEST(walk, unknown_frame_pointer_is_not_followed)
{
	struct fixture fixture;

	set_up(&fixture);
	set_regs(&fixture, MADE_JIT, TOP - 64, TOP - 64);
	fixture.snapshot.regs.known &= ~(UINT64_C(1) << 6);
	WORDS(TOP - 64, 0, MADE_JIT + 0x10);
	walk_as(&fixture, UNWINDER_AUTO);
	ASSERT_FRAMES(MADE_JIT);
	assert_int_equal(fixture.walk.end, STACK_END_UNKNOWN_REG);
	tear_down(&fixture);
}

/* Those of a 32-bit program are not taken. */
TEST(walk, without_registers_only_the_time_is_known)
{
	static const enum unwinder_kind kinds[] = {UNWINDER_AUTO, UNWINDER_LIBUNWIND};
	struct fixture fixture;

	set_up(&fixture);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		walk_as(&fixture, kinds[i]);
		ASSERT_FRAMES(0);
		assert_int_equal(fixture.walk.end, STACK_END_FOREIGN);
	}
	tear_down(&fixture);
}

/* The same numbers mean other registers there. */
TEST(walk, code_of_another_machine_is_not_read)
{
	struct buf eh_frame = {0};
	struct buf code = {0};
	struct fixture fixture = {0};
	size_t cie = cfi_add_cie(&eh_frame, "zR", X86_ENTRY, sizeof(X86_ENTRY) - 1);

	FUNCTION(SP8, "");
	buf_append_u32(&eh_frame, 0);
	made_space_set_up(&fixture.made, EM_386, &eh_frame, &code);
	clear_snapshot(&fixture);
	fixture.snapshot.arch = ARCH_X86_64;
	set_regs(&fixture, SP8, TOP - 64, 0);
	WORDS(TOP - 64, SP8 + 0x10, 0);
	walk_as(&fixture, UNWINDER_AUTO);
	ASSERT_FRAMES(SP8);
	assert_int_equal(fixture.walk.end, STACK_END_FOREIGN);
	buf_release(&eh_frame);
	tear_down(&fixture);
}

#define DEEP 1000000

TEST(walk, a_million_frames_are_walked)
{
	struct fixture fixture;
	struct unwinder *unwinder = unwinder_new(UNWINDER_AUTO, 1000);
	uint64_t *words = xcalloc(DEEP, sizeof(*words));

	set_up(&fixture);
	set_regs(&fixture, SP8, TOP - DEEP * sizeof(*words), 0);
	for (size_t i = 0; i < DEEP - 1; i++)
		words[i] = SP8 + 0x10;
	words[DEEP - 1] = ROOT + 0x10;
	put_words(&fixture, TOP - DEEP * sizeof(*words), words, DEEP);
	walk_as(&fixture, UNWINDER_AUTO);
	assert_int_equal(fixture.walk.nr_frames, DEEP + 1);
	assert_int_equal(fixture.walk.end, STACK_END_ROOT);
	for (int hot = 0; hot < 2; hot++)
		unwinder_walk(unwinder, fixture.made.space, &fixture.snapshot, NULL, &fixture.walk);
	assert_int_equal(fixture.walk.nr_frames, 1000);
	assert_int_equal(fixture.walk.elided_at, 500);
	assert_int_equal(fixture.walk.nr_elided, DEEP + 1 - 1000);
	assert_int_equal(fixture.walk.frames[0].pc, SP8);
	assert_int_equal(fixture.walk.frames[999].pc, ROOT + 0x10);
	assert_int_equal(fixture.walk.end, STACK_END_DEPTH_LIMIT);
	unwinder_free(unwinder);
	free(words);
	tear_down(&fixture);
}

/* Stacks of x86-64, with frames that go to libunwind, which knows its own machine alone. */
#if defined(__x86_64__)

/* So many frames of CLIMBS, and ROOT. */
static void put_climbing(struct fixture *fixture, size_t nr)
{
	uint64_t *words = xcalloc(nr, sizeof(*words));

	for (size_t i = 0; i < nr - 1; i++)
		words[i] = CLIMBS + 0x10;
	words[nr - 1] = ROOT + 0x10;
	set_regs(fixture, CLIMBS, TOP - nr * sizeof(*words), 0);
	put_words(fixture, TOP - nr * sizeof(*words), words, nr);
	free(words);
}

/* From the leaf on for each of them would be two thousand million steps. */
TEST(walk, libunwind_goes_along_a_stack_once)
{
	struct fixture fixture;
	struct unwinder *unwinder = unwinder_new(UNWINDER_AUTO, 0);
	const size_t nr = 60000;

	set_up(&fixture);
	put_climbing(&fixture, nr);
	unwinder_walk(unwinder, fixture.made.space, &fixture.snapshot, NULL, &fixture.walk);
	assert_int_equal(fixture.walk.end, STACK_END_ROOT);
	assert_int_equal(fixture.walk.nr_frames, nr + 1);
	assert_int_equal(fixture.walk.frames[nr - 1].rule, UNWIND_RULE_LIBUNWIND);
	assert_int_equal(unwinder_stats(unwinder).nr_libunwind_walks, nr);
	unwinder_free(unwinder);
	tear_down(&fixture);
}

TEST(walk, expression_without_an_end_ends_the_walk)
{
	static const enum unwinder_kind kinds[] = {UNWINDER_AUTO, UNWINDER_LIBUNWIND};
	struct fixture fixture;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		set_up(&fixture);
		set_regs(&fixture, SP8, TOP - 64, 0);
		WORDS(TOP - 64, CIRCLES + 0x10, 0, ROOT + 0x10);
		walk_as(&fixture, kinds[i]);
		ASSERT_FRAMES(SP8, CIRCLES + 0x10);
		assert_int_equal(fixture.walk.end, STACK_END_COSTLY);
		tear_down(&fixture);
	}
}

TEST(walk, ends_when_the_recording_is_to_end)
{
	struct fixture fixture;
	struct unwinder *unwinder = unwinder_new(UNWINDER_AUTO, 0);
	atomic_bool ended = false;

	set_up(&fixture);
	put_climbing(&fixture, 100);
	unwinder_end_by(unwinder, &ended);
	unwinder_walk(unwinder, fixture.made.space, &fixture.snapshot, NULL, &fixture.walk);
	assert_int_equal(fixture.walk.end, STACK_END_ROOT);
	ended = true;
	unwinder_walk(unwinder, fixture.made.space, &fixture.snapshot, NULL, &fixture.walk);
	ASSERT_FRAMES(CLIMBS);
	assert_int_equal(fixture.walk.end, STACK_END_COSTLY);
	unwinder_free(unwinder);
	tear_down(&fixture);
}

TEST(walk, walks_share_a_bound)
{
	struct fixture fixture;
	struct unwinder *unwinder = unwinder_new(UNWINDER_AUTO, 0);
	size_t nr_whole = 0;

	set_up(&fixture);
	put_climbing(&fixture, 100);
	unwinder_bound(unwinder, 100000);
	for (int i = 0; i < 1000; i++) {
		unwinder_walk(unwinder, fixture.made.space, &fixture.snapshot, NULL, &fixture.walk);
		nr_whole += fixture.walk.end == STACK_END_ROOT;
	}
	assert_in_range(nr_whole, 1, 999);
	ASSERT_FRAMES(CLIMBS);
	assert_int_equal(fixture.walk.end, STACK_END_COSTLY);
	unwinder_free(unwinder);
	tear_down(&fixture);
}

#endif
