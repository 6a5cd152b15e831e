// SPDX-License-Identifier: GPL-2.0-or-later
/* Which processes have probes, from the beginning of a recording to its end. */
#include "probe/prober.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/minmax.h"
#include "heap/heap_ring.h"
#include "heap/reach.h"
#include "inject/entry.h"
#include "inject/installation.h"
#include "inject/letting_go.h"
#include "overhead/urgency.h"
#include "probe/prober_priv.h"
#include "probe/prober_wakes_priv.h"
#include "proc/program.h"
#include "proc/read.h"
#include "proc/target_memory.h"
#include "tracee/launch.h"
#include "tracee/permission.h"

/*
 * Libraries that a running program loads: looked for soon after its start, then ever more rarely.
 */
#define FIRST_LOOK_NS (2 * NS_PER_MS)
#define LOOK_NS	      (500 * NS_PER_MS)
/*
 * Where there are many processes, they are looked at so rarely that all looks take at most this
 * part of the time. A look that takes longer than this waits for something else than its CPU.
 */
#define LOOKS_PART	64
#define LONGEST_LOOK_NS NS_PER_MS

struct prober *prober_new(const struct prober_options *options)
{
	struct prober *prober = xcalloc(1, sizeof(*prober));
	pthread_condattr_t attributes;

	prober->options = *options;
	prober->sums.begun = heap_moment_now();
	prober->sums.believed = believed_since(clock_monotonic_ns());
	prober->sums.heap_mean = options->heap.mean;
	prober->heap.is_wanted = heap_options_are_set(&options->heap);
	if (prober->heap.is_wanted && options->heap.is_searched)
		prober->heap.reach = reach_new();
	pthread_mutex_init(&prober->install_lock, NULL);
	backings_init(&prober->backings);
	own_filters_read(&prober->own_filters);
	pthread_mutex_init(&prober->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&prober->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	return prober;
}

void prober_await_slow(struct prober *prober, unsigned int gate, uint64_t length_ns)
{
	uint64_t *most_ns = &prober->options.slow_most_ns[gate];

	*most_ns = *most_ns ? min_u64(*most_ns, length_ns) : length_ns;
}

static void release_process(struct probed_process *process)
{
	for (size_t i = 0; i < process->nr_probed; i++) {
		installation_free(process->probed[i].installation);
		counted_places_free(process->probed[i].places, process->probed[i].nr_places);
		free(process->probed[i].timed);
		noted_calls_free(process->probed[i].noted);
	}
	free(process->probed);
	free(process->mappings);
	free(process->refusal);
	process->probed = NULL;
	process->mappings = NULL;
	process->refusal = NULL;
	process->nr_probed = process->nr_mappings = 0;
}

static void free_process(struct probed_process *process)
{
	release_process(process);
	free(process);
}

void prober_close(struct prober *prober, struct probed_process *process)
{
	release_process(process);
	process->is_closed = true;
	for (size_t i = 0; i < prober->nr_open; i++) {
		if (prober->open[i] != process)
			continue;
		prober->open[i] = prober->open[--prober->nr_open];
		break;
	}
}

void prober_end_thread(struct prober *prober)
{
	pthread_mutex_lock(&prober->lock);
	prober->is_over = true;
	pthread_cond_signal(&prober->wake);
	pthread_mutex_unlock(&prober->lock);
	if (prober->looker.has_begun)
		pthread_join(prober->looker.id, NULL);
	prober->looker.has_begun = false;
}

void prober_free(struct prober *prober)
{
	if (!prober)
		return;
	prober_let_go(prober);
	prober_end_thread(prober);
	for (size_t i = 0; i < prober->nr_processes; i++)
		free_process(prober->processes[i]);
	for (size_t i = 0; i < prober->files.nr; i++)
		prober_file_free(prober->files.at[i]);
	free(prober->processes);
	serials_release(&prober->by_serial);
	free(prober->open);
	pid_table_release(&prober->by_pid);
	free(prober->files.at);
	reach_free(prober->heap.reach);
	pthread_cond_destroy(&prober->wake);
	pthread_mutex_destroy(&prober->lock);
	pthread_mutex_destroy(&prober->install_lock);
	backings_release(&prober->backings);
	free(prober);
}

static struct probed_process *add_process(struct prober *prober, pid_t pid, uint64_t program)
{
	struct probed_process *process = xcalloc(1, sizeof(*process));

	process->pid = pid;
	process->serial = UINT32_MAX;
	process->program = program;
	process->born_ns = clock_monotonic_ns();
	process->looks.again_ns = process->born_ns + FIRST_LOOK_NS;
	process->looks.code_ns = process->born_ns;
	ARRAY_GROW(prober->processes, prober->nr_processes, prober->cap_processes);
	prober->processes[prober->nr_processes++] = process;
	ARRAY_GROW(prober->open, prober->nr_open, prober->cap_open);
	prober->open[prober->nr_open++] = process;
	pid_table_set(&prober->by_pid, pid, process);
	return process;
}

static struct probed_process *find_pid(const struct prober *prober, pid_t pid)
{
	return pid_table_get(&prober->by_pid, pid);
}

struct target_memory *prober_open_memory(struct prober *prober, pid_t pid, struct err *err)
{
	struct target_memory *memory = target_memory_open(pid, &prober->backings);

	if (!memory && (errno == ENOENT || errno == ESRCH))
		err_set(err, ERR_GONE, "it ended before its calls could be counted");
	else if (!memory)
		err_sys(err, "cannot write to the memory of process %d", (int)pid);
	return memory;
}

typedef int install_fn(struct prober *prober, struct probed_process *process,
		       const struct probe_access *access, struct err *err);

/* Any thread, one process at a time. */
static int install_running(struct prober *prober, struct probed_process *process,
			   install_fn *install, struct err *err)
{
	cleanup_target_memory struct target_memory *memory =
		prober_open_memory(prober, process->pid, err);
	const struct probe_access access = {
		.pid = process->pid,
		.command = process->pid == prober->command.pid ? process->pid : 0,
		.memory = memory,
		.patience_ns = PROBER_PATIENCE_NS,
		.hint = &prober->hint,
		.own_filters = &prober->own_filters};
	int status = 0;

	if (!memory)
		return err->code;
	if (!process->looks.is_over)
		status = install(prober, process, &access, err);
	prober_look_at_code(prober, process, memory, false);
	return status;
}

/* The refusal of a gate is to be in the profile, too, as the recording goes on. */
static void note_gate_refusal(struct prober *prober, struct probed_process *process,
			      struct err *err)
{
	if (err->code != ERR_INVALID)
		return;
	if (prober->options.has_gate)
		err_hint(err, "samples are still taken inside of it");
	pthread_mutex_lock(&prober->lock);
	if (!process->refusal)
		process->refusal = xstrdup(err->what);
	pthread_mutex_unlock(&prober->lock);
}

int prober_attach(struct prober *prober, pid_t pid, struct err *err)
{
	struct probed_process *process;
	struct err own = ERR_INIT;
	int status;

	pthread_mutex_lock(&prober->lock);
	process = add_process(prober, pid, proc_program_id(pid, pid));
	pthread_mutex_unlock(&prober->lock);
	status = install_running(prober, process, prober_install_apart, &own);
	note_gate_refusal(prober, process, &own);
	if (status < 0 && err)
		*err = own;
	return status;
}

/* Only the first reason; under `lock`, or before another thread knows the process. */
static void refuse_process(struct probed_process *process, const struct err *err)
{
	if (!process->refusal)
		process->refusal = xstrdup(err->what);
}

static void fail_launch(const struct entry_stop *stop, struct err *err)
{
	errno = stop->error;
	if (stop->error)
		err_sys(err, "%s", stop->why);
	else
		err_set(err, ERR_UNSUPPORTED, "%s", stop->why);
	if (stop->is_forbidden)
		hint_at_profiles(err);
	err->code = ERR_UNSUPPORTED;
}

int prober_launch(struct prober *prober, struct launch *launch, struct err *err)
{
	struct entry_stop *stop = xcalloc(1, sizeof(*stop));
	struct probed_process *process;
	int failed = entry_run(stop, launch);

	pthread_mutex_lock(&prober->lock);
	process = add_process(prober, launch->pid, proc_program_id(launch->pid, launch->pid));
	prober->command.pid = launch->pid;
	pthread_mutex_unlock(&prober->lock);
	if (failed || !stop->is_stopped) {
		if (!failed)
			fail_launch(stop, err);
		free(stop);
		return failed;
	}
	prober->command.entry = stop;
	if (stop->memory) {
		const struct probe_access access = {
			.pid = launch->pid,
			.command = launch->pid,
			.memory = stop->memory,
			.is_stopped = true,
			.has_thread_data = stop->has_thread_data,
			.patience_ns = PROBER_PATIENCE_NS,
			.hint = &prober->hint,
			.own_filters = &prober->own_filters,
		};

		if (prober_install(prober, process, &access, err) < 0)
			refuse_process(process, err);
		note_gate_refusal(prober, process, err);
	}
	return 0;
}

void prober_let_go(struct prober *prober)
{
	if (prober->command.entry)
		entry_end(prober->command.entry);
	free(prober->command.entry);
	prober->command.entry = NULL;
}

/* Under the lock. */
static uint64_t longest_pause_ns(const struct prober *prober)
{
	return max_u64(LOOK_NS, LOOKS_PART * prober->nr_open * prober->mean_look_ns);
}

/* The latest looks count most. */
#define MEAN_OF 16

/*
 * A process that cannot be inspected gets no probes; the reason is recorded. Returns when it is to
 * be looked at again.
 */
static uint64_t look(struct prober *prober, struct probed_process *process)
{
	struct err err = ERR_INIT;
	uint64_t again_ns, began_ns = clock_monotonic_ns();
	int status = install_running(prober, process, prober_install, &err);
	bool is_to_be_replaced = !letting_go_is_over();
	/* A failure is due to that then. */
	bool is_over = status < 0 && proc_task_has_ended(process->pid, process->pid);
	uint64_t now_ns;

	pthread_mutex_lock(&prober->lock);
	prober->looker.is_to_be_replaced = is_to_be_replaced;
	prober_read_callees(prober, process);
	now_ns = clock_monotonic_ns();
	prober->mean_look_ns += min_u64(now_ns - began_ns, LONGEST_LOOK_NS) / MEAN_OF;
	prober->mean_look_ns -= prober->mean_look_ns / MEAN_OF;
	process->looks.again_ns =
		now_ns + min_u64(max_u64(now_ns - process->born_ns, FIRST_LOOK_NS),
				 longest_pause_ns(prober));
	if (status < 0 && err.code != ERR_GONE && !process->is_gone && !is_over) {
		refuse_process(process, &err);
		process->looks.is_over = true;
		if (!prober_has_probes(process))
			process->looks.again_ns = UINT64_MAX;
	}
	again_ns = process->looks.again_ns;
	pthread_mutex_unlock(&prober->lock);
	return again_ns;
}

/*
 * The recording learns some time later that a process has executed a program: until then the prober
 * adds it without a serial. Under the lock.
 */
static struct probed_process *in_its_program(struct prober *prober, struct probed_process *process)
{
	uint64_t program = proc_program_id(process->pid, process->pid);
	struct probed_process *latest;

	if (!program || !process->program || program == process->program)
		return process;
	process->has_executed = true;
	latest = find_pid(prober, process->pid);
	return latest && latest->program == program ? latest
						    : add_process(prober, process->pid, program);
}

void prober_use(struct probed_process *process)
{
	for (; process; process = process->giver)
		process->nr_users++;
}

void prober_release(struct probed_process *process)
{
	for (; process; process = process->giver)
		process->nr_users--;
}

/* With the lock, which is released during each look. */
static uint64_t look_at_due(struct prober *prober)
{
	uint64_t next_ns = clock_monotonic_ns() + LOOK_NS;

	for (size_t i = 0;
	     i < prober->nr_open && !prober->is_over && !prober->looker.is_to_be_replaced; i++) {
		struct probed_process *process = prober->open[i];
		uint64_t again_ns;

		if (process->is_gone || process->has_executed)
			continue;
		if (process->looks.again_ns > clock_monotonic_ns()) {
			next_ns = min_u64(next_ns, process->looks.again_ns);
			continue;
		}
		process = in_its_program(prober, process);
		prober_use(process);
		pthread_mutex_unlock(&prober->lock);
		again_ns = look(prober, process);
		next_ns = min_u64(next_ns, again_ns);
		pthread_mutex_lock(&prober->lock);
		prober_release(process);
	}
	return next_ns;
}

/* False: goes on with this one, as no other thread can be made. Under the lock. */
static bool replace_thread(struct prober *prober, void *(*run)(void *context))
{
	pthread_t next;

	prober->looker.is_to_be_replaced = false;
	if (prober->is_over || pthread_create(&next, NULL, run, prober) != 0)
		return false;
	pthread_detach(prober->looker.id);
	prober->looker.id = next;
	return true;
}

/*
 * Processes are added and closed while this runs, but none is freed before it has ended. Closing
 * may move a process that was still to come: it is looked at the next time.
 */
static void *run(void *context)
{
	struct prober *prober = context;

	/* Processes are stopped while this thread waits for a CPU. */
	urgency_short_slices();
	pthread_mutex_lock(&prober->lock);
	while (!prober->is_over) {
		uint64_t next_ns = look_at_due(prober);
		const struct timespec until = {.tv_sec = (time_t)(next_ns / NS_PER_SEC),
					       .tv_nsec = (long)(next_ns % NS_PER_SEC)};

		if (prober->looker.is_to_be_replaced && replace_thread(prober, run))
			break;
		if (!prober->is_over)
			pthread_cond_timedwait(&prober->wake, &prober->lock, &until);
	}
	pthread_mutex_unlock(&prober->lock);
	return NULL;
}

/* Without a thread only what exists at the start is found; a failure here is rare. */
static void need_thread(struct prober *prober)
{
	if (!prober->looker.has_begun && !prober->is_over)
		prober->looker.has_begun =
			pthread_create(&prober->looker.id, NULL, run, prober) == 0;
}

/* Has the prober already found the program that it has executed? */
static bool is_known_before(const struct probed_process *process)
{
	uint64_t program;

	if (process->serial != UINT32_MAX)
		return false;
	program = proc_program_id(process->pid, process->pid);
	/* the process may have ended since */
	return !program || program == process->program;
}

void prober_born(struct prober *prober, uint32_t serial, pid_t pid, uint64_t program,
		 uint32_t parent, enum prober_birth birth)
{
	struct probed_process *process;
	struct probed_process *giver;

	pthread_mutex_lock(&prober->lock);
	need_thread(prober);
	process = birth == PROBER_FORKED ? NULL : find_pid(prober, pid);
	if (!process || (birth == PROBER_EXECED && !is_known_before(process)))
		process = add_process(prober, pid, program);
	process->serial = serial;
	serials_set(&prober->by_serial, serial, process,
		    birth == PROBER_ROOT ? SERIALS_NO_PARENT : parent);
	if (birth == PROBER_FORKED)
		process->giver = serials_find(&prober->by_serial, parent);
	for (giver = process->giver; giver; giver = giver->giver)
		giver->nr_heirs++;
	/* It has its parent's probes: only libraries that it loads itself are looked for. */
	if (process->giver)
		process->looks.again_ns = process->born_ns + LOOK_NS;
	if (birth == PROBER_EXECED)
		pthread_cond_signal(&prober->wake);
	pthread_mutex_unlock(&prober->lock);
}

static void note_end(struct prober *prober, struct probed_process *process, uint64_t time_ns)
{
	process->is_gone = true;
	process->gone_ns = time_ns;
	if (find_pid(prober, process->pid) == process)
		pid_table_remove(&prober->by_pid, process->pid);
	for (struct probed_process *giver = process->giver; giver; giver = giver->giver)
		giver->nr_heirs--;
}

void prober_gone(struct prober *prober, uint32_t serial, uint64_t time_ns)
{
	struct probed_process *process, *latest;

	pthread_mutex_lock(&prober->lock);
	process = serials_find(&prober->by_serial, serial);
	latest = process ? find_pid(prober, process->pid) : NULL;
	/* A program that the recording does not know ends with the process that executed it. */
	if (latest && latest != process && latest->serial == UINT32_MAX && process->has_executed) {
		latest->serial = serial;
		note_end(prober, latest, time_ns);
	}
	if (process && !process->is_gone)
		note_end(prober, process, time_ns);
	pthread_mutex_unlock(&prober->lock);
}

void probed_read_counts(struct probed *probed)
{
	if (probed->installation && probed->nr_places)
		probed->counts = installation_counts(probed->installation);
}

void probed_forget_counts(struct probed *probed)
{
	free(probed->counts);
	probed->counts = NULL;
}

static uint64_t count_now(const struct probed *probed, const struct counted_place *place)
{
	return probed->counts ? probed->counts[place->counter]
			      : installation_count(probed->installation, place->counter);
}

uint64_t counted_calls(const struct prober *prober, const struct probed *probed,
		       const struct counted_place *place)
{
	const struct counted_more *more = place->more;
	uint64_t now = prober->counting.calls ? count_now(probed, place) : 0;

	return more ? more->calls + now - (prober->counting.calls ? more->base : 0) : now;
}

bool counted_heap(const struct prober *prober, const struct probed *probed,
		  struct heap_totals *totals)
{
	const struct heap_totals *base = &probed->heap_base;
	const struct heap_ring *heap = prober_heap_of(probed);
	struct heap_totals now;

	if (!heap)
		return false;
	*totals = probed->heap_counted;
	if (!prober->counting.memory)
		return true;
	heap_ring_totals(heap, &now);
	totals->allocated_bytes += now.allocated_bytes - base->allocated_bytes;
	totals->nr_allocations += now.nr_allocations - base->nr_allocations;
	totals->nr_dropped += now.nr_dropped - base->nr_dropped;
	totals->nr_lost += now.nr_lost - base->nr_lost;
	totals->nr_frees += now.nr_frees - base->nr_frees;
	return true;
}

static void set_counting_memory(struct prober *prober, struct probed *probed, bool is_counting)
{
	if (!is_counting)
		counted_heap(prober, probed, &probed->heap_counted);
	else if (prober_heap_of(probed))
		heap_ring_totals(prober_heap_of(probed), &probed->heap_base);
}

static void set_counting_calls(struct prober *prober, struct probed *probed, bool is_counting,
			       uint64_t now_ns)
{
	if (is_counting) {
		probed->from_ns = max_u64(probed->from_ns, now_ns);
		probed->is_from_start = false;
	}
	for (uint32_t i = 0; i < probed->nr_timed; i++) {
		if (is_counting)
			timed_calls_skip(&probed->timed[i], probed->installation);
		else
			timed_calls_keep(&probed->timed[i], probed->installation);
	}
	probed_read_counts(probed);
	for (size_t i = 0; i < probed->nr_places; i++) {
		struct counted_place *place = &probed->places[i];
		uint64_t nr;

		if (place->outcome != PATCH_OK)
			continue;
		nr = is_counting ? count_now(probed, place) : counted_calls(prober, probed, place);
		if (!nr && !place->more)
			continue;
		if (is_counting)
			counted_more(place)->base = nr;
		else
			counted_more(place)->calls = nr;
	}
	probed_forget_counts(probed);
}

static void note_off(struct prober_sums *sums, bool is_off, uint64_t now_ns)
{
	if (sums->memory_off_since_ns)
		sums->memory_off_ns += now_ns - sums->memory_off_since_ns;
	sums->memory_off_since_ns = is_off ? now_ns : 0;
}

void prober_set_counting(struct prober *prober, struct prober_counting counting, uint64_t now_ns)
{
	bool calls_change, memory_changes;

	pthread_mutex_lock(&prober->lock);
	calls_change = counting.calls != prober->counting.calls;
	memory_changes = counting.memory != prober->counting.memory;
	for (size_t i = 0; i < prober->nr_open; i++) {
		struct probed_process *process = prober->open[i];

		for (size_t k = 0; k < process->nr_probed; k++) {
			struct probed *probed = &process->probed[k];

			if (calls_change)
				set_counting_calls(prober, probed, counting.calls, now_ns);
			if (memory_changes)
				set_counting_memory(prober, probed, counting.memory);
		}
	}
	prober->counting = counting;
	note_off(&prober->sums, prober->heap.is_wanted && counting.calls && !counting.memory,
		 now_ns);
	pthread_mutex_unlock(&prober->lock);
}

uint64_t prober_nr_calls(struct prober *prober)
{
	uint64_t sum = 0;

	pthread_mutex_lock(&prober->lock);
	for (size_t i = 0; i < prober->nr_open; i++) {
		const struct probed_process *process = prober->open[i];

		for (size_t k = 0; k < process->nr_probed; k++) {
			const struct probed *probed = &process->probed[k];

			for (size_t j = 0; j < probed->nr_places; j++)
				if (probed->places[j].outcome == PATCH_OK)
					sum += counted_calls(prober, probed, &probed->places[j]);
		}
	}
	pthread_mutex_unlock(&prober->lock);
	return sum;
}

/* Counts one of the two functions. */
static void add_of_pair(const struct probed *probed, uint8_t which, struct prober_pair *pair)
{
	for (size_t i = 0; i < probed->nr_places; i++) {
		const struct counted_place *place = &probed->places[i];
		const struct wanted_place *wanted = counted_wanted(place);

		if (place->outcome != PATCH_OK || wanted->kind != WANTED_ENTRY ||
		    wanted->gate != which)
			continue;
		pair->calls[which] += count_now(probed, place);
		pair->nr_places[which]++;
		pair->is_from_start &= probed->is_from_start;
	}
}

struct prober_pair prober_read_pair(struct prober *prober)
{
	struct prober_pair pair = {.is_from_start = true};

	pthread_mutex_lock(&prober->lock);
	for (uint8_t which = ARRAY_SIZE(pair.calls); which > 0; which--)
		for (size_t i = 0; i < prober->nr_open; i++)
			for (size_t k = 0; k < prober->open[i]->nr_probed; k++)
				add_of_pair(&prober->open[i]->probed[k], which - 1, &pair);
	pthread_mutex_unlock(&prober->lock);
	return pair;
}

bool prober_original_pc(struct prober *prober, pid_t pid, uint64_t pc, uint64_t link,
			uint64_t *original, unsigned int *pushed_bytes)
{
	const struct probed_process *process;
	bool is_found = false;

	pthread_mutex_lock(&prober->lock);
	for (process = find_pid(prober, pid); process && !is_found; process = process->giver) {
		for (size_t i = 0; i < process->nr_probed && !is_found; i++) {
			const struct installation *installation = process->probed[i].installation;

			is_found = installation &&
				   installation_original_pc(installation, pid, pc, link, original,
							    pushed_bytes);
		}
	}
	pthread_mutex_unlock(&prober->lock);
	return is_found;
}

/* Under `lock`. */
static bool is_writer(const struct prober *prober, uint32_t owner, uint32_t serial)
{
	const struct probed_process *process = serials_find(&prober->by_serial, serial);

	if (owner == UINT32_MAX ||
	    serials_descends(&prober->by_serial, serial, owner)) /* MAX: not known yet */
		return true;
	if (!process || serials_has_parent(&prober->by_serial, serial))
		return false;
	for (size_t i = 0; i < process->nr_probed; i++) {
		if (prober_heap_of(&process->probed[i]))
			return false;
	}
	return true;
}

bool prober_is_writer(struct prober *prober, uint32_t owner, uint32_t serial)
{
	bool is_one;

	pthread_mutex_lock(&prober->lock);
	is_one = is_writer(prober, owner, serial);
	pthread_mutex_unlock(&prober->lock);
	return is_one;
}
