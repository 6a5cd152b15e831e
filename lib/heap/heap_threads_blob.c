// SPDX-License-Identifier: GPL-2.0-or-later
/* The blob finds out which thread it runs in, and which memory it may read. */
#include "heap/heap_blob_priv.h"

/* -- ids -- */

static bool has_owner_at(uint64_t data, int32_t at)
{
	const int32_t *id = (const int32_t *)(data + (uint64_t)(int64_t)at);
	uint64_t sp = (uint64_t)__builtin_frame_address(0);

	/* The first cache line of the data is there. */
	return ((at >= 0 && at < 64) || heap_is_writable((uint64_t)id, sizeof(*id), sp)) &&
	       relaxed_load(id) == rules.owner_pid;
}

/* Below the address it depends on the size of the data, a multiple of 16, in each glibc. */
static int32_t find_tid_at(uint64_t data)
{
	if (has_owner_at(data, HEAP_ID_AT_MUSL))
		return HEAP_ID_AT_MUSL;
	if (has_owner_at(data, HEAP_ID_AT_GLIBC))
		return HEAP_ID_AT_GLIBC;
	for (int32_t at = -HEAP_DATA_BELOW_BYTES; at < 0 && rules.owner_pid >= HEAP_ID_MIN;
	     at += 16) {
		if (has_owner_at(data, at))
			return at;
	}
	return 0;
}

/*
 * The main thread had no data yet when profc looked, and finds the offset itself. Other threads
 * find nothing until the main thread has come.
 */
static __attribute__((noinline)) int32_t learn_tid_at(uint64_t data)
{
	int32_t at = find_tid_at(data);

	if (at) {
		relaxed_store(&heap_known()->main_data, data);
		relaxed_store(&heap_known()->tid_at, at);
	}
	return at;
}

/* 0: not known. */
static int64_t known_tid(void)
{
	uint64_t data = thread_data();
	int32_t at = relaxed_load(&heap_known()->tid_at);

	if (data && !at)
		at = learn_tid_at(data);
	return data && at ? heap_id_at(data, at) : 0;
}

int64_t heap_find_own_tid(void)
{
	int64_t tid = known_tid();

	return tid > 0 ? tid : own_pid();
}

/*
 * For a child of fork(2): its memory begins with zeros. The C library's fork() writes the id of the
 * child's only thread before anything else runs there. If the system call was made in another way,
 * the id is still that of the parent's thread.
 */
__attribute__((noinline)) int64_t heap_learn_pid(void)
{
	int64_t pid = known_tid();
	int64_t none = 0;

	if (pid <= 0 || pid == rules.owner_pid)
		pid = -1;
	return exchange(&heap_own()->pid, &none, pid) ? pid : none;
}

/* -- readable memory -- */

/* A thread's stack, together with its data, is at least as large (PTHREAD_STACK_MIN). */
#define LEAST_STACK_BYTES 16384
/* A stack pointer further below the data is on another stack. */
#define LARGEST_STACK_BYTES (UINT64_C(64) << 20)

static bool is_of(const struct heap_stack_question *stack, uint64_t data, int32_t pid, int32_t tid)
{
	return relaxed_load(&stack->data) == data && relaxed_load(&stack->pid) == pid &&
	       relaxed_load(&stack->tid) == tid;
}

/* The thread's question. If all places near it are taken, it takes one of another thread. */
static uint64_t place_of_stack(uint64_t data, int32_t pid, int32_t tid)
{
	uint64_t first = heap_stack_owner(data, pid, tid) >> 32;
	struct heap_stack_question *stack;
	uint64_t place = 0;

	for (uint64_t i = 0; i < HEAP_PROBES; i++) {
		place = (first + i) % HEAP_THREAD_STACKS;
		stack = &shared.stacks[place];
		if (is_of(stack, data, pid, tid))
			return place;
		if (!relaxed_load(&stack->data))
			break;
	}
	relaxed_store(&stack->data, data);
	relaxed_store(&stack->pid, pid);
	relaxed_store(&stack->tid, tid);
	relaxed_store(&stack->wanted, data);
	return place;
}

/* The two words may be torn: then the check fails. */
static uint64_t low_of(const struct heap_stack_answer *answer, uint64_t owner)
{
	uint64_t low = relaxed_load(&answer->low);

	return relaxed_load(&answer->check) == heap_stack_check(owner, low) ? low : UINT64_MAX;
}

static void ask(struct heap_stack_question *stack, uint64_t sp)
{
	uint64_t page = sp & -PAGE_BYTES;

	if (page >= relaxed_load(&stack->wanted))
		return;
	relaxed_store(&stack->wanted, page);
	__atomic_fetch_add(&shared.asked.nr_stacks, 1, __ATOMIC_RELEASE);
}

/* True: memory from `sp` up to the thread's data is readable, as it is from *start on. */
static bool is_below_data(uint64_t sp, uint64_t data, uint64_t *start)
{
	int32_t pid, tid;
	uint64_t place;

	if (!relaxed_load(&heap_known()->tid_at) ||
	    data == relaxed_load(&heap_known()->main_data) || data - sp >= LARGEST_STACK_BYTES)
		return false;
	*start = data - LEAST_STACK_BYTES;
	if (data - sp < LEAST_STACK_BYTES)
		return true;
	pid = (int32_t)own_pid();
	tid = (int32_t)heap_own_tid();
	place = place_of_stack(data, pid, tid);
	*start = low_of(&heap_known()->stacks[place], heap_stack_owner(data, pid, tid));
	if (sp >= *start)
		return true;
	ask(&shared.stacks[place], sp);
	return false;
}

/*
 * The main thread's stack is in a range of its own, and its pages stay once they were used. On an
 * unknown stack, as a coroutine's, only the page of the return address is certain: another thread
 * may unmap the next one at any moment.
 */
uint64_t heap_readable_end(uint64_t sp, uint64_t *start)
{
	uint64_t main_end = relaxed_load(&heap_known()->main_stack.end);
	uint64_t data = thread_data();

	*start = relaxed_load(&heap_known()->main_stack.start);
	if (sp >= *start && sp < main_end)
		return main_end;
	if (is_below_data(sp, data, start))
		return data;
	*start = sp;
	return (sp + PAGE_BYTES - 1) & -PAGE_BYTES;
}

static bool find_writable(uint64_t address, uint64_t nr, struct heap_stack *range)
{
	const struct heap_writable *writable = &heap_known()->writable;
	uint64_t version = __atomic_load_n(&writable->version, __ATOMIC_ACQUIRE);
	uint64_t first = 0, end = relaxed_load(&writable->nr);
	bool is_found = false;

	if (end > HEAP_WRITABLE_MAX)
		return false;
	while (first < end && !is_found) {
		uint64_t middle = (first + end) / 2;
		uint64_t from = relaxed_load(&writable->ranges[middle].start);
		uint64_t to = relaxed_load(&writable->ranges[middle].end);

		is_found = address >= from && address < to && to - address >= nr;
		range->start = from;
		range->end = to;
		if (address < from)
			end = middle;
		else
			first = middle + 1;
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return is_found && version % 2 == 0 && relaxed_load(&writable->version) == version;
}

static uint64_t check_of(uint64_t start, uint64_t end, uint64_t version)
{
	return heap_hash(start ^ heap_hash(end ^ heap_hash(version))) | 1;
}

/* Another thread may be changing the note: then its words do not agree. */
static bool read_mapped(const struct heap_mapped *mapped, struct heap_mapped *note)
{
	note->check = __atomic_load_n(&mapped->check, __ATOMIC_ACQUIRE);
	if (!note->check)
		return false;
	note->start = relaxed_load(&mapped->start);
	note->end = relaxed_load(&mapped->end);
	note->version = relaxed_load(&mapped->version);
	return check_of(note->start, note->end, note->version) == note->check;
}

void heap_note_mapped(uint64_t start, uint64_t nr)
{
	struct heap_known *known = heap_known();
	struct heap_mapped *mapped =
		&known->mapped[relaxed_add(&known->nr_mapped, 1) % HEAP_MAPPED_MAX];
	uint64_t version = relaxed_load(&known->writable.version);

	__atomic_store_n(&mapped->check, 0, __ATOMIC_SEQ_CST);
	relaxed_store(&mapped->start, start);
	relaxed_store(&mapped->end, start + nr);
	relaxed_store(&mapped->version, version);
	__atomic_store_n(&mapped->check, check_of(start, start + nr, version), __ATOMIC_RELEASE);
}

void heap_forget_mapped(uint64_t start, uint64_t nr)
{
	uint64_t end = start + nr < start ? UINT64_MAX : start + nr;

	for (uint64_t i = 0; i < HEAP_MAPPED_MAX; i++) {
		struct heap_mapped *mapped = &heap_known()->mapped[i], note;

		if (read_mapped(mapped, &note) && note.start < end && start < note.end)
			exchange(&mapped->check, &note.check, 0);
	}
}

/*
 * Two answers after it was mapped its range is among them: one may have been on its way. The
 * version has grown by two for each.
 */
#define VERSIONS_OF_TWO 4

static bool find_mapped(uint64_t address, uint64_t nr, struct heap_stack *range)
{
	uint64_t version = relaxed_load(&heap_known()->writable.version);

	for (uint64_t i = 0; i < HEAP_MAPPED_MAX; i++) {
		struct heap_mapped note;

		if (!read_mapped(&heap_known()->mapped[i], &note) ||
		    version - note.version >= VERSIONS_OF_TWO || address < note.start ||
		    address >= note.end || note.end - address < nr)
			continue;
		range->start = note.start;
		range->end = note.end;
		return true;
	}
	return false;
}

bool heap_find_writable(uint64_t address, uint64_t nr, struct heap_stack *range)
{
	int64_t pid;

	if (find_writable(address, nr, range) || find_mapped(address, nr, range))
		return true;
	range->start = range->end = 0;
	/* A forked child that looks for its own id (heap_learn_pid()) comes here without one. */
	pid = relaxed_load(&heap_own()->pid);
	if (pid > 0) {
		relaxed_store(&shared.asked.writable_pid, (int32_t)pid);
		relaxed_add(&shared.asked.nr_writable, 1);
	}
	return false;
}

bool heap_is_writable(uint64_t address, uint64_t nr, uint64_t sp)
{
	struct heap_stack range;
	uint64_t start;
	uint64_t end = heap_readable_end(sp, &start);

	if (address % PAGE_BYTES + nr <= PAGE_BYTES && address / PAGE_BYTES == sp / PAGE_BYTES)
		return true;
	if (address >= sp && address < end && end - address >= nr)
		return true;
	return heap_find_writable(address, nr, &range);
}
