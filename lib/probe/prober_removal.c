// SPDX-License-Identifier: GPL-2.0-or-later
/* Takes the probes away, at the end of a recording. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/minmax.h"
#include "base/own_thread.h"
#include "heap/heap_ring.h"
#include "inject/installation.h"
#include "inject/removal.h"
#include "probe/prober_priv.h"
#include "proc/program.h"
#include "proc/target_memory.h"

/*
 * Passes through all processes, in the end. A process of any user may look as if it had our probes,
 * and delay us: after some time each gets only the time that a removal takes.
 */
#define REMOVE_PASSES	 8
#define REMOVE_NS	 (5 * NS_PER_SEC)
#define LATE_PATIENCE_NS (100 * NS_PER_MS)

/* As the recording ends, all of its processes count as gone, also those that run on. */
static bool runs_on(const struct probed_process *process)
{
	return process->program && proc_program_id(process->pid, process->pid) == process->program;
}

/* Its probes are removed, with a look at them. */
static bool is_removed_from(const struct probed_process *process)
{
	return process->nr_probed && runs_on(process);
}

static void look_in_the_end(struct prober *prober, struct probed_process *process)
{
	cleanup_target_memory struct target_memory *memory =
		prober_open_memory(prober, process->pid, NULL);

	if (memory && runs_on(process))
		prober_look_at_code(prober, process, memory, true);
}

static void look_at_others(struct prober *prober)
{
	for (size_t i = 0; i < prober->nr_open; i++) {
		if (!is_removed_from(prober->open[i]))
			look_in_the_end(prober, prober->open[i]);
	}
}

/* Or NULL. */
static struct probed_process *find_removed_from(const struct prober *prober, pid_t pid)
{
	for (size_t i = 0; i < prober->nr_open; i++) {
		if (prober->open[i]->pid == pid && is_removed_from(prober->open[i]))
			return prober->open[i];
	}
	return NULL;
}

struct removing {
	struct prober *prober;
	struct probe_cost cost;
	uint64_t stop_ns_max;
	uint64_t end_ns;
	size_t nr_removed, nr_left;
	struct err *err;
};

static bool is_late(const struct removing *removing)
{
	return clock_monotonic_ns() >= removing->end_ns;
}

static void fail_kept(pid_t pid, struct err *err)
{
	err_set(err, ERR_LIMIT,
		"process %d changes its own code, and may restore jumps to the probes", (int)pid);
	err_hint(err, "its code is restored; the memory of the probes stays, and does no harm");
}

/* A look at probes: it is noted when the process runs on. */
struct seen {
	struct probed *probed;
	uint8_t *states; /* owned */
};

struct removal_of_one {
	struct prober *prober;
	struct probed_process *process; /* NULL: it has none of its own */
	struct seen *seen;		/* owned */
	size_t nr_seen, cap_seen;
	const struct probe_access *access;
	struct probe_cost *cost;
	struct err *err;
	bool is_kept;
};

/* A child that was forked has those of its parent. */
static const struct patch_table *find_patches(void *context, uint64_t inode, size_t nr)
{
	const struct removal_of_one *removal = context;
	const struct prober *prober = removal->prober;

	for (size_t i = 0; i < prober->nr_open; i++) {
		const struct probed_process *process = prober->open[i];

		for (size_t k = 0; k < process->nr_probed; k++) {
			const struct installation *installation = process->probed[k].installation;
			const struct patch_table *found =
				installation ? installation_patches(installation, inode, nr) : NULL;

			if (found)
				return found;
		}
	}
	return NULL;
}

static struct probed *find_probed(struct probed_process *process, uint64_t inode, size_t nr)
{
	for (; process; process = process->giver) {
		for (size_t i = 0; i < process->nr_probed; i++) {
			struct probed *probed = &process->probed[i];

			if (probed->installation &&
			    installation_patches(probed->installation, inode, nr))
				return probed;
		}
	}
	return NULL;
}

static bool note_look(void *context, const struct removal_look *look)
{
	struct removal_of_one *removal = context;
	struct probed *probed = find_probed(removal->process, look->inode, look->nr);
	uint8_t *states;

	/* A second removal finds the code as it was. */
	if (!probed || removal->process->looks.was_last)
		return false;
	states = xmemdup(look->states, look->nr);
	ARRAY_GROW(removal->seen, removal->nr_seen, removal->cap_seen);
	removal->seen[removal->nr_seen++] = (struct seen){probed, states};
	return installation_judge(probed->installation, removal->access->pid, states,
				  look->is_writable);
}

static void note_seen(struct removal_of_one *removal)
{
	for (size_t i = 0; i < removal->nr_seen; i++) {
		prober_note_states(removal->prober, removal->process, removal->seen[i].probed,
				   removal->seen[i].states);
		free(removal->seen[i].states);
	}
	free(removal->seen);
	if (!removal->process || removal->process->looks.was_last)
		return;
	/* It could not be stopped. */
	if (!removal->nr_seen)
		look_in_the_end(removal->prober, removal->process);
	removal->process->looks.was_last = true;
}

static void remove_in_thread(void *context)
{
	struct removal_of_one *removal = context;
	const struct removal_patches known = {
		.find = find_patches, .looked = note_look, .context = removal};

	probes_remove(removal->access, &known, removal->cost, &removal->is_kept, removal->err);
}

static void remove_from(void *context, pid_t pid)
{
	struct removing *removing = context;
	struct err err = ERR_INIT;
	cleanup_target_memory struct target_memory *memory =
		prober_open_memory(removing->prober, pid, &err);
	const struct probe_access access = {
		.pid = pid,
		.command = pid == removing->prober->command.pid ? pid : 0,
		.memory = memory,
		.patience_ns = is_late(removing) ? LATE_PATIENCE_NS : PROBER_PATIENCE_NS,
		.hint = &removing->prober->hint,
		.own_filters = &removing->prober->own_filters};
	struct removal_of_one removal = {.prober = removing->prober,
					 .process = find_removed_from(removing->prober, pid),
					 .access = &access,
					 .cost = &removing->cost,
					 .err = &err};
	uint64_t before_ns = removing->cost.stop_ns;
	pid_t owner;

	if (memory)
		own_thread_run(remove_in_thread, &removal);
	note_seen(&removal);
	removing->stop_ns_max = max_u64(removing->stop_ns_max, removing->cost.stop_ns - before_ns);
	/* A process that has ended meanwhile has none any more. */
	if (probes_find(pid, &owner) == PROBES_NONE) {
		removing->nr_removed++;
		return;
	}
	removing->nr_left++;
	if (removal.is_kept)
		fail_kept(pid, &err);
	if (removing->err)
		*removing->err = err;
}

/* First the processes that have some for certain. */
static void remove_from_known(struct removing *removing)
{
	const struct prober *prober = removing->prober;

	for (size_t i = 0; i < prober->nr_open; i++) {
		if (is_removed_from(prober->open[i]))
			remove_from(removing, prober->open[i]->pid);
	}
}

void prober_remove(struct prober *prober, size_t *nr_left, struct err *err)
{
	struct removing removing = {.prober = prober, .err = err};

	pthread_mutex_lock(&prober->lock);
	for (size_t i = 0; i < prober->nr_open; i++) {
		struct probed_process *process = prober->open[i];

		for (size_t k = 0; k < process->nr_probed; k++) {
			if (prober_heap_of(&process->probed[k]))
				heap_ring_end(prober_heap_of(&process->probed[k]));
		}
	}
	pthread_mutex_unlock(&prober->lock);
	prober_let_go(prober);
	prober_end_thread(prober);
	look_at_others(prober);
	removing.end_ns = clock_monotonic_ns() + REMOVE_NS;
	remove_from_known(&removing);
	/*
	 * Children that are forked meanwhile, from a process with probes, are seen in the next
	 * pass.
	 */
	for (int i = 0; i < REMOVE_PASSES && prober->nr_wanted; i++) {
		removing.nr_removed = removing.nr_left = 0;
		probes_for_each_process(remove_from, &removing);
		if (!removing.nr_removed || is_late(&removing))
			break;
	}
	prober->sums.remove_ns = removing.cost.stop_ns;
	prober->sums.stop_ns_max = max_u64(prober->sums.stop_ns_max, removing.stop_ns_max);
	*nr_left = removing.nr_left;
}
