// SPDX-License-Identifier: GPL-2.0-or-later
/* Copies memory beside the stacks: for walks of an interpreter's frames, and contexts of threads.
 */
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "proc/range.h"
#include "snapshot/snapshot.h"
#include "snapshot/thread_context.h"
#include "snapshot/wanted.h"
#include "tracee/tracee_priv.h"

/* A data stack, and heaps of objects: each takes one, and is mostly one mapping. */
#define SAFE_MAPPINGS 8

struct tracee_wanted {
	struct wanted_memory memory;
	struct wanted_memory context; /* what led to the thread's context the last time */
	struct wanted_more more;
	/* Mappings that no program serves; which one is replaced next. */
	struct proc_range safe[SAFE_MAPPINGS];
	unsigned int next;
	unsigned int nr_searches; /* copies that did not know the subject */
	unsigned int nr_ahead; /* regions to be copied ahead of a stop; others are due after it */
	bool is_ready;	       /* they are known, for the next stop */
	bool is_copied;	       /* the memory is in the snapshot, with its first stack */
	bool is_taken;	       /* likewise, as it was copied ahead */
};

void tracee_set_wanted(struct tracee *tracee, const struct wanted_memory *wanted,
		       const struct wanted_more *more)
{
	if (!tracee->wanted)
		tracee->wanted = xcalloc(1, sizeof(*tracee->wanted));
	tracee->wanted->memory = *wanted;
	tracee->wanted->more = *more;
	if (!more->context.access)
		tracee->wanted->context.nr = 0;
}

static const struct proc_range *safe_mapping(const struct tracee_wanted *wanted, uint64_t address)
{
	for (size_t i = 0; i < SAFE_MAPPINGS; i++) {
		if (wanted->safe[i].start <= address && address < wanted->safe[i].end)
			return &wanted->safe[i];
	}
	return NULL;
}

/*
 * The mapping of an address, if reading it waits for no other program. It is asked for once: only a
 * program that replaces its own memory by a file that it serves can make us wait. Where that takes
 * long, one is asked for at a time.
 */
static const struct proc_range *find_safe(struct tracee *tracee, uint64_t address, bool *may_ask)
{
	struct tracee_wanted *wanted = tracee->wanted;
	const struct proc_range *known = safe_mapping(wanted, address);
	struct proc_range range;

	if (known || !*may_ask)
		return known;
	*may_ask = !tracee->maps_are_slow;
	if (!tracee_ask_for_mapping(tracee, address, &range) || tracee_is_served(tracee, &range))
		return NULL;
	wanted->safe[wanted->next] = range;
	known = &wanted->safe[wanted->next];
	wanted->next = (wanted->next + 1) % SAFE_MAPPINGS;
	return known;
}

/* A range may go through several mappings. */
static void add_range(struct tracee *tracee, const struct wanted_range *range, bool *may_ask,
		      struct snapshot *snapshot)
{
	uint64_t at = range->start, end = range->start + range->nr_bytes;

	while (at < end) {
		const struct proc_range *mapping = find_safe(tracee, at, may_ask);
		uint64_t nr_bytes;

		if (!mapping)
			return;
		nr_bytes = min_u64(end, mapping->end) - at;
		if (!(range->is_late ? snapshot_add_due(snapshot, at, nr_bytes)
				     : snapshot_add_wanted(snapshot, at, nr_bytes)))
			return;
		at += nr_bytes;
	}
}

/* Adds the regions that are copied in the stop, or those that are copied after it. */
static void add_regions(struct tracee *tracee, const struct wanted_memory *memory, bool are_late,
			struct snapshot *snapshot)
{
	bool may_ask = true;

	for (size_t i = 0; i < memory->nr; i++) {
		if (memory->at[i].is_late == are_late)
			add_range(tracee, &memory->at[i], &may_ask, snapshot);
	}
}

/*
 * For each range the kernel looks for its pages anew, which takes as long as to copy some
 * kilobytes. So ranges in order are read as one, with what little lies between them: less than a
 * page, so that none is read that has nothing wanted.
 */
#define GAP_BYTES_MAX 2048
/*
 * After the stop the thread goes on meanwhile, and may write all the time to what lies between, as
 * objects that are in use: it would fetch that back from our CPU.
 */
#define LATE_GAP_BYTES_MAX 256

/* The pieces of one system call: one of the target's may be several of ours. */
struct pieces {
	struct iovec here[2 * SNAPSHOT_WANTED_MAX], there[SNAPSHOT_WANTED_MAX];
	unsigned int nr_here, nr_there;
	unsigned int nr_regions;
	uint32_t gap_max;
	uint32_t gaps[SNAPSHOT_WANTED_MAX]; /* bytes that are read before those of each region */
	uint8_t between[GAP_BYTES_MAX];	    /* such bytes, which are dropped */
};

/* Are both to be read as one? Then so many bytes are between. */
static bool is_near(const struct stack_region *last, const struct stack_region *next,
		    uint32_t gap_max, uint32_t *gap)
{
	uint64_t end = last->start + last->nr_bytes;

	if (!last->nr_bytes || next->start < end || next->start - end > gap_max)
		return false;
	*gap = (uint32_t)(next->start - end);
	return true;
}

static void begin_pieces(struct pieces *pieces, uint32_t gap_max)
{
	pieces->gap_max = gap_max;
	pieces->nr_here = pieces->nr_there = pieces->nr_regions = 0;
}

static void add_here(struct pieces *pieces, void *to, size_t nr_bytes)
{
	pieces->here[pieces->nr_here++] = (struct iovec){.iov_base = to, .iov_len = nr_bytes};
}

static void add_piece(struct pieces *pieces, const struct snapshot *snapshot,
		      const struct stack_region *last, const struct stack_region *region)
{
	uint32_t gap = 0;

	if (last && is_near(last, region, pieces->gap_max, &gap)) {
		if (gap)
			add_here(pieces, pieces->between, gap);
		pieces->there[pieces->nr_there - 1].iov_len += gap + region->nr_bytes;
	} else {
		pieces->there[pieces->nr_there++] = (struct iovec){
			.iov_base = (void *)(uintptr_t)region->start, .iov_len = region->nr_bytes};
	}
	add_here(pieces, snapshot->bytes + region->offset, region->nr_bytes);
	pieces->gaps[pieces->nr_regions++] = gap;
}

/* Copy some regions from *first on, up to one that comes short. */
static void fill_some(const struct tracee *tracee, struct snapshot *snapshot, unsigned int *first,
		      unsigned int end)
{
	struct stack_region *regions = snapshot->regions;
	struct pieces pieces;
	ssize_t got;
	size_t left;

	begin_pieces(&pieces, GAP_BYTES_MAX);
	for (unsigned int i = *first; i < end && pieces.nr_regions < SNAPSHOT_WANTED_MAX; i++)
		add_piece(&pieces, snapshot, i > *first ? &regions[i - 1] : NULL, &regions[i]);
	got = process_vm_readv(tracee->tid, pieces.here, pieces.nr_here, pieces.there,
			       pieces.nr_there, 0);
	if (got < 0 && (errno == EPERM || errno == ENOSYS))
		got = (ssize_t)tracee_read_any(tracee->tid, regions[*first].start,
					       pieces.here[0].iov_base, pieces.here[0].iov_len);
	left = got > 0 ? (size_t)got : 0;
	for (unsigned int i = 0; i < pieces.nr_regions; i++) {
		struct stack_region *region = &regions[(*first)++];
		size_t needed = pieces.gaps[i] + (size_t)region->nr_bytes;

		if (left < needed) {
			region->nr_bytes = (uint32_t)(left - min_u64(left, pieces.gaps[i]));
			return;
		}
		left -= needed;
	}
}

/* Fill the regions [first, end); what cannot be read has no bytes. */
static void fill_regions(const struct tracee *tracee, struct snapshot *snapshot, unsigned int first,
			 unsigned int end)
{
	/* Those after one that came short are read by another call. */
	while (first < end)
		fill_some(tracee, snapshot, &first, end);
}

bool tracee_has_wanted(const struct tracee *tracee)
{
	return tracee->wanted && (tracee->wanted->memory.nr || tracee->wanted->context.nr) &&
	       !tracee->fills_pages;
}

/* Is it already known as it was in the stop of this snapshot? */
static bool is_ahead(const struct tracee *tracee, const struct snapshot *snapshot)
{
	return tracee->ahead && tracee->ahead->nr_regions && !tracee->wanted->is_ready &&
	       tracee->ahead->time_ns == snapshot->time_ns;
}

bool tracee_has_wanted_with(const struct tracee *tracee, const struct snapshot *snapshot)
{
	return tracee_has_wanted(tracee) && !is_ahead(tracee, snapshot);
}

bool tracee_wants_context(const struct tracee *tracee)
{
	return tracee->wanted && tracee->wanted->more.context.access;
}

/* A thread is about as deep as when it was last seen: nine of ten are at most this much deeper. */
#define DEEPER_BYTES UINT64_C(640)
/* Where it is deeper still, the rest is read in the stop, into this room. */
#define DEEPEST_BYTES	      UINT64_C(4096)
#define AHEAD_STACK_BYTES_MAX UINT64_C(32768)

/* Where its end is known, and its mapping. */
static void add_stack_ahead(struct tracee *tracee)
{
	const struct seen_stack *last = &tracee->stacks.seen[0];
	const struct proc_range *mapping = &tracee->stacks.mapping;
	uint64_t start, end;

	if (tracee->maps_are_slow || last->low < mapping->start || last->low >= mapping->end ||
	    tracee_is_served(tracee, mapping))
		return;
	start = max_u64(last->low - min_u64(last->low, DEEPER_BYTES), mapping->start);
	end = min_u64(last->end, mapping->end);
	if (start >= end || end - start > AHEAD_STACK_BYTES_MAX)
		return;
	snapshot_add_region(tracee->ahead, start - DEEPEST_BYTES, end - start + DEEPEST_BYTES);
	snapshot_set_first(tracee->ahead, start, end - start);
}

/* All that need not wait for the stop: where to copy from and to. */
static void prepare_ahead(struct tracee *tracee)
{
	struct tracee_wanted *wanted = tracee->wanted;

	if (!tracee->ahead)
		tracee->ahead = xcalloc(1, sizeof(*tracee->ahead));
	snapshot_clear(tracee->ahead);
	add_stack_ahead(tracee);
	add_regions(tracee, &wanted->memory, false, tracee->ahead);
	add_regions(tracee, &wanted->context, false, tracee->ahead);
	wanted->nr_ahead = tracee->ahead->nr_regions;
	add_regions(tracee, &wanted->memory, true, tracee->ahead);
	wanted->is_ready = true;
}

void tracee_copy_ahead(struct tracee *tracee, uint64_t stopped_ns)
{
	if (!tracee_has_wanted(tracee))
		return;
	if (!tracee->wanted->is_ready)
		prepare_ahead(tracee);
	tracee->wanted->is_ready = false;
	tracee->ahead->time_ns = stopped_ns;
	fill_regions(tracee, tracee->ahead, 0, tracee->wanted->nr_ahead);
}

bool tracee_take_ahead(struct tracee *tracee, struct snapshot *snapshot, uint64_t start,
		       size_t nr_bytes)
{
	struct snapshot *ahead = tracee->ahead;
	const struct stack_region *stack;
	size_t nr_lacking;
	uint64_t known;

	if (!tracee_has_wanted(tracee) || !is_ahead(tracee, snapshot))
		return false;
	stack = &ahead->regions[0];
	known = stack->start;
	if (stack->kind != REGION_STACK || !snapshot_set_first(ahead, start, nr_bytes))
		return false;
	/* By the call that has just read the rest: its code is in the caches. */
	nr_lacking = known - min_u64(start, known);
	if (nr_lacking && tracee_read_any(tracee->tid, start, ahead->bytes + stack->offset,
					  nr_lacking) != nr_lacking) {
		snapshot_drop_regions(ahead);
		return false;
	}
	snapshot_take_regions(snapshot, ahead);
	tracee->wanted->is_taken = true;
	return true;
}

static void add_ahead(const struct snapshot *ahead, struct snapshot *snapshot)
{
	snapshot_append(snapshot, ahead, ahead->regions[0].kind == REGION_STACK);
}

size_t tracee_read_with_wanted(struct tracee *tracee, struct snapshot *snapshot)
{
	add_regions(tracee, &tracee->wanted->memory, false, snapshot);
	add_regions(tracee, &tracee->wanted->context, false, snapshot);
	fill_regions(tracee, snapshot, 0, snapshot->nr_regions);
	if (!snapshot->regions[0].nr_bytes)
		snapshot_drop_regions(snapshot);
	tracee->wanted->is_copied = snapshot->nr_regions > 0;
	return snapshot->nr_regions ? snapshot->regions[0].nr_bytes : 0;
}

/* False: there was no room for any of it. */
static bool copy_memory(struct tracee *tracee, struct wanted_memory *memory,
			struct snapshot *snapshot)
{
	unsigned int first = snapshot->nr_regions;
	size_t nr_bytes = snapshot->nr_bytes;

	wanted_memory_sort(memory);
	add_regions(tracee, memory, false, snapshot);
	/* The new bytes may extend the last region: then read that one again as a whole. */
	if (first && snapshot->nr_bytes != nr_bytes && first == snapshot->nr_regions)
		first--;
	fill_regions(tracee, snapshot, first, snapshot->nr_regions);
	return snapshot->nr_bytes != nr_bytes;
}

/*
 * Each step takes a system call. Objects that lead to each other need one step each, if they are
 * not where the last sample found them; a thread may be stopped meanwhile.
 */
#define STEPS_MAX 24
/*
 * Where the subject is not known it is looked for first. A thread that is none of the interpreter's
 * has its copies without that: it has none after some.
 */
#define SEARCH_STEPS_MAX 40
#define SEARCHES_MAX	 4

static int nr_steps(struct tracee_wanted *wanted)
{
	if (!wanted->more.find)
		return 0;
	if (wanted->more.subject)
		return STEPS_MAX;
	if (wanted->nr_searches == SEARCHES_MAX)
		return 0;
	wanted->nr_searches++;
	return SEARCH_STEPS_MAX;
}

/* Copy those of the ranges that are not there; false: no more than was tried before is missing. */
static bool copy_missing(struct tracee *tracee, const struct wanted_memory *ranges,
			 uint64_t *tried_to, struct snapshot *snapshot)
{
	struct wanted_memory missing = {.nr = 0};
	const struct wanted_range *last;

	for (size_t i = 0; i < ranges->nr; i++) {
		if (!snapshot_has_any(snapshot, ranges->at[i].start, ranges->at[i].nr_bytes))
			wanted_memory_add(&missing, ranges->at[i].start, ranges->at[i].nr_bytes);
	}
	if (!missing.nr)
		return false;
	last = &missing.at[missing.nr - 1];
	if (last->start + last->nr_bytes == *tried_to)
		return false;
	*tried_to = last->start + last->nr_bytes;
	return copy_memory(tracee, &missing, snapshot);
}

/* Five addresses lead to a record by way of a vector, and then it may be a long one. */
#define CONTEXT_STEPS_MAX 6

static void copy_context(struct tracee *tracee, struct snapshot *snapshot)
{
	struct tracee_wanted *wanted = tracee->wanted;
	uint64_t tried_to = 0;

	for (int nr = 0; nr < CONTEXT_STEPS_MAX; nr++) {
		struct context_record record;

		wanted->context.nr = wanted->context.nr_bytes = 0;
		if (context_find(&wanted->more.context, snapshot, &wanted->context, &record) !=
			    CONTEXT_MISSING ||
		    !copy_missing(tracee, &wanted->context, &tried_to, snapshot))
			return;
	}
}

void tracee_copy_wanted(struct tracee *tracee, struct snapshot *snapshot)
{
	struct tracee_wanted *wanted = tracee->wanted;
	int steps_max;
	bool has_due;

	/* The program fills its pages itself (userfaultfd): a read of one would wait for it. */
	if (!wanted || tracee->fills_pages)
		return;
	has_due = is_ahead(tracee, snapshot);
	if (has_due)
		add_ahead(tracee->ahead, snapshot);
	else if (!wanted->is_copied && !wanted->is_taken)
		copy_memory(tracee, &wanted->memory, snapshot);
	has_due |= wanted->is_taken;
	wanted->is_copied = wanted->is_taken = false;
	if (wanted->more.context.access)
		copy_context(tracee, snapshot);
	if (!has_due)
		add_regions(tracee, &wanted->memory, true, snapshot);
	steps_max = nr_steps(wanted);
	for (int nr = 0; nr < steps_max; nr++) {
		struct wanted_memory missing = {.nr = 0};

		if (!wanted->more.find(wanted->more.facts, wanted->more.subject, snapshot,
				       &missing) ||
		    !copy_memory(tracee, &missing, snapshot))
			return;
	}
}

/* Frames that matter are near the stack pointer. */
#define REHEARSED_STACK_BYTES UINT64_C(16384)
#define REHEARSED_BELOW_BYTES UINT64_C(1024)
/* It writes all the time to that much; what we read of it, it has to fetch back from our CPU. */
#define WRITTEN_STACK_BYTES UINT64_C(2048)

/*
 * The thread runs on: its stack is about where it was last seen. That near the stack pointer is
 * read only where something is looked for in it.
 */
static void add_last_stack(struct tracee *tracee, struct snapshot *snapshot)
{
	const struct seen_stack *last = &tracee->stacks.seen[0];
	struct proc_range range;
	uint64_t start, end;

	if (!last->low || tracee->maps_are_slow ||
	    !tracee_ask_for_mapping(tracee, last->low, &range) || tracee_is_served(tracee, &range))
		return;
	start = tracee->wanted->more.needs_stack
			? max_u64(last->low - REHEARSED_BELOW_BYTES, range.start)
			: last->low + WRITTEN_STACK_BYTES;
	end = min_u64(min_u64(last->end, range.end), start + REHEARSED_STACK_BYTES);
	if (start < end)
		snapshot_add_region(snapshot, start, end - start);
}

/* What the thread runs has changed since its last sample, but hardly will until it is stopped. */
#define REHEARSED_STEPS_MAX 8

static void find_rehearsed(struct tracee *tracee, struct snapshot *snapshot)
{
	struct tracee_wanted *wanted = tracee->wanted;

	for (int nr = 0; nr < REHEARSED_STEPS_MAX; nr++) {
		struct wanted_memory missing = {.nr = 0};

		if (!wanted->more.find(wanted->more.facts, wanted->more.subject, snapshot,
				       &missing) ||
		    !copy_memory(tracee, &missing, snapshot))
			return;
		wanted_memory_unite(&wanted->memory, &missing);
	}
}

void tracee_rehearse(struct tracee *tracee, struct snapshot *snapshot)
{
	struct tracee_wanted *wanted = tracee->wanted;

	if (!tracee_has_wanted(tracee))
		return;
	tracee_begin_snapshot(tracee, snapshot);
	add_last_stack(tracee, snapshot);
	add_regions(tracee, &wanted->memory, false, snapshot);
	add_regions(tracee, &wanted->context, false, snapshot);
	fill_regions(tracee, snapshot, 0, snapshot->nr_regions);
	add_regions(tracee, &wanted->memory, true, snapshot);
	if (wanted->more.find && wanted->more.subject)
		find_rehearsed(tracee, snapshot);
	wanted_memory_sort(&wanted->memory);
	prepare_ahead(tracee);
}

/* A thread that goes on for longer could have replaced what is copied. */
#define LATE_NS (50 * NS_PER_US)

/* Regions that are due, and that something leads to. */
struct led {
	bool is_led[SNAPSHOT_REGIONS_MAX];
	uint64_t low, high; /* all are in between */
};

/*
 * Copy some of the regions that are due, from *first on, up to one that comes short. False: none of
 * the others can be copied, or it is too late. NULL: all that are due.
 */
static bool fill_due(const struct tracee *tracee, struct snapshot *snapshot, uint64_t since_ns,
		     const struct led *led, unsigned int *first)
{
	unsigned int due[SNAPSHOT_WANTED_MAX];
	struct stack_region *last = NULL;
	struct pieces pieces;
	ssize_t got;
	size_t left;

	begin_pieces(&pieces, LATE_GAP_BYTES_MAX);
	for (unsigned int i = *first;
	     i < snapshot->nr_regions && pieces.nr_regions < SNAPSHOT_WANTED_MAX; i++) {
		if (snapshot->regions[i].kind != REGION_DUE || (led && !led->is_led[i]))
			continue;
		due[pieces.nr_regions] = i;
		add_piece(&pieces, snapshot, last, &snapshot->regions[i]);
		last = &snapshot->regions[i];
	}
	if (!pieces.nr_regions)
		return false;
	got = process_vm_readv(tracee->tid, pieces.here, pieces.nr_here, pieces.there,
			       pieces.nr_there, 0);
	if ((got < 0 && errno != EFAULT) || clock_monotonic_ns() > since_ns + LATE_NS)
		return false;
	left = got > 0 ? (size_t)got : 0;
	for (unsigned int i = 0; i < pieces.nr_regions; i++) {
		struct stack_region *region = &snapshot->regions[due[i]];
		size_t needed = pieces.gaps[i] + (size_t)region->nr_bytes;

		*first = due[i] + 1;
		if (left < needed)
			return true;
		left -= needed;
		region->kind = REGION_LATE;
	}
	return true;
}

static void fill_all_due(const struct tracee *tracee, struct snapshot *snapshot, uint64_t since_ns,
			 const struct led *led)
{
	unsigned int first = 0;

	while (fill_due(tracee, snapshot, since_ns, led, &first))
		;
}

/* Note those that words of this region lead to. True: there are some more. */
static bool follow_words(const struct snapshot *snapshot, const struct stack_region *region,
			 struct led *led)
{
	bool is_any = false;
	uint64_t word;

	for (uint32_t at = 0; at + sizeof(word) <= region->nr_bytes; at += sizeof(word)) {
		const struct stack_region *to;
		bool *is_led;

		memcpy(&word, snapshot->bytes + region->offset + at, sizeof(word));
		if (word < led->low || word >= led->high)
			continue;
		to = snapshot_late_region(snapshot, word);
		is_led = to ? &led->is_led[to - snapshot->regions] : NULL;
		if (!to || *is_led)
			continue;
		*is_led = true;
		is_any = true;
	}
	return is_any;
}

/* The object of a function leads to what it consists of, and that to its first statement. */
#define LEADS_MAX 4

/* False: they are in no order. */
static bool find_bounds(const struct snapshot *snapshot, struct led *led)
{
	led->low = UINT64_MAX;
	for (unsigned int i = 0; i < snapshot->nr_regions; i++) {
		const struct stack_region *region = &snapshot->regions[i];

		if (region->kind != REGION_DUE)
			continue;
		led->low = min_u64(led->low, region->start);
		led->high = max_u64(led->high, region->start + region->nr_bytes);
	}
	return snapshot_late_region(snapshot, led->low);
}

void tracee_copy_late(const struct tracee *tracee, struct snapshot *snapshot, uint64_t since_ns)
{
	enum region_kind kind = REGION_WANTED;
	struct led led = {.high = 0};

	if (!snapshot->nr_late)
		return;
	if (!tracee->wanted->more.leads_to_late || !find_bounds(snapshot, &led)) {
		fill_all_due(tracee, snapshot, since_ns, NULL);
		return;
	}
	for (int nr = 0; nr < LEADS_MAX; nr++) {
		bool is_any = false;

		for (unsigned int i = 0; i < snapshot->nr_regions; i++) {
			if (snapshot->regions[i].kind == kind)
				is_any |= follow_words(snapshot, &snapshot->regions[i], &led);
		}
		if (!is_any)
			return;
		fill_all_due(tracee, snapshot, since_ns, &led);
		kind = REGION_LATE;
	}
}
