// SPDX-License-Identifier: GPL-2.0-or-later
/* Informs the prober about the recording. */
#include "base/clock.h"
#include "probe/prober.h"
#include "sampler/sampler_priv.h"
#include "snapshot/snapshot.h"
#include "unwind/unwind.h"

void probing_born(struct sampler *sampler, const struct message_process *process)
{
	enum prober_birth birth = process->forked		   ? PROBER_FORKED
				  : process->parent == SERIAL_NONE ? PROBER_ROOT
								   : PROBER_EXECED;

	if (sampler->options.prober)
		prober_born(sampler->options.prober, process->serial, process->pid, process->parent,
			    birth);
}

void probing_gone(struct sampler *sampler, const struct sampled_process *process)
{
	if (sampler->options.prober)
		prober_gone(sampler->options.prober, process->serial);
}

/*
 * Totals and rows must be of the same time. With all allocations, totals are sums of the records
 * read: so read the allocations up to now before the totals.
 */
void probing_set_counting(struct sampler *sampler)
{
	struct heap_session *heap = &sampler->session->heap;
	bool counts = sampler->session->counting;
	const struct prober_counting counting = {.calls = counts,
						 .memory = counts && !heap->is_off};
	bool was_recorded = heap->to_ns == UINT64_MAX;
	uint64_t now_ns = clock_monotonic_ns();

	if (!sampler->options.prober)
		return;
	if (was_recorded && !counting.memory)
		heap->to_ns = now_ns;
	if (was_recorded != counting.memory)
		heap_drain(sampler, NULL, true);
	prober_set_counting(sampler->options.prober, counting, now_ns);
	if (was_recorded || !counting.memory)
		return;
	heap->from_ns = clock_monotonic_ns();
	heap->to_ns = UINT64_MAX;
}

void sampler_set_memory(struct sampler *sampler, bool is_recorded)
{
	pthread_mutex_lock(&sampler->lock);
	sampler->session->heap.is_off = !is_recorded;
	probing_set_counting(sampler);
	pthread_mutex_unlock(&sampler->lock);
}

void probing_correct(struct sampler *sampler, struct snapshot *snapshot)
{
	const struct arch_regs *numbers = arch_regs(snapshot->arch);
	uint64_t pc, sp, original;
	unsigned int pushed_bytes;

	if (!sampler->options.prober || !regs_get(&snapshot->regs, numbers->pc, &pc) ||
	    !prober_original_pc(sampler->options.prober, snapshot->tgid, pc, &original,
				&pushed_bytes))
		return;
	regs_set(&snapshot->regs, numbers->pc, original);
	if (pushed_bytes && regs_get(&snapshot->regs, numbers->sp, &sp))
		regs_set(&snapshot->regs, numbers->sp, sp + pushed_bytes);
}

void probing_add_step(void *context, uint32_t process, const struct unwind_step *step, bool root)
{
	const struct sampler *sampler = context;
	const struct heap_step made = {
		.pc = step->return_address,
		.cfa_offset = step->sp_offset,
		.fp_offset = step->fp_offset,
		.flags = (uint16_t)((root ? HEAP_STEP_ROOT : 0) |
				    (step->is_from_fp ? HEAP_STEP_BY_FP : 0) |
				    (step->fp_is_saved ? HEAP_STEP_FP_SAVED : 0) |
				    (step->fp_is_lost ? HEAP_STEP_FP_LOST : 0))};

	prober_add_heap_step(sampler->options.prober, process, &made);
}

void probing_add_rows(void *context, const void *rows, struct profile *profile)
{
	const struct sampler *sampler = context;

	if (rows)
		prober_add_moments(rows, profile, sampler->session->start_ns);
	else
		prober_publish(sampler->options.prober, profile, sampler->session->start_ns);
}
