// SPDX-License-Identifier: GPL-2.0-or-later
#include "recorder/observe.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "proc/read.h"
#include "recorder/history.h"

/* /proc/PID/statm: "size resident ...", in pages. */
static uint64_t rss_of(pid_t pid)
{
	struct buf text = {0};
	uint64_t nr_pages = 0;
	char *rest;

	if (proc_read_process_file(pid, "statm", &text)) {
		(void)strtoull(buf_str(&text), &rest, 10);
		nr_pages = strtoull(rest, NULL, 10);
	}
	buf_release(&text);
	return nr_pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

struct trigger_reading observe_processes(const struct history_state *state, bool with_rss)
{
	struct trigger_reading reading = {.time_ns = clock_monotonic_ns(),
					  .sampled_ns = state->time_ns,
					  .cpu_ns = state->cpu_ns,
					  .runq_ns = state->runq_ns};

	for (size_t i = 0; i < state->nr_pids; i++) {
		uint64_t cpu_ns;

		if (!clock_process_cpu_ns(state->pids[i], &cpu_ns))
			continue;
		reading.has_processes = true;
		reading.ran_ns += cpu_ns;
		if (with_rss)
			reading.rss_bytes += rss_of(state->pids[i]);
	}
	return reading;
}
