// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Gates: the ways out of functions, by their bytes; and a gate at work, invisible to its callers
 * wherever its probes are removed.
 */
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "base/alloc.h"
#include "patch/branches.h"
#include "patch/gate.h"
#include "patch/patch.h"
#include "patch/span.h"
#include "tests/unit/unit.h"

#if defined(__x86_64__)

#define START 0x1000
#define TABLE 0x9000

static const int32_t table[] = {START + 4 - TABLE, START + 7 - TABLE, 0x400000};

static size_t read_table(const void *context, uint64_t address, void *out, size_t nr_bytes)
{
	(void)context;
	if (address < TABLE || address + nr_bytes > TABLE + sizeof(table))
		return 0;
	memcpy(out, (const uint8_t *)table + (address - TABLE), nr_bytes);
	return nr_bytes;
}

/* Of other functions. */
static const uint64_t starts[] = {START + 0x1006, START + 0x72};

/* Code at START. The last nr_behind bytes are after the function. */
static const char *find(const char *bytes, size_t nr, size_t nr_behind, struct gate_exits *exits)
{
	const struct gate_code code = {.start = START,
				       .end = START + nr - nr_behind,
				       .bytes = (const uint8_t *)bytes,
				       .nr_bytes = nr,
				       .next_start = UINT64_MAX};

	const struct gate_search search = {
		.code = &code, .nr = 1, .starts = starts, .nr_starts = 2, .read = read_table};

	*exits = (struct gate_exits){.nr = 0};
	return gate_exits_find(&search, exits);
}

#define FIND(bytes, nr_behind, exits) find(bytes, sizeof(bytes) - 1, nr_behind, exits)

static void assert_exit(const struct gate_exits *exits, size_t index, uint64_t offset,
			size_t nr_bytes, size_t exit_at)
{
	assert_true(index < exits->nr);
	assert_int_equal(exits->at[index].address, START + offset);
	assert_int_equal(exits->at[index].nr_bytes, nr_bytes);
	assert_int_equal(exits->at[index].exit_at, exit_at);
}

TEST(gate_exits, a_return_takes_the_instructions_before_it)
{
	struct gate_exits exits;

	/* nop; add $8,%rsp; ret */
	assert_null(FIND("\x90\x48\x83\xc4\x08\xc3", 0, &exits));
	assert_int_equal(exits.nr, 1);
	assert_exit(&exits, 0, 1, 5, 4);
	gate_exits_release(&exits);
}

TEST(gate_exits, or_padding_after_it)
{
	struct gate_exits exits;

	/* test %edi,%edi; je 1f; xor %eax,%eax; 1: pop %rbx; ret; nopw (a padding of 6) */
	assert_null(FIND("\x85\xff\x74\x02\x31\xc0\x5b\xc3\x66\x0f\x1f\x44\x00\x00", 6, &exits));
	assert_int_equal(exits.nr, 1);
	assert_exit(&exits, 0, 6, 8, 1);
	gate_exits_release(&exits);
	/* the same before a function */
	assert_string_equal(
		FIND("\x85\xff\x74\x02\x31\xc0\x5b\xc3\x55\x48\x89\xe5\x5d\xc3", 6, &exits),
		"a way out of it is shorter than a jump");
	gate_exits_release(&exits);
}

TEST(gate_exits, no_call_is_moved)
{
	struct gate_exits exits;

	/* call; pop %rbx; ret */
	assert_non_null(FIND("\xe8\x00\x01\x00\x00\x5b\xc3\x55", 1, &exits));
	gate_exits_release(&exits);
}

TEST(gate_exits, jumps_to_other_functions_are_exits)
{
	struct gate_exits exits;

	/* jne out; jmp *word(%rip) */
	assert_null(FIND("\x0f\x85\x00\x10\x00\x00\xff\x25\x00\x10\x00\x00", 0, &exits));
	assert_int_equal(exits.nr, 2);
	assert_exit(&exits, 0, 0, 6, 0);
	assert_exit(&exits, 1, 6, 6, 0);
	gate_exits_release(&exits);
	/* mov 16(%rdi),%rax; jmp *%rax */
	assert_null(FIND("\x48\x8b\x47\x10\xff\xe0", 0, &exits));
	assert_int_equal(exits.nr, 1);
	assert_exit(&exits, 0, 0, 6, 4);
	gate_exits_release(&exits);
	/* jne out, a short one */
	assert_string_equal(FIND("\x75\x70\x31\xc0\x90\x90\xc3", 0, &exits),
			    "a way out of it is shorter than a jump");
	gate_exits_release(&exits);
	/* jmp out, to a place without a name */
	assert_string_equal(FIND("\xe9\x00\x20\x00\x00", 0, &exits),
			    "it jumps to code that is not a known function");
	gate_exits_release(&exits);
	/* jmp to itself: none */
	assert_null(FIND("\xeb\xfe", 0, &exits));
	assert_int_equal(exits.nr, 0);
	gate_exits_release(&exits);
}

TEST(gate_exits, targets_of_tables_are_not_moved)
{
	struct gate_exits exits;

	/* Without a table, the mov and the nop before the return are moved with it. */
	assert_null(FIND("\x90\x90\x90\x90\x48\x89\xf8\x90\xc3\xcc\xcc\xcc\xcc\xcc", 5, &exits));
	assert_exit(&exits, 0, 4, 5, 4);
	gate_exits_release(&exits);
	/*
	 * The second word of a table at TABLE leads to the nop at 7, so the window begins there.
	 * After the function's return: lea table(%rip),%rdx; add %rdx,%rax; jmp *%rax.
	 */
	assert_null(FIND("\x90\x90\x90\x90\x48\x89\xf8\x90\xc3\xcc\xcc\xcc\xcc\xcc"
			 "\x48\x8d\x15\xeb\x7f\x00\x00\x48\x01\xd0\xff\xe0",
			 0, &exits));
	assert_int_equal(exits.nr, 1);
	assert_exit(&exits, 0, 7, 5, 1);
	gate_exits_release(&exits);
	/* lea of something else */
	assert_string_equal(FIND("\x48\x8d\x15\x00\x10\x00\x00\x48\x01\xd0\xff\xe0", 0, &exits),
			    "a jump in it goes through a table that profc does not find");
	gate_exits_release(&exits);
}

TEST(gate_exits, code_without_an_end_is_refused)
{
	struct gate_exits exits;

	assert_string_equal(FIND("\x31\xc0\xff\xc0", 0, &exits),
			    "it continues into the code after it");
	gate_exits_release(&exits);
	/* A call that does not return, and padding. */
	assert_null(FIND("\xe8\x00\x01\x00\x00\x66\x90", 0, &exits));
	assert_int_equal(exits.nr, 0);
	gate_exits_release(&exits);
}

/* --- at work --- */

struct regs {
	uint64_t rax, rcx, rdx, rdi;
	uint64_t code;
};

void gate_call(struct regs *regs);

/* clang-format off */
__asm__(".text\n"
	".globl gate_call\n"
	".type gate_call, @function\n"
	"gate_call:\n"
	"	push %rbx\n	push %rbp\n	mov %rdi, %rbx\n	sub $8, %rsp\n"
	"	mov 32(%rbx), %r11\n"
	"	mov (%rbx), %rax\n	mov 8(%rbx), %rcx\n	mov 16(%rbx), %rdx\n"
	"	mov 24(%rbx), %rdi\n"
	"	call *%r11\n"
	"	mov %rax, (%rbx)\n	mov %rcx, 8(%rbx)\n	mov %rdx, 16(%rbx)\n"
	"	mov %rdi, 24(%rbx)\n"
	"	pushfq\n	andl $~0x100, (%rsp)\n	popfq\n"
	"	add $8, %rsp\n	pop %rbp\n	pop %rbx\n	ret\n");

/* Each calls leaf, and goes the way that rdi says; rcx and rdx are as they were. */
__asm__(".section .rodata\n"
	".globl gate_pieces, gate_pieces_end, g_leaf, g_other, g_gate, g_gate_end, g_only_out\n"
	".globl g_amid, g_first, g_second, g_third\n"
	"	.balign 16\n"
	"gate_pieces:\n"
	"g_leaf:\n"
	"	lea 1(%rax), %rax\n	nop\n	ret\n"
	"	.balign 16, 0x90\n"
	"g_other:\n"
	"	sub $8, %rsp\n	call g_leaf\n	add $8, %rsp\n	ret\n"
	"	.balign 16, 0x90\n"
	"g_gate:\n"
	"	push %rbx\n	mov %rdi, %rbx\n	nop\n	call g_leaf\n"
	"	cmp $1, %ebx\n	je 1f\n	cmp $2, %ebx\n	je 2f\n	cmp $3, %ebx\n	je 3f\n"
	"	cmp $4, %ebx\n	je 4f\n"
	"g_out:	mov %rbx, %rdi\n	pop %rbx\n	ret\n"
	"1:	pop %rbx\n	.byte 0xe9\n	.long g_leaf - . - 4\n"
	"2:	xor %edi, %edi\n	call g_gate\n	call g_leaf\n	mov %rbx, %rdi\n"
	"	pop %rbx\n	ret\n"
	"3:	pop %rbx\n	test %rdi, %rdi\n	.byte 0x0f, 0x85\n	.long g_other - . - 4\n"
	"	lea 5(%rax), %rax\n	ret\n"
	"4:	pop %rbx\n	lea g_leaf(%rip), %r11\n	jmp *%r11\n"
	"g_gate_end:\n"
	"	.balign 16, 0x90\n"
	"g_only_out:\n"
	"	push %rbx\n	mov %rdi, %rbx\n	jmp g_out\n"
	"	.balign 16, 0x90\n"
	/* Without a frame; it needs what is below its stack pointer, and flags. */
	"g_amid:\n"
	"	mov %rdi, -8(%rsp)\n	mov %rdi, -128(%rsp)\n	cmp %rdi, %rdi\n	stc\n"
	"g_first:	nop\n	jnc 1f\n	jne 1f\n"
	"	cmp %rdi, -8(%rsp)\n	jne 1f\n	cmp %rdi, -128(%rsp)\n	jne 1f\n"
	"	cmp %rsp, %rdi\n	clc\n"
	"g_second:	nop\n	jc 1f\n	je 1f\n"
	"	cmp %rdi, -8(%rsp)\n	jne 1f\n	cmp %rdi, -128(%rsp)\n	jne 1f\n"
	"g_third:	nop\n	.byte 0xe9\n	.long 2f - (. + 4)\n"
	"2:	jne 1f\n	lea 7(%rax), %rax\n	ret\n"
	"1:	xor %eax, %eax\n	ret\n"
	"	.balign 16, 0x90\n"
	"gate_pieces_end:\n"
	"	.text\n");
/* clang-format on */

extern const uint8_t gate_pieces[], gate_pieces_end[], g_leaf[], g_other[], g_gate[], g_gate_end[],
	g_only_out[]; /* the end of the gate alone */
extern const uint8_t g_amid[], g_first[], g_second[], g_third[];

#define PAGE	    4096
#define PATCHES_MAX 16
#define MISSED	    2 /* indices of counters */
#define SPAN	    4
#define SPANS	    2
#define NR_SHARDS   2
#define SHARD_LOG2  13
#define FIRST_WORD  128
#define COPIES	    3 /* one has an owner */
#define OWNERS_AT   ((size_t)4 * PAGE + GATE_BYTES)
#define COUNTERS_AT (OWNERS_AT + PATCH_OWNERS_BYTES)
#define SLOW_AT	    (COUNTERS_AT + PAGE + ((size_t)COPIES << SHARD_LOG2))
#define BENCH_BYTES (SLOW_AT + sizeof(struct patch_slow))
#define WAYS	    5
#define LEAF_CALLS                                                                                 \
	{                                                                                          \
		1, 1, 3, 1, 1                                                                      \
	} /* inside, by way */

struct bench {
	uint8_t *code;
	struct code_area area;
	uint64_t *counters;
	uint64_t *slots;	 /* the table */
	bool is_owned, is_timed; /* is_timed: the gate is a span, leaf a place that leaves it */
	struct patch_owners owners;
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
		.base_word = (uint64_t)(uintptr_t)&bench.counters[0],
		.gate_word = (uint64_t)(uintptr_t)&bench.counters[1],
		.missed = (uint64_t)(uintptr_t)&bench.counters[FIRST_WORD + MISSED],
		.offset = (uint32_t)(index * sizeof(uint64_t)),
		.nr_shards = NR_SHARDS,
		.shard_log2 = SHARD_LOG2,
		.pass = pass,
		.owners = bench.is_owned ? &bench.owners : NULL,
		.span = SPAN * sizeof(uint64_t),
		.nr_spans = SPANS,
		.id_at = (uint64_t)(uintptr_t)&bench.counters[5],
		.slow = (uint64_t)(uintptr_t)(bench.code + SLOW_AT),
	};
}

static void add_stub(void)
{
	const struct patch_counter counter = counter_of(PATCH_COUNT, 0);

	bench.counters[2] = (uint64_t)(uintptr_t)(bench.code + OWNERS_AT);
	bench.counters[3] =
		(uint64_t)(uintptr_t)&bench.counters[FIRST_WORD] + (COPIES << SHARD_LOG2);
	bench.owners = (struct patch_owners){
		.table_word = (uint64_t)(uintptr_t)&bench.counters[2],
		.end_word = (uint64_t)(uintptr_t)&bench.counters[3],
		.claimed = (uint64_t)(uintptr_t)&bench.counters[4],
		.nr_copies = COPIES - NR_SHARDS,
	};
	assert_true(patch_stub(&bench.owners, &counter, &bench.area));
	assert_true(patch_slow_stub(&bench.owners, &counter, &bench.area));
}

/* As in a forked child. */
static void forget_owner(void)
{
	memset(bench.code + OWNERS_AT, 0, PATCH_OWNERS_BYTES);
	bench.counters[4] = 0;
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

/* In pages that stay: later ones are in the same. */
static void add_pad(const struct patch *patch)
{
	uint64_t pad = patch_pad(patch, 0);
	uint8_t bytes[PATCH_PAD_BYTES];

	assert_true(patch_pad_bytes(pad, patch->thunk, bytes));
	assert_ptr_not_equal(mmap((void *)(uintptr_t)(pad & -(uint64_t)PAGE), (size_t)2 * PAGE,
				  PROT_READ | PROT_WRITE | PROT_EXEC,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			     MAP_FAILED);
	memcpy((void *)(uintptr_t)pad, bytes, sizeof(bytes));
}

static void add_site(const uint8_t *piece, enum patch_pass pass, size_t index)
{
	const struct patch_counter counter = counter_of(pass, index);
	const struct patch_function function = {.address = address_of(piece),
						.bytes = bench.code + (piece - gate_pieces),
						.nr_readable = 32};

	struct patch *patch = &bench.patches[bench.nr_patches++];

	assert_int_equal(patch_site(patch, &function, bench.branches, &bench.area, &counter),
			 PATCH_OK);
	if (patch->pads)
		add_pad(patch);
}

static void add_exits(void)
{
	const struct gate_code code = {.start = address_of(g_gate),
				       .end = address_of(g_gate_end),
				       .bytes = bench.code + (g_gate - gate_pieces),
				       .nr_bytes = (size_t)(gate_pieces_end - g_gate),
				       .next_start = UINT64_MAX};
	const struct patch_counter counter =
		counter_of(bench.is_timed ? PATCH_SPAN_END : PATCH_LEAVE, 3);
	const uint64_t others[] = {address_of(g_leaf), address_of(g_other)};
	const struct gate_search search = {
		.code = &code, .nr = 1, .starts = others, .nr_starts = 2, .read = read_table};
	struct gate_exits exits = {.nr = 0};

	assert_null(gate_exits_find(&search, &exits));
	assert_int_equal(exits.nr, 6);
	for (size_t i = 0; i < exits.nr; i++)
		assert_int_equal(patch_exit(&bench.patches[bench.nr_patches++], exits.at[i].address,
					    (const uint8_t *)(uintptr_t)exits.at[i].address,
					    exits.at[i].nr_bytes, exits.at[i].exit_at, &bench.area,
					    &counter),
				 PATCH_OK);
	gate_exits_release(&exits);
}

static void write_all(bool is_new)
{
	for (size_t i = 0; i < bench.nr_patches; i++) {
		const struct patch *patch = &bench.patches[i];

		memcpy((void *)(uintptr_t)patch->address, is_new ? patch->new : patch->old,
		       patch->nr_bytes);
	}
}

enum kind { SHARED, OWNED, TIMED, PAIR, SITES };

static void set_up(enum kind kind)
{
	uint64_t all[4];

	bench = (struct bench){.is_owned = kind != SHARED, .is_timed = kind == TIMED};
	/* Pads are up to 2 GiB away, where nothing is. */
	bench.code = mmap((void *)UINT64_C(0x200000000000), BENCH_BYTES,
			  PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(bench.code, MAP_FAILED);
	memcpy(bench.code, gate_pieces, (size_t)(gate_pieces_end - gate_pieces));
	bench.area = (struct code_area){.address = (uint64_t)(uintptr_t)(bench.code + PAGE),
					.bytes = bench.code + PAGE,
					.cap_bytes = (size_t)2 * PAGE};
	bench.counters = (uint64_t *)(void *)(bench.code + COUNTERS_AT);
	bench.slots = (uint64_t *)(void *)(bench.code + (size_t)4 * PAGE);
	bench.counters[0] = (uint64_t)(uintptr_t)&bench.counters[FIRST_WORD];
	bench.counters[1] = (uint64_t)(uintptr_t)bench.slots;
	all[0] = address_of(g_leaf);
	all[1] = address_of(g_other);
	all[2] = address_of(g_gate);
	all[3] = address_of(g_amid);
	bench.branches = branches_new(all, ARRAY_SIZE(all));
	branches_add_code(bench.branches, all[0], bench.code,
			  (size_t)(gate_pieces_end - gate_pieces));
	branches_sort(bench.branches);
	if (bench.is_owned)
		add_stub();
	if (kind == SITES) {
		add_site(g_first, PATCH_SPAN_FROM, 1);
		add_site(g_second, PATCH_SPAN_TO, 0);
		add_site(g_third, PATCH_SPAN_FROM, 2);
		return;
	}
	if (kind == PAIR) {
		add_entry(g_gate, PATCH_SPAN_FROM, 1);
		add_entry(g_leaf, PATCH_SPAN_TO, 0);
		return;
	}
	add_entry(g_leaf, bench.is_timed ? PATCH_SPAN_LEAVE : PATCH_COUNT_WITHIN, 0);
	add_entry(g_gate, bench.is_timed ? PATCH_SPAN_BEGIN : PATCH_ENTER, 1);
	add_exits();
}

static void tear_down(void)
{
	branches_free(bench.branches);
	munmap(bench.code, BENCH_BYTES);
}

static uint64_t calls(size_t index)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < COPIES; i++)
		sum += bench.counters[FIRST_WORD + index +
				      i * (1 << SHARD_LOG2) / sizeof(uint64_t)];
	return sum;
}

static struct regs regs_of(const uint8_t *piece, uint64_t way)
{
	return (struct regs){.rax = 0x1111,
			     .rcx = 0x2222222222,
			     .rdx = 0x3333333333,
			     .rdi = way,
			     .code = address_of(piece)};
}

static uint64_t own_word(void)
{
	uint64_t word;

	__asm__("mov %%fs:0, %0" : "=r"(word));
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

static void check_counts(enum kind kind)
{
	static const unsigned int inside[WAYS] = LEAF_CALLS;
	struct regs outside;

	set_up(kind);
	outside = regs_of(g_other, 0);
	for (uint64_t way = 0; way < WAYS; way++) {
		struct regs plain = regs_of(g_gate, way), gated = plain;
		uint64_t before = calls(0);

		gate_call(&plain);
		write_all(true);
		gate_call(&outside);
		assert_int_equal(calls(0), before);
		gate_call(&gated);
		assert_memory_equal(&plain, &gated, sizeof(plain));
		assert_int_equal(calls(0) - before, inside[way]);
		assert_nobody_inside();
		gate_call(&outside);
		assert_int_equal(calls(0) - before, inside[way]);
		write_all(false);
	}
	/* Each of the ways, and once more from inside. */
	assert_int_equal(calls(1), WAYS + 1);
	assert_int_equal(calls(MISSED), 0);
	assert_int_equal(bench.counters[4], kind == OWNED);
	tear_down();
}

TEST(gate, counts_only_inside)
{
	check_counts(SHARED);
}

TEST(gate, counts_only_inside_in_own_copies)
{
	check_counts(OWNED);
}

TEST(gate, taken_slots_count_as_missed)
{
	uint64_t *slot;
	struct regs regs;

	set_up(SHARED);
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
TEST(gate, is_entered_again_if_its_frame_is_gone)
{
	uint64_t *slot;
	struct regs regs;

	set_up(SHARED);
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

/* --- spans --- */

static struct patch_span *span_of(size_t copy)
{
	return (struct patch_span *)(void *)&bench
		.counters[FIRST_WORD + SPAN + copy * (1 << SHARD_LOG2) / sizeof(uint64_t)];
}

static uint64_t nr_ended(const struct patch_span *span)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < PATCH_SPAN_LENGTHS; i++)
		sum += span->nr[i];
	return sum;
}

static uint64_t clock_now(void)
{
	return __builtin_ia32_rdtsc();
}

TEST(span, times_each_outermost_call)
{
	struct patch_span *span;
	uint64_t begin, end;

	set_up(TIMED);
	span = span_of(NR_SHARDS);
	bench.counters[5] = 0x28; /* any word of the thread's data */
	for (uint64_t way = 0; way < WAYS; way++) {
		struct regs plain = regs_of(g_gate, way), gated = plain;

		gate_call(&plain);
		write_all(true);
		begin = clock_now();
		gate_call(&gated);
		end = clock_now();
		write_all(false);
		assert_memory_equal(&plain, &gated, sizeof(plain));
		assert_int_equal(span->nr_begun, way + 1);
		assert_int_equal(nr_ended(span), way + 1);
		assert_true(span->begin > begin && span->begin < end);
		assert_int_equal(span->place, 0);
	}
	assert_int_equal(calls(1), WAYS + 1);
	assert_int_equal(calls(MISSED), 0);
	assert_true(span->longest > 0 && span->longest <= span->total);
	assert_true(span->longest_tid != 0 && span->longest_tid <= UINT32_MAX);
	tear_down();
}

/* From the gate's entry to the next call of leaf, wherever that is made. */
TEST(span, is_from_one_function_to_another)
{
	const uint64_t begun[WAYS] = {1, 1, 2, 1, 1};
	struct patch_span *span;
	struct regs outside;
	uint64_t sum = 0;

	set_up(PAIR);
	span = span_of(NR_SHARDS);
	outside = regs_of(g_other, 0);
	write_all(true);
	gate_call(&outside);
	assert_int_equal(span->nr_begun, 0);
	assert_int_equal(nr_ended(span), 0);
	for (uint64_t way = 0; way < WAYS; way++) {
		struct regs plain = regs_of(g_gate, way), timed = plain;
		uint64_t begin = clock_now();

		gate_call(&timed);
		sum += begun[way];
		assert_int_equal(span->nr_begun, sum);
		assert_int_equal(nr_ended(span), sum);
		assert_int_equal(span->place, 0);
		assert_true(span->begin > begin && span->length < clock_now() - begin);
		gate_call(&outside);
		write_all(false);
		gate_call(&plain);
		write_all(true);
		assert_memory_equal(&plain, &timed, sizeof(plain));
	}
	assert_int_equal(nr_ended(span), sum);
	assert_int_equal(calls(1), sum);
	tear_down();
}

TEST(span, begins_anew_where_it_began_before)
{
	struct patch_span *span;
	struct regs regs;

	set_up(PAIR);
	span = span_of(NR_SHARDS);
	regs = regs_of(g_gate, 0);
	write_all(true);
	gate_call(&regs);
	assert_int_equal(nr_ended(span), 1);
	/* One that has not ended, long ago and from deeper in the stack. */
	span->begin = 1;
	span->place = PATCH_SPAN_ANYWHERE;
	regs = regs_of(g_gate, 0);
	gate_call(&regs);
	assert_int_equal(nr_ended(span), 2);
	assert_true(span->begin > 1);
	/* It ends in leaf alone, too, if nothing has begun since. */
	span->begin = clock_now() - 1000000;
	span->place = PATCH_SPAN_ANYWHERE;
	regs = regs_of(g_leaf, 0);
	gate_call(&regs);
	assert_int_equal(nr_ended(span), 3);
	assert_true(span->length >= 1000000);
	assert_int_equal(span->place, 0);
	tear_down();
}

static struct patch_slow *slow_calls(void)
{
	return (struct patch_slow *)(void *)(bench.code + SLOW_AT);
}

TEST(span, keeps_slow_calls)
{
	struct patch_slow *slow;
	struct patch_span *span;
	struct regs regs;

	set_up(TIMED);
	slow = slow_calls();
	span = span_of(NR_SHARDS);
	bench.counters[5] = 0x28; /* any word of the thread's data */
	write_all(true);
	for (uint64_t i = 0; i < PATCH_SLOW_CALLS + 2; i++) {
		const struct patch_slow_call *call = &slow->calls[i % PATCH_SLOW_CALLS];

		regs = regs_of(g_gate, i % WAYS);
		gate_call(&regs);
		assert_int_equal(slow->nr, i + 1);
		assert_int_equal(call->number, i + 1);
		assert_int_equal(call->begin, span->begin);
		assert_int_equal(call->length, span->length);
		assert_int_equal(call->tid, span->longest_tid);
	}
	/* One that is just as long as that, and others. */
	slow->least = UINT64_C(1) << 40;
	span->place = 1;
	span->begin = clock_now() - slow->least;
	regs = regs_of(g_only_out, 0);
	gate_call(&regs);
	assert_int_equal(slow->nr, PATCH_SLOW_CALLS + 3);
	regs = regs_of(g_gate, 0);
	gate_call(&regs);
	slow->least = UINT64_MAX;
	span->place = 1;
	span->begin = 1;
	regs = regs_of(g_only_out, 0);
	gate_call(&regs);
	assert_int_equal(slow->nr, PATCH_SLOW_CALLS + 3);
	assert_int_equal(span->longest, span->length);
	tear_down();
}

/* The length is that from outside, less the little time between the two clocks. */
TEST(span, counts_by_length)
{
	struct patch_span *span;
	struct regs regs;

	set_up(TIMED);
	span = span_of(NR_SHARDS);
	write_all(true);
	for (unsigned int shift = 0; shift < 64; shift++) {
		uint64_t length = UINT64_C(1) << shift, nr = 0, now;

		/* As if it had begun so long ago. */
		regs = regs_of(g_gate, 0);
		gate_call(&regs);
		memset(span, 0, sizeof(*span));
		span->place = 1;
		now = clock_now();
		span->begin = now - length;
		regs = regs_of(g_only_out, 0);
		gate_call(&regs);
		assert_int_equal(span->place, 0);
		/* A time before the clock began is one after now: the call has no length. */
		if (length < now)
			assert_true(span->total >= length);
		else
			assert_int_equal(span->total, 0);
		for (unsigned int i = 0; i < PATCH_SPAN_LENGTHS; i++) {
			if (patch_span_least(i) <= span->total &&
			    span->total < patch_span_least(i + 1))
				nr = span->nr[i];
		}
		assert_int_equal(nr, 1);
		assert_int_equal(nr_ended(span), 1);
		assert_int_equal(span->longest, span->total);
		assert_int_equal(span->longest_begin, span->total ? span->begin : 0);
	}
	tear_down();
}

TEST(span, lengths_follow_each_other)
{
	for (unsigned int i = 0; i < PATCH_SPAN_LENGTHS; i++)
		assert_true(patch_span_least(i) < patch_span_least(i + 1));
	assert_int_equal(patch_span_least(15), 15);
	assert_int_equal(patch_span_least(16), 16);
	assert_int_equal(patch_span_least(24), 32);
	assert_int_equal(patch_span_least(PATCH_SPAN_LENGTHS - 1), UINT64_C(15) << 60);
}

/* Left deeper in the stack: that call has no end, and the next one is not its end. */
TEST(span, a_call_without_an_end_is_not_long)
{
	struct patch_span *span;
	struct regs regs;

	set_up(TIMED);
	span = span_of(NR_SHARDS);
	write_all(true);
	regs = regs_of(g_gate, 0);
	gate_call(&regs);
	span->nr_begun++;
	span->place = (uint64_t)(uintptr_t)&regs - (1 << 16);
	span->begin = 1;
	regs = regs_of(g_gate, 0);
	gate_call(&regs);
	assert_int_equal(span->nr_begun, 3);
	assert_int_equal(nr_ended(span), 2);
	assert_true(span->longest < clock_now() / 2);
	/* By an exception, which leaf notices: all functions are left. */
	span->place = span[1].place = (uint64_t)(uintptr_t)&regs - (1 << 16);
	regs = regs_of(g_leaf, 0);
	gate_call(&regs);
	assert_int_equal(span->place, 0);
	assert_int_equal(span[1].place, 0);
	assert_int_equal(nr_ended(span), 2);
	/* A call that began further up goes on. */
	span[1].place = (uint64_t)(uintptr_t)&regs + (1 << 16);
	regs = regs_of(g_leaf, 0);
	gate_call(&regs);
	assert_int_equal(span[1].place, (uint64_t)(uintptr_t)&regs + (1 << 16));
	tear_down();
}

TEST(span, without_a_copy_is_missed)
{
	struct regs regs;

	set_up(TIMED);
	bench.counters[4] = COPIES - NR_SHARDS; /* all are taken */
	write_all(true);
	for (int i = 0; i < 3; i++) {
		regs = regs_of(g_gate, 0);
		gate_call(&regs);
	}
	assert_int_equal(calls(1), 3);
	assert_int_equal(calls(MISSED), 3);
	for (size_t i = 0; i < COPIES; i++)
		assert_int_equal(span_of(i)->nr_begun, 0);
	tear_down();
}

/* --- removed at each instruction --- */

static struct {
	size_t nr_before;
	bool is_done;
} stepping;

static void pop(greg_t *regs, unsigned int into)
{
	static const int order[PATCH_MAX_PUSHED] = {REG_RAX, REG_RCX, REG_RDX};

	memcpy(&regs[order[into]], (const void *)(uintptr_t)regs[REG_RSP], 8);
	regs[REG_RSP] += 8;
}

/* Of a thread with its place, or that of the stub's link, in this thunk. */
static void take_away(greg_t *regs, const struct patch *patch)
{
	uint64_t pc = (uint64_t)regs[REG_RIP], original;
	struct patch_spared spared;
	struct patch_saved saved;

	if (patch->pads && pc == patch_pad(patch, 0))
		pc = patch->thunk;
	if (patch_is_in_stub(patch, pc, (uint64_t)regs[REG_RAX], &saved)) {
		pc = (uint64_t)regs[REG_RAX];
		for (unsigned int i = saved.nr_words; i > 0; i--)
			pop(regs, i);
		regs[REG_RSP] += saved.nr_bytes;
	} else if (pc < patch->thunk || pc >= patch->thunk + patch->nr_thunk_bytes) {
		return;
	}
	assert_int_equal(patch_original_pc(patch, pc, &original), PATCH_AT);
	for (unsigned int i = patch_nr_pushed(patch, pc); i > 0; i--)
		pop(regs, i - 1);
	spared = patch_spared_at(patch, pc);
	if (spared.has_first)
		pop(regs, 0);
	if (spared.has_flags) {
		regs[REG_EFL] &= ~(greg_t)PATCH_FLAGS;
		regs[REG_EFL] |= *(const greg_t *)(uintptr_t)regs[REG_RSP] & (greg_t)PATCH_FLAGS;
		regs[REG_RSP] += 8;
	}
	regs[REG_RSP] += spared.nr_bytes;
	regs[REG_RIP] = (greg_t)original;
}

static bool is_in_probe(uint64_t pc)
{
	for (size_t i = 0; i < bench.nr_patches; i++) {
		if (bench.patches[i].pads && pc == patch_pad(&bench.patches[i], 0))
			return true;
	}
	return pc >= bench.area.address && pc < bench.area.address + bench.area.nr_bytes;
}

static void on_step(int signal, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t pc = (uint64_t)regs[REG_RIP];

	(void)signal;
	(void)info;
	if (stepping.is_done || !is_in_probe(pc) || stepping.nr_before-- > 0)
		return;
	for (size_t i = 0; i < bench.nr_patches; i++) {
		uint64_t before = (uint64_t)regs[REG_RIP];

		take_away(regs, &bench.patches[i]);
		if ((uint64_t)regs[REG_RIP] != before)
			break;
	}
	write_all(false);
	stepping.is_done = true;
}

static void step(struct regs *regs)
{
	__asm__ volatile("pushfq\n	orl $0x100, (%%rsp)\n	popfq\n" ::: "cc", "memory");
	gate_call(regs);
}

static size_t remove_at_each_instruction(enum kind kind)
{
	const struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
	const uint8_t *called = kind == SITES ? g_amid : g_gate;
	struct sigaction former;
	size_t nr_places = 0;

	set_up(kind);
	sigaction(SIGTRAP, &action, &former);
	for (uint64_t way = 0; way < WAYS; way++) {
		struct regs plain = regs_of(called, way);

		gate_call(&plain);
		for (size_t nr = 0;; nr++) {
			struct regs gated = regs_of(called, way);

			memset(bench.slots, 0, GATE_BYTES);
			forget_owner();
			stepping.nr_before = nr;
			stepping.is_done = false;
			write_all(true);
			step(&gated);
			write_all(false);
			assert_memory_equal(&plain, &gated, sizeof(plain));
			if (!stepping.is_done)
				break;
			nr_places++;
		}
	}
	sigaction(SIGTRAP, &former, NULL);
	tear_down();
	return nr_places;
}

TEST(gate, can_be_removed_at_each_instruction)
{
	size_t nr_shared = remove_at_each_instruction(SHARED);
	size_t nr_owned = remove_at_each_instruction(OWNED);

	/* Three thunks of some twenty instructions at least, on each way; and the stub on each. */
	assert_true(nr_shared > (size_t)3 * 20 * WAYS);
	assert_true(nr_owned > nr_shared + (size_t)20 * WAYS);
}

TEST(span, can_be_removed_at_each_instruction)
{
	/* The entry, leaf, a way out, and the stub. */
	assert_true(remove_at_each_instruction(TIMED) > (size_t)4 * 20 * WAYS);
	/* Two entries, and the stub of each. */
	assert_true(remove_at_each_instruction(PAIR) > (size_t)4 * 20 * WAYS);
	/* Likewise. */
	assert_true(remove_at_each_instruction(SITES) > (size_t)4 * 20 * WAYS);
}

TEST(span, is_not_timed_from_a_place_where_one_byte_cannot_become_a_jump)
{
	static const struct {
		uint8_t bytes[16];
		enum patch_outcome outcome;
	} places[] = {
		{{0x91, 0x48, 0x8b, 0x07}, PATCH_NO_NOP},
		{{0x90, 0x0f, 0x1f, 0x44, 0, 0}, PATCH_CHANGED_LATER},
		{{0x90, 0x50, 0x0f, 0x1f, 0x44, 0, 0}, PATCH_CHANGED_LATER},
		{{0x90, 0x0f, 0x1f, 0x40, 0, 0x55}, PATCH_OK},
	};
	struct patch_counter counter;

	set_up(SITES);
	counter = counter_of(PATCH_SPAN_FROM, 1);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		const struct patch_function function = {.address = address_of(g_first),
							.bytes = places[i].bytes,
							.nr_readable = sizeof(places[i].bytes)};
		struct patch patch;

		assert_int_equal(
			patch_site(&patch, &function, bench.branches, &bench.area, &counter),
			places[i].outcome);
	}
	tear_down();
}

TEST(span, amid_a_function_leaves_flags_and_what_is_below_the_stack_pointer)
{
	struct regs plain, timed;

	set_up(SITES);
	plain = timed = regs_of(g_amid, 5);
	gate_call(&plain);
	assert_int_equal(plain.rax, 0x1111 + 7);
	write_all(true);
	for (int i = 0; i < 3; i++) {
		timed = regs_of(g_amid, 5);
		gate_call(&timed);
		assert_memory_equal(&plain, &timed, sizeof(plain));
	}
	assert_int_equal(calls(1), 3);
	assert_int_equal(calls(2), 3);
	assert_int_equal(nr_ended(span_of(NR_SHARDS)), 3);
	tear_down();
}

#else

TEST(gate, is_for_another_processor)
{
	skip();
}

#endif
