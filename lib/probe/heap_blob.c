// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Our code in a process, at the functions of its allocator: what is sampled, and what is freed of
 * that. It has no data but what heap_shared.h shows, calls nothing but the allocator, uses no
 * register that the C library does not expect to lose, and no vector registers.
 */
#include <asm/errno.h>
#include <asm/unistd.h>
#include <linux/futex.h>
#include <linux/mman.h>
#include <linux/time.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/heap_shared.h"
#include "probe/heap_walk_blob.h"

#define PAGE_BYTES UINT64_C(4096)
/*
 * An allocator calls itself, and a pool calls it, from not deeper in the stack than this: it is
 * less than what lies between the stacks of two threads.
 */
#define NESTED_STACK_BYTES 65536

/* In front of this code, in the process, where the linker script has it. */
struct heap_shared shared __attribute__((section(".bss.shared")));

/* What the stub does next: return the result, or, if `jump` is set, go there as if called. */
struct outcome {
	uint64_t result, jump;
};

struct outcome heap_slow(struct heap_frame *frame, uint32_t which, int64_t countdown)
	__attribute__((visibility("hidden"), used));

/* In heap_stubs.S. */
uint64_t heap_call(struct heap_frame *frame, uint64_t function, const uint64_t *stack)
	__attribute__((visibility("hidden")));

/* The assembler code knows them. */
_Static_assert(offsetof(struct heap_frame, jump) == 8 && offsetof(struct heap_frame, rax) == 32 &&
		       offsetof(struct heap_frame, arguments) == 40 &&
		       sizeof(struct heap_frame) == 144 && HEAP_STUB_WORD_BELOW == 24 &&
		       HEAP_STACK_ARGUMENTS == 16,
	       "heap_stubs.S");

typedef uint64_t (*function)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

/* An allocation that is being looked at. */
struct request {
	const struct heap_hook *hook;
	struct heap_frame *frame;
	struct heap_slot *slot;
	struct heap_thread *thread; /* where all is recorded, and it has a place of its own */
	uint64_t size, old, out;
	int64_t countdown;			  /* before it was counted */
	uint64_t mean;				  /* by which it was sampled */
	bool is_framed;				  /* by its function */
	bool is_counted, is_sampled, was_sampled; /* was: what realloc() was given */
};

#define relaxed_load(word)	 __atomic_load_n(word, __ATOMIC_RELAXED)
#define relaxed_store(word, to)	 __atomic_store_n(word, to, __ATOMIC_RELAXED)
#define relaxed_add(word, value) __atomic_fetch_add(word, value, __ATOMIC_RELAXED)
#define exchange(word, was, to)                                                                    \
	__atomic_compare_exchange_n(word, was, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)

static int64_t system_call(long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	register uint64_t r10 __asm__("r10") = d;
	register uint64_t r8 __asm__("r8") = e;
	register uint64_t r9 __asm__("r9") = 0;
	int64_t result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

static uint64_t cycles(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

#define NS_PER_SEC UINT64_C(1000000000)

static uint64_t monotonic_ns(void)
{
	struct __kernel_timespec now = {.tv_sec = 0};

	system_call(__NR_clock_gettime, 1, (uint64_t)&now, 0, 0, 0);
	return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
}

static uint64_t time_now(void)
{
	return shared.has_cycles ? cycles() : monotonic_ns();
}

static void copy_bytes(void *to, const void *from, uint64_t nr)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(nr) : : "memory");
}

/* Asked for once; a child of vfork(2) is taken for who has the memory. */
static int64_t own_pid(void)
{
	int64_t pid = relaxed_load(&heap_own()->pid);

	if (!pid) {
		pid = system_call(__NR_getpid, 0, 0, 0, 0, 0);
		relaxed_store(&heap_own()->pid, pid);
	}
	return pid;
}

/* Where its data are; 0: not known. */
static uint64_t thread_data(void)
{
	uint64_t thread = 0;

	if (shared.threads == HEAP_THREADS_BY_DATA)
		__asm__("mov %%fs:0,%0" : "=r"(thread));
	else if (shared.threads == HEAP_THREADS_BY_BASE)
		__asm__("rdfsbase %0" : "=r"(thread));
	return thread;
}

static struct heap_slot *slot_of_thread(void)
{
	return &shared.slots[(thread_data() >> 12) % HEAP_SLOTS];
}

/* -- random intervals -- */

static uint64_t next_random(struct heap_slot *slot)
{
	uint64_t x = relaxed_load(&slot->random);

	if (!x) {
		x = cycles() * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)slot;
		x ^= x >> 29;
		x = x * UINT64_C(0xbf58476d1ce4e5b9) | 1;
	}
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	relaxed_store(&slot->random, x);
	return x;
}

/* -log2(x / 2^64), with 16 bits behind the point: one more with each squaring. */
static uint64_t minus_log2(uint64_t x)
{
	int shift = __builtin_clzll(x);
	uint64_t y = x << shift >> 32; /* in [1, 2), with 31 bits behind the point */
	uint64_t fraction = 0;

	for (int i = 15; i >= 0; i--) {
		y = y * y >> 31;
		if (y >> 32) {
			y >>= 1;
			fraction |= UINT64_C(1) << i;
		}
	}
	return ((uint64_t)(shift + 1) << 16) - fraction;
}

static uint64_t mean_now(void)
{
	uint64_t mean = relaxed_load(&shared.mean);

	return !mean ? 1 : mean > HEAP_MEAN_MAX ? HEAP_MEAN_MAX : mean;
}

/* At least 1, so that an allocation of no bytes is not sampled. */
static int64_t draw_interval(struct heap_slot *slot, uint64_t mean)
{
	/* ln 2 is 45426 / 2^16; 30 bits and 30 of the mean make no more than 64. */
	uint64_t x = (minus_log2(next_random(slot) | 1) * 45426 >> 8) * mean >> 24;

	return x >= HEAP_INTERVAL_MAX ? HEAP_INTERVAL_MAX : (int64_t)x + 1;
}

/* -- what is counted -- */

static int64_t units_of(uint64_t size)
{
	return (int64_t)(size << HEAP_COUNT_LOG2) + 1;
}

/*
 * A new countdown in place of one below zero: what that has below it is thrown away. A thread that
 * is faster has done it already.
 */
static void draw(struct heap_slot *slot)
{
	uint64_t mean = mean_now();
	int64_t interval = draw_interval(slot, mean);
	int64_t countdown = relaxed_load(&slot->countdown);
	int64_t left, former;
	uint64_t nr;

	do {
		left = heap_countdown_bytes(countdown);
		if (left >= 0)
			return;
		nr = heap_countdown_allocations(countdown);
		former = left * (HEAP_COUNT_MASK + 1) - (int64_t)nr;
	} while (!exchange(&slot->countdown, &countdown,
			   countdown - former + (interval << HEAP_COUNT_LOG2)));
	relaxed_add(&slot->given_bytes, (uint64_t)(interval - left));
	relaxed_add(&slot->nr_allocations, nr);
	relaxed_store(&slot->mean, mean);
}

/*
 * Who has brought the countdown below zero has sampled. While it stands there, or before the
 * slot's first use, other threads throw dice of their own: their bytes will be thrown away.
 */
static bool is_sampled(struct heap_slot *slot, int64_t before, uint64_t size)
{
	bool is = true;

	if (heap_countdown_bytes(before - units_of(size)) >= 0)
		return false;
	if (heap_countdown_bytes(before) < 0 || !relaxed_load(&slot->mean))
		is = (uint64_t)draw_interval(slot, mean_now()) <= size;
	draw(slot);
	return is;
}

static void count(struct request *request)
{
	request->mean = relaxed_load(&request->slot->mean);
	if (!request->mean)
		request->mean = mean_now();
	if (request->size >> HEAP_SIZE_LOG2) {
		request->is_sampled = true; /* and counted if there is so much */
		return;
	}
	if (!request->is_counted)
		request->countdown =
			relaxed_add(&request->slot->countdown, -units_of(request->size));
	request->is_counted = true;
	request->is_sampled = is_sampled(request->slot, request->countdown, request->size);
}

static void uncount(struct request *request)
{
	if (request->is_counted)
		relaxed_add(&request->slot->countdown, units_of(request->size));
}

/* -- which pointers are sampled -- */

static uint64_t *set_of(uint64_t pointer)
{
	uint64_t hash = (pointer >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 40;

	return heap_own()->sets[hash % HEAP_SETS];
}

static void count_in_filter(uint64_t pointer, int by)
{
	uint8_t *filter = &heap_own()->filter[(pointer >> 4) % HEAP_FILTER_BYTES];
	uint8_t was = relaxed_load(filter);

	do {
		if (was == UINT8_MAX || (by < 0 && !was))
			return;
	} while (!exchange(filter, &was, (uint8_t)(was + by)));
}

/* False: there is no room for one more. */
static bool remember(uint64_t pointer)
{
	uint64_t *set = set_of(pointer);

	for (int i = 0; i < HEAP_SET_WAYS; i++) {
		if (relaxed_load(&set[i]) == pointer)
			return true; /* it was freed by a way that we do not know */
	}
	for (int i = 0; i < HEAP_SET_WAYS; i++) {
		uint64_t none = 0;

		if (!relaxed_load(&set[i]) && exchange(&set[i], &none, pointer)) {
			count_in_filter(pointer, 1);
			return true;
		}
	}
	relaxed_add(&shared.nr_untracked, 1);
	return false;
}

static bool forget(uint64_t pointer)
{
	uint64_t *set = set_of(pointer);

	for (int i = 0; pointer && i < HEAP_SET_WAYS; i++) {
		uint64_t wanted = pointer;

		if (relaxed_load(&set[i]) == pointer && exchange(&set[i], &wanted, 0)) {
			count_in_filter(pointer, -1);
			return true;
		}
	}
	return false;
}

/* -- the ring -- */

static uint64_t ring_bytes(void)
{
	return shared.is_all ? HEAP_ALL_RING_BYTES : HEAP_RING_BYTES;
}

static struct heap_ring_record *record_at(uint64_t position)
{
	uint8_t *ring = shared.is_all ? heap_all()->ring : shared.ring;

	return (struct heap_ring_record *)(void *)&ring[position & (ring_bytes() - 1)];
}

/* Who reads has this memory in the own cache: it comes back while the next records are made. */
static inline void have_ring_back(uint64_t position)
{
	__asm__ volatile("prefetchw %0" : : "m"(*record_at(position)));
}

static void commit(struct heap_ring_record *record, uint64_t position)
{
	__atomic_store_n(&record->commit, position ^ HEAP_COMMIT_KEY, __ATOMIC_RELEASE);
}

/*
 * The last part of the ring is left to what is freed, without stacks: a block whose end was lost
 * would pass for leaked, while of an allocation that is lost nothing more is said.
 */
#define FREES_BYTES (HEAP_RING_BYTES / 8)
/* While nothing is read for so long, who reads has gone. */
#define WAIT_NS	 UINT64_C(200000)
#define WAITS_NR 5000

/*
 * Where all is recorded, a program that is faster than the reader waits for it, rather than that
 * something is lost. False: the reader has gone.
 */
static bool wait_for_reader(void)
{
	uint64_t tail = __atomic_load_n(&shared.tail, __ATOMIC_ACQUIRE);
	struct __kernel_timespec pause = {.tv_nsec = WAIT_NS};

	if (tail == relaxed_load(&shared.given_up_at))
		return false;
	for (int i = 0; i < WAITS_NR && !relaxed_load(&shared.is_over); i++) {
		system_call(__NR_nanosleep, (uint64_t)&pause, 0, 0, 0, 0);
		if (__atomic_load_n(&shared.tail, __ATOMIC_ACQUIRE) != tail)
			return true;
	}
	relaxed_store(&shared.given_up_at, tail);
	return false;
}

static uint64_t record_bytes(uint64_t nr_stack_bytes)
{
	return (sizeof(struct heap_ring_record) + nr_stack_bytes + HEAP_RECORD_ALIGNMENT - 1) &
	       -(uint64_t)HEAP_RECORD_ALIGNMENT;
}

/* A record does not go around the end of the ring. NULL: there is no room. */
static struct heap_ring_record *reserve(uint64_t nr_bytes, bool has_stack, uint64_t *position)
{
	int64_t room = (int64_t)(ring_bytes() - (has_stack ? FREES_BYTES : 0));
	uint64_t head = relaxed_load(&shared.head);
	uint64_t left;
	int64_t used;

	for (;;) {
		left = ring_bytes() - (head & (ring_bytes() - 1));
		*position = left < nr_bytes ? head + left : head;
		/* Others may have gone on meanwhile, so that the tail is beyond this head. */
		used = (int64_t)(*position + nr_bytes -
				 __atomic_load_n(&shared.tail, __ATOMIC_ACQUIRE));
		if (used <= room) {
			if (exchange(&shared.head, &head, *position + nr_bytes))
				break;
			continue;
		}
		if (!shared.is_all || !wait_for_reader())
			return 0;
		head = relaxed_load(&shared.head);
	}
	if (*position != head) {
		struct heap_ring_record *skip = record_at(head);

		skip->nr_bytes = (uint32_t)left;
		skip->kind = HEAP_RECORD_SKIP;
		commit(skip, head);
	}
	return record_at(*position);
}

static uint64_t stack_bytes_from(uint64_t sp)
{
	uint64_t nr = relaxed_load(&shared.stack_bytes);
	uint64_t start = relaxed_load(&shared.main_stack.start);
	uint64_t end = relaxed_load(&shared.main_stack.end);

	if (nr > HEAP_STACK_MAX)
		nr = HEAP_STACK_MAX;
	return sp >= start && sp < end && end - sp < nr ? end - sp : nr;
}

/* By the kernel, as it may not be there. */
static int64_t read_memory(void *to, uint64_t from, uint64_t nr, int64_t pid)
{
	uint64_t here[2] = {(uint64_t)to, nr};
	uint64_t there[2] = {from, nr};

	return system_call(__NR_process_vm_readv, (uint64_t)pid, (uint64_t)here, 1, (uint64_t)there,
			   1);
}

/*
 * The page of the return address below is there. What is behind it may be another's, who takes it
 * away at this moment: the kernel copies it, and stops where nothing is.
 */
static uint64_t copy_stack(uint8_t *to, uint64_t from, uint64_t nr, int64_t pid)
{
	uint64_t first = -from % PAGE_BYTES; /* none, if a page begins there */
	int64_t got;

	if (first >= nr) {
		copy_bytes(to, (const void *)from, nr);
		return nr;
	}
	copy_bytes(to, (const void *)from, first);
	got = read_memory(to + first, from + first, nr - first, pid);
	return got > 0 ? first + (uint64_t)got : first;
}

/* All of a brief record but its commit, and when and by whom. */
static void fill(struct heap_ring_record *record, const struct request *request,
		 enum heap_record_kind kind, uint64_t pointer, uint64_t nr_bytes, bool is_untracked)
{
	record->nr_bytes = (uint32_t)nr_bytes;
	record->kind = (uint8_t)kind;
	record->function = (uint8_t)request->hook->form.function;
	record->is_untracked = is_untracked;
	record->was_sampled = request->was_sampled;
	record->pointer = pointer;
	record->size = request->size;
	record->old = request->old;
	record->signature = 0;
}

/* The rest, with so many bytes of the stack if they are there. */
static void fill_caller(struct heap_ring_record *record, const struct request *request,
			uint64_t nr_stack_bytes)
{
	const struct heap_frame *frame = request->frame;
	uint64_t sp = (uint64_t)(frame + 1);

	record->mean = request->mean;
	record->rbx = frame->rbx;
	record->rbp = frame->rbp;
	record->rsp = sp;
	record->r12 = frame->r12;
	record->r13 = frame->r13;
	record->r14 = frame->r14;
	record->r15 = frame->r15;
	record->rip = frame->rip;
	record->nr_stack_bytes =
		copy_stack((uint8_t *)(record + 1), sp, nr_stack_bytes, record->pid);
}

static void emit(const struct request *request, enum heap_record_kind kind, uint64_t pointer,
		 bool is_untracked)
{
	bool is_new = kind == HEAP_RECORD_ALLOCATION;
	bool has_stack = is_new || (kind == HEAP_RECORD_FREE && shared.frees_have_stacks);
	/* It lives while the program has it: not yet while it is recorded, and no more. */
	uint64_t time = is_new ? 0 : time_now();
	uint64_t room = has_stack ? stack_bytes_from((uint64_t)(request->frame + 1)) : 0;
	int64_t pid = own_pid();
	int64_t tid = system_call(__NR_gettid, 0, 0, 0, 0, 0);
	uint64_t position;
	struct heap_ring_record *record = reserve(record_bytes(room), has_stack, &position);

	if (!record && !is_new) {
		room = 0;
		record = reserve(record_bytes(0), false, &position);
	}
	if (!record) {
		relaxed_add(&shared.nr_dropped, 1);
		return;
	}
	fill(record, request, kind, pointer, record_bytes(room), is_untracked);
	record->pid = (int32_t)pid;
	record->tid = (int32_t)tid;
	fill_caller(record, request, room);
	record->time = time ? time : time_now();
	commit(record, position);
}

/* -- the functions -- */

/* By its number in a form; 0 if that has none. */
static uint64_t argument(const struct request *request, uint32_t number)
{
	uint64_t at = (number & ~(uint64_t)HEAP_ARGUMENT_INT) - 1;
	uint64_t value = at < HEAP_ARGUMENTS ? request->frame->arguments[at] : 0;

	return number & HEAP_ARGUMENT_INT ? (uint32_t)value : value;
}

/* False: no size, as the product of two is too large for one; the function fails then. */
static bool read_arguments(struct request *request)
{
	const struct heap_form *form = &request->hook->form;
	uint64_t count, size;

	/* malloc(), operator new: most of all calls. */
	if (form->size == 1 && !form->count && !form->pointer && !form->out) {
		request->size = request->frame->arguments[0];
		return true;
	}
	count = form->count ? argument(request, form->count) : 1;
	size = form->size ? argument(request, form->size) : form->bytes;

	request->old = argument(request, form->pointer);
	request->out = argument(request, form->out);
	return !__builtin_mul_overflow(count, size, &request->size);
}

/* Is this part of an allocation that is under way already? */
static bool is_nested(const struct request *request)
{
	uint64_t inside = relaxed_load(request->thread ? &request->thread->inside_sp
						       : &request->slot->inside_sp);
	uint64_t sp = (uint64_t)request->frame;

	return sp < inside && inside - sp < NESTED_STACK_BYTES;
}

static void go_inside(const struct request *request)
{
	if (request->thread) {
		relaxed_store(&request->thread->inside_sp, (uint64_t)request->frame);
		return;
	}
	relaxed_store(&request->slot->inside_sp, (uint64_t)request->frame);
	relaxed_add(&request->slot->countdown, -HEAP_INSIDE);
}

static void come_out(const struct request *request)
{
	if (request->thread) {
		relaxed_store(&request->thread->inside_sp, 0);
		return;
	}
	relaxed_add(&request->slot->countdown, HEAP_INSIDE);
	relaxed_store(&request->slot->inside_sp, 0);
}

/* Of a pool's function it is not known which registers it reads, and what it has on the stack. */
static uint64_t call_pool(const struct request *request, uint64_t function_at)
{
	uint64_t stack[HEAP_STACK_ARGUMENTS];

	copy_stack((uint8_t *)stack, (uint64_t)(request->frame + 1), sizeof(stack), own_pid());
	return heap_call(request->frame, function_at, stack);
}

static uint64_t call(const struct request *request, uint64_t function_at)
{
	const uint64_t *with = request->frame->arguments;

	if (heap_is_pool(&request->hook->form))
		return call_pool(request, function_at);
	return ((function)function_at)(with[0], with[1], with[2], with[3], with[4], with[5]);
}

static bool throws(const struct request *request)
{
	return request->hook->form.function == HEAP_NEW ||
	       request->hook->form.function == HEAP_NEW_ALIGNED;
}

/* An exception must not come upon our frame: so what throws none is called in its place. */
static uint64_t call_without_throwing(const struct request *request)
{
	const uint64_t *with = request->frame->arguments;

	if (request->hook->form.function == HEAP_NEW)
		return call(request, request->hook->plain);
	return ((function)request->hook->plain)(with[1], with[0], 0, 0, 0, 0);
}

static uint64_t call_original(const struct request *request)
{
	uint64_t result;

	if (throws(request))
		return call_without_throwing(request);
	/* Which calls malloc(), itself hooked, as the last thing that it does. */
	if (request->hook->form.function == HEAP_REALLOC && !request->old && request->hook->plain)
		return ((function)request->hook->plain)(request->size, 0, 0, 0, 0, 0);
	go_inside(request);
	result = call(request, request->hook->original);
	come_out(request);
	return result;
}

static uint64_t pointer_of(const struct request *request, uint64_t result)
{
	const struct heap_form *form = &request->hook->form;
	uint64_t pointer = 0;

	if (!form->out)
		return result;
	if ((uint32_t)result)
		return 0;
	if (!heap_is_pool(form))
		return *(const uint64_t *)request->out;
	/* A user may have named an argument that is none. */
	if (read_memory(&pointer, request->out, sizeof(pointer), own_pid()) < 0)
		return 0;
	return pointer;
}

/* What is too large for the countdown counts when there is so much. */
static void count_large(const struct request *request)
{
	relaxed_add(&request->slot->given_bytes, request->size);
	relaxed_add(&request->slot->nr_allocations, 1);
}

/*
 * Pools fail as a matter of course. The countdown stays where it is: were it put back, the next
 * allocation would never be the one that brings it below zero, as this one was asked before.
 */
static void uncount_failed(const struct request *request)
{
	if (!request->is_counted)
		return;
	relaxed_add(&request->slot->given_bytes, -request->size);
	relaxed_add(&request->slot->nr_allocations, -UINT64_C(1));
}

static void note_result(const struct request *request, uint64_t pointer)
{
	if (!pointer) {
		uncount_failed(request);
		if (request->was_sampled && request->size && remember(request->old))
			emit(request, HEAP_RECORD_KEPT, request->old, false);
		return;
	}
	if (!request->is_counted)
		count_large(request);
	if (request->is_sampled)
		emit(request, HEAP_RECORD_ALLOCATION, pointer, !remember(pointer));
}

static struct outcome on_free(struct request *request)
{
	uint64_t pointer = argument(request, request->hook->form.pointer);

	if (forget(pointer))
		emit(request, HEAP_RECORD_FREE, pointer, false);
	return (struct outcome){.jump = request->hook->original};
}

static struct outcome on_allocation(struct request *request)
{
	struct outcome outcome = {.jump = request->hook->original};

	if (!read_arguments(request))
		return outcome;
	if (is_nested(request)) {
		uncount(request);
		return outcome;
	}
	count(request);
	if (!request->is_framed && !request->is_sampled)
		return outcome;
	request->was_sampled = request->old && forget(request->old);
	if (request->was_sampled)
		emit(request, HEAP_RECORD_FREE, request->old, false);
	outcome.result = call_original(request);
	note_result(request, pointer_of(request, outcome.result));
	if (!throws(request) || outcome.result)
		outcome.jump = 0;
	return outcome;
}

/* -- where all is recorded -- */

/* Where glibc and musl have a thread's id among its data. */
#define TID_AT_GLIBC 0x2d0
#define TID_AT_MUSL  0x30

static bool has_tid_at(uint64_t at, int64_t tid)
{
	int32_t found = 0;

	return thread_data() && heap_read(thread_data() + at, &found, sizeof(found)) &&
	       found == tid;
}

/* A child that was forked begins with zeros, and looks anew. */
static int64_t learn_tid(void)
{
	int64_t tid = system_call(__NR_gettid, 0, 0, 0, 0, 0);

	relaxed_store(&heap_own()->tid_at, has_tid_at(TID_AT_GLIBC, tid)  ? TID_AT_GLIBC
					   : has_tid_at(TID_AT_MUSL, tid) ? TID_AT_MUSL
									  : -1);
	return tid;
}

static int64_t own_tid(void)
{
	int64_t at = relaxed_load(&heap_own()->tid_at);

	if (at > 0)
		return relaxed_load((const int32_t *)(thread_data() + (uint64_t)at));
	return at ? system_call(__NR_gettid, 0, 0, 0, 0, 0) : learn_tid();
}

static bool is_alive(int64_t tid)
{
	return system_call(__NR_tgkill, (uint64_t)own_pid(), (uint64_t)tid, 0, 0, 0) == 0;
}

/*
 * False: another one has taken the place meanwhile, as who had it before seemed to be gone. Either
 * sees what the other has written.
 */
static bool claim(struct heap_thread *thread, uint64_t data, int64_t tid)
{
	__atomic_store_n(&thread->tid, tid, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&thread->data, __ATOMIC_SEQ_CST) != data)
		return false;
	relaxed_store(&thread->inside_sp, 0);
	relaxed_store(&thread->in_flight, 0);
	thread->is_walking = thread->readable_end = thread->readable = 0;
	return true;
}

/* From a thread that has ended. */
static bool take_over(struct heap_thread *thread, uint64_t data, int64_t tid)
{
	uint64_t was = relaxed_load(&thread->data);
	int64_t former = relaxed_load(&thread->tid);

	if (!former || is_alive(former) || !exchange(&thread->data, &was, data))
		return false;
	if (__atomic_load_n(&thread->tid, __ATOMIC_SEQ_CST) == former)
		return claim(thread, data, tid);
	__atomic_store_n(&thread->data, was, __ATOMIC_SEQ_CST); /* it has come back */
	return false;
}

/* NULL: there is no place for one more, of 1024 that are alive; or it has no data. */
static struct heap_thread *find_thread(void)
{
	struct heap_thread *threads = heap_own()->threads;
	uint64_t data = thread_data();
	uint64_t first = heap_hash(data) >> 32;
	int64_t tid = data ? own_tid() : 0;

	for (uint64_t i = 0; data && i < HEAP_PROBES; i++) {
		struct heap_thread *thread = &threads[(first + i) % HEAP_THREADS];
		uint64_t was = relaxed_load(&thread->data);

		if (was == data && relaxed_load(&thread->tid) == tid)
			return thread;
		if (was == data || (!was && exchange(&thread->data, &was, data)))
			return claim(thread, data, tid) ? thread : 0;
	}
	for (uint64_t i = 0; data && i < HEAP_PROBES; i++) {
		struct heap_thread *thread = &threads[(first + i) % HEAP_THREADS];

		if (take_over(thread, data, tid))
			return thread;
	}
	return 0;
}

static void count_dropped(const struct request *request)
{
	relaxed_add(&shared.dropped_bytes, request->size);
	relaxed_add(&shared.dropped_blocks, 1);
}

/* A brief one, which never comes to the end of the ring before it is whole. */
static inline struct heap_ring_record *reserve_brief(bool is_allocation, uint64_t *position)
{
	uint64_t head = relaxed_load(&shared.head);
	uint64_t used = head - __atomic_load_n(&shared.tail, __ATOMIC_ACQUIRE);

	if (used > HEAP_ALL_RING_BYTES - FREES_BYTES - HEAP_BRIEF_BYTES ||
	    !exchange(&shared.head, &head, head + HEAP_BRIEF_BYTES))
		return reserve(HEAP_BRIEF_BYTES, is_allocation, position);
	*position = head;
	return record_at(head);
}

static void emit_one(struct request *request, enum heap_record_kind kind, uint64_t pointer)
{
	bool is_new = kind == HEAP_RECORD_ALLOCATION;
	uint64_t signature = is_new ? heap_sign(request->frame, request->thread) : 0;
	bool has_stack = is_new && (!signature || !heap_is_met(signature, request->thread));
	uint64_t room = has_stack ? stack_bytes_from((uint64_t)(request->frame + 1)) : 0;
	uint64_t nr_bytes;
	uint64_t position;
	struct heap_ring_record *record;

	if (has_stack && !signature) {
		signature = heap_sign_words(request->frame, request->thread, room);
		has_stack = !signature || !heap_is_met(signature, request->thread);
	}
	nr_bytes = has_stack ? record_bytes(room) : HEAP_BRIEF_BYTES;
	record =
		has_stack ? reserve(nr_bytes, is_new, &position) : reserve_brief(is_new, &position);
	if (!record) {
		relaxed_add(&shared.nr_dropped, 1);
		if (is_new)
			count_dropped(request);
		return;
	}
	have_ring_back(position + (uint64_t)16 * HEAP_BRIEF_BYTES);
	fill(record, request, kind, pointer, nr_bytes, false);
	record->pid = (int32_t)own_pid();
	record->tid = (int32_t)(request->thread ? request->thread->tid : own_tid());
	record->signature = signature;
	if (has_stack) {
		fill_caller(record, request, room);
		if (signature)
			heap_note_met(signature);
	}
	record->time = time_now();
	commit(record, position);
}

static struct outcome free_one(struct request *request)
{
	uint64_t pointer = argument(request, request->hook->form.pointer);

	if (pointer && !is_nested(request))
		emit_one(request, HEAP_RECORD_FREE, pointer);
	return (struct outcome){.jump = request->hook->original};
}

static struct outcome allocate_one(struct request *request)
{
	struct outcome outcome = {.jump = request->hook->original};
	uint64_t pointer;

	if (!read_arguments(request) || is_nested(request))
		return outcome;
	request->was_sampled = request->old != 0;
	if (request->old)
		emit_one(request, HEAP_RECORD_FREE, request->old);
	outcome.result = call_original(request);
	pointer = pointer_of(request, outcome.result);
	if (pointer)
		emit_one(request, HEAP_RECORD_ALLOCATION, pointer);
	else if (request->old && request->size)
		emit_one(request, HEAP_RECORD_KEPT, request->old);
	if (!throws(request) || outcome.result)
		outcome.jump = 0;
	return outcome;
}

/* One instruction, so that the handler of a signal does not come amid it. */
static void add_here(int64_t *word, int64_t value)
{
	__asm__ volatile("addq %1,%0" : "+m"(*word) : "er"(value) : "cc");
}

static struct outcome record_one(struct request *request)
{
	struct heap_thread *thread = find_thread();
	struct outcome outcome;

	request->thread = thread;
	/* Nothing returns to us from there: where the thread stands tells that it is here. */
	if (heap_frees(&request->hook->form))
		return free_one(request);
	if (thread)
		add_here(&thread->in_flight, 1);
	else
		relaxed_add(&heap_own()->in_flight, 1);
	outcome = allocate_one(request);
	if (thread)
		add_here(&thread->in_flight, -1);
	else
		relaxed_add(&heap_own()->in_flight, -1);
	return outcome;
}

/* -- mappings -- */

static bool is_of_library(const struct heap_frame *frame)
{
	for (int i = 0; i < HEAP_CODES; i++) {
		if (frame->rip - shared.codes[i].start <
		    shared.codes[i].end - shared.codes[i].start)
			return true;
	}
	return false;
}

/* Other mappings are of files that programs share, or address space that is kept for later. */
static bool is_memory(uint64_t protection, uint64_t flags)
{
	return (uint32_t)protection != PROT_NONE &&
	       (flags & MAP_ANONYMOUS || (flags & MAP_TYPE) == MAP_PRIVATE);
}

static void emit_range(struct request *request, enum heap_record_kind kind, uint64_t start,
		       uint64_t nr_bytes)
{
	request->size = nr_bytes;
	if (nr_bytes)
		emit(request, kind, start, false);
}

/* Of a range that one of a fixed place replaces is known from that. */
static struct outcome map(struct request *request)
{
	const uint64_t *with = request->frame->arguments;
	struct outcome outcome = {.result = call(request, request->hook->original)};

	if (outcome.result >= -PAGE_BYTES)
		return outcome;
	if (is_memory(with[2], with[3]))
		emit_range(request, HEAP_RECORD_ALLOCATION, outcome.result, with[1]);
	else if (with[3] & MAP_FIXED)
		emit_range(request, HEAP_RECORD_FREE, outcome.result, with[1]);
	return outcome;
}

/* What fails is told afterwards only: that a mapping cannot grow where it is is nothing rare. */
static struct outcome remap(struct request *request)
{
	const uint64_t *with = request->frame->arguments;
	struct outcome outcome = {.result = call(request, request->hook->original)};

	if (outcome.result >= -PAGE_BYTES)
		return outcome;
	if (!(with[3] & MREMAP_DONTUNMAP) && with[1]) {
		emit_range(request, HEAP_RECORD_FREE, with[0], with[1]);
		request->old = with[0];
		request->was_sampled = true;
	}
	emit_range(request, HEAP_RECORD_ALLOCATION, outcome.result, with[2]);
	return outcome;
}

static struct outcome on_map(struct request *request)
{
	const uint64_t *with = request->frame->arguments;
	uint32_t which = request->hook->form.function;

	if (is_of_library(request->frame) || is_nested(request))
		return (struct outcome){.jump = request->hook->original};
	if (which == HEAP_MAP)
		return map(request);
	if (which == HEAP_REMAP)
		return remap(request);
	if (with[0] % PAGE_BYTES == 0) /* else it fails */
		emit_range(request, HEAP_RECORD_FREE, with[0], with[1]);
	return (struct outcome){.jump = request->hook->original};
}

/* -- the end of the process -- */

static uint32_t *claim_exit(uint32_t pid)
{
	for (int i = 0; i < HEAP_EXITS; i++) {
		uint32_t none = 0;

		if (!relaxed_load(&shared.exits[i]) && exchange(&shared.exits[i], &none, pid))
			return &shared.exits[i];
	}
	return 0;
}

/* Until profc lets us go, has given up its search of processes, or has had the time. */
static void wait_to_go(const uint32_t *exit, uint32_t pid)
{
	uint64_t end_ns = monotonic_ns() + HEAP_EXIT_WAIT_NS;
	uint64_t now_ns = end_ns - HEAP_EXIT_WAIT_NS;
	int64_t result = 0;

	while (now_ns < end_ns && __atomic_load_n(exit, __ATOMIC_ACQUIRE) == pid &&
	       relaxed_load(&shared.waits_at_exit) &&
	       (!result || result == -EINTR || result == -EAGAIN)) {
		struct __kernel_timespec left = {
			.tv_sec = (int64_t)((end_ns - now_ns) / NS_PER_SEC),
			.tv_nsec = (int64_t)((end_ns - now_ns) % NS_PER_SEC)};

		result = system_call(__NR_futex, (uint64_t)exit, FUTEX_WAIT, pid, (uint64_t)&left,
				     0);
		now_ns = monotonic_ns();
	}
}

/*
 * Who has no recorded block goes at once, and so does a child of vfork(2): the memory is its
 * parent's.
 */
static struct outcome on_exit(const struct request *request)
{
	uint32_t pid = (uint32_t)relaxed_load(&heap_own()->pid);
	struct heap_frame *frame = request->frame;
	uint32_t *exit = 0;

	/* What registers hold besides the status is no pointer that anybody keeps. */
	for (int i = 1; i < HEAP_ARGUMENTS; i++)
		frame->arguments[i] = 0;
	frame->rax = frame->r10 = frame->r11 = 0;

	if (pid && relaxed_load(&shared.waits_at_exit) &&
	    system_call(__NR_getpid, 0, 0, 0, 0, 0) == pid)
		exit = claim_exit(pid);
	if (exit) {
		wait_to_go(exit, pid);
		exchange(exit, &pid, 0);
	}
	return (struct outcome){.jump = request->hook->original};
}

/* One by one: to clear it takes longer than all else. */
static inline void begin_request(struct request *request, struct heap_frame *frame, uint32_t which,
				 int64_t countdown)
{
	request->hook = &shared.hooks[which >> HEAP_STUB_HOOK_LOG2];
	request->frame = frame;
	request->slot = slot_of_thread();
	request->thread = 0;
	request->size = request->old = request->out = request->mean = 0;
	request->countdown = countdown;
	request->is_framed = which & HEAP_STUB_FRAMED;
	request->is_counted = which & HEAP_STUB_COUNTED;
	request->is_sampled = request->was_sampled = false;
}

struct outcome heap_slow(struct heap_frame *frame, uint32_t which, int64_t countdown)
{
	struct request request;
	struct outcome outcome;

	begin_request(&request, frame, which, countdown);
	if (shared.is_all && request.hook->form.function != HEAP_EXIT)
		return record_one(&request);
	relaxed_add(&heap_own()->in_flight, 1);
	if (heap_maps(&request.hook->form))
		outcome = on_map(&request);
	else if (request.hook->form.function == HEAP_EXIT)
		outcome = on_exit(&request);
	else if (heap_frees(&request.hook->form))
		outcome = on_free(&request);
	else
		outcome = on_allocation(&request);
	relaxed_add(&heap_own()->in_flight, -1);
	return outcome;
}
