// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads the objects for which sleeping threads wait: once for each sleep, and again if a lock
 * changes owners while others wait for it. Each descriptor is looked up some times a second.
 */
#include "sampler/waits_priv.h"

#include "base/alloc.h"
#include "collector/wanted_hints.h"
#include "sampler/sampler_priv.h"
#include "snapshot/snapshot.h"
#include "wait/descriptors.h"

/* A word to read: from the copied stack, if it has it, else from memory. */
struct place_to_read {
	struct tracee *tracee;
	const struct snapshot *snapshot; /* or NULL */
	bool is_read;
};

static bool read_place(void *context, uint64_t address, void *out, size_t nr_bytes)
{
	struct place_to_read *place = context;

	if (place->snapshot && snapshot_read(place->snapshot, address, out, nr_bytes))
		return true;
	place->is_read = true;
	return tracee_read(place->tracee, address, out, nr_bytes);
}

void waits_look(struct sampler *sampler, struct sampled_thread *thread,
		const struct snapshot *snapshot, const struct proc_syscall *syscall)
{
	struct place_to_read place = {.tracee = &thread->roster->tracee, .snapshot = snapshot};
	const struct wait_memory memory = {.read = read_place, .context = &place};
	struct sampled_process *process = thread->process;
	struct seen_wait *wait = &thread->sleep.wait;
	struct proc_schedstat clocks;
	struct wait_lock lock;
	const char *object;

	if (syscall->sp > UINT32_MAX) /* a 32-bit program has other calls by these numbers */
		*wait = wait_of_call(syscall, &memory);
	if (!wait->is_known)
		return;
	if (process_hints_get_lock(process->hints, &lock))
		wait_look_at_lock(wait, &lock, &memory);
	if (wait->kind == WAIT_FILE) {
		if (!process->descriptors)
			process->descriptors = descriptors_new(process->roster->pid);
		object = descriptors_object(process->descriptors, (int)wait->number,
					    sampler->tick.now_ns, &place.is_read);
		wait->object = object ? xstrdup(object) : NULL;
	}
	/* Valid only if it slept all the while. */
	if (place.is_read &&
	    (!tracee_clocks(place.tracee, &clocks) || clocks.pcount != snapshot->pcount))
		seen_wait_release(wait);
}

bool waits_for_another(struct sampled_thread *thread)
{
	struct place_to_read place = {.tracee = &thread->roster->tracee};

	return wait_takes_new_owner(
		&thread->sleep.wait,
		&(const struct wait_memory){.read = read_place, .context = &place});
}
