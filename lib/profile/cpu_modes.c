// SPDX-License-Identifier: GPL-2.0-or-later
/* Divides the CPU time of samples into user and system time. */
#include "profile/cpu_modes.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "profile/profile.h"

/* The CPU time of the samples of a thread, in the kernel and in the program. */
struct seen_modes {
	double kernel_ns, program_ns;
};

/* Is its leaf a function of the kernel, as that of a thread that exits? */
static bool ends_in_kernel(const struct profile *profile, const struct sample *sample)
{
	struct frame_id leaf;

	if (sample->stack.v == STACK_EMPTY.v)
		return false;
	leaf = stack_trie_frame(profile->stacks, sample->stack);
	return module_table_get(profile->modules, profile->frames[leaf.v].where.module)->kind ==
	       MODULE_KIND_KERNEL;
}

static bool is_in_kernel(const struct profile *profile, const struct sample *sample)
{
	return sample->syscall_nr >= 0 || sample->syscall_nr == SAMPLE_PAGE_FAULT ||
	       ends_in_kernel(profile, sample);
}

static struct seen_modes *sum_samples(const struct profile *profile)
{
	struct seen_modes *seen = xcalloc(profile->nr_threads, sizeof(*seen));

	for (size_t i = 0; i < profile->nr_samples; i++) {
		const struct sample *sample = &profile->samples[i];
		struct seen_modes *thread = &seen[sample->thread.v];

		if (sample->kind == SAMPLE_UNATTRIBUTED)
			continue;
		if (is_in_kernel(profile, sample))
			thread->kernel_ns += (double)sample->cpu_ns;
		else
			thread->program_ns += (double)sample->cpu_ns;
	}
	return seen;
}

static struct cpu_modes modes_of(const struct cpu_split *split, const struct seen_modes *seen)
{
	struct cpu_modes modes = {.in_kernel = 1};
	double sum_ns = (double)split->user_ns + (double)split->system_ns, system_ns;

	if (!split->known || sum_ns <= 0)
		return modes;
	modes.elsewhere = (double)split->system_ns / sum_ns;
	system_ns = modes.elsewhere * (seen->kernel_ns + seen->program_ns);
	if (seen->kernel_ns > system_ns)
		modes.in_kernel = system_ns / seen->kernel_ns;
	else if (seen->program_ns > 0)
		modes.in_program = (system_ns - seen->kernel_ns) / seen->program_ns;
	return modes;
}

/*
 * The threads of a process without a split of their own, together: they have the split of the
 * process less those of its other threads.
 */
struct others {
	struct cpu_split split;
	struct seen_modes seen;
};

static uint64_t rest_of(uint64_t whole, uint64_t part)
{
	return whole > part ? whole - part : 0;
}

static struct others *sum_others(const struct profile *profile, const struct seen_modes *seen)
{
	struct others *others = xcalloc(profile->nr_processes, sizeof(*others));

	for (size_t i = 0; i < profile->nr_processes; i++)
		others[i].split = profile->processes[i].split;
	for (size_t i = 0; i < profile->nr_threads; i++) {
		const struct profile_thread *thread = &profile->threads[i];
		struct others *of = &others[thread->process];

		if (thread->split.known) {
			of->split.user_ns = rest_of(of->split.user_ns, thread->split.user_ns);
			of->split.system_ns = rest_of(of->split.system_ns, thread->split.system_ns);
		} else {
			of->seen.kernel_ns += seen[i].kernel_ns;
			of->seen.program_ns += seen[i].program_ns;
		}
	}
	return others;
}

void profile_divide_cpu_time(struct profile *profile)
{
	struct seen_modes *seen;
	struct others *others;

	if (!profile->meta.knows_faults)
		return;
	seen = sum_samples(profile);
	others = sum_others(profile, seen);
	for (size_t i = 0; i < profile->nr_threads; i++) {
		struct profile_thread *thread = &profile->threads[i];
		const struct others *of = &others[thread->process];

		thread->modes = thread->split.known ? modes_of(&thread->split, &seen[i])
						    : modes_of(&of->split, &of->seen);
	}
	free(others);
	free(seen);
}

double sample_system_share(const struct profile *profile, const struct sample *sample)
{
	const struct cpu_modes *modes = &profile->threads[sample->thread.v].modes;

	if (sample->kind == SAMPLE_UNATTRIBUTED)
		return modes->elsewhere;
	return is_in_kernel(profile, sample) ? modes->in_kernel : modes->in_program;
}
