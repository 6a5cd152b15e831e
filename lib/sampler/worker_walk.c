// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "jit/jit_names.h"
#include "mapping/space.h"
#include "proc/program.h"
#include "proc/range.h"
#include "proc/read.h"
#include "sampler/worker_priv.h"
#include "snapshot/snapshot.h"

/* However deep a recursion is, more than this is never copied. */
#define LARGEST_STACK_BYTES (64u * 1024 * 1024)

#define SHORTEST_REFRESH_PAUSE_NS (10 * NS_PER_MS)
#define LONGEST_REFRESH_PAUSE_NS  NS_PER_SEC

/*
 * A walk through an outdated map need not leave it: a library may come to stand where another
 * stood, as it does when a program loads its plugins anew. So the map is read now and then for
 * no reason, taking a small part of one CPU's time however large it is. Of its time: how long
 * we waited for a CPU meanwhile, on a busy machine longer than all the rest, says nothing.
 */
#define SHORTEST_WATCH_PAUSE_NS (50 * NS_PER_MS)
#define WATCH_PAUSE_PER_READING 500

/*
 * Of a thousand threads a map has two thousand lines, and reading it takes a millisecond. The
 * kernel is asked after the code that is known instead, where it answers that; all is read the more
 * rarely.
 */
#define WHOLE_PAUSE_PER_READING 5000

/* Where that has happened it will again soon: then the kernel is asked at each walk. */
#define RESTLESS_NS (2 * NS_PER_SEC)

uint64_t worker_restless_until_ns(const struct worker *worker)
{
	return worker->restless_until_ns;
}

static bool is_restless(struct worker *worker, struct worker_process *process)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint32_t nr_replaced = space_nr_replaced(process->space);

	if (nr_replaced != process->nr_replaced) {
		process->restless_until_ns = now_ns + RESTLESS_NS;
		worker->restless_until_ns = process->restless_until_ns;
	}
	process->nr_replaced = nr_replaced;
	return now_ns < process->restless_until_ns;
}

static void look_at_maps(struct worker_process *process, uint64_t now_ns)
{
	uint64_t cpu_ns = clock_thread_cpu_ns();

	if (now_ns < process->read_whole_again_ns && space_has_same_code(process->space))
		return;
	space_refresh(process->space, NULL);
	process->read_whole_again_ns =
		now_ns + (clock_thread_cpu_ns() - cpu_ns) * WHOLE_PAUSE_PER_READING;
}

static void watch_maps(struct worker_process *process)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t cpu_ns, pause_ns;

	if (process->final_maps || now_ns < process->watch_again_ns)
		return;
	cpu_ns = clock_thread_cpu_ns();
	/* The first walk comes right after the map was read. */
	if (process->watch_again_ns)
		look_at_maps(process, now_ns);
	pause_ns = (clock_thread_cpu_ns() - cpu_ns) * WATCH_PAUSE_PER_READING;
	if (pause_ns < SHORTEST_WATCH_PAUSE_NS)
		pause_ns = SHORTEST_WATCH_PAUSE_NS;
	process->watch_again_ns = now_ns + pause_ns;
}

/* Not now: the stacks that wait behind this one are of the map that is known. */
static void watch_later(struct worker *worker, struct worker_process *process)
{
	if (process->is_to_watch)
		return;
	process->is_to_watch = true;
	ARRAY_GROW(worker->to_watch, worker->nr_to_watch, worker->cap_to_watch);
	worker->to_watch[worker->nr_to_watch++] = (uint32_t)(process - worker->processes);
}

void worker_watch_maps(struct worker *worker)
{
	for (size_t i = 0; i < worker->nr_to_watch; i++) {
		struct worker_process *process = &worker->processes[worker->to_watch[i]];

		process->is_to_watch = false;
		if (process->space)
			watch_maps(process);
	}
	worker->nr_to_watch = 0;
	jit_names_poll(worker->jit_names, clock_monotonic_ns());
}

/* Of the innermost frames: those of libraries that stay hang above those that come and go. */
#define MAPPINGS_ASKED_FOR 4

static const struct proc_range *place_of(const struct message_sighting *sighting, uint64_t pc)
{
	for (size_t i = 0; i < sighting->nr_places; i++) {
		if (sighting->places[i].start <= pc && pc < sighting->places[i].end)
			return &sighting->places[i];
	}
	return NULL;
}

/* What the look has found there is better than what is there now. */
static bool is_walk_outdated(const struct worker_process *process,
			     const struct message_sighting *sighting,
			     const struct unwind_walk *walk)
{
	cleanup_close int fd = proc_open_task_file(process->pid, process->pid, "maps");
	const struct mapping *last = NULL;
	int nr_asked = 0;

	for (size_t i = 0; fd >= 0 && i < walk->nr_frames && nr_asked < MAPPINGS_ASKED_FOR; i++) {
		uint64_t pc = walk->frames[i].pc;
		const struct mapping *mapping = space_find(process->space, pc);
		struct proc_range range;

		if (mapping == last || place_of(sighting, pc))
			continue;
		last = mapping;
		nr_asked++;
		if (!proc_range_at(fd, pc, &range))
			return errno == ENOENT;
		if (!space_agrees(process->space, &range))
			return true;
	}
	return false;
}

#define FILES_ASKED_FOR 4

/* Has a plugin been written anew in place, and mapped again where it was? */
static bool is_walk_of_old_file(const struct worker *worker, const struct snapshot *snapshot,
				const struct unwind_walk *walk)
{
	const struct module_table *modules = worker->profile->modules;
	uint32_t last = MODULE_UNKNOWN.v;
	int nr_asked = 0;

	for (size_t i = 0; i < walk->nr_frames && nr_asked < FILES_ASKED_FOR; i++) {
		struct module_id module = walk->frames[i].lookup.module;

		if (module.v == last)
			continue;
		last = module.v;
		nr_asked++;
		if (module_table_is_outdated(modules, module, snapshot->time_ns))
			return true;
	}
	return false;
}

static bool is_walk_of_doubtful_code(const struct worker_process *process,
				     const struct unwind_walk *walk)
{
	for (size_t i = 0; i < walk->nr_frames; i++) {
		if (space_is_doubtful(process->space, walk->frames[i].pc))
			return true;
	}
	return false;
}

/* Just-in-time compilers map memory all the time: is there something where the walk left the map?
 */
static bool is_mapped_by_now(const struct worker_process *process, const struct unwind_walk *walk)
{
	cleanup_close int fd = walk->end == STACK_END_NO_MAPPING && walk->end_pc
				       ? proc_open_task_file(process->pid, process->pid, "maps")
				       : -1;
	struct proc_range range;

	return fd >= 0 && proc_range_at(fd, walk->end_pc, &range) && range.executable;
}

/*
 * The walk left the known map: read it anew, but ever more rarely while that does not help.
 * False when there is nothing new.
 */
static bool refresh_maps(struct worker_process *process, const struct unwind_walk *walk,
			 bool *is_gone)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint32_t generation = space_generation(process->space);

	*is_gone = false;
	if (process->final_maps ||
	    (now_ns < process->refresh_again_ns && !is_mapped_by_now(process, walk)))
		return false;
	if (space_refresh(process->space, NULL) < 0) {
		*is_gone = true;
		return false;
	}
	if (space_generation(process->space) != generation) {
		process->refresh_pause_ns = 0;
		return true;
	}
	process->refresh_pause_ns = process->refresh_pause_ns ? process->refresh_pause_ns * 2
							      : SHORTEST_REFRESH_PAUSE_NS;
	if (process->refresh_pause_ns > LONGEST_REFRESH_PAUSE_NS)
		process->refresh_pause_ns = LONGEST_REFRESH_PAUSE_NS;
	process->refresh_again_ns = now_ns + process->refresh_pause_ns;
	return false;
}

/*
 * The walk wanted what lies above the copy: let the next one of this thread be larger. Only
 * if that can help: a pointer into nowhere would make every copy the largest, for nothing.
 */
static void ask_for_more_stack(struct worker_thread *thread, const struct snapshot *snapshot,
			       const struct unwind_walk *walk)
{
	const struct stack_region *region = &snapshot->regions[0];
	uint32_t limit;
	uint32_t grown;

	if (walk->end != STACK_END_BAD_MEMORY || !snapshot->nr_regions || !thread->hints)
		return;
	limit = atomic_load_explicit(&thread->hints->max_stack_bytes, memory_order_relaxed);
	/* A copy that ended before the limit had all there was. */
	if (region->nr_bytes < limit || walk->wanted_address < region->start + limit)
		return;
	grown = limit > LARGEST_STACK_BYTES / 8 ? LARGEST_STACK_BYTES : limit * 8;
	if (walk->wanted_address - region->start >= grown)
		return;
	atomic_store_explicit(&thread->hints->max_stack_bytes, grown, memory_order_relaxed);
}

/* So many walks tell how deep a thread's stacks are, give or take a factor. */
#define ENOUGH_WALKS	     32
#define DEPTH_FACTOR	     4
#define SMALLEST_STACK_BYTES (32u * 1024)

/*
 * Where the stack ends in the midst of other memory, as those of Go's goroutines and of
 * coroutines do, all of the limit is copied each time: it is lowered to a multiple of what
 * walks have needed. Should one ever need more, ask_for_more_stack() raises it again.
 */
static void ask_for_less_stack(struct worker_thread *thread, const struct snapshot *snapshot,
			       const struct unwind_walk *walk)
{
	const struct stack_region *region = &snapshot->regions[0];
	uint64_t wanted;

	if (!thread->hints || !snapshot->nr_regions || walk->end_sp < region->start ||
	    walk->end_sp - region->start > region->nr_bytes)
		return;
	if (walk->end_sp - region->start > thread->deepest_bytes)
		thread->deepest_bytes = (uint32_t)(walk->end_sp - region->start);
	if (thread->nr_walks < ENOUGH_WALKS && ++thread->nr_walks < ENOUGH_WALKS)
		return;
	wanted = (uint64_t)thread->deepest_bytes * DEPTH_FACTOR;
	if (wanted < SMALLEST_STACK_BYTES)
		wanted = SMALLEST_STACK_BYTES;
	if (wanted < atomic_load_explicit(&thread->hints->max_stack_bytes, memory_order_relaxed))
		atomic_store_explicit(&thread->hints->max_stack_bytes, (uint32_t)wanted,
				      memory_order_relaxed);
}

/* So many whole walks that end at the same place tell where its stack begins. */
#define ENOUGH_ROOTS 8

static void forget_root(struct worker_thread *thread)
{
	thread->has_other_roots = true;
	atomic_store_explicit(&thread->hints->root_sp, 0, memory_order_relaxed);
}

/* Does it go beyond what was taken for the end of the stack that it is on? */
static bool passes_root(const struct snapshot *snapshot, const struct unwind_walk *walk,
			uint64_t root_sp)
{
	uint64_t reached = walk->end == STACK_END_ROOT ? walk->end_sp : walk->wanted_address;

	return snapshot->regions[0].start < root_sp && reached > root_sp;
}

/*
 * Above the outermost frame of a thread are its own data, which may be hundreds of kilobytes: they
 * are not copied once it is known where that is.
 */
static void note_root(struct worker_thread *thread, const struct snapshot *snapshot,
		      const struct unwind_walk *walk)
{
	uint64_t known;

	if (!thread->hints || !snapshot->nr_regions || thread->has_other_roots)
		return;
	known = atomic_load_explicit(&thread->hints->root_sp, memory_order_relaxed);
	if (known && passes_root(snapshot, walk, known)) {
		forget_root(thread);
		return;
	}
	if (known || walk->end != STACK_END_ROOT || !walk->end_sp)
		return;
	thread->nr_to_root = walk->end_sp == thread->root_sp ? thread->nr_to_root + 1 : 1;
	thread->root_sp = walk->end_sp;
	if (thread->nr_to_root == ENOUGH_ROOTS)
		atomic_store_explicit(&thread->hints->root_sp, walk->end_sp, memory_order_relaxed);
}

/* A stack that was switched to: who did so is on another one, which the next copy is to have. */
static void ask_for_stack_behind(struct worker_thread *thread, const struct unwind_walk *walk)
{
	if (thread->hints && walk->end == STACK_END_OTHER_STACK && walk->wanted_address)
		atomic_store_explicit(&thread->hints->behind_sp, walk->wanted_address,
				      memory_order_relaxed);
}

/* Sleepers are read without their saved registers; where frames need them, it takes a stop. */
static void ask_for_registers(struct worker_thread *thread, const struct unwind_walk *walk)
{
	if (thread->hints && walk->end == STACK_END_UNKNOWN_REG)
		atomic_store_explicit(&thread->hints->needs_registers, true, memory_order_relaxed);
}

static struct stack_id push(struct worker *worker, struct stack_id stack, struct code_address where)
{
	struct frame_id frame = profile_intern_frame(worker->profile, where);

	return stack_trie_intern(worker->profile->stacks, stack,
				 jit_names_frame(worker->jit_names, frame));
}

/* A frame that says how many are left out. */
static struct stack_id push_elided(struct worker *worker, struct stack_id stack, size_t nr)
{
	char path[] = "[elided]";
	struct module row = {.kind = MODULE_KIND_ELIDED, .path = path, .fd = -1};
	struct code_address where = {.module = module_table_intern(worker->profile->modules, &row),
				     .address = nr};

	return push(worker, stack, where);
}

/* From the root to the leaf, as the trie grows. */
static struct stack_id intern_walk(struct worker *worker, const struct unwind_walk *walk)
{
	struct stack_id stack = STACK_EMPTY;

	for (size_t i = walk->nr_frames; i-- > 0;) {
		if (walk->nr_elided && i + 1 == walk->elided_at)
			stack = push_elided(worker, stack, walk->nr_elided);
		stack = push(worker, stack, walk->frames[i].lookup);
	}
	return stack;
}

/* What was not copied was left out for a reason. */
static enum stack_end end_of(const struct unwind_walk *walk, const struct snapshot *snapshot)
{
	return walk->end == STACK_END_BAD_MEMORY && snapshot->is_withheld ? STACK_END_SERVED
									  : walk->end;
}

/* Does the map say of all places what the look has found there? */
static bool settle_places(struct worker_process *process, const struct message_sighting *sighting)
{
	bool is_settled = true;

	for (size_t i = 0; i < sighting->nr_places; i++)
		is_settled &= space_recall(process->space, &sighting->places[i]);
	return is_settled;
}

/* What is not known to have been there then is not named by what is there now. */
static void cut_unsettled(const struct worker_process *process,
			  const struct message_sighting *sighting, struct unwind_walk *walk)
{
	for (size_t i = 0; i < walk->nr_frames; i++) {
		struct unwind_frame *frame = &walk->frames[i];
		const struct proc_range *place = place_of(sighting, frame->pc);

		if (!place || space_agrees(process->space, place))
			continue;
		frame->lookup =
			(struct code_address){.module = MODULE_UNKNOWN, .address = frame->pc};
		walk->nr_frames = i + 1;
		walk->end = STACK_END_NO_MAPPING;
		walk->end_pc = frame->pc;
		if (walk->elided_at >= walk->nr_frames)
			walk->nr_elided = 0;
	}
}

static void walk_settled(struct worker *worker, struct worker_process *process,
			 const struct message_sighting *sighting)
{
	bool is_settled = settle_places(process, sighting);

	unwinder_walk(worker->unwinder, process->space, sighting->snapshot, NULL, &worker->walk);
	if (!is_settled)
		cut_unsettled(process, sighting, &worker->walk);
}

bool worker_walk(struct worker *worker, struct worker_process *process,
		 struct worker_thread *thread, const struct message_sighting *sighting,
		 struct worker_stack *stack)
{
	const struct snapshot *snapshot = sighting->snapshot;
	struct unwind_walk *walk = &worker->walk;
	bool is_gone = false;

	watch_later(worker, process);
	walk_settled(worker, process, sighting);
	if (!process->final_maps && is_restless(worker, process) &&
	    is_walk_outdated(process, sighting, walk) && space_refresh(process->space, NULL) == 0)
		walk_settled(worker, process, sighting);
	if (!process->final_maps &&
	    (is_walk_of_old_file(worker, snapshot, walk) ||
	     is_walk_of_doubtful_code(process, walk)) &&
	    space_refresh(process->space, NULL) == 0)
		walk_settled(worker, process, sighting);
	if (walk->left_map) {
		if (refresh_maps(process, walk, &is_gone))
			walk_settled(worker, process, sighting);
		else if (is_gone && !process->final_maps)
			return false;
	}
	ask_for_less_stack(thread, snapshot, walk);
	ask_for_more_stack(thread, snapshot, walk);
	ask_for_registers(thread, walk);
	ask_for_stack_behind(thread, walk);
	note_root(thread, snapshot, walk);
	stack->id = intern_walk(worker, walk);
	stack->end = end_of(walk, snapshot);
	worker->nr_stacks_by_end[stack->end]++;
	return true;
}

void worker_read_thread_name(struct worker *worker, struct worker_thread *thread)
{
	const struct worker_process *process = &worker->processes[thread->process];
	const struct profile_thread *row = &worker->profile->threads[thread->id.v];
	char name[PROC_COMM_MAX_BYTES];

	if (proc_program_read_comm(process->program, process->pid, row->tid, name, sizeof(name)))
		worker_name_thread(worker, thread, name);
}

void worker_name_thread(struct worker *worker, struct worker_thread *thread, const char *name)
{
	const struct worker_process *process = &worker->processes[thread->process];
	struct profile *profile = worker->profile;
	struct profile_thread *row = &profile->threads[thread->id.v];

	row->name = profile_intern(profile, name);
	if (row->tid == process->pid)
		profile->processes[process->id.v].name = row->name;
}
