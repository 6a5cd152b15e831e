// SPDX-License-Identifier: GPL-2.0-or-later
/* Processes that change their own code, and so end the counting there. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "inject/patched.h"
#include "probe/prober_priv.h"
#include "proc/target_memory.h"

#define LOOK_NS	      NS_PER_SEC
#define FIRST_LOOK_NS (10 * NS_PER_MS)

bool prober_has_probes(const struct probed_process *process)
{
	for (; process; process = process->giver) {
		if (process->nr_probed)
			return true;
	}
	return false;
}

/* A child may change its copy of the code, which is noted, but the parent's code still counts. */
static void note_states(struct probed *probed, const uint8_t *states, bool is_own, uint64_t last_ns)
{
	for (size_t i = 0; i < probed->nr_places; i++) {
		struct counted_place *place = &probed->places[i];
		enum patched_state state;
		bool is_changed;

		if (place->outcome != PATCH_OK)
			continue;
		state = states[place->counter];
		is_changed = state == PATCHED_AS_BEFORE || state == PATCHED_OTHER ||
			     state == PATCHED_REPLACED;
		place->is_changed |= is_changed;
		if (!is_own || state == PATCHED_GONE)
			continue;
		if (is_changed && !counted_more(place)->until_ns)
			place->more->until_ns = max_u64(last_ns, probed->from_ns);
		else if (!is_changed && place->more)
			place->more->until_ns = 0;
	}
}

void prober_note_states(struct prober *prober, const struct probed_process *process,
			struct probed *probed, const uint8_t *states)
{
	bool is_own = process->nr_probed && probed >= process->probed &&
		      probed < process->probed + process->nr_probed;

	pthread_mutex_lock(&prober->lock);
	note_states(probed, states, is_own, process->looks.code_ns);
	pthread_mutex_unlock(&prober->lock);
}

static void look_at(struct prober *prober, struct probed_process *process,
		    struct target_memory *memory)
{
	for (struct probed_process *of = process; of; of = of->giver) {
		for (size_t i = 0; i < of->nr_probed; i++) {
			struct installation *installation = of->probed[i].installation;
			uint8_t *states =
				installation ? installation_look(installation, process->pid, memory)
					     : NULL;

			if (!states)
				continue;
			prober_note_states(prober, process, &of->probed[i], states);
			free(states);
		}
	}
}

/* Pointers to functions that were replaced? Programs set others as they begin. */
static const struct probed *with_words(const struct probed_process *process)
{
	for (size_t i = 0; i < process->nr_probed; i++) {
		const struct probed *probed = &process->probed[i];

		for (size_t k = 0; k < probed->nr_places; k++) {
			if (counted_wanted(&probed->places[k])->kind == WANTED_HEAP_WORD)
				return probed;
		}
	}
	return NULL;
}

/* The time from one look to the next. With pointers the pauses grow from the beginning on. */
static uint64_t pause_ns(const struct probed_process *process, uint64_t now_ns)
{
	const struct probed *probed =
		now_ns < process->looks.code_ns + LOOK_NS ? with_words(process) : NULL;
	uint64_t age_ns = probed && now_ns > probed->from_ns ? now_ns - probed->from_ns : LOOK_NS;

	return min_u64(max_u64(age_ns / 4, FIRST_LOOK_NS), LOOK_NS);
}

void prober_look_at_code(struct prober *prober, struct probed_process *process,
			 struct target_memory *memory, bool is_last)
{
	uint64_t now_ns = clock_monotonic_ns();

	pthread_mutex_lock(&prober->install_lock);
	if (prober_has_probes(process) &&
	    (is_last || now_ns >= process->looks.code_ns + pause_ns(process, now_ns))) {
		look_at(prober, process, memory);
		process->looks.code_ns = now_ns;
	}
	pthread_mutex_unlock(&prober->install_lock);
}
