// SPDX-License-Identifier: GPL-2.0-or-later
/* A process with all its threads stopped, while it gets its probes. */
#include "inject/standstill.h"

#include "inject/access.h"
#include "inject/remote.h"
#include "proc/read.h"
#include "proc/target_memory.h"

int standstill_begin(struct standstill *still, const struct probe_access *access,
		     uint64_t patience_ns, struct err *err)
{
	int status = access->is_stopped
			     ? stopped_adopt(&still->stopped, access->command, patience_ns, err)
			     : stopped_begin(&still->stopped, access->pid, access->command,
					     STOPPED_BUT_ASLEEP, patience_ns, err);

	still->is_begun = status == 0;
	return status;
}

void standstill_end(struct standstill *still, struct probe_cost *cost)
{
	if (!still->is_begun)
		return;
	stopped_end(&still->stopped);
	still->is_begun = still->is_at_once = false;
	cost->stop_ns += still->stopped.held_ns;
}

/* Could the thread that is stopped make calls now? It was not amid a signal, nor a transfer. */
static bool may_adopt(const struct standstill *still)
{
	const struct stopped *stopped = &still->stopped;

	return stopped->nr == 1 && !stopped->nr_sleepers && !stopped->threads[0].signal &&
	       !stopped->threads[0].is_group_stop;
}

void standstill_begin_at_once(struct standstill *still, struct remote **remote,
			      const struct probe_access *access, const struct remote_code *code,
			      struct probe_cost *cost)
{
	if (access->is_stopped || !remote_knows_rows() ||
	    stopped_begin(&still->stopped, access->pid, access->command, STOPPED_IF_ALONE, 0,
			  NULL) < 0)
		return;
	still->is_begun = still->is_at_once = true;
	if (!may_adopt(still) ||
	    remote_adopt(remote, access, code, still->stopped.threads[0].tid, NULL) < 0)
		standstill_end(still, cost);
}

bool standstill_has_thread_data(const struct standstill *still)
{
	const struct stopped *stopped = &still->stopped;

	for (size_t i = 0; i < stopped->nr; i++) {
		if (!stopped_thread_pointer(&stopped->threads[i]))
			return false;
	}
	return true;
}

bool standstill_has_own_words(const struct standstill *still, struct target_memory *memory)
{
	const struct stopped *stopped = &still->stopped;

	for (size_t i = 0; i < stopped->nr; i++) {
		uint64_t at = stopped_thread_pointer(&stopped->threads[i]), word;

		if (!target_memory_word(memory, at, &word) || word != at)
			return false;
	}
	return true;
}
