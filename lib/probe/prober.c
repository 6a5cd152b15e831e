// SPDX-License-Identifier: GPL-2.0-or-later
/* Which processes have probes, from the beginning of a recording to its end. */
#include "probe/prober.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/minmax.h"
#include "probe/entry.h"
#include "probe/installation.h"
#include "probe/prober_priv.h"
#include "probe/removal.h"
#include "proc/read.h"
#include "tracee/launch.h"

/* A process that cannot be stopped for so long is left alone. */
#define PATIENCE_NS (2 * NS_PER_SEC)
/* Libraries that are loaded by a running program: soon after its start, then ever more rarely. */
#define FIRST_LOOK_NS (2 * NS_PER_MS)
#define LOOK_NS	      (500 * NS_PER_MS)

struct prober *prober_new(const struct prober_options *options)
{
	struct prober *prober = xcalloc(1, sizeof(*prober));
	pthread_condattr_t attributes;

	prober->options = *options;
	pthread_mutex_init(&prober->install_lock, NULL);
	pthread_mutex_init(&prober->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&prober->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	return prober;
}

static void free_process(struct probed_process *process)
{
	for (size_t i = 0; i < process->nr_probed; i++) {
		installation_free(process->probed[i].installation);
		free(process->probed[i].places);
	}
	free(process->probed);
	free(process->mappings);
	free(process->refusal);
	free(process);
}

static void end_thread(struct prober *prober)
{
	pthread_mutex_lock(&prober->lock);
	prober->is_over = true;
	pthread_cond_signal(&prober->wake);
	pthread_mutex_unlock(&prober->lock);
	if (prober->has_thread)
		pthread_join(prober->thread, NULL);
	prober->has_thread = false;
}

void prober_free(struct prober *prober)
{
	if (!prober)
		return;
	end_thread(prober);
	for (size_t i = 0; i < prober->nr_processes; i++)
		free_process(prober->processes[i]);
	for (size_t i = 0; i < prober->nr_files; i++)
		prober_file_free(prober->files[i]);
	free(prober->processes);
	free(prober->files);
	pthread_cond_destroy(&prober->wake);
	pthread_mutex_destroy(&prober->lock);
	pthread_mutex_destroy(&prober->install_lock);
	free(prober);
}

static struct probed_process *add_process(struct prober *prober, pid_t pid)
{
	struct probed_process *process = xcalloc(1, sizeof(*process));

	process->pid = pid;
	process->serial = UINT32_MAX;
	process->born_ns = clock_monotonic_ns();
	process->look_again_ns = process->born_ns + FIRST_LOOK_NS;
	ARRAY_GROW(prober->processes, prober->nr_processes, prober->cap_processes);
	prober->processes[prober->nr_processes++] = process;
	return process;
}

static struct probed_process *find_serial(const struct prober *prober, uint32_t serial)
{
	for (size_t i = prober->nr_processes; i > 0; i--) {
		if (prober->processes[i - 1]->serial == serial)
			return prober->processes[i - 1];
	}
	return NULL;
}

/* The latest, as ids are used again. */
static struct probed_process *find_pid(const struct prober *prober, pid_t pid)
{
	for (size_t i = prober->nr_processes; i > 0; i--) {
		struct probed_process *process = prober->processes[i - 1];

		if (process->pid == pid && !process->is_gone)
			return process;
	}
	return NULL;
}

static int open_memory(pid_t pid, struct err *err)
{
	char path[48];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 && (errno == ENOENT || errno == ESRCH))
		err_set(err, ERR_GONE, "it ended before its calls could be counted");
	else if (fd < 0)
		err_sys(err, "cannot write to the memory of process %d", (int)pid);
	return fd;
}

/* Any thread, one process at a time. */
static int install_running(struct prober *prober, struct probed_process *process, struct err *err)
{
	cleanup_close int memory_fd = open_memory(process->pid, err);
	const struct probe_access access = {
		.pid = process->pid, .memory_fd = memory_fd, .patience_ns = PATIENCE_NS};

	if (memory_fd < 0)
		return err->code;
	return prober_install(prober, process, &access, false, err);
}

int prober_attach(struct prober *prober, pid_t pid, struct err *err)
{
	struct probed_process *process;

	pthread_mutex_lock(&prober->lock);
	process = add_process(prober, pid);
	pthread_mutex_unlock(&prober->lock);
	return install_running(prober, process, err);
}

/* Once; under `lock`, or before another thread knows of it. */
static void refuse_process(struct prober *prober, struct probed_process *process,
			   const struct err *err)
{
	if (process->refusal)
		return;
	process->refusal = xstrdup(err->what);
	prober->nr_failed++;
}

int prober_launch(struct prober *prober, struct launch *launch, struct err *err)
{
	struct probed_process *process;
	struct entry_stop stop;
	int failed = entry_run(&stop, launch);

	pthread_mutex_lock(&prober->lock);
	process = add_process(prober, launch->pid);
	pthread_mutex_unlock(&prober->lock);
	if (failed || !stop.is_stopped) {
		if (!failed)
			err_set(err, ERR_UNSUPPORTED, "%s", stop.why);
		return failed;
	}
	if (stop.memory_fd >= 0) {
		const struct probe_access access = {
			.pid = launch->pid,
			.command = launch->pid,
			.memory_fd = stop.memory_fd,
			.is_stopped = true,
			.has_thread_data = stop.has_thread_data,
			.patience_ns = PATIENCE_NS,
		};

		if (prober_install(prober, process, &access, true, err) < 0)
			refuse_process(prober, process, err);
	}
	entry_end(&stop);
	return 0;
}

size_t prober_nr_places(const struct prober *prober)
{
	return prober->nr_places;
}

size_t prober_nr_wanted(const struct prober *prober)
{
	return prober->nr_wanted;
}

/* Whatever fails then fails for that. */
static bool has_ended(pid_t pid)
{
	struct proc_stat stat;

	return !proc_read_task_stat(pid, pid, &stat) || stat.state == 'Z' || stat.state == 'X' ||
	       stat.flags & PROC_FLAGS_ENDING;
}

/* One that cannot be looked at stays without probes, which is told of. */
static void look(struct prober *prober, struct probed_process *process)
{
	struct err err = ERR_INIT;
	int status = install_running(prober, process, &err);
	bool is_over = status < 0 && has_ended(process->pid);
	uint64_t now_ns;

	pthread_mutex_lock(&prober->lock);
	prober_read_callees(process);
	now_ns = clock_monotonic_ns();
	process->look_again_ns =
		now_ns + min_u64(max_u64(now_ns - process->born_ns, FIRST_LOOK_NS), LOOK_NS);
	if (status < 0 && err.code != ERR_GONE && !process->is_gone && !is_over) {
		refuse_process(prober, process, &err);
		process->look_again_ns = UINT64_MAX;
	}
	pthread_mutex_unlock(&prober->lock);
}

/* With the lock, which is given back while a process is looked at. */
static uint64_t look_at_due(struct prober *prober)
{
	uint64_t next_ns = clock_monotonic_ns() + LOOK_NS;

	for (size_t i = 0; i < prober->nr_processes && !prober->is_over; i++) {
		struct probed_process *process = prober->processes[i];

		if (process->is_gone)
			continue;
		if (process->look_again_ns > clock_monotonic_ns()) {
			next_ns = min_u64(next_ns, process->look_again_ns);
			continue;
		}
		pthread_mutex_unlock(&prober->lock);
		look(prober, process);
		pthread_mutex_lock(&prober->lock);
	}
	return next_ns;
}

/* Processes are added while it runs, and none is removed before it has ended. */
static void *run(void *context)
{
	struct prober *prober = context;

	pthread_mutex_lock(&prober->lock);
	while (!prober->is_over) {
		uint64_t next_ns = look_at_due(prober);
		const struct timespec until = {.tv_sec = (time_t)(next_ns / NS_PER_SEC),
					       .tv_nsec = (long)(next_ns % NS_PER_SEC)};

		if (!prober->is_over)
			pthread_cond_timedwait(&prober->wake, &prober->lock, &until);
	}
	pthread_mutex_unlock(&prober->lock);
	return NULL;
}

/* Without a thread nothing is found but what was there at the start; that is rather rare. */
static void need_thread(struct prober *prober)
{
	if (!prober->has_thread && !prober->is_over)
		prober->has_thread = pthread_create(&prober->thread, NULL, run, prober) == 0;
}

void prober_born(struct prober *prober, uint32_t serial, pid_t pid, uint32_t parent,
		 enum prober_birth birth)
{
	struct probed_process *process;

	pthread_mutex_lock(&prober->lock);
	need_thread(prober);
	process = birth == PROBER_ROOT ? find_pid(prober, pid) : NULL;
	if (!process)
		process = add_process(prober, pid);
	process->serial = serial;
	if (birth == PROBER_FORKED)
		process->giver = find_serial(prober, parent);
	/* It has all that its parent has: only what it loads itself is looked for. */
	if (process->giver)
		process->look_again_ns = process->born_ns + LOOK_NS;
	if (birth == PROBER_EXECED)
		pthread_cond_signal(&prober->wake);
	pthread_mutex_unlock(&prober->lock);
}

void prober_gone(struct prober *prober, uint32_t serial)
{
	struct probed_process *process;

	pthread_mutex_lock(&prober->lock);
	process = find_serial(prober, serial);
	if (process) {
		process->is_gone = true;
		process->gone_ns = clock_monotonic_ns();
	}
	pthread_mutex_unlock(&prober->lock);
}

uint64_t counted_calls(const struct prober *prober, const struct probed *probed,
		       const struct counted_place *place)
{
	return place->calls +
	       (prober->is_counting
			? installation_count(probed->installation, place->counter) - place->base
			: 0);
}

static void set_counting(struct prober *prober, struct probed *probed, bool is_counting,
			 uint64_t now_ns)
{
	if (is_counting) {
		probed->from_ns = max_u64(probed->from_ns, now_ns);
		probed->is_from_start = false;
	}
	for (size_t i = 0; i < probed->nr_places; i++) {
		struct counted_place *place = &probed->places[i];

		if (place->outcome != PATCH_OK)
			continue;
		if (is_counting)
			place->base = installation_count(probed->installation, place->counter);
		else
			place->calls = counted_calls(prober, probed, place);
	}
}

void prober_set_counting(struct prober *prober, bool is_counting, uint64_t now_ns)
{
	pthread_mutex_lock(&prober->lock);
	for (size_t i = 0; i < prober->nr_processes && is_counting != prober->is_counting; i++) {
		struct probed_process *process = prober->processes[i];

		for (size_t k = 0; k < process->nr_probed; k++)
			set_counting(prober, &process->probed[k], is_counting, now_ns);
	}
	prober->is_counting = is_counting;
	pthread_mutex_unlock(&prober->lock);
}

bool prober_original_pc(struct prober *prober, pid_t pid, uint64_t pc, uint64_t *original,
			unsigned int *pushed_bytes)
{
	const struct probed_process *process;
	bool is_found = false;

	pthread_mutex_lock(&prober->lock);
	for (process = find_pid(prober, pid); process && !is_found; process = process->giver) {
		for (size_t i = 0; i < process->nr_probed && !is_found; i++) {
			const struct installation *installation = process->probed[i].installation;

			is_found = installation && installation_original_pc(installation, pid, pc,
									    original, pushed_bytes);
		}
	}
	pthread_mutex_unlock(&prober->lock);
	return is_found;
}

struct removing {
	struct prober *prober;
	struct probe_cost cost;
	uint64_t stop_ns_max;
	size_t nr_left;
	struct err *err;
};

static void remove_from(void *context, pid_t pid)
{
	struct removing *removing = context;
	struct err err = ERR_INIT;
	cleanup_close int memory_fd = open_memory(pid, &err);
	const struct probe_access access = {
		.pid = pid, .command = pid, .memory_fd = memory_fd, .patience_ns = PATIENCE_NS};
	uint64_t before_ns = removing->cost.stop_ns;
	bool has_failed = (memory_fd < 0 || probes_remove(&access, &removing->cost, &err) < 0) &&
			  err.code != ERR_GONE;

	removing->stop_ns_max = max_u64(removing->stop_ns_max, removing->cost.stop_ns - before_ns);
	if (has_failed) {
		removing->nr_left++;
		if (removing->err)
			*removing->err = err;
	}
}

void prober_remove(struct prober *prober, size_t *nr_left, struct err *err)
{
	struct removing removing = {.prober = prober, .err = err};

	end_thread(prober);
	if (prober->nr_places)
		probes_for_each_process(remove_from, &removing);
	prober->remove_ns = removing.cost.stop_ns;
	prober->stop_ns_max = max_u64(prober->stop_ns_max, removing.stop_ns_max);
	*nr_left = removing.nr_left;
}
