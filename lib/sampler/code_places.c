// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The code mapped where threads run. The collector walks a stack some time after its sample, when
 * another library may have replaced the former at the same place. So the sampler asks the kernel
 * for the mapping with the sample: now and then, and with each sample while libraries are replaced.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/index_set.h"
#include "proc/range.h"
#include "sampler/sampler_priv.h"
#include "snapshot/snapshot.h"

#define CODE_PLACES 4
#define CODES_MET   128

/* A mapping of code in which threads were sampled. */
struct code_place {
	struct proc_range range; /* by the kernel's last answer */
	uint64_t address;	 /* an address in the range */
	uint64_t code;		 /* identifies the file and the place */
	uint64_t asked_ns, restless_until_ns;
};

struct code_places {
	struct code_place at[CODE_PLACES];
	uint64_t met[CODES_MET]; /* recent code for which the collector was woken in time */
	uint32_t nr_met;
	bool cannot_ask; /* the kernel is older than 6.11 */
};

/* The kernel is asked about a place so rarely, */
#define CALM_PAUSE_NS (10 * NS_PER_MS)
/* or with each sample for this time after a change: replaced code is soon replaced again. */
#define RESTLESS_NS (2 * NS_PER_SEC)

static bool holds(const struct proc_range *range, uint64_t address)
{
	return range->start <= address && address < range->end;
}

static struct code_place *place_at(const struct sampled_process *process, uint64_t pc)
{
	for (size_t i = 0; i < CODE_PLACES; i++) {
		if (holds(&process->places->at[i].range, pc))
			return &process->places->at[i];
	}
	return NULL;
}

static struct code_place *overlapping(const struct sampled_process *process,
				      const struct proc_range *range)
{
	for (size_t i = 0; i < CODE_PLACES; i++) {
		struct code_place *place = &process->places->at[i];

		if (place->range.start < range->end && range->start < place->range.end)
			return place;
	}
	return NULL;
}

static struct code_place *longest_unasked(const struct sampled_process *process)
{
	struct code_place *place = &process->places->at[0];

	for (size_t i = 1; i < CODE_PLACES; i++) {
		if (process->places->at[i].asked_ns < place->asked_ns)
			place = &process->places->at[i];
	}
	*place = (struct code_place){0};
	return place;
}

/* The same value for any part of a mapping. */
static uint64_t code_of(const struct proc_range *range)
{
	uint64_t hash = hash_mix(hash_u64(range->inode), range->start - range->offset);

	return hash_mix(hash, (uint64_t)range->dev_major << 32 | range->dev_minor);
}

static bool has_been_met(const struct code_places *places, uint64_t code)
{
	for (size_t i = 0; i < CODES_MET; i++) {
		if (places->met[i] == code)
			return true;
	}
	return false;
}

/* Read the map now, as the collector may be too late. False: try again later. */
static bool have_map_read(struct sampler *sampler, struct sampled_process *process,
			  bool is_replaced, uint64_t now_ns)
{
	enum collector_call call;

	if (is_replaced) {
		process->maps.has_new_code = true;
		return true;
	}
	call = collector_call_for_code(sampler->collector, now_ns);
	process->maps.has_more_code |= call == COLLECTOR_CALLED;
	return call != COLLECTOR_LEFT_ALONE;
}

static void note_place(struct sampler *sampler, struct sampled_process *process,
		       const struct proc_range *range, uint64_t address, uint64_t now_ns)
{
	struct code_place *place = overlapping(process, range);
	struct code_places *places = process->places;
	uint64_t code = code_of(range);
	bool is_replaced = place && code != place->code;

	if (!place)
		place = longest_unasked(process);
	if (is_replaced)
		place->restless_until_ns = now_ns + RESTLESS_NS;
	if (!has_been_met(places, code) && have_map_read(sampler, process, is_replaced, now_ns))
		places->met[places->nr_met++ % CODES_MET] = code;
	place->code = code;
	place->range = *range;
	place->address = address;
	place->asked_ns = now_ns;
}

static void ask(struct sampler *sampler, struct sampled_thread *thread, uint64_t address,
		uint64_t now_ns)
{
	struct tick *tick = &sampler->tick;
	struct proc_range *range = &tick->places[tick->nr_places];

	if (!tracee_range_at(&thread->roster->tracee, address, range)) {
		thread->process->places->cannot_ask = errno == ENOTTY;
		return;
	}
	/* A mapping of code made at run time may grow or shrink without a replacement. */
	if (!range->inode)
		return;
	note_place(sampler, thread->process, range, address, now_ns);
	tick->nr_places++;
}

static bool is_due(struct sampled_process *process, const struct code_place *place, uint64_t now_ns)
{
	uint64_t asked_ns = place ? place->asked_ns : process->place_met_ns;

	if (place && now_ns < place->restless_until_ns)
		return true;
	if (now_ns - asked_ns < CALM_PAUSE_NS)
		return false;
	process->place_met_ns = now_ns;
	return true;
}

void places_ask(struct sampler *sampler, struct sampled_thread *thread,
		const struct snapshot *snapshot)
{
	struct sampled_process *process = thread->process;
	uint64_t now_ns = snapshot->time_ns;
	const struct code_place *here;
	uint64_t pc;

	sampler->tick.nr_places = 0;
	if (!sampler->tick.places)
		sampler->tick.places = xcalloc(CODE_PLACES + 1, sizeof(*sampler->tick.places));
	if (!regs_get(&snapshot->regs, arch_regs(snapshot->arch)->pc, &pc))
		return;
	if (!process->places) {
		if (snapshot->state != THREAD_STATE_RUNNING)
			return; /* do not ask for each of many thousands of sleeping threads */
		process->places = xcalloc(1, sizeof(*process->places));
	}
	if (process->places->cannot_ask)
		return;
	here = place_at(process, pc);
	for (size_t i = 0; i < CODE_PLACES; i++) {
		const struct code_place *place = &process->places->at[i];

		if (place != here && now_ns < place->restless_until_ns)
			ask(sampler, thread, place->address, now_ns);
	}
	if (is_due(process, here, now_ns))
		ask(sampler, thread, pc, now_ns);
}

void places_publish(struct sampler *sampler, struct message *message)
{
	struct message_sample *sample = &message->body.sample;
	struct tick *tick = &sampler->tick;

	if (!tick->nr_places)
		return;
	sample->nr_places = tick->nr_places;
	sample->places = xmemdup(tick->places, tick->nr_places * sizeof(*tick->places));
	tick->nr_places = 0;
}
