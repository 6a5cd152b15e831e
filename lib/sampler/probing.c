// SPDX-License-Identifier: GPL-2.0-or-later
/* Tells the prober what it must know of a recording. */
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

/* From now on, or up to now. */
static void set_recording(struct heap_session *heap, bool is_recorded, uint64_t now_ns)
{
	if (is_recorded == (heap->to_ns == UINT64_MAX))
		return;
	if (is_recorded)
		heap->from_ns = now_ns;
	heap->to_ns = is_recorded ? UINT64_MAX : now_ns;
}

void probing_set_counting(struct sampler *sampler)
{
	bool counts = sampler->session->counting;
	const struct prober_counting counting = {
		.calls = counts, .memory = counts && !sampler->session->heap.is_off};
	uint64_t now_ns = clock_monotonic_ns();

	if (!sampler->options.prober)
		return;
	prober_set_counting(sampler->options.prober, counting, now_ns);
	set_recording(&sampler->session->heap, counting.memory, now_ns);
}

void sampler_set_memory(struct sampler *sampler, bool is_recorded)
{
	pthread_mutex_lock(&sampler->lock);
	heap_drain(sampler, NULL, true); /* of the time that ends now */
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
