// SPDX-License-Identifier: GPL-2.0-or-later
/* Processes that change their own code, and so end the counting there. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "inject/patched.h"
#include "probe/prober_priv.h"
#include "proc/target_memory.h"

#define LOOK_NS NS_PER_SEC

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
		if (!is_changed)
			place->until_ns = 0;
		else if (!place->until_ns)
			place->until_ns = max_u64(last_ns, probed->from_ns);
	}
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
			pthread_mutex_lock(&prober->lock);
			note_states(&of->probed[i], states, of == process, process->looks.code_ns);
			pthread_mutex_unlock(&prober->lock);
			free(states);
		}
	}
}

void prober_look_at_code(struct prober *prober, struct probed_process *process,
			 struct target_memory *memory, bool is_last)
{
	uint64_t now_ns = clock_monotonic_ns();

	pthread_mutex_lock(&prober->install_lock);
	if (prober_has_probes(process) && (is_last || now_ns >= process->looks.code_ns + LOOK_NS)) {
		look_at(prober, process, memory);
		process->looks.code_ns = now_ns;
	}
	pthread_mutex_unlock(&prober->install_lock);
}
