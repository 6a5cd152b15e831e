// SPDX-License-Identifier: GPL-2.0-or-later
/* Copies the memory of a thread that a walk of its stack may need. */
#include <unistd.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/minmax.h"
#include "proc/range.h"
#include "proc/read.h"
#include "snapshot/signal_frame.h"
#include "snapshot/snapshot.h"
#include "tracee/machine.h"
#include "tracee/tracee_priv.h"

/*
 * A small read through an open file is faster than process_vm_readv(2), by a fifth; a larger one is
 * not, as the file copies each page twice. If a child shares the page since a fork(2) it takes a
 * third of the time: the system call first copies such pages for the process, and makes all its
 * CPUs forget about them.
 */
#define SMALL_COPY_BYTES ((size_t)8 * 1024)

/*
 * The file also gives memory that the process itself may not read: only bytes that are surely in
 * the wanted mapping are read from it. It has no memory of a program that was executed since.
 */
static size_t read_memory(struct tracee *tracee, uint64_t start, uint8_t *room, size_t nr_bytes)
{
	const struct proc_range *mapping = &tracee->stacks.mapping;
	bool is_inside = !tracee->maps_are_slow && mapping->start <= start &&
			 start + nr_bytes <= mapping->end;
	int fd = is_inside && nr_bytes <= SMALL_COPY_BYTES ? tracee_kept_file(tracee, TRACEE_MEMORY)
							   : -1;
	ssize_t got = fd < 0 ? -1 : pread(fd, room, nr_bytes, (off_t)start);

	return got > 0 ? (size_t)got : tracee_read_any(tracee->tid, start, room, nr_bytes);
}

#define PAGES_AT_ONCE	  512
#define PAGE_IS_SOMEWHERE (UINT64_C(3) << 62) /* in memory, or swapped out */

/*
 * The number of bytes from `start` on that are in memory already, so that reading them causes no
 * page fault; at most `nr_bytes`.
 */
static size_t present_bytes(pid_t tid, uint64_t start, size_t nr_bytes)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t first = start / page;
	uint64_t entries[PAGES_AT_ONCE];
	cleanup_close int fd = proc_open_task_file(tid, tid, "pagemap");
	size_t nr, present = 0;
	ssize_t got;

	got = fd < 0 ? -1 : pread(fd, entries, sizeof(entries), (off_t)(first * sizeof(*entries)));
	nr = got > 0 ? (size_t)got / sizeof(*entries) : 0;
	while (present < nr && entries[present] & PAGE_IS_SOMEWHERE)
		present++;
	if (!present || start + nr_bytes <= (first + present) * page)
		return present ? nr_bytes : 0;
	return (size_t)((first + present) * page - start);
}

/*
 * Copy memory into another region of the snapshot; returns the number of bytes. If the target fills
 * pages as they are touched, only present ones are read: else we would wait for a thread that may
 * wait for us. The same holds for pages outside of `range`, a mapping that no program serves.
 */
static size_t copy_region(struct tracee *tracee, uint64_t start, size_t nr_bytes,
			  const struct proc_range *range, struct snapshot *snapshot)
{
	bool is_inside = range->start <= start && start + nr_bytes <= range->end;
	bool is_first = !snapshot->nr_regions;
	uint8_t *room;
	size_t got;

	if (tracee->fills_pages || !is_inside)
		nr_bytes = present_bytes(tracee->tid, start, nr_bytes);
	if (is_first && is_inside && tracee_take_ahead(tracee, snapshot, start, nr_bytes))
		return nr_bytes;
	room = nr_bytes ? snapshot_add_region(snapshot, start, nr_bytes) : NULL;
	if (!room)
		return 0;
	if (is_first && is_inside && tracee_has_wanted_with(tracee, snapshot))
		return tracee_read_with_wanted(tracee, snapshot);
	got = read_memory(tracee, start, room, nr_bytes);
	snapshot_trim_region(snapshot, nr_bytes - got);
	return got;
}

/*
 * Copy the stack of `sp`, from `at` to the end of its mapping, where the read comes out short, or
 * to the limit. Returns the end of the stack, or 0 if that was not reached.
 */
static uint64_t copy_mapping(struct tracee *tracee, uint64_t at, uint64_t sp, size_t max_bytes,
			     const struct proc_range *range, struct snapshot *snapshot)
{
	size_t copied = copy_region(tracee, at, max_bytes, range, snapshot);

	/* `at` may be below the mapping of the stack pointer, if that is not known. */
	if (!copied && at < sp && max_bytes > sp - at) {
		max_bytes -= sp - at;
		at = sp;
		copied = copy_region(tracee, at, max_bytes, range, snapshot);
	}
	return copied < max_bytes ? at + copied : 0;
}

static bool is_known(const struct tracee *tracee, uint64_t address)
{
	const struct proc_range *known = &tracee->stacks.mapping;

	return known->start <= address && address < known->end;
}

/* The mapping at an address: the known one, or asked for. */
static bool find_mapping(struct tracee *tracee, uint64_t address, struct proc_range *range)
{
	if (!is_known(tracee, address))
		return tracee_ask_for_mapping(tracee, address, range);
	*range = tracee->stacks.mapping;
	return true;
}

static bool may_wait_at(struct tracee *tracee, uint64_t address)
{
	struct proc_range range;

	return (!tracee->maps_are_slow || is_known(tracee, address)) &&
	       find_mapping(tracee, address, &range) && tracee_is_served(tracee, &range);
}

bool tracee_read(struct tracee *tracee, uint64_t address, void *out, size_t nr_bytes)
{
	uint64_t first = address_of_pointer(address), last = first + nr_bytes - 1;
	uint64_t page = first / page_bytes() + 1;
	bool may_wait = page != tracee->read_page && may_wait_at(tracee, first);

	if (tracee->fills_pages)
		return false;
	if (!may_wait)
		tracee->read_page = page;
	if (last / page_bytes() + 1 != page)
		may_wait |= may_wait_at(tracee, last);
	if (may_wait && present_bytes(tracee->tid, first, nr_bytes) < nr_bytes)
		return false;
	return tracee_read_any(tracee->tid, first, out, nr_bytes) == nr_bytes;
}

bool tracee_read_present(pid_t tid, uint64_t address, void *out, size_t nr_bytes)
{
	return present_bytes(tid, address, nr_bytes) == nr_bytes &&
	       tracee_read_any(tid, address, out, nr_bytes) == nr_bytes;
}

/* It is kept if asking takes long. */
void tracee_forget_mapping(struct tracee *tracee)
{
	if (!tracee->maps_are_slow)
		tracee->stacks.mapping = (struct proc_range){0};
}

/*
 * This much of a stack is copied whole at the first sample, if its end is known: all of it is in
 * use, and a single sample must not come short. Most stacks are bounded by 8 MiB.
 */
#define WHOLE_STACK_BYTES ((size_t)8 << 20)

/* With the red zone, if that is known to be in the same mapping, or may be read in any case. */
static uint64_t first_byte(struct tracee *tracee, uint64_t sp, const struct proc_range *range)
{
	uint64_t first = sp - MACHINE_RED_ZONE_BYTES;

	if (first > sp)
		return sp;
	if (range->start < sp && sp < range->end)
		return first > range->start ? first : range->start;
	return may_wait_at(tracee, first) ? sp : first;
}

/*
 * Is all memory from the stack pointer up to `limit` surely stack? On x86-64 the word at the thread
 * pointer of C libraries is that pointer itself; in Go it is not.
 */
static bool is_whole_stack(struct tracee *tracee, uint64_t sp, uint64_t limit,
			   const struct proc_range *range)
{
	const struct tracee_stacks *stacks = &tracee->stacks;
	uint64_t word;

	if (sp < stacks->first_sp && stacks->first_sp < range->end)
		return true;
	return limit == stacks->thread_pointer && limit + sizeof(word) <= range->end &&
	       tracee_read_any(tracee->tid, limit, &word, sizeof(word)) == sizeof(word) &&
	       word == limit;
}

/*
 * At the start of a program the number of its arguments and pointers to them are on the stack: a
 * walk may take this much for a frame, if no CFI ends it. Above are kilobytes of texts.
 */
#define ARGUMENT_BYTES 256

static uint64_t highest_end(struct tracee *tracee, uint64_t sp, const struct proc_range *range)
{
	uint64_t first_sp = tracee->stacks.first_sp;
	bool is_below = sp < first_sp && first_sp + ARGUMENT_BYTES < range->end;

	return is_below ? first_sp + ARGUMENT_BYTES : range->end;
}

/* Nor is the memory between the outermost frame of a thread and its thread pointer. */
static uint64_t end_of_frames(struct tracee *tracee, uint64_t sp, uint64_t limit)
{
	uint64_t root_sp = tracee->stacks.root_sp;

	return sp < root_sp && root_sp < limit && limit - root_sp > ARGUMENT_BYTES
		       ? root_sp + ARGUMENT_BYTES
		       : limit;
}

/*
 * The C libraries put a thread's own data, at the thread pointer, at the end of its stack. The
 * memory after that is no stack, but often mapped, hundreds of kilobytes of it; or the target
 * itself fills it when it is read (userfaultfd(2), files of FUSE), and a reader waits for a thread
 * that may wait for the reader. So the copy never leaves the mapping, and a mapping that another
 * process serves is not copied.
 */
static uint64_t copy_stack(struct tracee *tracee, uint64_t sp, size_t max_bytes,
			   struct snapshot *snapshot, struct proc_range *range)
{
	uint64_t thread_pointer = tracee->stacks.thread_pointer;
	uint64_t limit = 0;
	uint64_t start, end;

	*range = (struct proc_range){0};
	if (find_mapping(tracee, sp, range)) {
		tracee->stacks.mapping = *range;
		limit = highest_end(tracee, sp, range);
	}
	start = first_byte(tracee, sp, range);
	/* An empty stack ends where another mapping begins: a child's, at its birth. */
	if (limit && range->start == sp) {
		*range = (struct proc_range){0};
		copy_mapping(tracee, start, sp, (size_t)(sp - start), range, snapshot);
		return 0;
	}
	if (tracee_is_served(tracee, range)) {
		snapshot->is_withheld = true;
		return limit;
	}
	/*
	 * On another stack than its own, as after vfork(2), the thread pointer is in another
	 * mapping.
	 */
	if (thread_pointer > sp && thread_pointer - start <= WHOLE_STACK_BYTES &&
	    (!limit || thread_pointer < limit))
		limit = thread_pointer;
	if (limit && limit - start > max_bytes && limit - start <= WHOLE_STACK_BYTES &&
	    is_whole_stack(tracee, sp, limit, range))
		max_bytes = WHOLE_STACK_BYTES;
	limit = end_of_frames(tracee, sp, limit);
	if (!limit || limit - start > max_bytes)
		return copy_mapping(tracee, start, sp, max_bytes, range, snapshot);
	end = copy_mapping(tracee, start, sp, limit - start, range, snapshot);
	return end ? end : limit;
}

/* More is hardly ever needed, and this is copied on mere chance. */
#define OTHER_STACK_BYTES ((uint64_t)192 * 1024)

/* The stack may be in use from a little below the last stack pointer that was seen on it. */
#define OTHER_STACK_BELOW ((uint64_t)64 * 1024)

static void copy_other_stack(struct tracee *tracee, const struct seen_stack *other,
			     struct snapshot *snapshot)
{
	uint64_t start = other->low - min_u64(OTHER_STACK_BELOW, other->low - other->start);
	uint64_t end = min_u64(other->end, start + OTHER_STACK_BYTES);
	struct proc_range range = {.start = 0};

	/* It may have been unmapped, and other memory be there now. */
	if ((!tracee->maps_are_slow || is_known(tracee, other->low)) &&
	    find_mapping(tracee, other->low, &range)) {
		if (tracee_is_served(tracee, &range))
			return;
		start = max_u64(start, range.start);
		end = min_u64(end, range.end);
	}
	/* If the memory below is not mapped, nothing is read at all. */
	if (!copy_region(tracee, start, end - start, &range, snapshot))
		copy_region(tracee, other->low, end - other->low, &range, snapshot);
}

/* With the thread pointer, its end may be known better by now. */
static bool is_same_stack(const struct seen_stack *stack, uint64_t sp, uint64_t end)
{
	return stack->low < end && sp < stack->end;
}

/* Notes the stack in use; returns another one on which this thread was seen, or NULL. */
static const struct seen_stack *remember_stack(struct tracee_stacks *known, uint64_t sp,
					       uint64_t end, uint64_t start)
{
	struct seen_stack *stacks = known->seen;

	if (end && !is_same_stack(&stacks[0], sp, end)) {
		struct seen_stack former = stacks[0];

		stacks[0] = is_same_stack(&stacks[1], sp, end) ? stacks[1] : (struct seen_stack){0};
		stacks[1] = former;
	}
	if (end)
		stacks[0] = (struct seen_stack){
			.start = start ? start : stacks[0].start, .end = end, .low = sp};
	if (stacks[1].end)
		return &stacks[1];
	return !end && stacks[0].end && !is_same_stack(&stacks[0], sp, sp + 1) ? &stacks[0] : NULL;
}

/* Code that begins a program has few frames. */
#define FIRST_STACK_BYTES ((uint64_t)16 * 1024)

/*
 * A program may leave its first stack before it is sampled (Lisp does), with its outermost frames
 * on it.
 */
void tracee_learn_first_sp(struct tracee *tracee, uint64_t first_sp)
{
	struct tracee_stacks *stacks = &tracee->stacks;

	if (tracee->tid != tracee->tgid || first_sp == stacks->first_sp ||
	    first_sp <= FIRST_STACK_BYTES)
		return;
	stacks->first_sp = first_sp;
	/* With the word at it, or a thread there would seem to be on another stack. */
	stacks->seen[0] = (struct seen_stack){.start = first_sp - FIRST_STACK_BYTES,
					      .end = first_sp + sizeof(uint64_t),
					      .low = first_sp};
	stacks->seen[1] = (struct seen_stack){0};
}

/*
 * Copies the stack that a signal interrupted, if it is known: a thread on an alternate stack came
 * from another one.
 */
static bool copy_struck_stack(struct tracee *tracee, size_t max_bytes, struct snapshot *snapshot)
{
	const struct stack_region *region = &snapshot->regions[0];
	struct proc_range range;
	uint64_t sp;

	if (!snapshot->nr_regions ||
	    !signal_frame_struck_sp(snapshot->arch, snapshot->bytes + region->offset,
				    region->nr_bytes, region->start, &sp))
		return false;
	return copy_stack(tracee, sp, max_bytes, snapshot, &range) || snapshot->nr_regions > 1;
}

/* Bytes below and above the place where the walk continues after a switch of stacks. */
#define BEHIND_BYTES_BELOW ((uint64_t)2 * 1024)
#define BEHIND_BYTES	   ((uint64_t)32 * 1024)

static void copy_behind(struct tracee *tracee, struct snapshot *snapshot)
{
	uint64_t sp = tracee->stacks.behind_sp;
	uint64_t beyond = sp ? snapshot_fp_beyond(snapshot) : 0;
	struct proc_range range;
	uint64_t start, end;
	uint8_t byte;

	if (beyond && tracee_ask_for_mapping(tracee, beyond, &range))
		sp = beyond;
	if (!sp || snapshot_read(snapshot, sp, &byte, sizeof(byte)) ||
	    !tracee_ask_for_mapping(tracee, sp, &range) || tracee_is_served(tracee, &range))
		return;
	start = sp - range.start > BEHIND_BYTES_BELOW ? sp - BEHIND_BYTES_BELOW : range.start;
	end = range.end - start > BEHIND_BYTES ? start + BEHIND_BYTES : range.end;
	copy_region(tracee, start, end - start, &range, snapshot);
}

/*
 * Copies all that a walk may need, from the stack pointer of the snapshot on. Most threads have one
 * stack, which ends where its mapping does.
 */
void tracee_copy_stacks(struct tracee *tracee, size_t max_bytes, struct snapshot *snapshot)
{
	const struct seen_stack *other;
	struct proc_range range;
	uint64_t end;
	uint64_t sp;

	if (!regs_get(&snapshot->regs, arch_regs(snapshot->arch)->sp, &sp))
		return;
	end = copy_stack(tracee, sp, max_bytes, snapshot, &range);
	other = remember_stack(&tracee->stacks, sp, end, range.start);
	if ((!end || other) && !copy_struck_stack(tracee, max_bytes, snapshot) && other)
		copy_other_stack(tracee, other, snapshot);
	copy_behind(tracee, snapshot);
}
