// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/target.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "proc/read.h"
#include "target/target_priv.h"

struct target *target_new(const struct target_options *options)
{
	struct target *target = xcalloc(1, sizeof(*target));

	struct rlimit limit = {.rlim_cur = 256};

	/* Half of the descriptors: the rest is for the files of the target's modules. */
	getrlimit(RLIMIT_NOFILE, &limit);
	target->max_open = limit.rlim_cur / 2;
	target->options = *options;
	target->command_errno_pipe = -1;
	return target;
}

static void free_tracee(struct tracee *tracee)
{
	if (tracee->schedstat_fd >= 0)
		close(tracee->schedstat_fd);
	for (int i = 0; i < KEPT_FILES; i++) {
		if (tracee->priv->kept[i] >= 0)
			close(tracee->priv->kept[i]);
	}
	target_forget_carried(tracee);
	free(tracee->priv);
	free(tracee);
}

void target_free(struct target *target)
{
	if (!target)
		return;
	for (size_t i = 0; i < TRACEE_BUCKETS; i++) {
		while (target->buckets[i]) {
			struct tracee *tracee = target->buckets[i];

			target->buckets[i] = tracee->priv->hash_next;
			free_tracee(tracee);
		}
	}
	for (size_t i = target->next_pending; i < target->nr_pending; i++) {
		if (target->pending[i].kind == TARGET_EVENT_GONE)
			free_tracee(target->pending[i].tracee);
	}
	cpu_clocks_end(target->cpu_clocks);
	free(target->pending);
	free(target->endangered);
	if (target->command_errno_pipe >= 0)
		close(target->command_errno_pipe);
	free(target);
}

size_t target_nr_tracees(const struct target *target)
{
	return target->nr_tracees;
}

struct target_stats target_stats(const struct target *target)
{
	return target->stats;
}

static size_t bucket_of(pid_t tid)
{
	return (size_t)tid % TRACEE_BUCKETS;
}

struct tracee *target_find(const struct target *target, pid_t tid)
{
	struct tracee *tracee = target->buckets[bucket_of(tid)];

	while (tracee && tracee->tid != tid)
		tracee = tracee->priv->hash_next;
	return tracee;
}

static void link_tracee(struct target *target, struct tracee *tracee)
{
	struct tracee **bucket = &target->buckets[bucket_of(tracee->tid)];

	tracee->priv->hash_next = *bucket;
	*bucket = tracee;
}

static void unlink_tracee(struct target *target, struct tracee *tracee)
{
	struct tracee **at = &target->buckets[bucket_of(tracee->tid)];

	while (*at != tracee)
		at = &(*at)->priv->hash_next;
	*at = tracee->priv->hash_next;
}

bool tracee_list_has(const struct tracee_list *list, const struct tracee *tracee)
{
	for (size_t i = 0; i < list->nr; i++) {
		if (list->at[i] == tracee)
			return true;
	}
	return false;
}

bool tracee_list_add(struct tracee_list *list, struct tracee *tracee)
{
	if (list->nr == TRACEE_LIST_MAX || tracee->priv->is_unlinked ||
	    tracee_list_has(list, tracee))
		return false;
	list->at[list->nr++] = tracee;
	return true;
}

void tracee_list_remove(struct tracee_list *list, const struct tracee *tracee)
{
	for (size_t i = 0; i < list->nr; i++) {
		if (list->at[i] == tracee)
			list->at[i--] = list->at[--list->nr];
	}
}

/* It is gone, and its id may be another's. */
static void leave(struct target *target, struct tracee *tracee)
{
	tracee_list_remove(&target->askers, tracee);
	target_forget_endangered(tracee);
	tracee_list_remove(&target->followed, tracee);
	tracee_list_remove(&target->carrying, tracee);
	tracee_list_remove(&target->sleepers, tracee);
	tracee_list_remove(&target->unsure, tracee);
	tracee_list_remove(&target->signalled, tracee);
	target_note_met_asleep(tracee);
	if (!tracee->priv->is_unlinked)
		unlink_tracee(target, tracee);
	tracee->priv->is_unlinked = true;
}

/* -1 if there are too many already. */
static int open_file(struct target *target, const struct tracee *tracee, const char *name)
{
	int fd = -1;

	if (target->nr_open < target->max_open)
		fd = proc_open_task_file(tracee->tgid, tracee->tid, name);
	target->nr_open += fd >= 0;
	return fd;
}

static void close_file(struct target *target, int *fd)
{
	if (*fd < 0)
		return;
	close(*fd);
	*fd = -1;
	target->nr_open--;
}

static const char *const kept_names[KEPT_FILES] = {
	[KEPT_STAT] = "stat",	[KEPT_SYSCALL] = "syscall", [KEPT_MAPS] = "maps",
	[KEPT_STACK] = "stack", [KEPT_MEMORY] = "mem",
};

/*
 * Whether a thread is awake is asked at each death of a child, or each some milliseconds, or for
 * each signal that may wake it in vain; and at the end of all, again and again. Of who ends, its
 * own is asked for until it is reaped.
 */
static bool keeps_files(const struct tracee *tracee)
{
	const struct target *target = tracee->priv->target;

	return tracee->priv->is_watched || tracee->priv->has_exited || target->is_ending ||
	       tracee_list_has(&target->askers, tracee) ||
	       tracee_list_has(&target->sleepers, tracee) ||
	       (tracee->care.is_unrestarted && target_is_woken_in_vain(tracee));
}

int target_kept_file(const struct tracee *tracee, enum kept_file file)
{
	struct tracee_private *priv = tracee->priv;

	if (priv->kept[file] < 0 && keeps_files(tracee))
		priv->kept[file] = open_file(priv->target, tracee, kept_names[file]);
	return priv->kept[file];
}

int target_kept_memory(const struct tracee *tracee)
{
	struct target *target = tracee->priv->target;
	struct tracee *first = target_find(target, tracee->tgid);
	int *fd;

	if (!first)
		return -1;
	fd = &first->priv->kept[KEPT_MEMORY];
	if (*fd < 0 && keeps_files(tracee) && !first->priv->hides_memory) {
		*fd = open_file(target, first, kept_names[KEPT_MEMORY]);
		first->priv->hides_memory = *fd < 0;
	}
	return *fd;
}

void target_watch_closely(struct tracee *tracee)
{
	tracee->priv->is_watched = true;
}

static void close_files(struct target *target, struct tracee *tracee)
{
	tracee->priv->hides_memory = false;
	for (int i = 0; i < KEPT_FILES; i++)
		close_file(target, &tracee->priv->kept[i]);
}

void target_may_close_files(struct target *target, struct tracee *tracee)
{
	if (!keeps_files(tracee))
		close_files(target, tracee);
}

/* It was opened with the first thread for its sake. Others who need it open it anew. */
static void close_memory(struct target *target, const struct tracee *tracee)
{
	struct tracee *first = target_find(target, tracee->tgid);

	if (first && !keeps_files(first))
		close_file(target, &first->priv->kept[KEPT_MEMORY]);
}

void target_watch_loosely(struct target *target, struct tracee *tracee)
{
	tracee->priv->is_watched = false;
	target_may_close_files(target, tracee);
	close_memory(target, tracee);
}

ssize_t target_read_file(const struct tracee *tracee, enum kept_file file, char *text,
			 size_t size_bytes)
{
	int kept = target_kept_file(tracee, file);
	cleanup_close int fd = -1;

	if (kept >= 0)
		return pread(kept, text, size_bytes, 0);
	fd = proc_open_task_file(tracee->tgid, tracee->tid, kept_names[file]);
	return fd < 0 ? -1 : read(fd, text, size_bytes);
}

bool target_read_stat(const struct tracee *tracee, struct proc_stat *stat)
{
	int fd = target_kept_file(tracee, KEPT_STAT);

	return fd >= 0 ? proc_read_stat(fd, stat)
		       : proc_read_task_stat(tracee->tgid, tracee->tid, stat);
}

bool target_read_syscall(const struct tracee *tracee, struct proc_syscall *syscall)
{
	int kept = target_kept_file(tracee, KEPT_SYSCALL);
	cleanup_close int fd = -1;

	if (kept >= 0)
		return proc_read_syscall(kept, syscall);
	fd = proc_open_task_file(tracee->tgid, tracee->tid, "syscall");
	return fd >= 0 && proc_read_syscall(fd, syscall);
}

static struct tracee *add(struct target *target, pid_t tgid, pid_t tid)
{
	struct tracee *tracee = xcalloc(1, sizeof(*tracee));

	assert(!target_find(target, tid));
	tracee->priv = xcalloc(1, sizeof(*tracee->priv));
	tracee->tgid = tgid;
	tracee->tid = tid;
	tracee->schedstat_fd = -1;
	tracee->priv->target = target;
	for (int i = 0; i < KEPT_FILES; i++)
		tracee->priv->kept[i] = -1;
	link_tracee(target, tracee);
	target->nr_tracees++;
	target->nr_unmet++;
	return tracee;
}

struct tracee *target_add(struct target *target, pid_t tgid, pid_t tid)
{
	struct tracee *tracee = add(target, tgid, tid);

	tracee->schedstat_fd = open_file(target, tracee, "schedstat");
	return tracee;
}

struct tracee *target_add_opened(struct target *target, pid_t tgid, pid_t tid, int schedstat_fd)
{
	struct tracee *tracee = add(target, tgid, tid);

	if (schedstat_fd >= 0 && target->nr_open < target->max_open) {
		tracee->schedstat_fd = schedstat_fd;
		target->nr_open++;
	} else if (schedstat_fd >= 0) {
		close(schedstat_fd);
	}
	return tracee;
}

void target_rename(struct target *target, struct tracee *tracee, pid_t tid)
{
	unlink_tracee(target, tracee);
	tracee->tid = tid;
	link_tracee(target, tracee);
	tracee->priv->nr_ns_pids = 0;
	/* The old descriptors are bound to the id that is gone. */
	close_files(target, tracee);
	close_file(target, &tracee->schedstat_fd);
	tracee->schedstat_fd = open_file(target, tracee, "schedstat");
}

/* What is yet to be told of it: its end may be told before, by target_next_of(). */
static void drop_pending(struct target *target, const struct tracee *tracee)
{
	size_t nr = target->next_pending;

	for (size_t i = nr; i < target->nr_pending; i++) {
		if (target->pending[i].tracee != tracee)
			target->pending[nr++] = target->pending[i];
	}
	target->nr_pending = nr;
	if (target->next_pending == target->nr_pending)
		target->nr_pending = target->next_pending = 0;
}

void target_forget(struct target *target, struct tracee *tracee)
{
	leave(target, tracee);
	drop_pending(target, tracee);
	target->nr_tracees--;
	close_files(target, tracee);
	close_file(target, &tracee->schedstat_fd);
	free_tracee(tracee);
}

void target_add_pending(struct target *target, const struct target_event *event)
{
	ARRAY_GROW(target->pending, target->nr_pending, target->cap_pending);
	target->pending[target->nr_pending++] = *event;
	if (event->kind == TARGET_EVENT_GONE)
		leave(target, event->tracee);
}

bool target_take_pending(struct target *target, struct target_event *event)
{
	if (target->next_pending == target->nr_pending)
		return false;
	*event = target->pending[target->next_pending++];
	if (target->next_pending == target->nr_pending)
		target->nr_pending = target->next_pending = 0;
	return true;
}

bool target_take_pending_of(struct target *target, pid_t tid, struct target_event *event)
{
	return target->next_pending < target->nr_pending &&
	       target->pending[target->next_pending].tracee->tid == tid &&
	       target_take_pending(target, event);
}

static bool read_schedstat(const struct tracee *tracee, struct proc_schedstat *clocks)
{
	if (tracee->schedstat_fd < 0) {
		cleanup_close int fd = proc_open_task_file(tracee->tgid, tracee->tid, "schedstat");

		return fd >= 0 && proc_read_schedstat(fd, clocks);
	}
	return proc_read_schedstat(tracee->schedstat_fd, clocks);
}

/* No thread that has ever run has been scheduled in 0 times: this kernel does not count. */
static bool read_other_clocks(const struct tracee *tracee, struct proc_schedstat *clocks)
{
	const uint64_t tick_ns = NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	struct proc_status status;
	struct proc_stat stat;

	if (!proc_read_task_stat(tracee->tgid, tracee->tid, &stat) ||
	    !proc_read_status(tracee->tid, &status))
		return false;
	*clocks = proc_schedstat_from(&stat, &status, tick_ns);
	return true;
}

bool target_clocks(struct tracee *tracee, struct proc_schedstat *clocks)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (!read_schedstat(tracee, clocks) ||
	    (!clocks->pcount && !read_other_clocks(tracee, clocks)))
		return false;
	if (clocks->pcount == tracee->priv->sleep.pcount)
		tracee->priv->sleep.last_ns = now_ns;
	return true;
}

uintptr_t target_ptrace_options(const struct target *target, bool first_thread)
{
	uintptr_t options = PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD;

	if (target->options.follow_children)
		options |= PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
	/* One stop more in each process' life, so that its memory map can be read at the end. */
	if (first_thread)
		options |= PTRACE_O_TRACEEXIT;
	return options;
}
