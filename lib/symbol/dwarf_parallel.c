// SPDX-License-Identifier: GPL-2.0-or-later
/* Resolves from DWARF in several threads. */
#include "symbol/dwarf_parallel.h"

#include <pthread.h>

#include "base/alloc.h"
#include "symbol/builder.h"
#include "symbol/dwarf_resolve.h"
#include "symbol/object.h"

/* With less work than this, a thread costs more than it saves. */
#define MIN_ADDRESSES 256
#define MIN_BYTES     (UINT64_C(4) << 20)

/* A thread, its run of the addresses and its own readers of the same sections. */
struct dwarf_worker {
	pthread_t thread;
	const struct symbol_object *object;
	const uint64_t *addresses;
	size_t nr;
	struct dwarf_file file, supplement;
	struct split_dwarf split;
	struct result_builder builder;
};

static size_t nr_workers(const struct symbol_object *object, size_t nr, size_t nr_threads)
{
	uint64_t by_bytes = object->dwarf.sections[DWARF_INFO].nr / MIN_BYTES;

	if (nr_threads > nr / MIN_ADDRESSES)
		nr_threads = nr / MIN_ADDRESSES;
	if (nr_threads > by_bytes)
		nr_threads = (size_t)by_bytes;
	return nr_threads > RESULT_MAX_PARTS ? RESULT_MAX_PARTS : nr_threads;
}

static void worker_init(struct dwarf_worker *worker, const struct symbol_object *object,
			const struct result_builder *builder)
{
	worker->object = object;
	dwarf_file_init_like(&worker->file, &object->dwarf);
	if (object->dwarf.supplement) {
		dwarf_file_init_like(&worker->supplement, &object->supplement_dwarf);
		worker->file.supplement = &worker->supplement;
	}
	split_dwarf_init(&worker->split, object->split.options, object->split.program,
			 object->split.owner);
	result_builder_init(&worker->builder, worker->nr);
	worker->builder.verbatim = builder->verbatim;
	worker->builder.only_names = builder->only_names;
	worker->builder.symbol_at = builder->symbol_at;
	worker->builder.symbol_context = builder->symbol_context;
}

static void *work(void *argument)
{
	struct dwarf_worker *worker = argument;

	dwarf_resolve(&worker->file, &worker->split, worker->addresses, worker->nr,
		      &worker->builder);
	return NULL;
}

static void worker_release(struct dwarf_worker *worker)
{
	split_dwarf_release(&worker->split);
	dwarf_file_release(&worker->file);
	dwarf_file_release(&worker->supplement);
}

static void run(struct dwarf_worker *workers, size_t nr)
{
	size_t nr_started = 0;

	/* This thread takes the first share, and the shares for which no thread can be started. */
	while (nr_started + 1 < nr && pthread_create(&workers[nr_started + 1].thread, NULL, work,
						     &workers[nr_started + 1]) == 0)
		nr_started++;
	work(&workers[0]);
	for (size_t i = nr_started + 1; i < nr; i++)
		work(&workers[i]);
	for (size_t i = 1; i <= nr_started; i++)
		pthread_join(workers[i].thread, NULL);
}

void dwarf_resolve_parallel(struct symbol_object *object, const uint64_t *addresses, size_t nr,
			    size_t nr_threads, struct result_builder *builder)
{
	size_t nr_parts = nr_workers(object, nr, nr_threads);
	struct dwarf_worker *workers;

	if (nr_parts < 2) {
		dwarf_resolve(&object->dwarf, &object->split, addresses, nr, builder);
		return;
	}
	workers = xcalloc(nr_parts, sizeof(*workers));
	for (size_t i = 0; i < nr_parts; i++) {
		size_t first = nr * i / nr_parts;

		workers[i].addresses = addresses + first;
		workers[i].nr = nr * (i + 1) / nr_parts - first;
		worker_init(&workers[i], object, builder);
	}
	run(workers, nr_parts);
	for (size_t i = 0; i < nr_parts; i++) {
		object->dwarf.damaged |= workers[i].file.damaged;
		object->split.nr_missing += workers[i].split.nr_missing;
		object->split.owner = owner_join(object->split.owner, workers[i].split.owner);
		result_builder_take(builder, &workers[i].builder, nr * i / nr_parts);
		worker_release(&workers[i]);
	}
	free(workers);
}
