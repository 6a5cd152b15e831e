// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracee/visit_clocks.h"

#include "base/clock.h"
#include "snapshot/snapshot.h"
#include "tracee/tracee.h"
#include "tracee/visit.h"

/* A thread that is ready to run stops within this time; else it waits for a CPU. */
#define PROMPT_NS (100 * NS_PER_US)

static void set(struct snapshot *snapshot, const struct proc_schedstat *clocks)
{
	snapshot->cpu_ns = clocks->cpu_ns;
	snapshot->runq_ns = clocks->runq_ns;
	snapshot->pcount = clocks->pcount;
}

static bool have_stood_still(const struct visit_clocks *clocks, const struct visit *visit)
{
	return clocks->is_displaced && clocks->ran_until_then && visit->stopped_tid == visit->tid &&
	       visit->stopped_ns - clocks->read_ns < PROMPT_NS;
}

bool visit_clocks_set(const struct visit_clocks *clocks, const struct visit *visit,
		      struct tracee *tracee, struct snapshot *snapshot, bool *is_left)
{
	bool is_in_own_code = snapshot->syscall_nr == SNAPSHOT_NO_SYSCALL;
	struct proc_schedstat now = clocks->before;

	*is_left = is_in_own_code && clocks->are_read_after;
	if (*is_left)
		return true;
	if (is_in_own_code && have_stood_still(clocks, visit))
		now.pcount++;
	else if (!tracee_clocks(tracee, &now))
		return false;
	set(snapshot, &now);
	return true;
}

void visit_clocks_after(const struct visit_clocks *clocks, struct tracee *tracee,
			struct snapshot *snapshot)
{
	struct proc_schedstat now;

	if (!tracee_clocks(tracee, &now))
		now = clocks->before; /* it has ended since */
	else if (now.pcount > clocks->before.pcount)
		now.pcount--;
	set(snapshot, &now);
}
