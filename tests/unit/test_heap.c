// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The blob at work: it hooks an allocator in this file, and the records in the ring are compared
 * with the calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "heap/heap_answer.h"
#include "heap/heap_code.h"
#include "heap/heap_names.h"
#include "heap/heap_record.h"
#include "heap/heap_ring.h"
#include "heap/patch_heap.h"
#include "patch/branches.h"
#include "patch/patch_machine.h"
#include "proc/target_memory.h"
#include "tests/unit/unit.h"

#define PAGE	   4096 /* as the blob knows it; those of the kernel may be larger */
#define CODE_BYTES (16 * PAGE)
#if defined(__clang__)
#define OWN __attribute__((noinline, aligned(64), section("own_allocator")))
#else
#define OWN __attribute__((noipa, aligned(64), section("own_allocator")))
#endif

/* -- an allocator that never uses memory again, and fails on request -- */

static _Alignas(4096) uint8_t arena[64 << 20];
static size_t arena_used;
static int is_failing;
static uint64_t nr_freed;
static void *last_freed;

void *own_malloc(size_t nr);
void *own_calloc(size_t nr, size_t size);
void *own_realloc(void *old, size_t nr);
void *own_reallocarray(void *old, size_t nr, size_t size);
int own_posix_memalign(void **to, size_t alignment, size_t nr);
void *own_memalign(size_t alignment, size_t nr);
void own_free(void *pointer);
void *own_new(size_t nr);

extern const uint8_t __start_own_allocator[], __stop_own_allocator[];

static void *bump(size_t nr, size_t alignment)
{
	size_t whole, at;

	if (is_failing || nr > sizeof(arena))
		return NULL;
	whole = ((nr ? nr : 1) + 15 + alignment) & ~(size_t)15;
	at = arena_used;
	do {
		if (at + whole > sizeof(arena))
			return NULL;
	} while (!__atomic_compare_exchange_n(&arena_used, &at, at + whole, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return arena + ((at + alignment - 1) & ~(alignment - 1));
}

OWN void *own_malloc(size_t nr)
{
	void *pointer = bump(nr, 16);

	if (!pointer)
		errno = ENOMEM;
	return pointer;
}

OWN void *own_calloc(size_t nr, size_t size)
{
	size_t whole;

	return __builtin_mul_overflow(nr, size, &whole) ? NULL : bump(whole, 16);
}

/* Calls the other functions, as the one of musl does. */
OWN void *own_realloc(void *old, size_t nr)
{
	void *pointer = own_malloc(nr);

	if (pointer && old) {
		memcpy(pointer, old, nr < 16 ? nr : 16);
		own_free(old);
	}
	return pointer;
}

OWN void *own_reallocarray(void *old, size_t nr, size_t size)
{
	return own_realloc(old, nr * size);
}

OWN int own_posix_memalign(void **to, size_t alignment, size_t nr)
{
	void *pointer = bump(nr, alignment);

	if (!pointer)
		return ENOMEM;
	*to = pointer;
	return 0;
}

OWN void *own_memalign(size_t alignment, size_t nr)
{
	void *pointer = alignment <= 16 ? own_malloc(nr) : bump(nr, alignment);

	return pointer ? pointer : NULL;
}

OWN void own_free(void *pointer)
{
	last_freed = pointer;
	nr_freed++;
}

/* Returned instead of throwing. */
static char thrown[1];

OWN void *own_new(size_t nr)
{
	void *pointer = bump(nr, 16);

	return pointer ? pointer : thrown;
}

/* -- pools: functions of any arguments -- */

struct two_words {
	void *pointer;
	size_t nr;
};

struct two_words own_pool_get(void *pool, int nr, long c, long d, long e, long f, long seventh,
			      long eighth);
void own_pool_put(void *pool, void *pointer);
int own_pool_store(size_t nr, size_t size, void **to);
void *own_pool_fixed(void);
void *own_pool_resize(void *pool, void *old, size_t nr);

OWN struct two_words own_pool_get(void *pool, int nr, long c, long d, long e, long f, long seventh,
				  long eighth)
{
	assert_ptr_equal(pool, arena);
	return (struct two_words){.pointer = own_malloc((size_t)nr),
				  .nr = (size_t)(c + d + e + f + 100 * seventh + 1000 * eighth)};
}

OWN void own_pool_put(void *pool, void *pointer)
{
	assert_ptr_equal(pool, arena);
	own_free(pointer);
}

OWN int own_pool_store(size_t nr, size_t size, void **to)
{
	if (is_failing)
		return ENOMEM;
	*to = bump(nr * size, 16);
	return 0;
}

OWN void *own_pool_fixed(void)
{
	return bump(4800, 16);
}

OWN void *own_pool_resize(void *pool, void *old, size_t nr)
{
	assert_ptr_equal(pool, arena);
	return own_realloc(old, nr);
}

/* -- mappings: these fail on request -- */

void *own_map(void *at, size_t nr, int protection, int flags, int fd, off_t offset);
int own_unmap(void *at, size_t nr);
void *own_remap(void *at, size_t nr, size_t wanted, int flags);
void *own_pool_mapping(size_t nr);

OWN void *own_map(void *at, size_t nr, int protection, int flags, int fd, off_t offset)
{
	assert_int_equal(fd, -1);
	assert_int_equal(offset, 12288);
	(void)protection;
	if (is_failing)
		return MAP_FAILED;
	return flags & MAP_FIXED ? at : bump(nr, PAGE);
}

OWN int own_unmap(void *at, size_t nr)
{
	last_freed = at;
	nr_freed++;
	return nr ? 0 : -1;
}

OWN void *own_remap(void *at, size_t nr, size_t wanted, int flags)
{
	(void)flags;
	if (is_failing)
		return MAP_FAILED;
	return wanted <= nr ? at : bump(wanted, PAGE);
}

/* Its return address is at an allocator's place. */
OWN void *own_pool_mapping(size_t nr)
{
	void *at = own_map(NULL, nr, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 12288);

	own_unmap(at, nr / 2);
	return at;
}

/* These change no register but the result's. */
void own_pool_next(void);
void own_pool_forget(void);
void call_with_registers(void (*function)(void));
void *call_on_stack(void *(*function)(void *), void *sp);
/* clang-format off */
#if defined(__x86_64__)
enum { FIRST_ARGUMENT = 5, FOURTH_ARGUMENT = 2, RESULT = 0 };
uint64_t own_registers[15];
__asm__(".pushsection own_allocator, \"ax\"\n"
	".balign 64\n"
	"own_pool_next:\n"
	"	lea 4096(%rdi), %rax\n	ret\n"
	".balign 64\n"
	"own_pool_forget:\n"
	"	movl $77, own_registers(%rip)\n	ret\n"
	".popsection\n"
	".text\n"
	"call_with_registers:\n"
	"	push %rbx\n	push %rbp\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n"
	"	push %rdi\n"
	"	lea own_registers(%rip), %rsi\n"
	"	mov (%rsi), %rax\n	mov 8(%rsi), %rbx\n	mov 16(%rsi), %rcx\n"
	"	mov 24(%rsi), %rdx\n	mov 40(%rsi), %rdi\n	mov 48(%rsi), %rbp\n"
	"	mov 56(%rsi), %r8\n	mov 64(%rsi), %r9\n	mov 72(%rsi), %r10\n"
	"	mov 80(%rsi), %r11\n	mov 88(%rsi), %r12\n	mov 96(%rsi), %r13\n"
	"	mov 104(%rsi), %r14\n	mov 112(%rsi), %r15\n	mov 32(%rsi), %rsi\n"
	"	call *(%rsp)\n"
	"	mov %rax, own_registers(%rip)\n	mov %rbx, 8+own_registers(%rip)\n"
	"	mov %rcx, 16+own_registers(%rip)\n	mov %rdx, 24+own_registers(%rip)\n"
	"	mov %rsi, 32+own_registers(%rip)\n	mov %rdi, 40+own_registers(%rip)\n"
	"	mov %rbp, 48+own_registers(%rip)\n	mov %r8, 56+own_registers(%rip)\n"
	"	mov %r9, 64+own_registers(%rip)\n	mov %r10, 72+own_registers(%rip)\n"
	"	mov %r11, 80+own_registers(%rip)\n	mov %r12, 88+own_registers(%rip)\n"
	"	mov %r13, 96+own_registers(%rip)\n	mov %r14, 104+own_registers(%rip)\n"
	"	mov %r15, 112+own_registers(%rip)\n"
	"	pop %rdi\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbp\n	pop %rbx\n"
	"	ret\n");
__asm__(".text\n"
	"call_on_stack:\n"
	"	push %rbp\n	mov %rsp, %rbp\n	mov %rsi, %rsp\n	call *%rdi\n"
	"	mov %rbp, %rsp\n	pop %rbp\n	ret\n");
#else
/* Without x16 to x18, which every call may change. */
enum { FIRST_ARGUMENT = 0, FOURTH_ARGUMENT = 3, RESULT = 0 };
uint64_t own_registers[26];
__asm__(".globl own_pool_next, own_pool_forget\n"
	".pushsection own_allocator, \"ax\"\n"
	".balign 64\n"
	"own_pool_next:\n"
	"	paciasp\n	add x0, x0, #4096\n	autiasp\n	ret\n"
	".balign 64\n"
	"own_pool_forget:\n"
	"	adrp x16, own_registers\n	add x16, x16, :lo12:own_registers\n"
	"	mov w17, #77\n	str w17, [x16]\n	ret\n"
	".popsection\n"
	".text\n"
	"call_with_registers:\n"
	"	stp x29, x30, [sp, #-96]!\n	stp x19, x20, [sp, #16]\n"
	"	stp x21, x22, [sp, #32]\n	stp x23, x24, [sp, #48]\n"
	"	stp x25, x26, [sp, #64]\n	stp x27, x28, [sp, #80]\n"
	"	mov x17, x0\n"
	"	adrp x16, own_registers\n	add x16, x16, :lo12:own_registers\n"
	"	ldp x0, x1, [x16]\n	ldp x2, x3, [x16, #16]\n"
	"	ldp x4, x5, [x16, #32]\n	ldp x6, x7, [x16, #48]\n"
	"	ldp x8, x9, [x16, #64]\n	ldp x10, x11, [x16, #80]\n"
	"	ldp x12, x13, [x16, #96]\n	ldp x14, x15, [x16, #112]\n"
	"	ldp x19, x20, [x16, #128]\n	ldp x21, x22, [x16, #144]\n"
	"	ldp x23, x24, [x16, #160]\n	ldp x25, x26, [x16, #176]\n"
	"	ldp x27, x28, [x16, #192]\n"
	"	blr x17\n"
	"	adrp x16, own_registers\n	add x16, x16, :lo12:own_registers\n"
	"	stp x0, x1, [x16]\n	stp x2, x3, [x16, #16]\n"
	"	stp x4, x5, [x16, #32]\n	stp x6, x7, [x16, #48]\n"
	"	stp x8, x9, [x16, #64]\n	stp x10, x11, [x16, #80]\n"
	"	stp x12, x13, [x16, #96]\n	stp x14, x15, [x16, #112]\n"
	"	stp x19, x20, [x16, #128]\n	stp x21, x22, [x16, #144]\n"
	"	stp x23, x24, [x16, #160]\n	stp x25, x26, [x16, #176]\n"
	"	stp x27, x28, [x16, #192]\n"
	"	ldp x19, x20, [sp, #16]\n	ldp x21, x22, [sp, #32]\n"
	"	ldp x23, x24, [sp, #48]\n	ldp x25, x26, [sp, #64]\n"
	"	ldp x27, x28, [sp, #80]\n	ldp x29, x30, [sp], #96\n"
	"	ret\n"
	"call_on_stack:\n"
	"	stp x29, x30, [sp, #-16]!\n	mov x29, sp\n	mov sp, x1\n	blr x0\n"
	"	mov sp, x29\n	ldp x29, x30, [sp], #16\n	ret\n");
#endif
/* clang-format on */

static const struct {
	enum heap_function function;

	uintptr_t address;
	struct heap_form form; /* of a pool */
} functions[] = {
	{HEAP_MALLOC, (uintptr_t)own_malloc, {0}},
	{HEAP_CALLOC, (uintptr_t)own_calloc, {0}},
	{HEAP_REALLOC, (uintptr_t)own_realloc, {0}},
	{HEAP_REALLOCARRAY, (uintptr_t)own_reallocarray, {0}},
	{HEAP_POSIX_MEMALIGN, (uintptr_t)own_posix_memalign, {0}},
	{HEAP_MEMALIGN, (uintptr_t)own_memalign, {0}},
	{HEAP_FREE, (uintptr_t)own_free, {0}},
	{HEAP_NEW, (uintptr_t)own_new, {0}},
	{HEAP_POOL, (uintptr_t)own_pool_get, {.size = 2 | HEAP_ARGUMENT_INT}},
	{HEAP_POOL_FREE, (uintptr_t)own_pool_put, {.pointer = 2}},
	{HEAP_POOL, (uintptr_t)own_pool_store, {.count = 1, .size = 2, .out = 3}},
	{HEAP_POOL, (uintptr_t)own_pool_fixed, {.bytes = 4800}},
	{HEAP_POOL, (uintptr_t)own_pool_resize, {.pointer = 2, .size = 3}},
	{HEAP_POOL, (uintptr_t)own_pool_next, {.size = 4}},
	{HEAP_POOL_FREE, (uintptr_t)own_pool_forget, {.pointer = 1}},
	{HEAP_MAP, (uintptr_t)own_map, {0}},
	{HEAP_UNMAP, (uintptr_t)own_unmap, {0}},
	{HEAP_REMAP, (uintptr_t)own_remap, {0}},
	{HEAP_POOL, (uintptr_t)own_pool_mapping, {.size = 1}},
};

static struct heap_form form_of(size_t i)
{
	struct heap_form form = functions[i].form;

	if (functions[i].function < HEAP_POOL)
		return heap_form_of(functions[i].function);
	form.function = functions[i].function;
	return form;
}

/* -- the memory of probes, as it is in a process -- */

struct fixture {
	uint8_t *memory;
	size_t nr_bytes;
	struct heap_shared *shared;
	struct heap_rules *rules;
	struct heap_private *own;
	uint8_t *code;
	struct patch patches[ARRAY_SIZE(functions)];
	struct heap_ring ring;
};

static void write_code(const struct patch *patch, const uint8_t *bytes)
{
	assert_int_equal(mprotect((void *)(uintptr_t)page_start(patch->address),
				  (size_t)(2 * page_bytes()), PROT_READ | PROT_WRITE | PROT_EXEC),
			 0);
	memcpy((void *)(uintptr_t)patch->address, bytes, patch->nr_bytes);
	__builtin___clear_cache((char *)(uintptr_t)patch->address,
				(char *)(uintptr_t)patch->address + patch->nr_bytes);
}

/* With its code near the functions, and elsewhere each time: emulators keep code of former ones. */
static void *map_near(size_t nr_bytes)
{
	static uintptr_t nr_made;
	uintptr_t wish = page_start((uintptr_t)__start_own_allocator - nr_bytes - (16 << 20) -
				    nr_made++ % 256 * 2 * CODE_BYTES);
	void *at = mmap((void *)wish, nr_bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

static struct branches *read_branches(void)
{
	uint64_t starts[ARRAY_SIZE(functions)];
	struct branches *branches;

	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		starts[i] = functions[i].address;
	branches = branches_new(starts, ARRAY_SIZE(functions));
	branches_add_code(branches, (uint64_t)(uintptr_t)__start_own_allocator,
			  __start_own_allocator,
			  (size_t)(__stop_own_allocator - __start_own_allocator));
	branches_sort(branches);
	return branches;
}

static void hook_all(struct fixture *fixture, enum heap_threads threads)
{
	size_t nr_blob;
	const uint8_t *blob = heap_code(&nr_blob);
	struct branches *branches = read_branches();
	struct code_area area = {.address = (uint64_t)(uintptr_t)fixture->code,
				 .bytes = fixture->code,
				 .nr_bytes = nr_blob,
				 .cap_bytes = CODE_BYTES};

	memcpy(fixture->code + sizeof(*fixture->rules), blob + sizeof(*fixture->rules),
	       nr_blob - sizeof(*fixture->rules));
	for (uint32_t i = 0; i < ARRAY_SIZE(functions); i++) {
		uint64_t address = functions[i].address;
		const struct patch_function function = {
			.address = address,
			.bytes = (const uint8_t *)address,
			.nr_readable = (uintptr_t)__stop_own_allocator - address};
		const struct patch_heap heap = {.function = functions[i].function,
						.hook = i,
						.is_all = fixture->rules->is_all,
						.threads = threads,
						.has_own_slots = fixture->rules->has_own_slots,
						.shared = (uint64_t)(uintptr_t)fixture->shared,
						.rules = (uint64_t)(uintptr_t)fixture->rules,
						.stub = (uint64_t)(uintptr_t)(fixture->rules + 1)};
		struct heap_hook *hook = &fixture->rules->hooks[i];
		enum patch_outcome outcome = patch_heap_entry(
			&fixture->patches[i], &function, branches, &area, &heap, &hook->original);

		if (outcome)
			fail_msg("function %u: %s", i, patch_outcome_text(outcome));
		hook->form = form_of(i);
		hook->plain = fixture->rules->hooks[0].original;
	}
	__builtin___clear_cache((char *)fixture->code, (char *)fixture->code + CODE_BYTES);
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		write_code(&fixture->patches[i], fixture->patches[i].new);
	branches_free(branches);
}

static void begin_with(struct fixture *fixture, uint64_t mean, bool is_all,
		       enum heap_threads threads)
{
	size_t all_bytes = is_all ? sizeof(struct heap_all) : 0;
	size_t nr_bytes = all_bytes + sizeof(struct heap_shared) + CODE_BYTES;
	struct target_memory *memory = target_memory_open(getpid(), NULL);

	arena_used = 0;
	is_failing = 0;
	*fixture = (struct fixture){.memory = map_near(nr_bytes), .nr_bytes = nr_bytes};
	fixture->shared = (struct heap_shared *)(void *)(fixture->memory + all_bytes);
	fixture->code = (uint8_t *)fixture->shared + sizeof(struct heap_shared);
	fixture->rules = (struct heap_rules *)(void *)fixture->code;
	fixture->rules->is_all = is_all;
	fixture->own = mmap(NULL, sizeof(struct heap_private), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(fixture->own, MAP_FAILED);
	assert_int_equal(
		madvise(fixture->own, offsetof(struct heap_private, known), MADV_WIPEONFORK), 0);
	fixture->rules->private_address = (uint64_t)(uintptr_t)fixture->own;
	fixture->rules->shared_address = (uint64_t)(uintptr_t)fixture->shared;
	fixture->shared->mean = mean;
	fixture->shared->stack_bytes = 4096;
	fixture->rules->threads = threads;
	fixture->rules->has_own_slots =
		PATCH_READS_THREAD_DATA && threads == HEAP_THREADS_BY_DATA && !is_all;
	fixture->rules->reads_base = (getauxval(AT_HWCAP2) & 2) != 0; /* HWCAP2_FSGSBASE */
	fixture->rules->has_cycles = heap_ring_has_cycles();
	fixture->shared->visits.now_ns = clock_monotonic_ns();
	fixture->rules->owner_pid = getpid();
	fixture->own->pid = getpid();
	heap_ring_init(&fixture->ring, fixture->shared, fixture->rules);
	heap_answer_begin(&fixture->ring, memory);
	/* As in glibc; else the blob finds it. */
	fixture->own->known.tid_at = threads == HEAP_THREADS_BY_DATA ? HEAP_ID_AT_GLIBC : 0;
	target_memory_close(memory);
	hook_all(fixture, threads);
}

static void begin(struct fixture *fixture, uint64_t mean, enum heap_threads threads)
{
	begin_with(fixture, mean, false, threads);
}

static void end(struct fixture *fixture)
{
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		write_code(&fixture->patches[i], fixture->patches[i].old);
	assert_int_equal(fixture->own->in_flight, 0);
	for (size_t i = 0; i < HEAP_THREADS; i++)
		assert_int_equal(fixture->own->threads[i].in_flight, 0);
	munmap(fixture->own, sizeof(struct heap_private));
	munmap(fixture->memory, fixture->nr_bytes);
}

static struct heap_record next_of(struct fixture *fixture, enum heap_record_kind kind,
				  const void *pointer)
{
	struct heap_record record = {.kind = HEAP_RECORD_SKIP};

	if (!heap_ring_next(&fixture->ring, clock_monotonic_ns(), &record))
		fail_msg("there is no record of %p", pointer);
	heap_ring_count(&fixture->ring, &record);
	assert_int_equal(record.kind, kind);
	assert_int_equal(record.pointer, (uint64_t)(uintptr_t)pointer);
	return record;
}

static void assert_no_more(struct fixture *fixture)
{
	struct heap_record record;

	assert_false(heap_ring_next(&fixture->ring, clock_monotonic_ns(), &record));
}

static void assert_totals(const struct fixture *fixture, uint64_t nr_bytes, uint64_t nr)
{
	struct heap_totals totals;

	heap_ring_totals(&fixture->ring, &totals);
	assert_int_equal(totals.allocated_bytes, nr_bytes);
	assert_int_equal(totals.nr_allocations, nr);
	assert_int_equal(totals.nr_dropped, 0);
	assert_int_equal(totals.nr_frees, 0);
}

/* Large against a mean of 1: all are sampled. */
#define LARGE 1000

static void check_each_function(enum heap_threads how)
{
	struct fixture fixture;
	void *pointers[6];
	static const uint64_t sizes[] = {LARGE,	    2000 * 3,  LARGE + 2,
					 LARGE + 3, LARGE + 4, LARGE + 5};
	uint64_t sum = 0;

	begin(&fixture, 1, how);
	pointers[0] = own_malloc(LARGE);
	pointers[1] = own_calloc(2000, 3);
	pointers[2] = own_realloc(NULL, LARGE + 2);
	assert_int_equal(own_posix_memalign(&pointers[3], 4096, LARGE + 3), 0);
	pointers[4] = own_memalign(8, LARGE + 4);
	pointers[5] = own_new(LARGE + 5);
	for (size_t i = 0; i < ARRAY_SIZE(pointers); i++) {
		struct heap_record record = next_of(&fixture, HEAP_RECORD_ALLOCATION, pointers[i]);

		assert_int_equal(record.size, sizes[i]);
		assert_int_equal(record.mean, 1);
		assert_int_equal(record.pid, getpid());
		assert_int_equal(record.tid, syscall(SYS_gettid));
		sum += sizes[i];
	}
	assert_int_equal((uintptr_t)pointers[3] % 4096, 0);
	for (size_t i = 0; i < ARRAY_SIZE(pointers); i++) {
		own_free(pointers[i]);
		assert_ptr_equal(last_freed, pointers[i]);
		next_of(&fixture, HEAP_RECORD_FREE, pointers[i]);
	}
	assert_no_more(&fixture);
	assert_totals(&fixture, sum, ARRAY_SIZE(pointers));
	end(&fixture);
}

TEST(heap, each_function_records_size_and_pointer)
{
	check_each_function(HEAP_THREADS_BY_DATA);
}

TEST(heap, each_function_records_size_and_pointer_by_base)
{
	check_each_function(HEAP_THREADS_BY_BASE);
}

TEST(heap, each_function_records_size_and_pointer_as_one)
{
	check_each_function(HEAP_THREADS_AS_ONE);
}

TEST(heap, reallocation_frees_and_allocates)
{
	struct fixture fixture;
	struct heap_record record;
	void *first, *second, *third;

	begin(&fixture, 1, HEAP_THREADS_BY_DATA);
	first = own_malloc(LARGE);
	memcpy(first, "contents", 9);
	second = own_realloc(first, 2 * LARGE);
	third = own_reallocarray(second, 3, LARGE);
	assert_string_equal(third, "contents");
	assert_false(next_of(&fixture, HEAP_RECORD_ALLOCATION, first).replaces);
	record = next_of(&fixture, HEAP_RECORD_FREE, first);
	assert_true(heap_record_is_move(&record));
	record = next_of(&fixture, HEAP_RECORD_ALLOCATION, second);
	assert_int_equal(record.old, (uint64_t)(uintptr_t)first);
	assert_true(record.replaces);
	next_of(&fixture, HEAP_RECORD_FREE, second);
	assert_int_equal(next_of(&fixture, HEAP_RECORD_ALLOCATION, third).size, 3 * LARGE);
	assert_no_more(&fixture);
	/* Allocations that it makes for that are not counted apart. */
	assert_totals(&fixture, 6 * LARGE, 3);
	end(&fixture);
}

TEST(heap, failed_reallocation_keeps_the_old)
{
	struct fixture fixture;
	void *pointer;

	begin(&fixture, 1, HEAP_THREADS_BY_DATA);
	pointer = own_malloc(LARGE);
	is_failing = 1;
	errno = 0;
	assert_null(own_realloc(pointer, 2 * LARGE));
	assert_int_equal(errno, ENOMEM);
	is_failing = 0;
	own_free(pointer);
	next_of(&fixture, HEAP_RECORD_ALLOCATION, pointer);
	next_of(&fixture, HEAP_RECORD_FREE, pointer);
	next_of(&fixture, HEAP_RECORD_KEPT, pointer);
	next_of(&fixture, HEAP_RECORD_FREE, pointer);
	assert_no_more(&fixture);
	end(&fixture);
}

TEST(heap, pools_record_by_their_arguments)
{
	struct fixture fixture;
	struct two_words got;
	void *stored, *fixed, *resized;

	begin(&fixture, 1, HEAP_THREADS_BY_DATA);
	got = own_pool_get(arena, LARGE, 1, 2, 3, 4, 7, 8);
	assert_int_equal(got.nr, 8710);
	assert_int_equal(own_pool_store(3, 2 * LARGE, &stored), 0);
	fixed = own_pool_fixed();
	resized = own_pool_resize(arena, fixed, 7 * LARGE);
	/* Allocations that they make with other functions are part of theirs. */
	assert_int_equal(next_of(&fixture, HEAP_RECORD_ALLOCATION, got.pointer).size, LARGE);
	assert_int_equal(next_of(&fixture, HEAP_RECORD_ALLOCATION, stored).size, 6 * LARGE);
	assert_int_equal(next_of(&fixture, HEAP_RECORD_ALLOCATION, fixed).size, 4800);
	next_of(&fixture, HEAP_RECORD_FREE, fixed);
	assert_int_equal(next_of(&fixture, HEAP_RECORD_ALLOCATION, resized).size, 7 * LARGE);
	own_pool_put(arena, stored);
	next_of(&fixture, HEAP_RECORD_FREE, stored);
	own_pool_put(arena, arena + 1); /* not known */
	assert_no_more(&fixture);
	assert_totals(&fixture, 14 * LARGE + 4800, 4);
	end(&fixture);
}

TEST(heap, failed_pool_allocation_is_not_recorded)
{
	struct fixture fixture;
	void *stored, *resized, *kept;

	begin(&fixture, 1, HEAP_THREADS_BY_DATA);
	kept = own_pool_resize(arena, NULL, LARGE);
	next_of(&fixture, HEAP_RECORD_ALLOCATION, kept);
	is_failing = 1;
	assert_int_equal(own_pool_store(3, LARGE, &stored), ENOMEM);
	assert_null(own_pool_get(arena, LARGE, 1, 2, 3, 4, 7, 8).pointer);
	resized = own_pool_resize(arena, kept, 2 * LARGE);
	assert_null(resized);
	next_of(&fixture, HEAP_RECORD_FREE, kept);
	next_of(&fixture, HEAP_RECORD_KEPT, kept);
	assert_no_more(&fixture);
	assert_totals(&fixture, LARGE, 1);
	end(&fixture);
}

/* A user names an argument that is no pointer: nothing is recorded, and nothing breaks. */
TEST(heap, pool_with_wild_pointer_records_nothing)
{
	struct fixture fixture;
	void *stored = NULL;

	begin(&fixture, 1, HEAP_THREADS_BY_DATA);
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		if (functions[i].form.out)
			fixture.rules->hooks[i].form.out = 1;
	}
	assert_int_equal(own_pool_store(3, LARGE, &stored), 0);
	assert_non_null(stored);
	assert_no_more(&fixture);
	end(&fixture);
}

static __attribute__((noinline)) void *map_memory(size_t nr, int flags)
{
	void *volatile at = own_map(arena, nr, PROT_READ | PROT_WRITE, flags, -1, 12288);

	return at; /* no tail call */
}

static void expect_range(struct fixture *fixture, enum heap_record_kind kind, const void *at,
			 uint64_t nr)
{
	struct heap_record record = next_of(fixture, kind, at);

	assert_int_equal(record.size, nr);
	assert_int_equal(record.mean, 0);
}

/* At any rate; exact totals are of other blocks only. */
TEST(heap, mappings_are_recorded_by_range)
{
	struct fixture fixture;
	char *at, *moved;

	begin(&fixture, HEAP_MEAN_MAX, HEAP_THREADS_BY_DATA);
	at = map_memory(3 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS);
	expect_range(&fixture, HEAP_RECORD_ALLOCATION, at, 3 * PAGE);
	own_unmap(at + PAGE, PAGE);
	expect_range(&fixture, HEAP_RECORD_FREE, at + PAGE, PAGE);
	moved = own_remap(at, 3 * PAGE, 7 * PAGE, MREMAP_MAYMOVE);
	expect_range(&fixture, HEAP_RECORD_FREE, at, 3 * PAGE);
	expect_range(&fixture, HEAP_RECORD_ALLOCATION, moved, 7 * PAGE);
	at = map_memory(PAGE, MAP_PRIVATE);
	expect_range(&fixture, HEAP_RECORD_ALLOCATION, at, PAGE);
	at = map_memory(PAGE, MAP_SHARED | MAP_ANONYMOUS);
	expect_range(&fixture, HEAP_RECORD_ALLOCATION, at, PAGE);
	assert_no_more(&fixture);
	assert_totals(&fixture, 0, 0);
	end(&fixture);
}

TEST(heap, mappings_without_memory_are_not_recorded)
{
	struct fixture fixture;

	begin(&fixture, 1, HEAP_THREADS_BY_DATA);
	map_memory(PAGE, MAP_SHARED);
	own_map(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 12288);
	own_unmap(arena + 1, PAGE);
	own_unmap(arena, 0);
	is_failing = 1;
	errno = 77;
	assert_ptr_equal(map_memory(PAGE, MAP_PRIVATE | MAP_ANONYMOUS), MAP_FAILED);
	assert_ptr_equal(own_remap(arena, PAGE, 2 * PAGE, 0), MAP_FAILED);
	assert_int_equal(errno, 77);
	assert_no_more(&fixture);
	/* The mapping that it replaces has ended. */
	is_failing = 0;
	own_map(arena, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 12288);
	expect_range(&fixture, HEAP_RECORD_FREE, arena, PAGE);
	assert_no_more(&fixture);
	end(&fixture);
}

TEST(heap, mappings_of_allocators_are_not_recorded)
{
	struct fixture fixture;
	void *at;

	begin(&fixture, 1, HEAP_THREADS_BY_DATA);
	at = own_pool_mapping(8 * PAGE); /* part of a pool's allocation */
	assert_int_equal(next_of(&fixture, HEAP_RECORD_ALLOCATION, at).mean, 1);
	fixture.rules->codes[HEAP_CODES - 1] =
		(struct heap_code_range){.start = (uint64_t)(uintptr_t)map_memory,
					 .end = (uint64_t)(uintptr_t)map_memory + 200};
	map_memory(PAGE, MAP_PRIVATE | MAP_ANONYMOUS);
	assert_no_more(&fixture);
	end(&fixture);
}

/* Callers of static functions may rely on it. */
TEST(heap, pool_changes_no_register)
{
	struct fixture fixture;
	uint64_t expected[ARRAY_SIZE(own_registers)];

	begin(&fixture, 1, HEAP_THREADS_BY_DATA);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		expected[i] = own_registers[i] = UINT64_C(0x1234567800000000) * i + i;
	expected[FIRST_ARGUMENT] = own_registers[FIRST_ARGUMENT] = (uint64_t)(uintptr_t)arena;
	expected[FOURTH_ARGUMENT] = own_registers[FOURTH_ARGUMENT] = LARGE;
	call_with_registers(own_pool_next);
	expected[RESULT] = (uint64_t)(uintptr_t)arena + 4096;
	assert_memory_equal(own_registers, expected, sizeof(expected));
	assert_int_equal(next_of(&fixture, HEAP_RECORD_ALLOCATION, arena + 4096).size, LARGE);
	expected[FIRST_ARGUMENT] = own_registers[FIRST_ARGUMENT] =
		(uint64_t)(uintptr_t)arena + 4096;
	call_with_registers(own_pool_forget);
	assert_memory_equal(own_registers, expected, sizeof(expected));
	next_of(&fixture, HEAP_RECORD_FREE, arena + 4096);
	assert_no_more(&fixture);
	end(&fixture);
}

TEST(heap, errno_is_left_alone)
{
	struct fixture fixture;
	void *pointer;

	begin(&fixture, 1, HEAP_THREADS_BY_DATA);
	errno = 77;
	pointer = own_malloc(LARGE);
	own_free(pointer);
	assert_int_equal(errno, 77);
	next_of(&fixture, HEAP_RECORD_ALLOCATION, pointer);
	end(&fixture);
}

TEST(heap, overflowing_sizes_fail_as_before)
{
	struct fixture fixture;

	begin(&fixture, 1 << 20, HEAP_THREADS_BY_DATA);
	assert_null(own_malloc(SIZE_MAX));
	assert_null(own_malloc((size_t)1 << HEAP_SIZE_LOG2));
	assert_null(own_calloc(SIZE_MAX, 2));
	assert_null(own_calloc((size_t)1 << 32, (size_t)1 << 32));
	assert_null(own_realloc(NULL, SIZE_MAX / 2));
	assert_ptr_equal(own_new(SIZE_MAX), thrown);
	assert_no_more(&fixture);
	assert_totals(&fixture, 0, 0);
	end(&fixture);
}

/* The walk of the stack begins at the return address, with the registers as after the return. */
TEST(heap, record_shows_the_caller)
{
	struct fixture fixture;
	volatile uint64_t local = 0x1122334455667788;
	struct heap_record record;
	uint64_t pc, sp, fp, offset, copied;
	void *pointer;

	begin(&fixture, 1, HEAP_THREADS_BY_DATA);
	pointer = own_malloc(LARGE);
	record = next_of(&fixture, HEAP_RECORD_ALLOCATION, pointer);
	assert_true(regs_get(&record.regs, arch_regs(arch_native())->pc, &pc));
	assert_true(regs_get(&record.regs, arch_regs(arch_native())->sp, &sp));
	assert_true(regs_get(&record.regs, arch_regs(arch_native())->fp, &fp));
	assert_int_equal(fp, (uint64_t)(uintptr_t)__builtin_frame_address(0));
	assert_true(pc - (uint64_t)(uintptr_t)test_heap__record_shows_the_caller < 4096);
	assert_int_equal(record.stack_address, sp);
	assert_int_equal(record.nr_stack_bytes, 4096);
	offset = (uint64_t)(uintptr_t)&local - sp;
	assert_true(offset + 8 <= record.nr_stack_bytes);
	memcpy(&copied, record.stack + offset, sizeof(copied));
	assert_int_equal(copied, local);
	assert_true(clock_monotonic_ns() - record.time_ns < 10 * NS_PER_SEC);
	end(&fixture);
}

TEST(heap, stacks_of_frees_are_recorded_on_request)
{
	struct fixture fixture;
	struct heap_record record;
	void *pointer;
	uint64_t pc;

	begin(&fixture, 1, HEAP_THREADS_BY_DATA);
	own_free(own_malloc(LARGE));
	assert_true(heap_ring_next(&fixture.ring, clock_monotonic_ns(), &record));
	assert_true(record.has_stack);
	assert_true(heap_ring_next(&fixture.ring, clock_monotonic_ns(), &record));
	assert_int_equal(record.kind, HEAP_RECORD_FREE);
	assert_false(record.has_stack);
	assert_int_equal(record.nr_stack_bytes, 0);
	fixture.rules->frees_have_stacks = true;
	pointer = own_malloc(LARGE);
	own_free(pointer);
	next_of(&fixture, HEAP_RECORD_ALLOCATION, pointer);
	record = next_of(&fixture, HEAP_RECORD_FREE, pointer);
	assert_true(record.has_stack);
	assert_int_equal(record.nr_stack_bytes, 4096);
	assert_true(regs_get(&record.regs, arch_regs(arch_native())->pc, &pc));
	assert_true(pc - (uint64_t)(uintptr_t)test_heap__stacks_of_frees_are_recorded_on_request <
		    4096);
	end(&fixture);
}

/* -- frames of an interpreter -- */

struct own_function {
	uint64_t is[3], rest;
};

struct own_frame {
	uint64_t function, previous, instruction;
};

/* A data stack of two pieces, and a frame in an object of its own. */
struct interpreter {
	uint64_t state[3]; /* piece, top, frame */
	uint64_t current;
	struct {
		uint64_t header[3];
		struct own_frame frames[4];
	} pieces[2];
	struct {
		uint64_t before[2];
		struct own_frame frame;
	} object;
	struct own_function functions[3];
	uint64_t text[12]; /* an own header of 2 words, the length, 2 more, and characters */
};

static struct interpreter interpreter;
static __thread uint64_t own_state;

static uint64_t at(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

static void reset_interpreter(void)
{
	struct own_frame *inner = interpreter.pieces[0].frames;
	struct own_frame *outer = interpreter.pieces[1].frames;

	memset(&interpreter, 0, sizeof(interpreter));
	inner[1] = (struct own_frame){at(&interpreter.functions[0]), at(&inner[0]), 11};
	inner[0] = (struct own_frame){at(&interpreter.functions[1]), at(&interpreter.object.frame),
				      12};
	interpreter.object.frame =
		(struct own_frame){at(&interpreter.functions[2]), at(&outer[0]), 13};
	outer[0] = (struct own_frame){at(&interpreter.functions[1]), 0, 14};
	interpreter.pieces[0].header[0] = at(&interpreter.pieces[1]);
	interpreter.pieces[0].header[1] = sizeof(interpreter.pieces[0]);
	interpreter.pieces[1].header[1] = sizeof(interpreter.pieces[1]);
	interpreter.pieces[1].header[2] = sizeof(*outer) / sizeof(uint64_t);
	interpreter.state[0] = at(&interpreter.pieces[0]);
	interpreter.state[1] = at(&inner[2]);
	interpreter.state[2] = at(&inner[1]);
	interpreter.current = own_state = at(interpreter.state);
}

static void begin_interpreter(struct fixture *fixture, bool is_all)
{
	struct target_memory *memory = target_memory_open(getpid(), NULL);
	const struct frame_links links = {.root = FRAME_LINKS_BY_OFFSET,
					  .nr_state_bytes = sizeof(interpreter.state),
					  .root_at = at(&own_state) - machine_thread_word(),
					  .current = at(&interpreter.current),
					  .state_piece = 0,
					  .state_top = 8,
					  .piece.used = 16,
					  .state_frame = 16,
					  .nr_frame_bytes = sizeof(struct own_frame),
					  .frame_function = offsetof(struct own_frame, function),
					  .frame_previous = offsetof(struct own_frame, previous),
					  .frame_instruction =
						  offsetof(struct own_frame, instruction),
					  .nr_before_frame = sizeof(interpreter.object.before),
					  .nr_function_bytes = sizeof(struct own_function),
					  .nr_functions = 64,
					  .function_is = {0, 8, 16}};

	reset_interpreter();
	begin_with(fixture, is_all ? 0 : 1, is_all, HEAP_THREADS_BY_DATA);
	heap_answer_maps(&fixture->ring, memory);
	target_memory_close(memory);
	fixture->own->known.links = links;
}

static void share_text(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(interpreter.functions); i++)
		for (size_t k = 0; k < 3; k++)
			interpreter.functions[i].is[k] = at(interpreter.text);
}

/* The functions are known by texts, which they share. */
static void begin_texts(struct fixture *fixture, bool is_all)
{
	struct frame_links *links;

	begin_interpreter(fixture, is_all);
	links = &fixture->own->known.links;
	links->text.nr_bytes = 64;
	links->text.length = 16;
	links->text.head = 40;
	links->text.character = 4;
	share_text();
}

static struct heap_record next_with_interpreter(struct fixture *fixture, struct snapshot *snapshot)
{
	void *pointer = own_malloc(LARGE);
	struct heap_record record = next_of(fixture, HEAP_RECORD_ALLOCATION, pointer);

	heap_record_fill_snapshot(&record, snapshot);
	return record;
}

static bool has_copy(const struct snapshot *snapshot, const void *of, size_t nr_bytes)
{
	uint8_t bytes[sizeof(struct interpreter)];

	return snapshot_read_any(snapshot, at(of), bytes, nr_bytes) &&
	       memcmp(bytes, of, nr_bytes) == 0;
}

TEST(heap, records_have_the_frames_of_an_interpreter)
{
	struct fixture fixture;
	struct snapshot snapshot = {0};
	struct heap_record record;

	begin_interpreter(&fixture, false);
	record = next_with_interpreter(&fixture, &snapshot);
	assert_int_equal(heap_record_script_state(&record), at(interpreter.state));
	assert_true(has_copy(&snapshot, interpreter.state, sizeof(interpreter.state)));
	assert_true(has_copy(&snapshot, &interpreter.pieces[0], 24 + 2 * 24));
	assert_true(has_copy(&snapshot, &interpreter.pieces[1], 24 + 24));
	assert_true(has_copy(&snapshot, &interpreter.object, sizeof(interpreter.object)));
	for (size_t i = 0; i < ARRAY_SIZE(interpreter.functions); i++)
		assert_true(has_copy(&snapshot, &interpreter.functions[i],
				     sizeof(interpreter.functions[i])));
	assert_int_equal(record.nr_stack_bytes, 4096);
	/* Another thread runs in the interpreter. */
	interpreter.current = 0;
	record = next_with_interpreter(&fixture, &snapshot);
	assert_int_equal(record.nr_script_bytes, 0);
	assert_int_equal(record.nr_stack_bytes, 4096);
	snapshot_release(&snapshot);
	end(&fixture);
}

static bool has_copy_with_interpreter(struct fixture *fixture, const void *of)
{
	struct snapshot snapshot = {0};
	bool is_there;

	next_with_interpreter(fixture, &snapshot);
	is_there = has_copy(&snapshot, of, sizeof(struct own_function));
	snapshot_release(&snapshot);
	return is_there;
}

/* As an arena of objects that the interpreter maps when a thread begins. */
TEST(heap, records_have_what_was_mapped_just_before)
{
	struct fixture fixture;
	struct own_function *function;
	void *unseen;

	begin_interpreter(&fixture, false);
	unseen = mmap(NULL, (size_t)page_bytes(), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(unseen, MAP_FAILED);
	function = unseen;
	function->rest = 17;
	interpreter.object.frame.function = at(function);
	assert_false(has_copy_with_interpreter(&fixture, function));
	own_map(unseen, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		12288);
	expect_range(&fixture, HEAP_RECORD_ALLOCATION, unseen, PAGE);
	assert_true(has_copy_with_interpreter(&fixture, function));
	/* profc tells of it with one of its next two answers. */
	fixture.own->known.writable.version += 2;
	assert_true(has_copy_with_interpreter(&fixture, function));
	fixture.own->known.writable.version += 2;
	assert_false(has_copy_with_interpreter(&fixture, function));
	own_map(unseen, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		12288);
	expect_range(&fixture, HEAP_RECORD_ALLOCATION, unseen, PAGE);
	assert_true(has_copy_with_interpreter(&fixture, function));
	own_unmap(unseen, PAGE);
	expect_range(&fixture, HEAP_RECORD_FREE, unseen, PAGE);
	assert_false(has_copy_with_interpreter(&fixture, function));
	/* Others could have to bring it, or it cannot be read. */
	own_map(unseen, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1,
		12288);
	expect_range(&fixture, HEAP_RECORD_ALLOCATION, unseen, PAGE);
	own_map(unseen, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 12288);
	expect_range(&fixture, HEAP_RECORD_ALLOCATION, unseen, PAGE);
	assert_false(has_copy_with_interpreter(&fixture, function));
	munmap(unseen, (size_t)page_bytes());
	end(&fixture);
}

/* As PHP has its frames: its pieces begin otherwise, and an object owns a frame outside of them. */
static void lay_out_main(void)
{
	interpreter.pieces[0].header[2] = at(&interpreter.pieces[1]);
	interpreter.pieces[1].header[0] = at(&interpreter.pieces[1].frames[1]);
	interpreter.pieces[1].header[2] = 0;
	interpreter.object.frame.instruction = at(interpreter.text);
}

static void begin_main(struct fixture *fixture, bool is_all)
{
	struct frame_links *links;

	begin_interpreter(fixture, is_all);
	links = &fixture->own->known.links;
	links->root = FRAME_LINKS_OF_MAIN;
	links->root_at = at(interpreter.state);
	links->current = 0;
	links->piece.used = 0;
	links->piece.used_is_end = true;
	links->piece.previous = 16;
	links->nr_before_frame = 0;
	links->frame_owner = offsetof(struct own_frame, instruction);
	links->nr_owner_bytes = sizeof(interpreter.text);
	fixture->own->known.main_data = machine_thread_word();
	lay_out_main();
}

TEST(heap, records_have_the_frames_of_the_main_threads_interpreter)
{
	struct fixture fixture;
	struct snapshot snapshot = {0};
	struct heap_record record;

	begin_main(&fixture, false);
	record = next_with_interpreter(&fixture, &snapshot);
	assert_int_equal(heap_record_script_state(&record), at(interpreter.state));
	assert_true(has_copy(&snapshot, &interpreter.pieces[0], 24 + 2 * 24));
	assert_true(has_copy(&snapshot, &interpreter.pieces[1], 24 + 24));
	assert_false(has_copy(&snapshot, &interpreter.pieces[1], 24 + 2 * 24));
	assert_true(has_copy(&snapshot, &interpreter.object.frame, sizeof(struct own_frame)));
	assert_true(has_copy(&snapshot, interpreter.text, sizeof(interpreter.text)));
	for (size_t i = 0; i < ARRAY_SIZE(interpreter.functions); i++)
		assert_true(has_copy(&snapshot, &interpreter.functions[i],
				     sizeof(interpreter.functions[i])));
	/* A mark has no function. */
	interpreter.pieces[0].frames[0].function = 0;
	next_with_interpreter(&fixture, &snapshot);
	assert_true(has_copy(&snapshot, &interpreter.functions[2], sizeof(struct own_function)));
	/* Both words of the newest piece are being changed: it is where nothing can be read. */
	interpreter.state[0] = UINT64_C(1) << 46;
	interpreter.state[1] = interpreter.state[0] + 64;
	next_with_interpreter(&fixture, &snapshot);
	assert_false(has_copy(&snapshot, &interpreter.pieces[0], 24 + 2 * 24));
	/* It is another thread's. */
	fixture.own->known.main_data++;
	record = next_with_interpreter(&fixture, &snapshot);
	assert_int_equal(record.nr_script_bytes, 0);
	snapshot_release(&snapshot);
	end(&fixture);
}

TEST(heap, records_have_the_texts_of_functions)
{
	struct fixture fixture;
	struct snapshot snapshot = {0};

	begin_texts(&fixture, false);
	for (size_t i = 0; i < ARRAY_SIZE(interpreter.text); i++)
		interpreter.text[i] = i;
	next_with_interpreter(&fixture, &snapshot); /* of 2 characters */
	assert_true(has_copy(&snapshot, interpreter.text, 48));
	assert_false(has_copy(&snapshot, interpreter.text, 56));
	interpreter.text[2] = UINT64_MAX;
	next_with_interpreter(&fixture, &snapshot);
	assert_true(has_copy(&snapshot, interpreter.text, 64));
	assert_false(has_copy(&snapshot, interpreter.text, 72));
	snapshot_release(&snapshot);
	end(&fixture);
}

/* They may lead anywhere, as a program can write over them, or go around in circles. */
static void scramble(struct fixture *fixture, bool is_of_main)
{
	static const uint64_t values[] = {
		0, 8, 0x1234, 0x10000, UINT64_MAX, UINT64_C(1) << 47, UINT64_MAX - 7};
	uint64_t *words = (uint64_t *)(void *)interpreter.pieces;
	size_t nr = (offsetof(struct interpreter, text) - offsetof(struct interpreter, pieces)) / 8;

	srandom(7);
	for (int i = 0; i < 100000; i++) {
		struct heap_record record;

		reset_interpreter();
		if (is_of_main)
			lay_out_main();
		else
			share_text();
		for (int k = 0; k < 1 + i % 3; k++) {
			uint64_t value = values[(size_t)random() % ARRAY_SIZE(values)];

			if (i % 2)
				value = at(&words[(size_t)random() % nr]);
			words[(size_t)random() % nr] = value;
		}
		/* The interpreter that has one thread is changing these. */
		if (is_of_main && i % 4 == 0)
			interpreter.state[i / 4 % 3] = words[(size_t)random() % nr];
		record = next_of(fixture, HEAP_RECORD_ALLOCATION, own_malloc(LARGE));
		assert_int_equal(heap_record_script_state(&record), at(interpreter.state));
		assert_true(record.nr_script_bytes <= HEAP_SCRIPT_MAX);
		arena_used = 0;
		own_free((void *)(uintptr_t)record.pointer);
		next_of(fixture, HEAP_RECORD_FREE, last_freed);
	}
}

TEST(heap, frames_of_an_interpreter_may_be_any_bytes)
{
	struct fixture fixture;

	begin_texts(&fixture, false);
	scramble(&fixture, false);
	end(&fixture);
}

TEST(heap, frames_of_the_main_threads_interpreter_may_be_any_bytes)
{
	struct fixture fixture;

	begin_main(&fixture, false);
	scramble(&fixture, true);
	end(&fixture);
}

/* -- contexts of an interpreter -- */

enum { TYPE_BLOCK = 1, TYPE_SUB = 2, TYPE_EVAL = 3 };

/* A sub and a block in an outer stack, an eval and a sub in an inner one. */
struct context_interpreter {
	uint64_t state[4]; /* stack, statement, phase, mark */
	struct {
		uint64_t contexts, previous;
		int32_t index, sub_index;
		int32_t type, rest;
	} stacks[2];
	struct {
		uint32_t first;
		int32_t sub_index;
		uint64_t statement, next, sub, jump;
	} contexts[2][2];
	struct {
		uint32_t kind, line;
		uint64_t file;
		uint32_t sequence, rest;
	} statements[3];
	struct {
		uint64_t head[3]; /* the body */
		uint64_t package, start, root, glob, flags;
	} subs[2];
	uint64_t glob[3], glob_body[2];
	char text[64];
};

static struct context_interpreter contexts;

#define CONTEXT(member)	  offsetof(struct context_interpreter, contexts[0][0].member) - CONTEXTS
#define CONTEXTS	  offsetof(struct context_interpreter, contexts)
#define STACK(member)	  offsetof(struct context_interpreter, stacks[0].member) - STACKS
#define STACKS		  offsetof(struct context_interpreter, stacks)
#define STATEMENT(member) offsetof(struct context_interpreter, statements[0].member) - STATEMENTS
#define STATEMENTS	  offsetof(struct context_interpreter, statements)
#define SUB(member)	  offsetof(struct context_interpreter, subs[0].member) - BODIES
#define BODIES		  offsetof(struct context_interpreter, subs[0].package)

static void reset_contexts(void)
{
	memset(&contexts, 0, sizeof(contexts));
	own_state = at(contexts.state);
	contexts.state[0] = at(&contexts.stacks[0]);
	contexts.state[1] = at(&contexts.statements[0]);
	contexts.state[3] = 42;
	strcpy(contexts.text, "some_file.pl");
	for (size_t i = 0; i < 2; i++) {
		contexts.stacks[i].contexts = at(contexts.contexts[i]);
		contexts.stacks[i].index = 1;
		contexts.contexts[i][1].first = TYPE_SUB;
		contexts.contexts[i][1].sub = at(&contexts.subs[i]);
		contexts.contexts[i][1].statement = at(&contexts.statements[1]);
		contexts.subs[i].head[0] = at(&contexts.subs[i].package);
		contexts.subs[i].start = at(&contexts.statements[2]);
	}
	contexts.stacks[0].previous = at(&contexts.stacks[1]);
	contexts.contexts[0][0].first = TYPE_EVAL;
	contexts.contexts[1][0].first = TYPE_BLOCK;
	contexts.subs[0].flags = 1; /* its name is a text */
	contexts.subs[0].glob = at(contexts.text);
	contexts.subs[1].glob = at(contexts.glob);
	contexts.glob[0] = at(contexts.glob_body);
	for (uint32_t i = 0; i < ARRAY_SIZE(contexts.statements); i++) {
		contexts.statements[i].kind = 1;
		contexts.statements[i].line = contexts.statements[i].sequence = i + 1;
		contexts.statements[i].file = at(contexts.text);
	}
}

static void begin_contexts(struct fixture *fixture, bool is_all)
{
	begin_interpreter(fixture, is_all);
	fixture->own->known.links = (struct frame_links){
		.root = FRAME_LINKS_BY_OFFSET,
		.nr_state_bytes = sizeof(contexts.state),
		.root_at = at(&own_state) - machine_thread_word(),
		.nr_functions = 16,
		.contexts = {.nr_bytes = sizeof(contexts.contexts[0][0]),
			     .type_mask = 0xf,
			     .first_mask = UINT32_MAX,
			     .subs = 1 << TYPE_SUB,
			     .jumps = 1 << TYPE_EVAL,
			     .statement = CONTEXT(statement),
			     .next = CONTEXT(next),
			     .sub_index = CONTEXT(sub_index),
			     .sub = CONTEXT(sub),
			     .jump = CONTEXT(jump),
			     .state_statement = 8,
			     .state_phase = 16,
			     .state_mark = 24,
			     .mark = 42,
			     .of_stack = {.previous = STACK(previous),
					  .index = STACK(index),
					  .sub_index = STACK(sub_index),
					  .type = STACK(type),
					  .nr_bytes = sizeof(contexts.stacks[0])},
			     .of_statement = {.kind_mask = 0xff,
					      .line = STATEMENT(line),
					      .file = STATEMENT(file),
					      .sequence = STATEMENT(sequence),
					      .nr_bytes = sizeof(contexts.statements[0]),
					      .nr_text_bytes = 32},
			     .of_sub = {.start = SUB(start),
					.root = SUB(root),
					.glob = SUB(glob),
					.flags = SUB(flags),
					.is_named = 1,
					.nr_key_bytes = 16,
					.nr_head_bytes = 24,
					.nr_bytes = 40,
					.nr_glob_bytes = sizeof(contexts.glob_body)}}};
	reset_contexts();
}

TEST(heap, records_have_the_contexts_of_an_interpreter)
{
	struct fixture fixture;
	struct snapshot snapshot = {0};
	struct heap_record record;

	begin_contexts(&fixture, false);
	record = next_with_interpreter(&fixture, &snapshot);
	assert_int_equal(heap_record_script_state(&record), at(contexts.state));
	for (size_t i = 0; i < 2; i++) {
		assert_true(has_copy(&snapshot, &contexts.stacks[i], sizeof(contexts.stacks[i])));
		assert_true(
			has_copy(&snapshot, contexts.contexts[i], sizeof(contexts.contexts[i])));
		assert_true(has_copy(&snapshot, contexts.subs[i].head, 24));
		assert_true(has_copy(&snapshot, &contexts.subs[i].package, 40));
	}
	for (size_t i = 0; i < ARRAY_SIZE(contexts.statements); i++)
		assert_true(has_copy(&snapshot, &contexts.statements[i],
				     sizeof(contexts.statements[i])));
	assert_true(has_copy(&snapshot, contexts.text, 32));
	assert_true(has_copy(&snapshot, contexts.glob, sizeof(contexts.glob)));
	assert_true(has_copy(&snapshot, contexts.glob_body, sizeof(contexts.glob_body)));
	/* It is no state of this interpreter. */
	contexts.state[3]++;
	record = next_with_interpreter(&fixture, &snapshot);
	assert_int_equal(record.nr_script_bytes, 0);
	snapshot_release(&snapshot);
	end(&fixture);
}

/* An array of contexts that grows may be elsewhere by now, and its former place be gone. */
TEST(heap, contexts_that_realloc_has_just_moved_are_not_read)
{
	struct fixture fixture;
	struct snapshot snapshot = {0};
	struct heap_record record;

	begin_contexts(&fixture, false);
	memcpy(&arena[1024], contexts.contexts[1], sizeof(contexts.contexts[1]));
	arena_used = 2048;
	contexts.stacks[1].contexts = at(&arena[1024]);
	next_with_interpreter(&fixture, &snapshot);
	assert_true(has_copy(&snapshot, &arena[1024], sizeof(contexts.contexts[1])));
	record = next_of(&fixture, HEAP_RECORD_ALLOCATION, own_realloc(&arena[1024], LARGE));
	heap_record_fill_snapshot(&record, &snapshot);
	assert_true(has_copy(&snapshot, contexts.contexts[0], sizeof(contexts.contexts[0])));
	assert_false(has_copy(&snapshot, &arena[1024], sizeof(contexts.contexts[1])));
	snapshot_release(&snapshot);
	end(&fixture);
}

TEST(heap, contexts_of_an_interpreter_may_be_any_bytes)
{
	static const uint64_t values[] = {
		0, 8, 0x1234, 0x10000, UINT64_MAX, UINT64_C(1) << 47, UINT64_MAX - 7};
	uint64_t *words = (uint64_t *)(void *)&contexts;
	const size_t nr = sizeof(contexts) / sizeof(*words);
	struct fixture fixture;

	begin_contexts(&fixture, false);
	srandom(7);
	for (int i = 0; i < 100000; i++) {
		struct heap_record record;

		reset_contexts();
		for (int k = 0; k < 1 + i % 3; k++) {
			uint64_t value = values[(size_t)random() % ARRAY_SIZE(values)];

			if (i % 2)
				value = at(&words[(size_t)random() % nr]);
			words[(size_t)random() % nr] = value;
		}
		contexts.state[3] = 42;
		record = next_of(&fixture, HEAP_RECORD_ALLOCATION, own_malloc(LARGE));
		assert_int_equal(heap_record_script_state(&record), at(contexts.state));
		assert_true(record.nr_script_bytes <= HEAP_SCRIPT_MAX);
		arena_used = 0;
		own_free((void *)(uintptr_t)record.pointer);
		next_of(&fixture, HEAP_RECORD_FREE, last_freed);
	}
	end(&fixture);
}

/* Always with the same return address. */
static __attribute__((noinline)) void *allocate_in_one_place(void)
{
	void *volatile pointer = own_malloc(16);

	return pointer;
}

/* The native stack is the same, but the functions, or their places, are not. */
TEST(heap, signatures_tell_frames_of_an_interpreter_apart)
{
	struct fixture fixture;
	uint64_t signatures[6];
	size_t nr_stacks = 0;

	begin_interpreter(&fixture, true);
	for (int i = 0; i < 6; i++) {
		struct heap_record record;
		void *pointer;

		interpreter.object.frame.instruction = i == 3 ? 99 : 13;
		interpreter.functions[1].is[2] = i == 4;
		interpreter.pieces[0].frames[0].function =
			at(&interpreter.functions[i == 5 ? 2 : 1]);
		pointer = allocate_in_one_place();
		record = next_of(&fixture, HEAP_RECORD_ALLOCATION, pointer);
		signatures[i] = record.signature;
		nr_stacks += record.nr_stack_bytes > 0;
		if (i)
			assert_int_not_equal(record.signature, 0);
		else
			heap_ring_add_step(
				&fixture.ring,
				&(struct heap_step){
					.pc = record.regs.value[arch_regs(arch_native())->pc],
					.flags = HEAP_STEP_ROOT});
	}
	assert_int_equal(signatures[1], signatures[2]);
	for (int i = 3; i < 6; i++) {
		for (int k = 0; k < i; k++)
			assert_int_not_equal(signatures[i], signatures[k]);
	}
	assert_int_equal(nr_stacks, 5);
	end(&fixture);
}

TEST(heap, signatures_tell_texts_in_the_same_place_apart)
{
	struct fixture fixture;
	uint64_t signatures[4];

	begin_texts(&fixture, true);
	for (int i = 0; i < 4; i++) {
		struct heap_record record;
		void *pointer;

		interpreter.text[5] = i == 3;
		pointer = allocate_in_one_place();
		record = next_of(&fixture, HEAP_RECORD_ALLOCATION, pointer);
		signatures[i] = record.signature;
		if (!i)
			heap_ring_add_step(
				&fixture.ring,
				&(struct heap_step){
					.pc = record.regs.value[arch_regs(arch_native())->pc],
					.flags = HEAP_STEP_ROOT});
	}
	assert_int_equal(signatures[1], signatures[2]);
	assert_int_not_equal(signatures[1], 0);
	assert_int_not_equal(signatures[1], signatures[3]);
	end(&fixture);
}

/* The native stack is the same; the contexts, their subs and their statements are not. */
TEST(heap, signatures_tell_contexts_of_an_interpreter_apart)
{
	struct fixture fixture;
	uint64_t signatures[12];

	begin_contexts(&fixture, true);
	for (size_t i = 0; i < ARRAY_SIZE(signatures); i++) {
		struct heap_record record;
		void *pointer;

		reset_contexts();
		contexts.contexts[1][0].jump = i; /* that of a block is none */
		if (i == 3)
			contexts.statements[0].sequence = 9;
		if (i == 4)
			contexts.state[1] = at(&contexts.statements[1]);
		if (i == 5)
			contexts.subs[1].root = 1;
		if (i == 6)
			contexts.contexts[0][1].sub = at(&contexts.subs[1]);
		if (i == 7)
			contexts.contexts[0][0].jump = 1;
		if (i == 8)
			contexts.stacks[0].previous = 0;
		if (i == 9)
			contexts.state[2] = 1;
		/* One that is being compiled is known by its file. */
		if (i >= 10)
			contexts.statements[0].kind = 0;
		if (i == 11)
			strcpy(contexts.text, "some_other.pl");
		pointer = allocate_in_one_place();
		record = next_of(&fixture, HEAP_RECORD_ALLOCATION, pointer);
		signatures[i] = record.signature;
		if (!i)
			heap_ring_add_step(
				&fixture.ring,
				&(struct heap_step){
					.pc = record.regs.value[arch_regs(arch_native())->pc],
					.flags = HEAP_STEP_ROOT});
	}
	assert_int_equal(signatures[1], signatures[2]);
	for (size_t i = 2; i < ARRAY_SIZE(signatures); i++) {
		assert_int_not_equal(signatures[i], 0);
		for (size_t k = 2; k < i; k++)
			assert_int_not_equal(signatures[i], signatures[k]);
	}
	end(&fixture);
}

/* Stacks of frees are lost before frees are. */
TEST(heap, full_ring_drops_stacks_of_freeing_first)
{
	struct fixture fixture;
	struct heap_record record;
	struct heap_totals totals;
	uint64_t nr_frees = 0, nr_stacks = 0;
	void *pointers[400];

	begin(&fixture, 1, HEAP_THREADS_BY_DATA);
	fixture.rules->frees_have_stacks = true;
	for (size_t i = 0; i < ARRAY_SIZE(pointers); i++)
		pointers[i] = own_malloc(LARGE);
	for (size_t i = 0; i < ARRAY_SIZE(pointers); i++)
		own_free(pointers[i]);
	while (heap_ring_next(&fixture.ring, clock_monotonic_ns(), &record)) {
		nr_frees += record.kind == HEAP_RECORD_FREE;
		nr_stacks += record.kind == HEAP_RECORD_FREE && record.nr_stack_bytes;
		assert_true(record.has_stack);
	}
	heap_ring_totals(&fixture.ring, &totals);
	assert_int_equal(totals.nr_dropped, 0);
	assert_int_equal(totals.nr_frees, 0);
	assert_int_equal(nr_frees, ARRAY_SIZE(pointers));
	assert_in_range(nr_stacks, 1, ARRAY_SIZE(pointers) - 1);
	end(&fixture);
}

/* Without an even clock, as in an emulated machine, the times are those of visits. */
static void need_cycles(void)
{
	if (!heap_ring_has_cycles())
		skip();
}

/* Where generated code knows a thread by the first word of its data. */
static void need_own_slots(void)
{
	if (!PATCH_READS_THREAD_DATA)
		skip();
}

/* By either clock: it lies between the calls before and after it. */
static void check_time(bool has_cycles)
{
	struct fixture fixture;
	const struct timespec pause = {.tv_nsec = (long)(3 * NS_PER_MS)};
	uint64_t from_ns[50], to_ns[50];

	begin(&fixture, 1, HEAP_THREADS_BY_DATA);
	if (!has_cycles)
		fixture.rules->has_cycles = fixture.ring.has_cycles = false;
	for (size_t i = 0; i < ARRAY_SIZE(from_ns); i++) {
		nanosleep(&pause, NULL);
		from_ns[i] = clock_monotonic_ns();
		if (!has_cycles)
			heap_ring_visit(&fixture.ring); /* its time is used */
		own_malloc(LARGE);
		to_ns[i] = clock_monotonic_ns();
	}
	for (size_t i = 0; i < ARRAY_SIZE(from_ns); i++) {
		struct heap_record record;

		assert_true(heap_ring_next(&fixture.ring, clock_monotonic_ns(), &record));
		assert_true(record.time_ns + 10 * NS_PER_US >= from_ns[i]);
		assert_true(record.time_ns <= to_ns[i] + 10 * NS_PER_US);
	}
	end(&fixture);
}

TEST(heap, time_is_that_of_the_monotonic_clock)
{
	need_cycles();
	check_time(true);
}

TEST(heap, time_without_cycles_is_that_of_the_monotonic_clock)
{
	check_time(false);
}

/* On a stack with nothing above. */
static void *allocate_at_the_end(void *context)
{
	(void)context;
	return own_malloc(LARGE);
}

static uint8_t *stack_top;

TEST(heap, stack_is_copied_up_to_where_it_ends)
{
	struct fixture fixture;
	struct heap_record record;
	uint8_t *stack = mmap(NULL, (size_t)32 * PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *pointer;

	assert_ptr_not_equal(stack, MAP_FAILED);
	begin(&fixture, 1, HEAP_THREADS_BY_DATA);
	fixture.shared->stack_bytes = 8192;
	stack_top = stack + (size_t)16 * PAGE;
	assert_int_equal(munmap(stack_top, (size_t)16 * PAGE), 0);
	pointer = call_on_stack(allocate_at_the_end, stack_top);
	record = next_of(&fixture, HEAP_RECORD_ALLOCATION, pointer);
	assert_int_equal(record.stack_address + record.nr_stack_bytes,
			 (uint64_t)(uintptr_t)stack_top);
	/* Amid a larger mapping, with known bounds. */
	fixture.own->known.main_stack = (struct heap_stack){
		.start = (uint64_t)(uintptr_t)stack,
		.end = (uint64_t)(uintptr_t)stack_top - PAGE - 16,
	};
	pointer = call_on_stack(allocate_at_the_end, stack_top - PAGE - 64);
	record = next_of(&fixture, HEAP_RECORD_ALLOCATION, pointer);
	assert_int_equal(record.stack_address + record.nr_stack_bytes,
			 (uint64_t)(uintptr_t)stack_top - PAGE - 16);
	end(&fixture);
	munmap(stack, (size_t)16 * PAGE);
}

#define STORM	      2000000
#define STORM_SIZE    40
#define STORM_MEAN    24000
#define STORM_THREADS 4

static void *storm(void *context)
{
	(void)context;
	for (int i = 0; i < STORM / STORM_THREADS; i++) {
		own_malloc(STORM_SIZE);
		if (i % 10000 == 0)
			arena_used = 0;
	}
	return NULL;
}

struct estimate {
	uint64_t nr;
	double bytes, variance;
};

static void add_to(struct estimate *estimate, const struct heap_record *record)
{
	double share = 1 - exp(-(double)record->size / (double)record->mean);
	double bytes = (double)record->size / share;

	estimate->nr++;
	estimate->bytes += bytes;
	estimate->variance += bytes * bytes * (1 - share);
}

static void assert_near(const struct estimate *estimate, double bytes)
{
	if (fabs(estimate->bytes - bytes) > 4 * sqrt(estimate->variance))
		fail_msg("%.0f bytes estimated from %lu samples, %.0f allocated", estimate->bytes,
			 estimate->nr, bytes);
}

static void check_estimates(enum heap_threads how)
{
	struct fixture fixture;
	pthread_t threads[STORM_THREADS];
	struct estimate estimate = {0};
	struct heap_record record;

	begin(&fixture, STORM_MEAN, how);
	fixture.shared->stack_bytes = 0;
	for (int i = 0; i < STORM_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, storm, NULL), 0);
	for (int i = 0; i < STORM_THREADS; i++)
		pthread_join(threads[i], NULL);
	while (heap_ring_next(&fixture.ring, clock_monotonic_ns(), &record)) {
		assert_int_equal(record.kind, HEAP_RECORD_ALLOCATION);
		add_to(&estimate, &record);
	}
	{
		struct heap_totals totals;

		heap_ring_totals(&fixture.ring, &totals);
		assert_int_equal(totals.nr_allocations, STORM);
		assert_int_equal(totals.allocated_bytes, (uint64_t)STORM * STORM_SIZE);
		assert_int_equal(totals.nr_dropped, 0);
	}
	assert_near(&estimate, (double)STORM * STORM_SIZE);
	end(&fixture);
}

TEST(heap, estimates_and_totals_of_threads_are_right)
{
	check_estimates(HEAP_THREADS_BY_DATA);
}

TEST(heap, estimates_and_totals_of_threads_are_right_by_base)
{
	check_estimates(HEAP_THREADS_BY_BASE);
}

TEST(heap, estimates_and_totals_of_threads_are_right_as_one)
{
	check_estimates(HEAP_THREADS_AS_ONE);
}

static int64_t own_countdown(const struct fixture *fixture, size_t which)
{
	return fixture->shared->own_slots[which].slot.countdown;
}

/* The first allocation is counted in a shared slot: it makes one the thread's own. */
TEST(heap, thread_claims_a_slot_once)
{
	struct fixture fixture;
	int64_t before;

	need_own_slots();
	begin(&fixture, HEAP_MEAN_MAX, HEAP_THREADS_BY_DATA);
	own_malloc(1);
	assert_int_equal(fixture.shared->nr_claimed, 1);
	assert_int_equal(own_countdown(&fixture, 0), 0);
	own_malloc(1);
	before = own_countdown(&fixture, 0);
	assert_true(before > 0);
	own_malloc(100);
	own_calloc(3, 5);
	own_realloc(NULL, 7);
	assert_int_equal(before - own_countdown(&fixture, 0),
			 (INT64_C(122) << HEAP_COUNT_LOG2) + 3);
	assert_int_equal(fixture.shared->nr_claimed, 1);
	assert_totals(&fixture, 124, 5);
	end(&fixture);
}

/* Inside of a function that calls another one, the slot stays the same. */
TEST(heap, slot_is_claimed_outside_only)
{
	struct fixture fixture;

	need_own_slots();
	begin(&fixture, HEAP_MEAN_MAX, HEAP_THREADS_BY_DATA);
	own_realloc(own_realloc(NULL, 10), 20);
	own_pool_get(arena, LARGE, 1, 2, 3, 4, 7, 8);
	assert_int_equal(fixture.shared->nr_claimed, 1);
	assert_totals(&fixture, 30 + LARGE, 3);
	end(&fixture);
}

static void storm_by_threads(void)
{
	pthread_t threads[STORM_THREADS];

	for (int i = 0; i < STORM_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, storm, NULL), 0);
	for (int i = 0; i < STORM_THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* All slots belong to others, or an entry in the table does. */
TEST(heap, thread_without_a_slot_shares_one)
{
	struct fixture fixture;

	begin(&fixture, HEAP_MEAN_MAX, HEAP_THREADS_BY_DATA);
	fixture.shared->nr_claimed = HEAP_OWN_SLOTS;
	storm_by_threads();
	for (size_t i = 0; i < HEAP_OWN_SLOTS; i++)
		assert_int_equal(own_countdown(&fixture, i), 0);
	assert_totals(&fixture, (uint64_t)STORM * STORM_SIZE, STORM);
	fixture.shared->nr_claimed = 0;
	for (size_t i = 0; i < ARRAY_SIZE(fixture.own->owners); i++)
		fixture.own->owners[i] = UINT64_C(0x123456789000);
	storm_by_threads();
	assert_int_equal(fixture.shared->nr_claimed, 0);
	assert_totals(&fixture, (uint64_t)2 * STORM * STORM_SIZE, 2 * STORM);
	end(&fixture);
}

/* Each child has its own slots, at the same addresses of threads. */
TEST(heap, children_and_parent_count_in_different_slots)
{
	struct fixture fixture;
	pid_t children[3];
	int status;

	begin(&fixture, 1 << 16, HEAP_THREADS_BY_DATA);
	fixture.shared->stack_bytes = 0;
	own_malloc(STORM_SIZE);
	own_malloc(STORM_SIZE);
	for (size_t i = 0; i < ARRAY_SIZE(children); i++) {
		children[i] = fork();
		if (children[i] == 0) {
			storm(NULL);
			_exit(0);
		}
	}
	storm(NULL);
	for (size_t i = 0; i < ARRAY_SIZE(children); i++) {
		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
	if (PATCH_READS_THREAD_DATA)
		assert_int_equal(fixture.shared->nr_claimed, 1 + ARRAY_SIZE(children));
	assert_totals(&fixture, (uint64_t)(STORM + 2) * STORM_SIZE, STORM + 2);
	end(&fixture);
}

static uint64_t nr_handled;

static void allocate_in_handler(int signal)
{
	(void)signal;
	own_malloc(STORM_SIZE);
	nr_handled++;
}

/* A signal comes between any two instructions of the short way. */
TEST(heap, handlers_count_in_the_slot_of_their_thread)
{
	struct fixture fixture;
	const struct itimerval often = {.it_interval = {.tv_usec = 50},
					.it_value = {.tv_usec = 50}};
	const struct itimerval never = {.it_interval = {.tv_usec = 0}};
	struct sigaction action = {.sa_handler = allocate_in_handler}, former;

	nr_handled = 0;
	begin(&fixture, HEAP_MEAN_MAX, HEAP_THREADS_BY_DATA);
	own_malloc(STORM_SIZE);
	assert_int_equal(sigaction(SIGALRM, &action, &former), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	for (int i = 0; i < STORM_THREADS; i++)
		storm(NULL);
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	assert_int_equal(sigaction(SIGALRM, &former, NULL), 0);
	assert_true(nr_handled > 0);
	assert_totals(&fixture, (STORM + 1 + nr_handled) * STORM_SIZE, STORM + 1 + nr_handled);
	end(&fixture);
}

TEST(heap, full_ring_drops_and_counts)
{
	struct fixture fixture;
	struct heap_record record;
	struct heap_totals totals;
	uint64_t nr = 0;

	begin(&fixture, 1, HEAP_THREADS_BY_DATA);
	fixture.shared->stack_bytes = 512;
	for (int i = 0; i < 20000; i++)
		own_malloc(LARGE);
	while (heap_ring_next(&fixture.ring, clock_monotonic_ns(), &record))
		nr++;
	heap_ring_totals(&fixture.ring, &totals);
	assert_true(nr > 1000);
	assert_true(totals.nr_dropped > 0);
	assert_int_equal(nr + totals.nr_dropped, 20000);
	own_malloc(LARGE);
	assert_true(heap_ring_next(&fixture.ring, clock_monotonic_ns(), &record));
	assert_int_equal(record.mean, 1);
	end(&fixture);
}

static void read_records(struct fixture *fixture, int nr, struct estimate *estimate)
{
	struct heap_record record;

	for (int i = 0; i < nr && heap_ring_next(&fixture->ring, clock_monotonic_ns(), &record);
	     i++) {
		if (record.kind == HEAP_RECORD_ALLOCATION)
			add_to(&estimate[record.size == STORM_SIZE], &record);
	}
}

/*
 * A record is read after each fourth large block, so that the next one, which finds room first, is
 * small. The recorded small blocks must not represent large ones.
 */
TEST(heap, full_ring_is_unbiased)
{
	struct fixture fixture;
	struct estimate estimate[2] = {0};
	struct heap_totals totals;

	begin(&fixture, STORM_SIZE / 2, HEAP_THREADS_BY_DATA);
	fixture.shared->stack_bytes = 512;
	for (int i = 0; i < STORM / 4; i++) {
		own_malloc(STORM_SIZE / 4);
		own_malloc(STORM_SIZE);
		if (i % 10000 == 0)
			arena_used = 0;
		if (i % 4 == 0)
			read_records(&fixture, 1, estimate);
	}
	read_records(&fixture, INT_MAX, estimate);
	heap_ring_totals(&fixture.ring, &totals);
	assert_true(totals.nr_dropped > estimate[0].nr + estimate[1].nr);
	assert_near(&estimate[0], STORM / 4 * (double)(STORM_SIZE / 4));
	assert_near(&estimate[1], STORM / 4 * (double)STORM_SIZE);
	end(&fixture);
}

/*
 * More blocks are alive than can be remembered: those that are freed at once must not represent
 * them.
 */
TEST(heap, full_table_of_pointers_is_unbiased)
{
	const uint64_t nr = UINT64_C(4) * HEAP_SETS * HEAP_SET_WAYS;
	struct fixture fixture;
	struct estimate estimate[2] = {0};

	begin(&fixture, 1, HEAP_THREADS_BY_DATA);
	fixture.shared->stack_bytes = 0;
	for (uint64_t i = 0; i < nr; i++) {
		size_t used;

		own_malloc(STORM_SIZE / 2);
		used = arena_used;
		arena_used = sizeof(arena) - 4096;
		own_free(own_malloc(STORM_SIZE));
		arena_used = used;
		read_records(&fixture, INT_MAX, estimate);
	}
	assert_true(fixture.shared->lost.nr_dropped > nr / 4);
	assert_near(&estimate[0], (double)nr * (STORM_SIZE / 2));
	assert_near(&estimate[1], (double)nr * STORM_SIZE);
	end(&fixture);
}

/*
 * With three eighths of the room used, a block is recorded with the chance of four times the mean.
 */
TEST(heap, chance_of_a_record_is_that_of_its_mean)
{
	static const uint64_t sizes[] = {1, 1000, 16384, 16385, 65536, 100000, 127 << 10};
	const uint64_t room = HEAP_RING_BYTES / 8 * 5, mean = 1 << 16;
	const int nr_tries = 20000;
	struct fixture fixture;

	begin(&fixture, mean, HEAP_THREADS_BY_DATA);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		double size = (double)sizes[i];
		double chance = expm1(-size / (4 * (double)mean)) / expm1(-size / (double)mean);
		uint64_t before = fixture.shared->lost.nr_dropped, nr;
		const uint64_t *words = (const void *)&fixture.shared->ring[room / 8 * 3];
		const struct heap_caller *caller = (const void *)&words[heap_record_words(
			HEAP_HAS_SIZE | HEAP_HAS_TIME | HEAP_HAS_NAME)];

		for (int k = 0; k < nr_tries; k++) {
			fixture.shared->head = room / 8 * 3;
			fixture.shared->tail = 0;
			for (size_t j = 0; j < HEAP_SLOTS; j++) {
				fixture.shared->slots[j].mean = mean;
				fixture.shared->slots[j].countdown = 0;
			}
			fixture.shared->own_slots[0].slot.mean = mean;
			fixture.shared->own_slots[0].slot.countdown = 0;
			own_malloc(sizes[i]);
			arena_used = 0;
		}
		nr = (uint64_t)nr_tries - (fixture.shared->lost.nr_dropped - before);
		if (fabs((double)nr - nr_tries * chance) > 4 * sqrt(nr_tries * chance))
			fail_msg("%lu: %lu, not %.0f", sizes[i], nr, nr_tries * chance);
		assert_int_equal(caller->mean, 4 * mean);
		assert_int_equal(words[2], sizes[i]);
	}
	end(&fixture);
}

/* Blocks of a small mean: nearly all are sampled. */
#define SMALL_MEAN 64

/* Large blocks have a part of the ring of their own, and frees nearly so. */
static void check_room(bool is_all)
{
	const uint64_t spared = 3 * (HEAP_RING_BYTES / 8);
	struct fixture fixture;
	struct heap_losses *lost;
	uint64_t nr_dropped;
	void *large[20];

	begin_with(&fixture, is_all ? 0 : SMALL_MEAN, is_all, HEAP_THREADS_BY_DATA);
	lost = &fixture.shared->lost;
	/* These records are never written, so they are never read, nor waited for. */
	fixture.shared->head =
		(is_all ? HEAP_ALL_RING_BYTES : HEAP_RING_BYTES) - spared - (is_all ? 4096 : 0);
	fixture.own->given_up_at = fixture.shared->tail + 1;
	while (!lost->nr_dropped)
		own_malloc(LARGE);
	own_malloc(LARGE);
	nr_dropped = lost->nr_dropped;
	assert_int_equal(nr_dropped, 2);
	for (size_t i = 0; i < ARRAY_SIZE(large); i++)
		large[i] = own_malloc(1 << 20);
	assert_int_equal(lost->nr_dropped, nr_dropped);
	for (size_t i = 0; i < ARRAY_SIZE(large); i++)
		own_free(large[i]);
	assert_int_equal(lost->nr_frees, 0);
	end(&fixture);
}

TEST(heap, full_ring_has_room_for_large_blocks)
{
	check_room(false);
	check_room(true);
}

/* A child does not know its parent's pointers, and keeps its own. */
TEST(heap, forked_child_begins_without_pointers)
{
	struct fixture fixture;
	void *pointer;
	int status;
	pid_t child;

	begin(&fixture, 1, HEAP_THREADS_BY_DATA);
	pointer = own_malloc(LARGE);
	next_of(&fixture, HEAP_RECORD_ALLOCATION, pointer);
	child = fork();
	if (child == 0) {
		own_free(pointer);
		own_free(own_malloc(2 * LARGE));
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	{
		struct heap_record record;

		assert_true(heap_ring_next(&fixture.ring, clock_monotonic_ns(), &record));
		assert_int_equal(record.kind, HEAP_RECORD_ALLOCATION);
		assert_int_equal(record.pid, child);
		assert_int_equal(record.size, 2 * LARGE);
		assert_true(heap_ring_next(&fixture.ring, clock_monotonic_ns(), &record));
		assert_int_equal(record.kind, HEAP_RECORD_FREE);
		assert_int_equal(record.pid, child);
	}
	own_free(pointer);
	assert_int_equal(next_of(&fixture, HEAP_RECORD_FREE, pointer).pid, getpid());
	assert_no_more(&fixture);
	end(&fixture);
}

TEST(heap, frees_of_unknown_pointers_are_not_recorded)
{
	struct fixture fixture;
	void *before;
	uint64_t freed = nr_freed;

	before = own_malloc(LARGE);
	begin(&fixture, 1, HEAP_THREADS_BY_DATA);
	own_free(before);
	own_free(NULL);
	assert_int_equal(nr_freed, freed + 2);
	assert_no_more(&fixture);
	end(&fixture);
}

/* -- with --mem=all -- */

static void check_order_of_all(enum heap_threads how)
{
	struct fixture fixture;
	struct heap_record record;
	void *first, *moved;

	begin_with(&fixture, 0, true, how);
	first = own_malloc(0);
	moved = own_realloc(first, 10);
	is_failing = 1;
	assert_null(own_realloc(moved, 20));
	is_failing = 0;
	own_free(moved);
	own_free(NULL);
	record = next_of(&fixture, HEAP_RECORD_ALLOCATION, first);
	assert_int_equal(record.size, 0);
	assert_int_equal(record.mean, 0);
	assert_int_equal(record.pid, getpid());
	assert_int_equal(record.tid, syscall(SYS_gettid));
	record = next_of(&fixture, HEAP_RECORD_FREE, first);
	assert_int_equal(record.function, HEAP_REALLOC);
	record = next_of(&fixture, HEAP_RECORD_ALLOCATION, moved);
	assert_int_equal(record.size, 10);
	next_of(&fixture, HEAP_RECORD_FREE, moved);
	next_of(&fixture, HEAP_RECORD_KEPT, moved);
	record = next_of(&fixture, HEAP_RECORD_FREE, moved);
	assert_int_equal(record.function, HEAP_FREE);
	assert_no_more(&fixture);
	assert_totals(&fixture, 10, 2);
	end(&fixture);
}

TEST(heap, all_are_recorded_in_order)
{
	check_order_of_all(HEAP_THREADS_BY_DATA);
}

TEST(heap, all_are_recorded_in_order_as_one)
{
	check_order_of_all(HEAP_THREADS_AS_ONE);
}

TEST(heap, times_of_all_are_those_of_the_clock)
{
	struct fixture fixture;
	struct heap_record record;
	uint64_t before_ns, after_ns;
	struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};

	need_cycles();
	begin_with(&fixture, 0, true, HEAP_THREADS_BY_DATA);
	nanosleep(&pause, NULL);
	before_ns = clock_monotonic_ns();
	own_malloc(1);
	after_ns = clock_monotonic_ns();
	nanosleep(&pause, NULL);
	assert_true(heap_ring_next(&fixture.ring, clock_monotonic_ns(), &record));
	assert_in_range(record.time_ns, before_ns - NS_PER_MS, after_ns + NS_PER_MS);
	end(&fixture);
}

/* It uses its frame pointer, so the steps of its frame are known here. */
#define FRAMED __attribute__((noinline))

static void *volatile last_allocated;

FRAMED static void allocate_in_frame(uintptr_t *caller)
{
	*caller = (uintptr_t)__builtin_return_address(0);
	last_allocated = own_malloc(LARGE);
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)) : "memory");
}

FRAMED static void allocate_from_elsewhere(uintptr_t *caller)
{
	allocate_in_frame(caller);
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)) : "memory");
}

static struct heap_record next_allocation(struct fixture *fixture)
{
	return next_of(fixture, HEAP_RECORD_ALLOCATION, last_allocated);
}

TEST(heap, stacks_are_signed_by_steps)
{
	struct fixture fixture;
	struct heap_record records[4];
	uintptr_t caller = 0;

	begin_with(&fixture, 0, true, HEAP_THREADS_BY_DATA);
	for (int i = 0; i < 4; i++) {
		allocate_in_frame(&caller);
		records[i] = next_allocation(&fixture);
		if (i)
			continue;
		heap_ring_add_step(
			&fixture.ring,
			&(struct heap_step){
				.pc = records[0].regs.value[arch_regs(arch_native())->pc],
				.cfa_offset = 16,
				.fp_offset = -16,
				.flags = HEAP_STEP_BY_FP | HEAP_STEP_FP_SAVED});
		heap_ring_add_step(&fixture.ring,
				   &(struct heap_step){.pc = caller, .flags = HEAP_STEP_ROOT});
	}
	/* At first no step is known; then one stack is copied, and the others are the same. */
	assert_int_equal(records[0].signature, 0);
	assert_true(records[0].has_stack);
	assert_int_not_equal(records[1].signature, 0);
	assert_true(records[1].has_stack);
	assert_false(records[2].has_stack);
	assert_int_equal(records[2].signature, records[1].signature);
	assert_false(records[3].has_stack);
	/* From elsewhere it is another stack, and a step is missing. */
	allocate_from_elsewhere(&caller);
	records[0] = next_allocation(&fixture);
	assert_int_equal(records[0].signature, 0);
	heap_ring_add_step(&fixture.ring,
			   &(struct heap_step){.pc = caller, .flags = HEAP_STEP_ROOT});
	allocate_from_elsewhere(&caller);
	records[0] = next_allocation(&fixture);
	assert_int_not_equal(records[0].signature, 0);
	assert_int_not_equal(records[0].signature, records[1].signature);
	assert_true(records[0].has_stack);
	end(&fixture);
}

TEST(heap, wrong_steps_lead_to_no_fault)
{
	static const int32_t offsets[] = {8, -16, 12, 1 << 19, 1 << 29, INT32_MIN};
	uintptr_t caller;

	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
		struct fixture fixture;
		struct heap_record record;

		begin_with(&fixture, 0, true, HEAP_THREADS_BY_DATA);
		allocate_in_frame(&caller);
		record = next_allocation(&fixture);
		heap_ring_add_step(
			&fixture.ring,
			&(struct heap_step){.pc = record.regs.value[arch_regs(arch_native())->pc],
					    .cfa_offset = offsets[i],
					    .fp_offset = -32768,
					    .flags = HEAP_STEP_FP_SAVED});
		allocate_in_frame(&caller);
		record = next_allocation(&fixture);
		assert_int_equal(record.signature, 0);
		assert_true(record.has_stack);
		end(&fixture);
	}
}

/* Unchanged frames are not looked up again: their steps are gone here. */
TEST(heap, unchanged_callers_need_no_steps)
{
	struct fixture fixture;
	struct heap_record records[3];
	struct heap_all *all;
	uintptr_t caller;

	begin_with(&fixture, 0, true, HEAP_THREADS_BY_DATA);
	all = fixture.ring.all;
	for (int i = 0; i < 3; i++) {
		allocate_in_frame(&caller);
		records[i] = next_allocation(&fixture);
		if (i == 0) {
			heap_ring_add_step(
				&fixture.ring,
				&(struct heap_step){
					.pc = records[0].regs.value[arch_regs(arch_native())->pc],
					.cfa_offset = 16,
					.fp_offset = -16,
					.flags = HEAP_STEP_BY_FP | HEAP_STEP_FP_SAVED});
			heap_ring_add_step(
				&fixture.ring,
				&(struct heap_step){.pc = caller, .flags = HEAP_STEP_ROOT});
		} else if (i == 1) {
			memset(all->steps, 0, sizeof(all->steps));
		}
	}
	assert_int_not_equal(records[1].signature, 0);
	assert_int_equal(records[2].signature, records[1].signature);
	end(&fixture);
}

FRAMED static void allocate_so_many(size_t nr, uintptr_t *caller)
{
	*caller = (uintptr_t)__builtin_return_address(0);
	last_allocated = own_malloc(nr);
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)) : "memory");
}

/* Its caller's step, and that there is none beyond. */
static void add_steps(struct fixture *fixture, const struct heap_record *record, uintptr_t caller)
{
	heap_ring_add_step(
		&fixture->ring,
		&(struct heap_step){.pc = record->regs.value[arch_regs(arch_native())->pc],
				    .cfa_offset = 16,
				    .fp_offset = -16,
				    .flags = HEAP_STEP_BY_FP | HEAP_STEP_FP_SAVED});
	heap_ring_add_step(&fixture->ring,
			   &(struct heap_step){.pc = caller, .flags = HEAP_STEP_ROOT});
}

/* The short way of malloc() and free(), with all that the long one records. */
TEST(heap, known_stacks_have_whole_records)
{
	static const size_t sizes[] = {0, 24, 4000, LARGE, 1};
	struct fixture fixture;
	struct heap_record record;
	uint64_t signature = 0, before_ns;
	uintptr_t caller;

	begin_with(&fixture, 0, true, HEAP_THREADS_BY_DATA);
	for (size_t i = 0; i < 4 * HEAP_STRIDE; i++) {
		size_t nr = sizes[i % ARRAY_SIZE(sizes)];

		before_ns = clock_monotonic_ns();
		is_failing = i % 7 == 6;
		allocate_so_many(nr, &caller);
		if (is_failing) {
			assert_null(last_allocated);
			own_free(last_allocated);
			assert_no_more(&fixture);
			continue;
		}
		record = next_allocation(&fixture);
		assert_int_equal(record.size, nr);
		assert_int_equal(record.function, HEAP_MALLOC);
		assert_int_equal(record.tid, syscall(SYS_gettid));
		assert_int_equal(record.has_stack, i < 2);
		if (i == 0)
			add_steps(&fixture, &record, caller);
		if (i == 1)
			signature = record.signature;
		assert_int_equal(record.signature, signature);
		if (i % 16 == 0)
			assert_true(record.time_ns + 100 * NS_PER_MS >= before_ns);
		own_free(last_allocated);
		assert_ptr_equal(last_freed, last_allocated);
		record = next_of(&fixture, HEAP_RECORD_FREE, last_allocated);
		assert_int_equal(record.function, HEAP_FREE);
	}
	is_failing = 0;
	assert_no_more(&fixture);
	end(&fixture);
}

TEST(heap, full_ring_of_all_is_not_waited_for_without_reader)
{
	struct fixture fixture;
	struct heap_record record;
	struct heap_totals totals;
	uint64_t head;

	begin_with(&fixture, 0, true, HEAP_THREADS_BY_DATA);
	fixture.shared->head = HEAP_ALL_RING_BYTES; /* never written, so never read */
	own_malloc(100);			    /* waits a while, then gives up */
	head = fixture.own->given_up_at;
	assert_int_equal(head, fixture.shared->tail + 1);
	assert_int_equal(fixture.shared->lost.nr_dropped, 1);
	for (int i = 0; i < 100000; i++)
		own_free((void *)16);
	assert_int_equal(fixture.shared->lost.nr_dropped, 1);
	assert_int_equal(fixture.shared->lost.nr_frees, 100000);
	assert_int_equal(fixture.shared->lost.dropped_bytes, 100);
	assert_int_equal(fixture.shared->lost.dropped_blocks, 1);
	heap_ring_totals(&fixture.ring, &totals);
	assert_int_equal(totals.allocated_bytes, 100);
	assert_int_equal(totals.nr_allocations, 1);
	/* A reader comes again. */
	fixture.shared->tail = HEAP_ALL_RING_BYTES;
	heap_ring_init(&fixture.ring, fixture.shared, fixture.rules);
	/* Times are this one where there are no cycles. */
	fixture.shared->visits.now_ns = clock_monotonic_ns();
	own_free((void *)16);
	assert_true(heap_ring_next(&fixture.ring, clock_monotonic_ns(), &record));
	assert_int_equal(record.kind, HEAP_RECORD_FREE);
	end(&fixture);
}

static void *allocate_while_read(void *unused)
{
	(void)unused;
	for (size_t i = 0; i < 2 * HEAP_ALL_RING_BYTES / HEAP_RECORD_ALIGNMENT; i++)
		own_free((void *)16);
	return NULL;
}

/* A program that is faster than the reader waits, and nothing is lost. */
TEST(heap, full_ring_of_all_is_waited_for)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	struct fixture fixture;
	struct heap_record record;
	pthread_t thread;
	size_t nr = 0;

	begin_with(&fixture, 0, true, HEAP_THREADS_BY_DATA);
	assert_int_equal(pthread_create(&thread, NULL, allocate_while_read, NULL), 0);
	while (nr < 2 * HEAP_ALL_RING_BYTES / HEAP_RECORD_ALIGNMENT) {
		while (heap_ring_next(&fixture.ring, clock_monotonic_ns(), &record))
			nr += record.kind == HEAP_RECORD_FREE && record.pointer == 16;
		nanosleep(&pause, NULL);
	}
	pthread_join(thread, NULL);
	assert_int_equal(fixture.shared->lost.nr_dropped, 0);
	assert_no_more(&fixture);
	end(&fixture);
}

/* Fast records share a time, up to the next read of the ring. */
TEST(heap, times_of_all_are_true)
{
	const struct timespec pause = {.tv_nsec = 20000000};
	const uint64_t slack_ns = 5000000; /* of two clocks that a line relates */
	struct fixture fixture;
	struct heap_record record;
	uint64_t begun_ns, last_ns;

	begin_with(&fixture, 0, true, HEAP_THREADS_BY_DATA);
	begun_ns = last_ns = clock_monotonic_ns();
	heap_ring_visit(&fixture.ring); /* without an even clock, times are those of visits */
	for (int i = 0; i < 1000; i++)
		own_free((void *)16);
	for (int i = 0; i < 1000; i++) {
		assert_true(heap_ring_next(&fixture.ring, clock_monotonic_ns(), &record));
		assert_true(record.time_ns + slack_ns >= last_ns);
		last_ns = record.time_ns;
	}
	assert_true(last_ns + slack_ns >= begun_ns && last_ns <= clock_monotonic_ns() + slack_ns);
	assert_no_more(&fixture);
	nanosleep(&pause, NULL);
	heap_ring_visit(&fixture.ring);
	begun_ns = clock_monotonic_ns();
	own_free((void *)16);
	assert_true(heap_ring_next(&fixture.ring, clock_monotonic_ns(), &record));
	assert_true(record.time_ns + slack_ns >= begun_ns);
	end(&fixture);
}

/* Without any step: by the words that point to code. */
TEST(heap, stacks_are_signed_by_words)
{
	struct fixture fixture;
	static struct heap_record records[5]; /* not on the stack, where they would be words, too */
	extern const uint8_t __executable_start[], etext[];
	struct heap_stack code = {.start = (uint64_t)(uintptr_t)__executable_start,
				  .end = (uint64_t)(uintptr_t)etext};
	uintptr_t caller;

	begin_with(&fixture, 0, true, HEAP_THREADS_BY_DATA);
	heap_ring_set_code(&fixture.ring, &code, 1);
	fixture.shared->stack_bytes = 128;
	for (int i = 0; i < 5; i++) {
		if (i < 4)
			allocate_in_frame(&caller);
		else
			allocate_from_elsewhere(&caller);
		records[i] = next_allocation(&fixture);
		assert_int_not_equal(records[i].signature, 0);
	}
	assert_true(records[0].has_stack);
	/* Words that the first calls have left on the stack are the same from then on. */
	assert_false(records[3].has_stack);
	assert_int_equal(records[3].signature, records[2].signature);
	assert_true(records[4].has_stack);
	assert_int_not_equal(records[4].signature, records[3].signature);
	end(&fixture);
}

#define NR_EACH 10000

static void *allocate_and_free_many(void *unused)
{
	(void)unused;
	for (int i = 0; i < NR_EACH; i++)
		own_free(own_malloc(16));
	return NULL;
}

TEST(heap, records_of_threads_are_told_apart)
{
	struct fixture fixture;
	struct heap_record record;
	pthread_t threads[4];
	size_t nr[2] = {0};
	pid_t tids[4] = {0};

	begin_with(&fixture, 0, true, HEAP_THREADS_BY_DATA);
	fixture.shared->stack_bytes = 0;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, allocate_and_free_many, NULL),
				 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	while (heap_ring_next(&fixture.ring, clock_monotonic_ns(), &record)) {
		size_t k = 0;

		heap_ring_count(&fixture.ring, &record);
		nr[record.kind == HEAP_RECORD_FREE]++;
		while (k < ARRAY_SIZE(tids) && tids[k] && tids[k] != record.tid)
			k++;
		assert_true(k < ARRAY_SIZE(tids));
		tids[k] = record.tid;
	}
	assert_int_equal(nr[0], NR_EACH * ARRAY_SIZE(threads));
	assert_int_equal(nr[1], NR_EACH * ARRAY_SIZE(threads));
	assert_true(tids[3] && tids[0] != getpid());
	assert_totals(&fixture, (uint64_t)16 * NR_EACH * ARRAY_SIZE(threads),
		      NR_EACH * ARRAY_SIZE(threads));
	end(&fixture);
}

/* A child of fork(2), its child, and one that the C library does not know. */
TEST(heap, forked_child_records_its_own_id)
{
	struct fixture fixture;
	struct heap_record record;
	void *pointer;
	pid_t child;
	int status;

	begin_with(&fixture, 0, true, HEAP_THREADS_BY_DATA);
	pointer = own_malloc(1);
	assert_int_equal(next_of(&fixture, HEAP_RECORD_ALLOCATION, pointer).pid, getpid());
	child = fork();
	if (!child) {
		own_free(pointer);
		_exit(0);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	record = next_of(&fixture, HEAP_RECORD_FREE, pointer);
	assert_int_equal(record.pid, child);
	assert_int_equal(record.tid, child);
	child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!child) {
		own_free(pointer);
		_exit(0);
	}
	waitpid(child, &status, 0);
	record = next_of(&fixture, HEAP_RECORD_FREE, pointer);
	assert_true(record.pid < 0);
	end(&fixture);
}

static void free_in_child_of_child(void *pointer)
{
	pid_t child = fork();
	int status = 1;

	if (!child) {
		own_free(pointer);
		child = fork();
		if (!child) {
			own_free(pointer);
			_exit(0);
		}
		_exit(child < 0 || waitpid(child, &status, 0) != child || status);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
}

static void check_children_of_children(enum heap_threads how)
{
	struct fixture fixture;
	struct heap_record records[2];

	begin_with(&fixture, 0, true, how);
	next_of(&fixture, HEAP_RECORD_ALLOCATION, own_malloc(LARGE));
	free_in_child_of_child(arena);
	records[0] = next_of(&fixture, HEAP_RECORD_FREE, arena);
	records[1] = next_of(&fixture, HEAP_RECORD_FREE, arena);
	assert_true(records[0].pid > 0 && records[0].pid == records[0].tid);
	assert_true(records[1].pid > 0 && records[1].pid == records[1].tid);
	assert_int_not_equal(records[0].pid, getpid());
	assert_int_not_equal(records[0].pid, records[1].pid);
	end(&fixture);
}

TEST(heap, children_of_children_are_told_apart)
{
	check_children_of_children(HEAP_THREADS_BY_DATA);
}

TEST(heap, children_of_children_are_told_apart_by_base)
{
	check_children_of_children(HEAP_THREADS_BY_BASE);
}
