// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Probes at work: code is copied to writable memory, and run with and without them. Callers must
 * see no difference but the flags, wherever a probe is installed or removed.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "base/alloc.h"
#include "patch/branches.h"
#include "patch/patch.h"
#include "tests/unit/unit.h"

#if defined(__x86_64__)

#define PAGE 4096
#define TRAP 0x100 /* of the flags: a signal after each instruction */

/* rax rbx rcx rdx rsi rdi rbp r8-r15, in this order */
#define NR_GENERAL 15
#define RDI	   5
#define NR_XMM	   16

/* The registers that run_machine() loads before the call, and stores after it, at these offsets. */
struct machine {
	uint64_t general[NR_GENERAL]; /* 0 */
	uint64_t code;		      /* 120 */
	uint64_t red_zone;	      /* 128: the word 24 bytes below the caller's stack pointer */
	uint64_t flags;		      /* 136 */
	uint8_t xmm[NR_XMM][16];      /* 144 */
};

void run_machine(struct machine *machine);

/* clang-format off */
__asm__(".text\n"
	".globl run_machine\n"
	".type run_machine, @function\n"
	"run_machine:\n"
	"	push %rbx\n	push %rbp\n	push %r12\n	push %r13\n"
	"	push %r14\n	push %r15\n	push %rdi\n"
	"	sub $136, %rsp\n"
	"	mov 120(%rdi), %rax\n	mov %rax, 128(%rsp)\n"
	"	mov 128(%rdi), %rax\n	mov %rax, 104(%rsp)\n"
	"	mov 8(%rdi), %rbx\n	mov 16(%rdi), %rcx\n	mov 24(%rdi), %rdx\n"
	"	mov 32(%rdi), %rsi\n	mov 48(%rdi), %rbp\n	mov 56(%rdi), %r8\n"
	"	mov 64(%rdi), %r9\n	mov 72(%rdi), %r10\n	mov 80(%rdi), %r11\n"
	"	mov 88(%rdi), %r12\n	mov 96(%rdi), %r13\n	mov 104(%rdi), %r14\n"
	"	mov 112(%rdi), %r15\n"
	"	.irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
	"	movdqu 144+16*\\n(%rdi), %xmm\\n\n"
	"	.endr\n"
	"	add $128, %rsp\n"
	"	pushq 136(%rdi)\n"
	"	mov (%rdi), %rax\n	mov 40(%rdi), %rdi\n"
	"	popfq\n"
	"	call *(%rsp)\n"
	"	push %rdi\n"
	"	mov 16(%rsp), %rdi\n"
	"	mov %rax, (%rdi)\n"
	"	mov -16(%rsp), %rax\n	mov %rax, 128(%rdi)\n"
	"	pushfq\n	andl $~0x100, (%rsp)\n	popfq\n"
	"	pop %rax\n		mov %rax, 40(%rdi)\n"
	"	mov %rbx, 8(%rdi)\n	mov %rcx, 16(%rdi)\n	mov %rdx, 24(%rdi)\n"
	"	mov %rsi, 32(%rdi)\n	mov %rbp, 48(%rdi)\n	mov %r8, 56(%rdi)\n"
	"	mov %r9, 64(%rdi)\n	mov %r10, 72(%rdi)\n	mov %r11, 80(%rdi)\n"
	"	mov %r12, 88(%rdi)\n	mov %r13, 96(%rdi)\n	mov %r14, 104(%rdi)\n"
	"	mov %r15, 112(%rdi)\n"
	"	.irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
	"	movdqu %xmm\\n, 144+16*\\n(%rdi)\n"
	"	.endr\n"
	"	add $16, %rsp\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n"
	"	pop %rbp\n	pop %rbx\n	ret\n");

/*
 * Functions of all shapes, one after the other. Each label f_… is one, with only padding in
 * between. They call each other, and the functions in pieces_words.
 */
#define FUNCTION(name) "	.balign 16, 0x90\n	.globl f_" name "\nf_" name ":\n"

__asm__(".section .rodata\n"
	".globl pieces, pieces_end, pieces_words, pieces_number\n"
	"	.balign 16\n"
	"pieces:\n"
	FUNCTION("leaf")
	"	lea (%rdi,%rsi), %eax\n	lea 5(%rax,%rax), %rax\n	ret\n"
	FUNCTION("frame")
	"	push %rbp\n	mov %rsp, %rbp\n	push %rbx\n	lea 1(%rdi), %rax\n"
	"	pop %rbx\n	pop %rbp\n	ret\n"
	FUNCTION("pad")
	"	endbr64\n	ret\n"
	FUNCTION("just_return")
	"	ret\n"
	FUNCTION("load")
	"	mov pieces_number(%rip), %rax\n	add pieces_number(%rip), %rdi\n	ret\n"
	FUNCTION("compare")
	"	cmpl $77, pieces_number(%rip)\n	sete %al\n	ret\n"
	FUNCTION("vector")
	"	paddq pieces_number(%rip), %xmm3\n	movq %xmm3, %rax\n	ret\n"
	FUNCTION("branch")
	"	test %edi, %edi\n	jns 1f\n	neg %edi\n1:	mov %edi, %eax\n	ret\n"
	FUNCTION("wide_branch")
	"	cmp $1, %edi\n	.byte 0x0f, 0x8c\n	.long 1f - 2f\n2:	inc %rsi\n"
	"1:	mov %rsi, %rax\n	ret\n"
	FUNCTION("tail")
	"	jmp f_leaf\n"
	FUNCTION("tail_behind")
	"	inc %rdi\n	jmp f_frame\n"
	FUNCTION("through_word")
	"	jmp *pieces_words(%rip)\n"
	FUNCTION("through_register")
	"	lea f_leaf(%rip), %rax\n	jmp *%rax\n"
	FUNCTION("jump_first")
	"	jmp *%r9\n"
	FUNCTION("where_returns")
	"	mov (%rsp), %rax\n	ret\n"
	FUNCTION("call_first")
	"	call f_where_returns\n	inc %rbx\n	dec %rbx\n	ret\n"
	FUNCTION("call_word_first")
	"	call *pieces_words+8(%rip)\n	inc %rbx\n	dec %rbx\n	ret\n"
	FUNCTION("call_pointer")
	"	sub $8, %rsp\n	call *(%r10)\n	add $8, %rsp\n	ret\n"
	FUNCTION("call_register")
	"	sub $24, %rsp\n	call *%r9\n	add $24, %rsp\n	ret\n"
	FUNCTION("pushes")
	"	push %rbx\n	push %rbp\n	push %rdi\n	push %rsi\n	push %r12\n"
	"	mov (%rsp), %rax\n	add $40, %rsp\n	ret\n"
	FUNCTION("long_last")
	"	nop\n	nop\n	nop\n	nop\n"
	"	.byte 0x66,0x66,0x66,0x64,0x48,0x8b,0x04,0x25,0x28,0,0,0\n" /* mov %fs:40,%rax */
	"	xor %eax, %eax\n	ret\n"
	FUNCTION("below_stack")
	"	mov %rdi, -8(%rsp)\n	mov -8(%rsp), %rax\n	ret\n"
	FUNCTION("system_call")
	"	push $39\n	pop %rax\n	syscall\n	xor %ecx, %ecx\n	xor %r11d, %r11d\n	ret\n"
	/* of a number that does not exist */
	FUNCTION("system_call_inside")
	"	mov $39, %al\n	syscall\n	xor %ecx, %ecx\n	xor %r11d, %r11d\n	ret\n"
	FUNCTION("recursion")
	"	sub $8, %rsp\n	xor %eax, %eax\n	and $3, %edi\n	je 1f\n	dec %edi\n"
	"	call f_recursion\n1:	inc %eax\n	add $8, %rsp\n	ret\n"
	FUNCTION("caller")
	"	sub $8, %rsp\n	call f_leaf\n	mov %rax, %rdi\n"
	"	call *pieces_words+8(%rip)\n	.byte 0x67\n	call f_frame\n	add $8, %rsp\n	ret\n"
	"	.balign 16\n"
	"pieces_number:\n	.quad 77, 1\n"
	"pieces_words:\n	.quad 0, 0\n"
	"pieces_end:\n"
	"	.text\n");
/* clang-format on */

extern const uint8_t pieces[], pieces_end[], pieces_words[], pieces_number[];

/* clang-format off */
#define FUNCTIONS(_)                                                                               \
	_(leaf) _(frame) _(pad) _(just_return) _(load) _(compare) _(vector) _(branch)              \
	_(wide_branch) _(tail) _(tail_behind) _(through_word) _(through_register) _(jump_first)    \
	_(where_returns) _(call_first) _(call_word_first) _(call_pointer) _(call_register)         \
	_(pushes) _(long_last) _(below_stack) _(system_call) _(system_call_inside) _(recursion)    \
	_(caller)
/* clang-format on */

#define DECLARE(name) extern const uint8_t f_##name[];
#define NAME(name)    {#name, f_##name},
FUNCTIONS(DECLARE)
static const struct {
	const char *name;
	const uint8_t *at;
} functions[] = {FUNCTIONS(NAME)};

/* How many copies of counters there are: one; shards; shards, and copies with an owner. */
enum copies { ONE, SHARDED, OWNED, COPIES_COUNT };

/* Words before the first copy. */
enum { BASE_WORD, TABLE_WORD, END_WORD, CLAIMED_WORD };

/* Pages, one after the other: the copied pieces, the thunks, the counters, the table of owners. */
enum { CODE_PAGE, AREA_PAGE, COUNTERS_PAGE, TABLE_PAGE = COUNTERS_PAGE + 2 };
#define BENCH_BYTES ((size_t)TABLE_PAGE * PAGE + PATCH_OWNERS_BYTES)

struct bench {
	uint8_t *code;
	struct code_area area;
	volatile uint64_t *counters; /* begin with words of thunks, and of the stub */
	enum copies copies;
	struct patch_owners owners;
	struct branches *branches;
	uint64_t starts[ARRAY_SIZE(functions) + 1];
};

static uint64_t start_of(const struct bench *bench, const uint8_t *piece)
{
	return (uint64_t)(uintptr_t)(bench->code + (piece - pieces));
}

static void set_word(const struct bench *bench, size_t index, const uint8_t *piece)
{
	uint64_t to = start_of(bench, piece);

	memcpy(bench->code + (pieces_words - pieces) + 8 * index, &to, sizeof(to));
}

static void make_stub(struct bench *bench);

static struct bench bench_new(enum copies copies)
{
	struct bench bench = {.copies = copies};
	size_t nr_bytes = (size_t)(pieces_end - pieces);

	bench.code = mmap(NULL, BENCH_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(bench.code, MAP_FAILED);
	assert_true(nr_bytes <= PAGE);
	memcpy(bench.code, pieces, nr_bytes);
	bench.area = (struct code_area){.address = (uint64_t)(uintptr_t)(bench.code + PAGE),
					.bytes = bench.code + PAGE,
					.cap_bytes = PAGE};
	bench.counters = (uint64_t *)(void *)(bench.code + (size_t)COUNTERS_PAGE * PAGE);
	if (copies == OWNED)
		make_stub(&bench);
	set_word(&bench, 0, f_leaf);
	set_word(&bench, 1, f_where_returns);
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		bench.starts[i] = start_of(&bench, functions[i].at);
	bench.branches = branches_new(bench.starts, ARRAY_SIZE(functions));
	branches_add_code(bench.branches, start_of(&bench, pieces), bench.code,
			  (size_t)(pieces_number - pieces));
	branches_sort(bench.branches);
	return bench;
}

static void bench_release(struct bench *bench)
{
	branches_free(bench->branches);
	munmap(bench->code, BENCH_BYTES);
}

static void write_new(const struct patch *patch)
{
	memcpy((void *)(uintptr_t)patch->address, patch->new, patch->nr_bytes);
}

static void write_old(const struct patch *patch)
{
	memcpy((void *)(uintptr_t)patch->address, patch->old, patch->nr_bytes);
}

#define SHARDS	   2
#define OWN_COPIES 2
#define SHARD_LOG2 10
#define FIRST_WORD 128 /* of the first copy */
#define COPY_WORDS ((1 << SHARD_LOG2) / sizeof(uint64_t))

static struct patch_counter counter_of(const struct bench *bench, size_t index)
{
	const volatile uint64_t *first = &bench->counters[FIRST_WORD];

	bench->counters[BASE_WORD] = (uint64_t)(uintptr_t)first;
	return (struct patch_counter){
		.address = (uint64_t)(uintptr_t)&first[index],
		.base_word = (uint64_t)(uintptr_t)&bench->counters[BASE_WORD],
		.offset = (uint32_t)(index * sizeof(uint64_t)),
		.nr_shards = bench->copies == ONE ? 1 : SHARDS,
		.shard_log2 = SHARD_LOG2,
		.owners = bench->copies == OWNED ? &bench->owners : NULL,
	};
}

static uint64_t *table_of(const struct bench *bench)
{
	return (uint64_t *)(void *)(bench->code + (size_t)TABLE_PAGE * PAGE);
}

static void make_stub(struct bench *bench)
{
	volatile uint64_t *words = bench->counters;
	struct patch_counter counter;

	words[TABLE_WORD] = (uint64_t)(uintptr_t)table_of(bench);
	words[END_WORD] =
		(uint64_t)(uintptr_t)&words[FIRST_WORD + (SHARDS + OWN_COPIES) * COPY_WORDS];
	bench->owners = (struct patch_owners){
		.table_word = (uint64_t)(uintptr_t)&words[TABLE_WORD],
		.end_word = (uint64_t)(uintptr_t)&words[END_WORD],
		.claimed = (uint64_t)(uintptr_t)&words[CLAIMED_WORD],
		.nr_copies = OWN_COPIES,
	};
	counter = counter_of(bench, 0);
	assert_true(patch_stub(&bench->owners, &counter, &bench->area));
}

/* As in a forked child: no thread has a copy. */
static void forget_owners(const struct bench *bench)
{
	memset(table_of(bench), 0, PATCH_OWNERS_BYTES);
}

static uint64_t calls_of(const struct bench *bench, size_t index)
{
	const volatile uint64_t *first = &bench->counters[FIRST_WORD];
	uint64_t sum = 0;

	for (size_t copy = 0; copy < SHARDS + OWN_COPIES; copy++)
		sum += first[copy * COPY_WORDS + index];
	return sum;
}

static struct patch patch_of(struct bench *bench, size_t index, size_t counter)
{
	uint64_t start = bench->starts[index];
	uint64_t next = branches_next_start(bench->branches, start);
	uint64_t end = next == UINT64_MAX ? start_of(bench, pieces_number) : next;
	struct patch_function function = {
		.address = start,
		.bytes = (const uint8_t *)(uintptr_t)start,
		.nr_readable = end - start,
	};
	struct patch patch;
	const struct patch_counter place = counter_of(bench, counter);
	enum patch_outcome outcome =
		patch_entry(&patch, &function, bench->branches, &bench->area, &place);

	if (outcome)
		fail_msg("%s: %s", functions[index].name, patch_outcome_text(outcome));
	return patch;
}

static struct machine machine_of(const struct bench *bench, uint64_t code, int round)
{
	struct machine machine = {.code = code, .red_zone = 0x7ed20e};

	for (size_t i = 0; i < NR_GENERAL; i++)
		machine.general[i] = 0x0101010101010101 * (i + 17) + (uint64_t)round;
	for (size_t i = 0; i < NR_XMM; i++)
		memset(machine.xmm[i], (int)(0xe0 + i + (size_t)round), sizeof(machine.xmm[i]));
	machine.general[RDI] = (uint64_t)(round - 1); /* -1, 0, 1 … */
	machine.general[8] = start_of(bench, f_leaf);
	machine.general[9] = start_of(bench, pieces_words) + 8;
	return machine;
}

static void assert_same(const struct machine *a, const struct machine *b, const char *name)
{
	for (size_t i = 0; i < NR_GENERAL; i++) {
		if (a->general[i] != b->general[i])
			fail_msg("%s: register %zu is %#lx and not %#lx", name, i, b->general[i],
				 a->general[i]);
	}
	assert_memory_equal(a->xmm, b->xmm, sizeof(a->xmm));
	assert_int_equal(a->red_zone, b->red_zone);
}

#define ROUNDS 6

/* Each is called once a round by the loop, but for two. */
static uint64_t expected_calls(const char *name)
{
	/* rdi & 3 is 3, 0, 1, 2, 3, 0: so many calls of itself, and one */
	return strcmp(name, "recursion") == 0 ? 9 + ROUNDS : ROUNDS;
}

static void check_callers(enum copies copies)
{
	struct bench bench = bench_new(copies);

	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		struct machine before[ROUNDS];
		struct patch patch;

		for (int round = 0; round < ROUNDS; round++) {
			before[round] = machine_of(&bench, bench.starts[i], round);
			run_machine(&before[round]);
		}
		patch = patch_of(&bench, i, i);
		write_new(&patch);
		for (int round = 0; round < ROUNDS; round++) {
			struct machine machine = machine_of(&bench, bench.starts[i], round);

			run_machine(&machine);
			assert_same(&before[round], &machine, functions[i].name);
		}
		if (calls_of(&bench, i) != expected_calls(functions[i].name))
			fail_msg("%s: %lu calls", functions[i].name, calls_of(&bench, i));
		write_old(&patch);
		for (int round = 0; round < ROUNDS; round++) {
			struct machine machine = machine_of(&bench, bench.starts[i], round);

			run_machine(&machine);
			assert_same(&before[round], &machine, functions[i].name);
		}
		assert_int_equal(calls_of(&bench, i), expected_calls(functions[i].name));
	}
	bench_release(&bench);
}

TEST(thunk, callers_see_nothing)
{
	check_callers(ONE);
}

TEST(thunk, callers_see_nothing_by_thread)
{
	check_callers(SHARDED);
}

TEST(thunk, callers_see_nothing_in_own_copies)
{
	check_callers(OWNED);
}

static void check_all_at_once(enum copies copies)
{
	struct bench bench = bench_new(copies);
	struct machine plain = machine_of(&bench, start_of(&bench, f_caller), 3);
	struct machine counted = plain;

	run_machine(&plain);
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		struct patch patch = patch_of(&bench, i, i);

		write_new(&patch);
	}
	run_machine(&counted);
	assert_same(&plain, &counted, "caller");
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		const uint8_t *at = functions[i].at;
		bool is_called =
			at == f_caller || at == f_leaf || at == f_where_returns || at == f_frame;

		if (calls_of(&bench, i) != is_called)
			fail_msg("%s: %lu calls", functions[i].name, calls_of(&bench, i));
	}
	bench_release(&bench);
}

TEST(thunk, all_at_once_are_counted_each)
{
	check_all_at_once(ONE);
}

TEST(thunk, all_at_once_are_counted_each_by_thread)
{
	check_all_at_once(SHARDED);
	check_all_at_once(OWNED);
}

/* The calls of f_caller: direct, through a word, and with a prefix. */
static size_t patch_calls_of(struct bench *bench, struct patch *patches, size_t max)
{
	uint64_t start = start_of(bench, f_caller);
	struct patch_calls calls = {.address = start,
				    .bytes = (const uint8_t *)(uintptr_t)start,
				    .nr_bytes = start_of(bench, pieces_number) - start};
	struct patch_call_site site;
	size_t nr = 0;

	while (nr < max && patch_calls_next(&calls, &site)) {
		const struct patch_counter place = counter_of(bench, nr);

		assert_int_equal(patch_call(&patches[nr], site.address, site.bytes, site.nr_bytes,
					    &bench->area, &place),
				 PATCH_OK);
		nr++;
	}
	return nr;
}

static void check_calls(enum copies copies)
{
	struct bench bench = bench_new(copies);
	struct machine plain = machine_of(&bench, start_of(&bench, f_caller), 3);
	struct machine counted = plain, again = plain;
	struct patch patches[4];
	size_t nr = patch_calls_of(&bench, patches, ARRAY_SIZE(patches));

	assert_int_equal(nr, 3);
	run_machine(&plain);
	for (size_t i = 0; i < nr; i++)
		write_new(&patches[i]);
	run_machine(&counted);
	assert_same(&plain, &counted, "caller");
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(calls_of(&bench, i), 1);
		write_old(&patches[i]);
	}
	run_machine(&again);
	assert_same(&plain, &again, "caller");
	assert_int_equal(calls_of(&bench, 0), 1);
	bench_release(&bench);
}

TEST(thunk, calls_are_counted_each)
{
	check_calls(ONE);
}

TEST(thunk, calls_are_counted_each_by_thread)
{
	check_calls(SHARDED);
	check_calls(OWNED);
}

/* The call at the beginning of a function, and then the function. */
TEST(thunk, call_among_the_first_bytes_is_counted_too)
{
	struct bench bench = bench_new(ONE);
	uint64_t start = start_of(&bench, f_call_first);
	struct machine plain = machine_of(&bench, start, 3);
	struct machine counted = plain, again = plain;
	const struct patch_counter second = counter_of(&bench, 1);
	struct patch call, entry = {0};

	run_machine(&plain);
	assert_int_equal(patch_call(&call, start, (const uint8_t *)(uintptr_t)start, 5, &bench.area,
				    &second),
			 PATCH_OK);
	write_new(&call);
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		if (functions[i].at == f_call_first)
			entry = patch_of(&bench, i, 0);
	}
	write_new(&entry);
	run_machine(&counted);
	assert_same(&plain, &counted, "call_first");
	assert_int_equal(calls_of(&bench, 0), 1);
	assert_int_equal(calls_of(&bench, 1), 1);
	write_old(&entry);
	write_old(&call);
	run_machine(&again);
	assert_same(&plain, &again, "call_first");
	assert_int_equal(calls_of(&bench, 0), 1);
	assert_int_equal(calls_of(&bench, 1), 1);
	bench_release(&bench);
}

/*
 * Single steps: the first nr_before in [from, to) are skipped; then each asks `change` for its
 * change, until it has made it.
 */
static struct stepping {
	const struct patch *patch;
	uint64_t from, to;
	size_t nr_before;
	bool (*change)(const struct patch *, greg_t *regs);
	bool is_done;
} stepping;

static void on_step(int signal, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t pc = (uint64_t)regs[REG_RIP];

	(void)signal;
	(void)info;
	if (stepping.is_done || pc < stepping.from || pc >= stepping.to)
		return;
	if (stepping.nr_before > 0)
		stepping.nr_before--;
	else
		stepping.is_done = stepping.change(stepping.patch, regs);
}

static void pop(greg_t *regs, int into)
{
	memcpy(&regs[into], (const void *)(uintptr_t)regs[REG_RSP], sizeof(uint64_t));
	regs[REG_RSP] += sizeof(uint64_t);
}

static bool take_away(const struct patch *patch, greg_t *regs)
{
	uint64_t pc = (uint64_t)regs[REG_RIP], link = (uint64_t)regs[REG_RAX], original = 0;
	struct patch_saved saved = {.nr_bytes = 0};

	if (patch_is_in_stub(patch, pc, link, &saved)) {
		if (saved.nr_words > 1)
			pop(regs, REG_RDX);
		if (saved.nr_words > 0)
			pop(regs, REG_RCX);
		regs[REG_RSP] += saved.nr_bytes;
		pc = link;
	}
	switch (patch_original_pc(patch, pc, &original)) {
	case PATCH_ELSEWHERE:
	case PATCH_AT_CALL:
	case PATCH_NOTING:
		return false;
	case PATCH_AT_WORD:
		memcpy(&original, (const void *)(uintptr_t)original, sizeof(original));
		break;
	case PATCH_AT:
		break;
	}
	if (patch_nr_pushed(patch, pc))
		pop(regs, REG_RAX);
	regs[REG_RIP] = (greg_t)original;
	write_old(patch);
	return true;
}

static bool put_in(const struct patch *patch, greg_t *regs)
{
	uint64_t moved;

	if (patch_moved_pc(patch, (uint64_t)regs[REG_RIP], &moved))
		regs[REG_RIP] = (greg_t)moved;
	write_new(patch);
	return true;
}

/* Change it at the nr-th instruction; false if there are not so many. */
static bool run_stepping(struct machine *machine, const struct stepping *how)
{
	machine->flags = 0x202 | TRAP;
	stepping = *how;
	run_machine(machine);
	return stepping.is_done;
}

static void with_steps(void (*test)(struct bench *bench, size_t index), enum copies copies)
{
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO}, before;

	assert_int_equal(sigaction(SIGTRAP, &action, &before), 0);
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		struct bench bench = bench_new(copies);

		test(&bench, i);
		bench_release(&bench);
	}
	sigaction(SIGTRAP, &before, NULL);
}

/*
 * The steps through a thunk: all of it, but what a branch skips, and a jump to an unknown callee.
 * The step of a system call ends after the instruction that follows it.
 */
static size_t nr_stops(const struct patch *patch, const char *name)
{
	bool is_passed = patch->callee_kind == PATCH_CALLEE_UNKNOWN ||
			 strncmp(name, "system_call", strlen("system_call")) == 0;

	if (strcmp(name, "branch") == 0)
		return 3;
	if (strcmp(name, "recursion") == 0)
		return (size_t)2 * patch->nr_steps;
	return (size_t)(patch->nr_steps - is_passed);
}

/* At each instruction of the thunk, except the last one of a call with an unknown callee. */
static void take_away_everywhere(struct bench *bench, size_t index)
{
	struct machine start = machine_of(bench, bench->starts[index], 2), plain = start;
	struct patch patch = patch_of(bench, index, 0);
	struct stepping how = {.patch = &patch,
			       .from = patch.thunk,
			       .to = patch.thunk + patch.nr_thunk_bytes,
			       .change = take_away};
	size_t nr = 0;

	run_machine(&plain);
	for (;; nr++) {
		struct machine machine = start;
		bool is_done;

		write_new(&patch);
		how.nr_before = nr;
		is_done = run_stepping(&machine, &how);
		assert_same(&plain, &machine, functions[index].name);
		if (!is_done)
			break;
		assert_memory_equal((const void *)(uintptr_t)patch.address, patch.old,
				    patch.nr_bytes);
	}
	if (nr != nr_stops(&patch, functions[index].name))
		fail_msg("%s: %zu of %d steps", functions[index].name, nr, patch.nr_steps);
}

static void put_in_everywhere(struct bench *bench, size_t index)
{
	struct machine start = machine_of(bench, bench->starts[index], 2), plain = start;
	struct patch patch = patch_of(bench, index, 0);
	struct stepping how = {.patch = &patch,
			       .from = patch.address,
			       .to = patch.address + patch.nr_bytes + 1,
			       .change = put_in};

	run_machine(&plain);
	for (;; how.nr_before++) {
		struct machine machine = start;
		bool is_done;

		write_old(&patch);
		is_done = run_stepping(&machine, &how);
		assert_same(&plain, &machine, functions[index].name);
		if (!is_done)
			break;
	}
	assert_true(how.nr_before > 0);
}

TEST(thunk, probes_can_be_removed_at_every_instruction)
{
	with_steps(take_away_everywhere, ONE);
}

/* All of the area is that thunk and the stub. */
static size_t take_away_on_the_way(struct bench *bench, size_t index, bool is_owner)
{
	struct machine start = machine_of(bench, bench->starts[index], 2), plain = start;
	struct patch patch = patch_of(bench, index, 0);
	struct stepping how = {.patch = &patch,
			       .from = bench->area.address,
			       .to = bench->area.address + bench->area.nr_bytes,
			       .change = take_away};

	run_machine(&plain);
	for (;; how.nr_before++) {
		struct machine machine = start;
		bool is_done;

		bench->counters[CLAIMED_WORD] = 0;
		forget_owners(bench);
		write_new(&patch);
		if (is_owner) {
			struct machine first = start;

			run_machine(&first);
			assert_int_equal(bench->counters[CLAIMED_WORD], 1);
		}
		is_done = run_stepping(&machine, &how);
		assert_same(&plain, &machine, functions[index].name);
		write_old(&patch);
		if (!is_done)
			return how.nr_before;
	}
}

static void take_away_with_copies(struct bench *bench, size_t index)
{
	size_t nr_without = take_away_on_the_way(bench, index, false);
	size_t nr_with = take_away_on_the_way(bench, index, true);

	/* The thunk has 13 instructions that count, the stub and the way there 36 others. */
	assert_in_range(nr_with, 13, 100);
	assert_in_range(nr_without - nr_with, 20, 40);
}

TEST(thunk, probes_can_be_removed_at_every_instruction_of_thunk_and_stub)
{
	with_steps(take_away_with_copies, OWNED);
}

TEST(thunk, probes_can_be_installed_at_every_instruction)
{
	with_steps(put_in_everywhere, ONE);
	with_steps(put_in_everywhere, OWNED);
}

TEST(thunk, probes_at_calls_can_be_removed_at_every_instruction)
{
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO}, before;
	struct bench bench = bench_new(ONE);
	struct machine start = machine_of(&bench, start_of(&bench, f_caller), 3), plain = start;
	struct patch patches[4];
	size_t nr = patch_calls_of(&bench, patches, ARRAY_SIZE(patches));

	run_machine(&plain);
	assert_int_equal(sigaction(SIGTRAP, &action, &before), 0);
	for (size_t i = 0; i < nr; i++) {
		struct stepping how = {.patch = &patches[i],
				       .from = patches[i].thunk,
				       .to = patches[i].thunk + patches[i].nr_thunk_bytes,
				       .change = take_away};

		for (how.nr_before = 0; how.nr_before < 2; how.nr_before++) {
			struct machine machine = start;

			write_new(&patches[i]);
			assert_true(run_stepping(&machine, &how));
			assert_same(&plain, &machine, "caller");
		}
	}
	sigaction(SIGTRAP, &before, NULL);
	bench_release(&bench);
}

/* --- copies with an owner --- */

static uint64_t calls_in(const struct bench *bench, size_t copy)
{
	return bench->counters[FIRST_WORD + copy * COPY_WORDS];
}

static void call_leaf(struct bench *bench, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		struct machine machine = machine_of(bench, start_of(bench, f_leaf), 1);

		run_machine(&machine);
	}
}

static void *call_leaf_in_thread(void *bench)
{
	call_leaf(bench, 10);
	return NULL;
}

/* A counted f_leaf. */
static struct bench owned_bench(void)
{
	struct bench bench = bench_new(OWNED);
	struct patch patch = patch_of(&bench, 0, 0);

	assert_ptr_equal(functions[0].at, f_leaf);
	write_new(&patch);
	return bench;
}

TEST(owned, first_call_claims_a_copy_and_is_counted_elsewhere)
{
	struct bench bench = owned_bench();

	call_leaf(&bench, 5);
	assert_int_equal(bench.counters[CLAIMED_WORD], 1);
	assert_int_equal(calls_in(&bench, SHARDS), 4);
	assert_int_equal(calls_of(&bench, 0), 5);
	bench_release(&bench);
}

TEST(owned, forked_child_claims_another_copy)
{
	struct bench bench = owned_bench();

	call_leaf(&bench, 5);
	forget_owners(&bench);
	call_leaf(&bench, 7);
	assert_int_equal(bench.counters[CLAIMED_WORD], 2);
	assert_int_equal(calls_in(&bench, SHARDS), 4);
	assert_int_equal(calls_in(&bench, SHARDS + 1), 6);
	assert_int_equal(calls_of(&bench, 0), 12);
	bench_release(&bench);
}

TEST(owned, thread_without_a_copy_counts_in_shards)
{
	struct bench bench = owned_bench();

	bench.counters[CLAIMED_WORD] = OWN_COPIES;
	call_leaf(&bench, 5);
	assert_int_equal(calls_in(&bench, 0) + calls_in(&bench, 1), 5);
	/* As often as the process likes it, or another writes there. */
	bench.counters[CLAIMED_WORD] = UINT64_MAX;
	call_leaf(&bench, 5);
	assert_int_equal(calls_in(&bench, 0) + calls_in(&bench, 1), 10);
	for (size_t i = 0; i < PATCH_OWNERS_BYTES / sizeof(uint64_t); i++)
		assert_int_equal(table_of(&bench)[i], 0);
	bench_release(&bench);
}

/* Whatever the entry says, unless it is of this very thread. */
TEST(owned, entry_of_another_thread_gives_no_copy)
{
	struct bench bench = owned_bench();
	const uint64_t others[] = {512, (uint64_t)-512, 1 << 12, 1 << 23, UINT64_MAX << 23};
	uint64_t *entry = table_of(&bench);
	uint64_t own;

	call_leaf(&bench, 1);
	while (!*entry)
		entry++;
	own = *entry;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		uint64_t before = calls_in(&bench, 0) + calls_in(&bench, 1);

		*entry = own - others[i];
		call_leaf(&bench, 3);
		assert_int_equal(calls_in(&bench, 0) + calls_in(&bench, 1) - before, 3);
		assert_int_equal(*entry, own - others[i]);
	}
	*entry = own;
	call_leaf(&bench, 2);
	assert_int_equal(calls_in(&bench, SHARDS), 2);
	assert_int_equal(bench.counters[CLAIMED_WORD], 1);
	bench_release(&bench);
}

TEST(owned, threads_have_a_copy_each)
{
	struct bench bench = owned_bench();
	pthread_t thread;

	call_leaf(&bench, 10);
	assert_int_equal(pthread_create(&thread, NULL, call_leaf_in_thread, &bench), 0);
	pthread_join(thread, NULL);
	call_leaf(&bench, 10);
	assert_int_equal(bench.counters[CLAIMED_WORD], 2);
	assert_int_equal(calls_in(&bench, SHARDS), 19);
	assert_int_equal(calls_in(&bench, SHARDS + 1), 9);
	assert_int_equal(calls_of(&bench, 0), 30);
	bench_release(&bench);
}

#else

TEST(thunk, is_for_another_processor)
{
	skip();
}

#endif
