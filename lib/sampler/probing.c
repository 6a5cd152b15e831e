// SPDX-License-Identifier: GPL-2.0-or-later
/* Informs the prober about the recording. */
#include "base/clock.h"
#include "probe/prober.h"
#include "sampler/heap_reader_priv.h"
#include "sampler/sampler_priv.h"
#include "sampler/searching_priv.h"
#include "snapshot/snapshot.h"
#include "unwind/unwind.h"

void probing_born(struct sampler *sampler, const struct message_process *process,
		  enum roster_origin origin)
{
	bool has_joined = origin == ROSTER_JOINED || origin == ROSTER_JOINED_RUNNING;
	enum prober_birth birth = process->forked				  ? PROBER_FORKED
				  : process->parent == SERIAL_NONE && !has_joined ? PROBER_ROOT
										  : PROBER_EXECED;

	if (sampler->options.prober)
		prober_born(sampler->options.prober, process->serial, process->pid,
			    process->program, process->parent, birth);
}

void probing_end(void *context, struct consumer *consumer, uint32_t process, uint64_t time_ns,
		 enum process_end how)
{
	struct sampler *sampler = context;

	search_gone(sampler, consumer, process, how);
	prober_gone(sampler->options.prober, process, time_ns);
}

static struct prober_counting counting_now(const struct sampler *sampler)
{
	bool counts = sampler->session->counting;

	return (struct prober_counting){.calls = counts,
					.memory = counts && !sampler->session->heap.is_off};
}

/*
 * Totals and rows must be of the same time. With all allocations, totals are sums of the records
 * read: so the thread that reads them reads those up to now before the totals.
 */
static void set_counting(void *context, struct consumer *consumer)
{
	struct sampler *sampler = context;
	struct heap_session *heap = &sampler->session->heap;
	const struct prober_counting counting = counting_now(sampler);
	uint64_t now_ns = clock_monotonic_ns();

	if (!counting.memory)
		heap->to_ns = now_ns;
	if (consumer)
		heap_read_at_once(sampler, consumer);
	prober_set_counting(sampler->options.prober, counting, now_ns);
	if (!counting.memory)
		return;
	heap->from_ns = clock_monotonic_ns();
	heap->to_ns = UINT64_MAX;
}

void probing_set_counting(struct sampler *sampler)
{
	const struct heap_session *heap = &sampler->session->heap;
	const struct prober_counting counting = counting_now(sampler);
	bool changes = heap->reader && counting.memory != (heap->to_ns == UINT64_MAX);

	if (changes && sampler->collector)
		heap_run(sampler, set_counting, sampler);
	else if (changes) /* before the command runs: no allocation was recorded yet */
		set_counting(sampler, NULL);
	else if (sampler->options.prober)
		prober_set_counting(sampler->options.prober, counting, clock_monotonic_ns());
}

static void end_memory(void *context, struct consumer *consumer)
{
	struct sampler *sampler = context;

	(void)consumer;
	prober_set_counting(sampler->options.prober, (struct prober_counting){0},
			    sampler->session->ended_ns);
}

/* The collector reads what is left while the sampler ends. */
void probing_end_counting(struct sampler *sampler)
{
	struct heap_session *heap = &sampler->session->heap;
	struct prober_counting counting = {.memory = true};

	if (!heap->reader || heap->to_ns != UINT64_MAX) {
		probing_set_counting(sampler);
		return;
	}
	heap->to_ns = sampler->session->ended_ns;
	prober_set_counting(sampler->options.prober, counting, sampler->session->ended_ns);
	collector_post(sampler->collector, end_memory, sampler);
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
	uint64_t pc, sp, link = 0, original;
	unsigned int pushed_bytes;

	if (!sampler->options.prober || !regs_get(&snapshot->regs, numbers->pc, &pc))
		return;
	regs_get(&snapshot->regs, numbers->result, &link);
	if (!prober_original_pc(sampler->options.prober, snapshot->tgid, pc, link, &original,
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

bool probing_set_frame_links(void *context, uint32_t process, const struct frame_links *links)
{
	const struct sampler *sampler = context;

	return prober_set_frame_links(sampler->options.prober, process, links);
}

void probing_add_rows(void *context, struct profile *profile)
{
	const struct sampler *sampler = context;

	prober_publish(sampler->options.prober, profile, sampler->session->start_ns,
		       atomic_load(&sampler->session->is_over));
}
