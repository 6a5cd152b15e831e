// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Gates of aarch64: the ways out of functions, by their words; and a gate at work, invisible to its
 * callers wherever its probes are removed.
 */
#include "base/alloc.h"
#include "patch/branches.h"
#include "patch/gate.h"
#include "patch/patch.h"
#include "tests/unit/unit.h"

#if defined(__aarch64__)

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define START UINT64_C(0x1000)
#define NOP   0xd503201f
#define BTI_C 0xd503245f
#define RET   0xd65f03c0
#define PUSH  0xa9bf7bfd /* stp x29, x30, [sp, #-16]! */

static size_t read_nothing(const void *context, uint64_t address, void *out, size_t nr_bytes)
{
	(void)context;
	(void)address;
	(void)out;
	(void)nr_bytes;
	return 0;
}

/* Code at START; there is another function 64 bytes after. */
static const char *find(const uint32_t *words, size_t nr, struct gate_exits *exits)
{
	static const uint64_t starts[] = {START + 64};
	const struct gate_code code = {.start = START,
				       .end = START + nr * 4,
				       .bytes = (const uint8_t *)words,
				       .nr_bytes = nr * 4,
				       .next_start = UINT64_MAX,
				       .is_entered = true};
	const struct gate_search search = {
		.code = &code, .nr = 1, .starts = starts, .nr_starts = 1, .read = read_nothing};

	*exits = (struct gate_exits){.nr = 0};
	return gate_exits_find(&search, exits);
}

static void assert_exits(const uint32_t *words, size_t nr, const uint8_t *at, size_t nr_at)
{
	struct gate_exits exits;

	assert_null(find(words, nr, &exits));
	assert_int_equal(exits.nr, nr_at);
	for (size_t i = 0; i < nr_at; i++) {
		assert_int_equal(exits.at[i].address, START + (size_t)4 * at[i]);
		assert_int_equal(exits.at[i].nr_bytes, 4);
		assert_int_equal(exits.at[i].exit_at, 0);
	}
	gate_exits_release(&exits);
}

static void assert_refused(const uint32_t *words, size_t nr, const char *why)
{
	struct gate_exits exits;

	assert_string_equal(find(words, nr, &exits), why);
	gate_exits_release(&exits);
}

#define WORDS(...)                                                                                 \
	(const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)
#define EXITS(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

TEST(gate_exits_aarch64, are_returns_and_jumps_out)
{
	/* cbz x0, .+8; ret; retaa; retab; ret x3 */
	assert_exits(WORDS(PUSH, 0xb4000040, RET, 0xd65f0bff, 0xd65f0fff, 0xd65f0060),
		     EXITS(2, 3, 4, 5));
	/* b.eq .+60; tbz w0, #1, .+56; b .-4; b .+48 */
	assert_exits(WORDS(PUSH, 0x540001e0, 0x360801c0, 0x17ffffff, 0x14000000 | 12),
		     EXITS(1, 2, 4));
	/* br x1; br x16; braaz x2; nops */
	assert_exits(WORDS(PUSH, 0xd61f0020, 0xd61f0200, 0xd61f085f, NOP, NOP), EXITS(1, 2, 3));
	/* A call that does not return; brk */
	assert_exits(WORDS(PUSH, 0x94000100), NULL, 0);
	assert_exits(WORDS(PUSH, 0xd4207d00), NULL, 0);
}

TEST(gate_exits_aarch64, cannot_always_be_watched)
{
	assert_refused(WORDS(PUSH, NOP, NOP), "it continues into the code after it");
	assert_refused(WORDS(NOP), "it continues into the code after it");
	assert_refused(WORDS(RET), "it is too short for a probe on either side");
	assert_refused(WORDS(BTI_C, RET), "it is too short for a probe on either side");
	/* b .+8 */
	assert_refused(WORDS(PUSH, 0x14000100), "it jumps to code that is not a known function");
	/* ldr x0, .+8 */
	assert_refused(WORDS(PUSH, 0x58000040, RET, 0x12345678, RET),
		       "there is data among its code");
	assert_refused(WORDS(PUSH, RET, 7, RET), "it has an instruction that profc does not know");
	/* cbgt x0, x1, .+8 */
	assert_refused(WORDS(PUSH, 0xf4010040, RET, RET),
		       "it has an instruction that profc does not know");
	/* retaasppc .-4 */
	assert_refused(WORDS(PUSH, 0x5500003f, RET),
		       "it has an instruction that profc does not know");
}

/* --- at work --- */

/* x0, x14 to x17 and the flags before and after a call. */
struct regs {
	uint64_t x0, others[4], flags;
	uint64_t code;
};

void gate_call(struct regs *regs);

/* clang-format off */
__asm__(".text\n"
	".globl gate_call\n"
	".type gate_call, %function\n"
	"gate_call:\n"
	"	stp x29, x30, [sp, #-32]!\n	str x19, [sp, #16]\n	mov x19, x0\n"
	"	ldp x14, x15, [x19, #8]\n	ldp x16, x17, [x19, #24]\n"
	"	ldp x9, x10, [x19, #40]\n	msr nzcv, x9\n"
	"	ldr x0, [x19]\n"
	"	blr x10\n"
	"	str x0, [x19]\n"
	"	stp x14, x15, [x19, #8]\n	stp x16, x17, [x19, #24]\n"
	"	mrs x9, nzcv\n	str x9, [x19, #40]\n"
	"	ldr x19, [sp, #16]\n	ldp x29, x30, [sp], #32\n	ret\n");

/* Each calls leaf, and goes the way that x0 says. */
__asm__(".section .rodata\n"
	".globl gate_pieces, gate_pieces_end, g_leaf, g_other, g_gate, g_gate_end\n"
	".macro leave_frame\n"
	"	ldr x19, [sp, #16]\n	ldp x29, x30, [sp], #32\n"
	".endm\n"
	"	.balign 16\n"
	"gate_pieces:\n"
	"g_leaf:\n"
	"	add x0, x0, #1\n	ret\n"
	"g_other:\n"
	"	stp x29, x30, [sp, #-16]!\n	bl g_leaf\n	ldp x29, x30, [sp], #16\n	ret\n"
	"g_gate:\n"
	"	stp x29, x30, [sp, #-32]!\n	str x19, [sp, #16]\n	mov x19, x0\n	bl g_leaf\n"
	"	cmp x19, #1\n	b.eq 1f\n	cmp x19, #2\n	b.eq 2f\n"
	"	cmp x19, #3\n	b.eq 3f\n	cmp x19, #4\n	b.eq 4f\n"
	"	cmp x19, #5\n	b.eq 5f\n"
	"	leave_frame\n	ret\n"
	"1:	leave_frame\n	b g_leaf\n"
	"2:	mov x0, #0\n	bl g_gate\n	bl g_leaf\n	leave_frame\n	ret\n"
	"3:	leave_frame\n	cbz x0, g_other\n	tbnz w0, #2, g_other\n	ret\n"
	"4:	adr x14, g_leaf\n	leave_frame\n	br x14\n"
	"5:	adr x9, 6f\n	br x9\n"
	"6:	bl g_leaf\n	leave_frame\n	ret\n"
	"g_gate_end:\n"
	"gate_pieces_end:\n"
	"	.text\n");
/* clang-format on */

extern const uint8_t gate_pieces[], gate_pieces_end[], g_leaf[], g_other[], g_gate[], g_gate_end[];

#define PAGE	    65536
#define PATCHES_MAX 16
#define MISSED	    2 /* indices of counters */
#define NR_SHARDS   2
#define SHARD_LOG2  10
#define FIRST_WORD  128
#define BENCH_BYTES ((size_t)4 * PAGE + GATE_BYTES)
#define BRK	    0xd4200000

/* Calls of leaf inside, by way. */
static const unsigned int inside_of[] = {1, 1, 3, 1, 1, 2};

struct bench {
	uint8_t *code;
	struct code_area area;
	uint64_t *counters;
	uint64_t *slots; /* the table */
	struct patch_gate_part part;
	struct patch_gate gate;
	struct branches *branches;
	struct patch patches[PATCHES_MAX];
	size_t nr_patches;
};

static struct bench bench;

static uint64_t address_of(const uint8_t *piece)
{
	return (uint64_t)(uintptr_t)(bench.code + (piece - gate_pieces));
}

static struct patch_counter counter_of(enum patch_pass pass, size_t index)
{
	return (struct patch_counter){
		.address = (uint64_t)(uintptr_t)&bench.counters[FIRST_WORD + index],
		.gate_word = (uint64_t)(uintptr_t)&bench.counters[1],
		.missed = (uint64_t)(uintptr_t)&bench.counters[FIRST_WORD + MISSED],
		.nr_shards = NR_SHARDS,
		.shard_log2 = SHARD_LOG2,
		.pass = pass,
		.gate = &bench.gate,
	};
}

static void add_entry(const uint8_t *piece, enum patch_pass pass, size_t index)
{
	const struct patch_counter counter = counter_of(pass, index);
	const struct patch_function function = {.address = address_of(piece),
						.bytes = bench.code + (piece - gate_pieces),
						.nr_readable = 64};

	assert_int_equal(patch_entry(&bench.patches[bench.nr_patches++], &function, bench.branches,
				     &bench.area, &counter),
			 PATCH_OK);
}

static void add_exits(void)
{
	const struct gate_code code = {.start = bench.part.start,
				       .end = bench.part.end,
				       .bytes = bench.code + (g_gate - gate_pieces),
				       .nr_bytes = (size_t)(gate_pieces_end - g_gate),
				       .next_start = UINT64_MAX,
				       .is_entered = true};
	const struct patch_counter counter = counter_of(PATCH_LEAVE, 3);
	const uint64_t others[] = {address_of(g_leaf), address_of(g_other)};
	const struct gate_search search = {
		.code = &code, .nr = 1, .starts = others, .nr_starts = 2, .read = read_nothing};
	struct gate_exits exits = {.nr = 0};

	assert_null(gate_exits_find(&search, &exits));
	assert_int_equal(exits.nr, 9);
	for (size_t i = 0; i < exits.nr; i++)
		assert_int_equal(patch_exit(&bench.patches[bench.nr_patches++], exits.at[i].address,
					    (const uint8_t *)(uintptr_t)exits.at[i].address,
					    exits.at[i].nr_bytes, exits.at[i].exit_at, &bench.area,
					    &counter),
				 PATCH_OK);
	gate_exits_release(&exits);
}

static void write_word(uint64_t address, const void *word)
{
	char *at = (char *)(uintptr_t)address;

	memcpy(at, word, 4);
	__builtin___clear_cache(at, at + 4);
}

static void write_all(bool is_new)
{
	for (size_t i = 0; i < bench.nr_patches; i++) {
		const struct patch *patch = &bench.patches[i];

		write_word(patch->address, is_new ? patch->new : patch->old);
	}
}

static void set_up(void)
{
	uint64_t all[3];

	bench = (struct bench){.nr_patches = 0};
	bench.code = mmap(NULL, BENCH_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(bench.code, MAP_FAILED);
	memcpy(bench.code, gate_pieces, (size_t)(gate_pieces_end - gate_pieces));
	bench.area = (struct code_area){.address = (uint64_t)(uintptr_t)(bench.code + PAGE),
					.bytes = bench.code + PAGE,
					.cap_bytes = PAGE};
	bench.counters = (uint64_t *)(void *)(bench.code + (size_t)3 * PAGE);
	bench.slots = (uint64_t *)(void *)(bench.code + (size_t)4 * PAGE);
	bench.counters[1] = (uint64_t)(uintptr_t)bench.slots;
	all[0] = address_of(g_leaf);
	all[1] = address_of(g_other);
	all[2] = address_of(g_gate);
	bench.part = (struct patch_gate_part){all[2], address_of(g_gate_end)};
	bench.gate = (struct patch_gate){.parts = &bench.part, .nr = 1};
	bench.branches = branches_new(all, ARRAY_SIZE(all));
	branches_add_code(bench.branches, all[0], bench.code,
			  (size_t)(gate_pieces_end - gate_pieces));
	branches_sort(bench.branches);
	add_entry(g_leaf, PATCH_COUNT_WITHIN, 0);
	add_entry(g_gate, PATCH_ENTER, 1);
	add_exits();
	__builtin___clear_cache((char *)bench.code, (char *)bench.code + (size_t)2 * PAGE);
}

/* Not unmapped: QEMU 7.2 ran the translated code of a former mapping at the same address. */
static void tear_down(void)
{
	branches_free(bench.branches);
}

static uint64_t calls(size_t index)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < NR_SHARDS; i++)
		sum += bench.counters[FIRST_WORD + index +
				      i * (1 << SHARD_LOG2) / sizeof(uint64_t)];
	return sum;
}

static struct regs regs_of(const uint8_t *piece, uint64_t way)
{
	return (struct regs){.x0 = way,
			     .others = {0x1414, 0x15151515, UINT64_MAX, 0x171717171717},
			     .flags = UINT64_C(0xa0000000),
			     .code = address_of(piece)};
}

static uint64_t own_word(void)
{
	uint64_t word;

	__asm__("mrs %0, tpidr_el0" : "=r"(word));
	return word;
}

static uint64_t *own_slot(void)
{
	return &bench.slots[((own_word() >> 12) * 0x101 >> 8) % GATE_SLOTS * 2];
}

static void assert_nobody_inside(void)
{
	for (size_t i = 0; i < GATE_BYTES / sizeof(uint64_t); i++)
		assert_int_equal(bench.slots[i], 0);
}

TEST(gate_aarch64, counts_only_inside)
{
	struct regs outside;

	set_up();
	outside = regs_of(g_other, 0);
	for (uint64_t way = 0; way < ARRAY_SIZE(inside_of); way++) {
		struct regs plain = regs_of(g_gate, way), gated = plain;
		uint64_t before = calls(0);

		gate_call(&plain);
		write_all(true);
		gate_call(&outside);
		assert_int_equal(calls(0), before);
		gate_call(&gated);
		assert_memory_equal(&plain, &gated, sizeof(plain));
		assert_int_equal(calls(0) - before, inside_of[way]);
		assert_nobody_inside();
		gate_call(&outside);
		assert_int_equal(calls(0) - before, inside_of[way]);
		write_all(false);
	}
	/* Each of the ways, and once more from inside. */
	assert_int_equal(calls(1), ARRAY_SIZE(inside_of) + 1);
	assert_int_equal(calls(MISSED), 0);
	tear_down();
}

TEST(gate_aarch64, flags_are_kept)
{
	struct regs regs;

	set_up();
	regs = regs_of(g_other, 0);
	write_all(true);
	gate_call(&regs);
	assert_int_equal(regs.flags, 0xa0000000);
	*own_slot() = own_word();
	own_slot()[1] = UINT64_MAX >> 16;
	gate_call(&regs);
	assert_int_equal(regs.flags, 0xa0000000);
	assert_int_equal(calls(0), 1);
	tear_down();
}

TEST(gate_aarch64, taken_slots_count_as_missed)
{
	uint64_t *slot;
	struct regs regs;

	set_up();
	slot = own_slot();
	regs = regs_of(g_gate, 2);
	slot[0] = own_word() + (UINT64_C(1) << 40);
	slot[1] = UINT64_MAX;
	write_all(true);
	gate_call(&regs);
	assert_int_equal(calls(0), 0);
	assert_int_equal(calls(1), 0);
	assert_int_equal(calls(MISSED), 2);
	assert_int_equal(slot[0], own_word() + (UINT64_C(1) << 40));
	assert_int_equal(slot[1], UINT64_MAX);
	tear_down();
}

/* Left by an exception, from deeper in the stack: no frame is left where it was entered. */
TEST(gate_aarch64, is_entered_again_if_its_frame_is_gone)
{
	uint64_t *slot;
	struct regs regs;

	set_up();
	slot = own_slot();
	regs = regs_of(g_gate, 0);
	slot[0] = own_word();
	slot[1] = (uint64_t)(uintptr_t)&regs - (1 << 16);
	write_all(true);
	gate_call(&regs);
	assert_int_equal(calls(0), 1);
	assert_nobody_inside();
	tear_down();
}

/* --- removed at each instruction --- */

static struct {
	uint64_t address;
	uint32_t word;
	bool is_done;
} stop;

static void pop(mcontext_t *regs, unsigned int into)
{
	memcpy(&regs->regs[17 - into], (const void *)(uintptr_t)regs->sp, 8);
	regs->sp += 8;
}

static void take_away(mcontext_t *regs, const struct patch *patch)
{
	uint64_t pc = regs->pc, original;

	assert_int_equal(patch_original_pc(patch, pc, &original), PATCH_AT);
	for (unsigned int i = patch_nr_pushed(patch, pc); i > 0; i--)
		pop(regs, i - 1);
	regs->pc = original;
}

static void on_stop(int signal, siginfo_t *info, void *context)
{
	mcontext_t *regs = &((ucontext_t *)context)->uc_mcontext;

	(void)signal;
	(void)info;
	assert_int_equal(regs->pc, stop.address);
	write_word(stop.address, &stop.word);
	for (size_t i = 0; i < bench.nr_patches; i++) {
		const struct patch *patch = &bench.patches[i];

		if (regs->pc >= patch->thunk && regs->pc < patch->thunk + patch->nr_thunk_bytes) {
			take_away(regs, patch);
			break;
		}
	}
	write_all(false);
	stop.is_done = true;
}

/* False: that way does not lead there. */
static bool remove_at(uint64_t address, uint64_t way)
{
	const uint32_t brk = BRK;
	struct regs plain = regs_of(g_gate, way), gated = plain;

	gate_call(&plain);
	memset(bench.slots, 0, GATE_BYTES);
	stop.address = address;
	stop.is_done = false;
	memcpy(&stop.word, (const void *)(uintptr_t)address, 4);
	write_word(address, &brk);
	write_all(true);
	gate_call(&gated);
	write_all(false);
	write_word(address, &stop.word);
	assert_memory_equal(&plain, &gated, sizeof(plain));
	return stop.is_done;
}

TEST(gate_aarch64, can_be_removed_at_each_instruction)
{
	const struct sigaction action = {.sa_sigaction = on_stop, .sa_flags = SA_SIGINFO};
	struct sigaction former;
	size_t nr_places = 0;

	set_up();
	sigaction(SIGTRAP, &action, &former);
	for (uint64_t way = 0; way < ARRAY_SIZE(inside_of); way++) {
		for (size_t i = 0; i < bench.area.nr_bytes; i += 4)
			nr_places += remove_at(bench.area.address + i, way);
	}
	sigaction(SIGTRAP, &former, NULL);
	/* Three thunks of some twenty instructions at least, on each way. */
	assert_true(nr_places > (size_t)3 * 20 * ARRAY_SIZE(inside_of));
	tear_down();
}

#else

TEST(gate_aarch64, is_for_another_processor)
{
	skip();
}

#endif
