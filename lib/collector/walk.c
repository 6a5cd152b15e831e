// SPDX-License-Identifier: GPL-2.0-or-later
/* Turns a snapshot into a stack of the profile. Walks show whether the map is old. */
#include "collector/walk.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/minmax.h"
#include "collector/message.h"
#include "collector/script_frames.h"
#include "jit/jit_names.h"
#include "mapping/code_filter.h"
#include "mapping/space.h"
#include "proc/range.h"
#include "proc/read.h"
#include "profile/profile.h"
#include "snapshot/snapshot.h"

/* --- maps --- */

/* False: nothing could be read; for ever once the process is gone. */
static bool refresh(struct map_watch *watch, struct space *space)
{
	int status = space_refresh(space, NULL);

	watch->is_gone |= status == ERR_GONE;
	return status == 0;
}

/* As above, for a walk that shows the map to be old. */
static bool renew(struct map_watch *watch, struct space *space)
{
	watch->calm_since_ns = 0;
	return refresh(watch, space);
}

static int open_maps(const struct space *space)
{
	return proc_open_task_file(space_pid(space), space_pid(space), "maps");
}

/* The mapping at pc as the kernel showed it at the sample, or NULL. */
static const struct proc_range *place_at(const struct message_sample *sample, uint64_t pc)
{
	for (size_t i = 0; i < sample->nr_places; i++) {
		if (sample->places[i].start <= pc && pc < sample->places[i].end)
			return &sample->places[i];
	}
	return NULL;
}

/* Code that was replaced will be replaced again soon: so the kernel is asked at each walk. */
#define RESTLESS_NS (2 * NS_PER_SEC)

static bool is_restless(struct map_watch *watch, const struct space *space)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint32_t nr_replaced = space_nr_replaced(space);

	if (nr_replaced != watch->nr_replaced)
		watch->restless_until_ns = now_ns + RESTLESS_NS;
	watch->nr_replaced = nr_replaced;
	return now_ns < watch->restless_until_ns;
}

/* Only of innermost frames: libraries that come and go are called by those that stay. */
#define MAPPINGS_ASKED_FOR 4

/* A place in the sample is better than the present mapping. */
static bool is_outdated(const struct space *space, const struct message_sample *sample,
			const struct unwind_walk *walk)
{
	cleanup_close int fd = open_maps(space);
	const struct mapping *last = NULL;
	int nr_asked = 0;

	for (size_t i = 0; fd >= 0 && i < walk->nr_frames && nr_asked < MAPPINGS_ASKED_FOR; i++) {
		uint64_t pc = walk->frames[i].pc;
		const struct mapping *mapping = space_find(space, pc);
		struct proc_range range;

		if (mapping == last || place_at(sample, pc))
			continue;
		last = mapping;
		nr_asked++;
		if (!proc_range_at(fd, pc, &range))
			return errno == ENOENT;
		if (!space_agrees(space, &range))
			return true;
	}
	return false;
}

/*
 * After a walk: was it wrong because the map is old? True: the map was read again, and the walk
 * must be repeated. This is for libraries that change places, where other code is at the same
 * address by now.
 */
static bool renew_if_replaced(struct map_watch *watch, struct space *space,
			      const struct message_sample *sample, const struct unwind_walk *walk)
{
	return !watch->is_gone && is_restless(watch, space) && is_outdated(space, sample, walk) &&
	       renew(watch, space);
}

#define FILES_ASKED_FOR 4

/* Was a plugin rewritten in place, and mapped again at the same address? */
static bool is_of_old_file(const struct module_table *modules, const struct message_sample *sample,
			   const struct unwind_walk *walk)
{
	uint32_t last = MODULE_UNKNOWN.v;
	int nr_asked = 0;

	for (size_t i = 0; i < walk->nr_frames && nr_asked < FILES_ASKED_FOR; i++) {
		struct module_id module = walk->frames[i].lookup.module;

		if (module.v == last)
			continue;
		last = module.v;
		nr_asked++;
		if (module_table_is_outdated(modules, module, sample->snapshot->time_ns))
			return true;
	}
	return false;
}

static bool is_of_doubtful_code(const struct space *space, const struct unwind_walk *walk)
{
	for (size_t i = 0; i < walk->nr_frames; i++) {
		if (space_is_doubtful(space, walk->frames[i].pc))
			return true;
	}
	return false;
}

/* The walk went through a file that was rewritten in place, or was still being copied. */
static bool renew_if_doubtful(struct map_watch *watch, struct space *space,
			      const struct message_sample *sample, const struct unwind_walk *walk,
			      const struct module_table *modules)
{
	return !watch->is_gone &&
	       (is_of_old_file(modules, sample, walk) || is_of_doubtful_code(space, walk)) &&
	       renew(watch, space);
}

/* Just-in-time compilers map memory all the time: is there code where the walk left the map? */
static bool is_mapped_by_now(const struct space *space, const struct unwind_walk *walk)
{
	cleanup_close int fd =
		walk->end == STACK_END_NO_MAPPING && walk->end_pc ? open_maps(space) : -1;
	struct proc_range range;

	return fd >= 0 && proc_range_at(fd, walk->end_pc, &range) && range.executable;
}

#define SHORTEST_REFRESH_PAUSE_NS (10 * NS_PER_MS)
#define LONGEST_REFRESH_PAUSE_NS  NS_PER_SEC

/*
 * The walk left the map: read it at once if there is code, else ever more rarely while that does
 * not help.
 */
static bool renew_if_left(struct map_watch *watch, struct space *space,
			  const struct unwind_walk *walk)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint32_t generation = space_generation(space);

	if (watch->is_gone || (now_ns < watch->refresh_again_ns && !is_mapped_by_now(space, walk)))
		return false;
	if (renew(watch, space) && space_generation(space) != generation) {
		watch->refresh_pause_ns = 0;
		return true;
	}
	watch->refresh_pause_ns = watch->refresh_pause_ns ? min_u64(watch->refresh_pause_ns * 2,
								    LONGEST_REFRESH_PAUSE_NS)
							  : SHORTEST_REFRESH_PAUSE_NS;
	watch->refresh_again_ns = now_ns + watch->refresh_pause_ns;
	return false;
}

/*
 * A walk through an outdated map need not leave it: another library may be at the same address, as
 * when a program loads its plugins again. So maps are also read now and then without a reason, all
 * together in a small part of one CPU's time, however large they are. That part is of CPU time: how
 * long we waited for a CPU, on a busy machine longer than all the rest, says nothing.
 */
#define SHORTEST_WATCH_PAUSE_NS (50 * NS_PER_MS)
#define WATCH_PAUSE_PER_READING 500

/*
 * The map of a thousand threads has two thousand lines, and takes a millisecond to read. If the
 * kernel can, it is asked only about known code instead, and the whole map is read more rarely.
 */
#define WHOLE_PAUSE_PER_READING 5000

/*
 * Code that has not changed for long is asked about the more rarely: after a minute once a second.
 * The sampler asks about that in which threads run all the same (sampler/code_places.c).
 */
#define CALM_PART	64
#define LONGEST_CALM_NS NS_PER_SEC
/* Its whole map is read so many times more rarely: new code is found by the walks that it is in. */
#define WHOLE_CALM 16

static uint64_t calm_pause_ns(struct map_watch *watch, uint64_t now_ns)
{
	if (!watch->calm_since_ns)
		watch->calm_since_ns = now_ns;
	return min_u64((now_ns - watch->calm_since_ns) / CALM_PART, LONGEST_CALM_NS);
}

static bool has_other_code(struct map_watch *watch, const struct space *space)
{
	bool has_other = !space_has_same_code(space);

	if (has_other)
		watch->calm_since_ns = 0;
	return has_other;
}

void maps_watch(struct map_watch *watch, struct space *space, size_t nr_watched)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t began_ns, cpu_ns, pause_ns;
	bool reads_whole;

	if (watch->is_gone || now_ns < watch->watch_again_ns)
		return;
	began_ns = clock_thread_cpu_ns();
	/* The first walk comes right after the map was read. */
	reads_whole = watch->watch_again_ns &&
		      (has_other_code(watch, space) || now_ns >= watch->read_whole_again_ns);
	if (reads_whole)
		refresh(watch, space);
	cpu_ns = (clock_thread_cpu_ns() - began_ns) * nr_watched;
	if (reads_whole)
		watch->read_whole_again_ns =
			now_ns + max_u64(cpu_ns * WHOLE_PAUSE_PER_READING,
					 WHOLE_CALM * calm_pause_ns(watch, now_ns));
	pause_ns = max_u64(cpu_ns * WATCH_PAUSE_PER_READING, SHORTEST_WATCH_PAUSE_NS);
	watch->watch_again_ns = now_ns + max_u64(pause_ns, calm_pause_ns(watch, now_ns));
}

/* --- walks --- */

/* Does the map agree with all places in the sample? */
static bool settle_places(struct space *space, const struct message_sample *sample)
{
	bool is_settled = true;

	for (size_t i = 0; i < sample->nr_places; i++)
		is_settled &= space_recall(space, &sample->places[i]);
	return is_settled;
}

/* Code that may not have been there then must not get the name of the present code. */
static void cut_unsettled(const struct space *space, const struct message_sample *sample,
			  struct unwind_walk *walk)
{
	for (size_t i = 0; i < walk->nr_frames; i++) {
		struct unwind_frame *frame = &walk->frames[i];
		const struct proc_range *place = place_at(sample, frame->pc);

		if (!place || space_agrees(space, place))
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

static void walk_settled(struct walker *walker, struct space *space,
			 const struct message_sample *sample)
{
	bool is_settled = settle_places(space, sample);

	unwinder_walk(walker->unwinder, space, sample->snapshot, NULL, &walker->walk);
	if (!is_settled)
		cut_unsettled(space, sample, &walker->walk);
}

static struct stack_id push(struct walker *walker, struct stack_id stack, struct code_address where)
{
	struct frame_id frame = profile_intern_frame(walker->profile, where);

	return stack_trie_intern(walker->profile->stacks, stack,
				 jit_names_frame(walker->jit_names, frame));
}

/* A frame with the number of frames that are left out. */
static struct stack_id push_elided(struct walker *walker, struct stack_id stack, size_t nr)
{
	char path[] = "[elided]";
	struct module row = {.kind = MODULE_KIND_ELIDED, .path = path, .fd = -1};
	struct code_address where = {.module = module_table_intern(walker->profile->modules, &row),
				     .address = nr};

	return push(walker, stack, where);
}

/* From the root to the leaf, as the trie grows. */
static struct stack_id intern(struct walker *walker)
{
	const struct unwind_walk *walk = &walker->walk;
	struct stack_id stack = STACK_EMPTY;

	for (size_t i = walk->nr_frames; i-- > 0;) {
		if (walk->nr_elided && i + 1 == walk->elided_at)
			stack = push_elided(walker, stack, walk->nr_elided);
		stack = push(walker, stack, walk->frames[i].lookup);
		stack = script_frames_push(walker->scripts, stack, i);
	}
	return stack;
}

static bool is_within(struct code_filter *filter, const struct unwind_walk *walk)
{
	for (size_t i = 0; i < walk->nr_frames; i++) {
		if (code_filter_has(filter, walk->frames[i].lookup))
			return true;
	}
	return false;
}

struct stack_id walker_walk(struct walker *walker, struct space *space, struct map_watch *watch,
			    const struct message_sample *sample,
			    const struct script_subject *script)
{
	struct unwind_walk *walk = &walker->walk;

	walk_settled(walker, space, sample);
	if (renew_if_replaced(watch, space, sample, walk))
		walk_settled(walker, space, sample);
	if (renew_if_doubtful(watch, space, sample, walk, walker->profile->modules))
		walk_settled(walker, space, sample);
	if (walk->left_map && renew_if_left(watch, space, walk))
		walk_settled(walker, space, sample);
	/* Memory that was withheld from the copy was not lost. */
	if (walk->end == STACK_END_BAD_MEMORY && sample->snapshot->is_withheld)
		walk->end = STACK_END_SERVED;
	walker->is_outside = walker->within && !is_within(walker->within, walk);
	if (walker->is_outside)
		return STACK_EMPTY;
	walker->nr_stacks_by_end[walk->end]++;
	if (script)
		script_frames_walk(walker->scripts, script, sample->snapshot, walk);
	else
		script_frames_drop(walker->scripts);
	return intern(walker);
}
