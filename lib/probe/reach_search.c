// SPDX-License-Identifier: GPL-2.0-or-later
/* Searches a process for pointers to its blocks. */
#include "probe/reach_search.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "heap/reach.h"
#include "inject/memory_search.h"

/* Less than a process waits at its end. */
#define PATIENCE_NS (2 * NS_PER_SEC)

struct searcher {
	struct memory_search memory;
	struct reach_search *search;
};

/*
 * Runs on any CPU that the program may use: the caller may be bound to one, with a thread of the
 * process on it.
 */
static void *search(void *context)
{
	struct searcher *searcher = context;
	struct err err = ERR_INIT;
	cpu_set_t allowed;

	if (sched_getaffinity(getpid(), sizeof(allowed), &allowed) == 0)
		sched_setaffinity(0, sizeof(allowed), &allowed);
	if (memory_search_run(&searcher->memory, &err) < 0)
		searcher->search->why_not = xstrdup(err.what);
	return NULL;
}

void reach_search(struct reach *reach, uint32_t process, const struct reach_request *request)
{
	struct searcher searcher = {.search = reach_begin(reach, process, request->is_last)};
	pthread_t thread;

	searcher.memory = (struct memory_search){.pid = request->pid,
						 .command = request->command,
						 .patience_ns = PATIENCE_NS,
						 .pointers = searcher.search->pointers,
						 .is_ended = request->is_ended,
						 .context = request->context};
	if (pthread_create(&thread, NULL, search, &searcher) != 0) {
		searcher.search->why_not = xstrdup("no thread could be started for the search");
		return;
	}
	pthread_join(thread, NULL);
	searcher.search->at_ns = searcher.memory.at_ns;
	searcher.search->stop_ns = searcher.memory.stop_ns;
	searcher.search->nr_bytes = searcher.memory.nr_bytes;
}
