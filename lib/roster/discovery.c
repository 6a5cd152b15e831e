// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds births: reads the new ids one by one, or, if they are many, sweeps /proc. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/minmax.h"
#include "base/scan.h"
#include "proc/read.h"
#include "proc/task_ids.h"
#include "roster/attached.h"
#include "roster/roster_priv.h"
#include "tracee/permission.h"

/*
 * A sweep lists all processes of the machine, and reads every one that is known, which is cheaper
 * than to read new ids only if these are more than so many, or than this part of the known
 * processes: an id takes some times as long. Most new ids have ended by then, which a single call
 * says; the list of 150 processes takes as long as some hundred of those.
 */
#define ASKED_FEW  64
#define ASKED_PART 4

/* A sweep takes no more than this part of the time. */
#define SWEEP_PART 16

/* Unknown ancestors of an unknown process that are asked with it. */
#define ANCESTORS_MAX 16

/* Remembered processes of others; beyond this, all are read again. */
#define OTHERS_MAX 65536

/* When all ids were given away, the kernel begins again here. */
#define FIRST_ID_AGAIN 300

/*
 * "0.42 0.30 0.28 2/411 12345": the last id that our PID namespace gave away; 0: unknown. And how
 * many threads are runnable.
 */
static pid_t read_last_pid(struct roster *roster)
{
	char text[128];
	ssize_t got =
		roster->loadavg_fd < 0 ? -1 : pread(roster->loadavg_fd, text, sizeof(text) - 1, 0);
	const char *last, *slash;
	struct scan scan;
	uint64_t number;

	if (got <= 0)
		return 0;
	text[got] = '\0';
	last = strrchr(text, ' ');
	slash = strchr(text, '/');
	while (slash && slash > text && slash[-1] != ' ')
		slash--;
	scan = (struct scan){.at = slash ? slash : text, .end = text + got};
	roster->nr_runnable = slash && scan_decimal(&scan, &number) ? number : SIZE_MAX;
	scan = (struct scan){.at = last ? last + 1 : text, .end = text + got};
	return scan_decimal(&scan, &number) ? (pid_t)number : 0;
}

static bool is_other(const struct roster *roster, pid_t pid)
{
	return pid <= 1 || pid == roster->own_pid || pid_table_get(&roster->others, pid);
}

/* It was over before it was found. */
static void note_ended(struct roster *roster, pid_t pid)
{
	struct births *births = &roster->births;

	if (pid_table_get(&births->ended, pid))
		return;
	births->nr_ended++;
	pid_table_set(&births->ended, pid, roster);
}

/* Are processes found beside those that it began with? */
static bool finds_others(const struct roster *roster)
{
	return roster->follow_children || roster->joining;
}

/*
 * An unknown process: is it a descendant? Its parent may be unknown as well, and is asked first. A
 * process whose parent ends at that moment gets another one.
 */
static void ask_process(struct roster *roster, pid_t pid, unsigned int nr_older)
{
	struct roster_process *parent = NULL;
	struct proc_stat stat;
	pid_t asked = 0;

	for (;;) {
		if (!finds_others(roster) || !proc_read_task_stat(pid, pid, &stat))
			return;
		parent = roster_find_process(roster, stat.ppid);
		if (parent || is_other(roster, stat.ppid) || stat.ppid == asked)
			break;
		if (!nr_older)
			return;
		asked = stat.ppid;
		ask_process(roster, asked, nr_older - 1);
	}
	if (!roster->follow_children)
		parent = NULL;
	/* Orphans of a command are ours (launch_start()): the kernel has them send SIGCHLD. Other
	 * children are errands of ours (base/errand.h), which send none, and one more. */
	if (!parent && (stat.ppid != roster->own_pid || pid == roster->helper ||
			stat.exit_signal != SIGCHLD)) {
		if (joining_consider(roster, &stat, roster->polled_ns))
			return;
		roster->births.nr_others += stat.start_ticks >= roster->births.begun_ticks;
		pid_table_set(&roster->others, pid, roster);
		return;
	}
	if (stat.state == 'Z') {
		if (stat.nr_threads <= 1)
			note_ended(roster, pid);
		return;
	}
	roster->births.nr_processes++;
	roster_add(roster, &stat, parent, ROSTER_BORN);
}

/* Is it the id of a process? False also if it is not known. A status takes ten times as long. */
static bool is_process(pid_t id)
{
	cleanup_close int fd = (int)syscall(SYS_pidfd_open, id, 0);

	return fd >= 0;
}

static bool are_of_others(struct roster *roster, pid_t id, const struct task_ids *ids)
{
	bool is_process = ids->tgid == id;

	if (roster_find_process(roster, ids->tgid))
		return is_process; /* else a thread of it, which is to be added */
	if (!finds_others(roster) || (is_process && is_other(roster, id)))
		return true;
	if (is_process &&
	    (ids->parent == roster->own_pid || roster_find_process(roster, ids->parent)))
		return false;
	if (!is_other(roster, is_process ? ids->parent : ids->tgid))
		return false;
	roster->births.nr_others++;
	if (is_process)
		pid_table_set(&roster->others, id, roster);
	return true;
}

/* An unknown task: a thread of ours, or a process. */
static void ask(struct roster *roster, pid_t id)
{
	struct roster_process *process;
	struct proc_status status;

	if (is_process(id)) {
		if (!roster_find_process(roster, id) && !is_other(roster, id))
			ask_process(roster, id, ANCESTORS_MAX);
		return;
	}
	if (pid_table_get(&roster->by_tid, id) || !proc_read_status(id, &status))
		return;
	process = roster_find_process(roster, status.tgid);
	if (process && status.tgid != id)
		roster_add_thread(roster, process, id, true);
	else if (!process && !is_other(roster, status.tgid))
		ask_process(roster, status.tgid, ANCESTORS_MAX);
	if (!process && status.tgid != id && is_other(roster, status.tgid))
		roster->births.nr_others++;
}

/*
 * A task that was born since the last look. Most on a machine have nothing to do with ours, which
 * their ids mostly show. To select processes, files of each are read anyway.
 */
static void consider(struct roster *roster, pid_t id)
{
	struct task_ids ids;
	enum task_ids_outcome outcome =
		roster->joining ? TASK_IDS_HIDDEN : proc_read_task_ids(id, &ids);
	struct roster_process *process;

	if (outcome == TASK_IDS_GONE ||
	    (outcome == TASK_IDS_READ && are_of_others(roster, id, &ids)))
		return;
	process = outcome == TASK_IDS_READ && ids.tgid != id ? roster_find_process(roster, ids.tgid)
							     : NULL;
	if (!process)
		ask(roster, id);
	else if (!pid_table_get(&roster->by_tid, id))
		roster_add_thread(roster, process, id, true);
}

/* Its directory has two links, plus one for each thread. */
static bool has_other_number(const struct roster_process *process)
{
	struct stat stat_buffer;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)process->pid);
	return proc_exists(process->pid) && stat(path, &stat_buffer) == 0 &&
	       stat_buffer.st_nlink != process->nr_threads + 2;
}

static void sweep_threads(struct roster *roster)
{
	for (size_t i = 0; i < roster->nr_processes; i++) {
		if (!has_other_number(roster->processes[i]))
			continue;
		roster_recount(roster, roster->processes[i]);
		roster_add_threads(roster, roster->processes[i], true);
	}
}

static void sweep_processes(struct roster *roster)
{
	DIR *directory = opendir("/proc");
	pid_t pid;

	while (directory && (pid = proc_next_id(directory))) {
		if (!roster_find_process(roster, pid) && !is_other(roster, pid))
			ask_process(roster, pid, ANCESTORS_MAX);
	}
	if (directory)
		closedir(directory);
}

static void sweep(struct roster *roster, uint64_t now_ns)
{
	uint64_t began_ns = clock_monotonic_ns();

	if (now_ns < roster->sweep_again_ns)
		return;
	roster->is_sweep_due = false;
	if (roster->others.nr > OTHERS_MAX)
		pid_table_release(&roster->others);
	sweep_threads(roster);
	if (finds_others(roster))
		sweep_processes(roster);
	roster->sweep_again_ns = now_ns + SWEEP_PART * (clock_monotonic_ns() - began_ns);
}

/* The number of ids that one read_last_pid() and the next have between them. */
static void count_ids(struct births *births, pid_t former, pid_t last)
{
	struct buf text = {0};
	struct scan scan;
	uint64_t end = 0;

	if (last >= former) {
		births->nr_ids += (uint64_t)(last - former);
		return;
	}
	if (last && proc_read_file("/proc/sys/kernel/pid_max", &text)) {
		scan = (struct scan){.at = buf_str(&text), .end = buf_str(&text) + text.nr_bytes};
		if (!scan_decimal(&scan, &end))
			end = 0;
	}
	buf_release(&text);
	/* A namespace that has not given away so many ids yet begins below. */
	births->is_unknown |= end <= (uint64_t)former || last < FIRST_ID_AGAIN;
	if (!births->is_unknown)
		births->nr_ids += end - 1 - (uint64_t)former + (uint64_t)(last - FIRST_ID_AGAIN);
}

uint64_t roster_nr_unseen(const struct roster *roster)
{
	const struct births *births = &roster->births;
	uint64_t nr_ours = births->nr_processes + births->nr_ended;
	uint64_t nr_found = nr_ours + births->nr_others;
	uint64_t nr_gone = births->nr_ids - min_u64(births->nr_ids, nr_found);

	if (births->is_unknown)
		return 0;
	/* One more of ours: where none was found at all, they were ours. */
	return births->nr_ended +
	       (uint64_t)((double)nr_gone * (double)(nr_ours + 1) / (double)(nr_found + 1) + 0.5);
}

static void begin_births(struct births *births)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	births->begun_ticks = (uint64_t)now.tv_sec * (uint64_t)sysconf(_SC_CLK_TCK) +
			      (uint64_t)now.tv_nsec * (uint64_t)sysconf(_SC_CLK_TCK) / NS_PER_SEC;
}

static bool are_too_many(const struct roster *roster, pid_t nr_ids)
{
	return nr_ids > 0 && (size_t)nr_ids > max_u64(ASKED_FEW, roster->nr_processes / ASKED_PART);
}

bool roster_poll(struct roster *roster, uint64_t now_ns)
{
	pid_t last = read_last_pid(roster);
	pid_t first = roster->last_pid + 1;
	bool has_wrapped = last < roster->last_pid;

	roster->polled_ns = now_ns;
	if (last && last == roster->last_pid) {
		if (roster->is_sweep_due)
			sweep(roster, now_ns);
		return roster->is_sweep_due;
	}
	roster->last_pid = last;
	roster->news_ns = now_ns;
	if (first == 1) { /* the first call: roster_add_root() reports existing tasks */
		roster->news_ns = clock_monotonic_ns(); /* births are likely at first */
		begin_births(&roster->births);
		return false;
	}
	count_ids(&roster->births, first - 1, last);
	/* The kernel reuses ids: ids of others may be ours by now. */
	if (has_wrapped || roster->births.ended.nr > OTHERS_MAX)
		pid_table_release(&roster->births.ended);
	if (has_wrapped)
		pid_table_release(&roster->others);
	if (has_wrapped || !last || are_too_many(roster, last - first + 1) ||
	    roster->is_sweep_due) {
		roster->is_sweep_due = true;
		sweep(roster, now_ns);
		return true;
	}
	for (pid_t id = first; id <= last; id++)
		consider(roster, id);
	return true;
}

/* The longer nothing was born, the longer the pauses. */
#define POLL_PART	8
#define LONGEST_POLL_NS (4 * NS_PER_MS)

bool roster_poll_at_ease(struct roster *roster, uint64_t now_ns)
{
	uint64_t quiet_ns = now_ns - min_u64(roster->news_ns, now_ns);
	uint64_t pause_ns = min_u64(quiet_ns / POLL_PART, LONGEST_POLL_NS);

	if (!roster->is_sweep_due && now_ns < roster->polled_ns + pause_ns)
		return false;
	return roster_poll(roster, now_ns);
}

bool roster_poll_all(struct roster *roster, uint64_t now_ns)
{
	roster->sweep_again_ns = 0;
	return roster_poll(roster, now_ns);
}

struct roster_process *roster_look_for(struct roster *roster, pid_t pid)
{
	struct roster_process *process = roster_find_process(roster, pid);

	if (process || pid <= 0)
		return process;
	ask(roster, pid);
	return roster_find_process(roster, pid);
}

size_t roster_nr_runnable(const struct roster *roster)
{
	return roster->nr_runnable;
}

static int add_root(struct roster *roster, pid_t tgid, bool is_new, struct err *err)
{
	struct proc_stat stat;

	if (pid_table_get(&roster->by_pid, tgid))
		return 0; /* named twice */
	if (!proc_read_task_stat(tgid, tgid, &stat))
		return err_set(err, ERR_GONE, "process %d has ended meanwhile", (int)tgid);
	roster->births.nr_processes += is_new;
	if (roster_add(roster, &stat, NULL, is_new ? ROSTER_BORN : ROSTER_RUNNING))
		return 0;
	return err_set(err, ERR_GONE, "process %d has ended meanwhile", (int)tgid);
}

/* While an executing thread takes its leader's place, no thread is found. */
#define TRIES	     20
#define TRY_PAUSE_NS NS_PER_MS

bool roster_end_if_dead(struct roster *roster, pid_t pid)
{
	struct roster_process *process = pid_table_get(&roster->by_pid, pid);

	if (!process || !roster_is_dead(pid))
		return false;
	roster_forget(roster, process);
	return true;
}

static void pause_before_try(int i)
{
	const struct timespec pause = {.tv_nsec = (long)TRY_PAUSE_NS};

	if (i)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

int roster_add_root(struct roster *roster, pid_t pid, struct err *err)
{
	pid_t tgid = pid;
	int status = ERR_GONE;

	for (int i = 0; i < TRIES && status == ERR_GONE; i++) {
		pause_before_try(i);
		status = permission_to_trace(pid, &tgid, err);
		if (status == 0)
			status = add_root(roster, tgid, false, err);
		if (roster_is_dead(tgid))
			break;
	}
	return status;
}

void roster_add_known(struct roster *roster, pid_t pid)
{
	int status = ERR_GONE;

	for (int i = 0; i < TRIES && status == ERR_GONE && !roster_is_dead(pid); i++) {
		pause_before_try(i);
		status = add_root(roster, pid, false, NULL);
	}
}

size_t roster_add_descendants(struct roster *roster)
{
	struct attached all = {.nr = roster->nr_processes};
	size_t nr_added = 0;

	all.pids = xcalloc(all.nr + 1, sizeof(*all.pids));
	for (size_t i = 0; i < all.nr; i++)
		all.pids[i] = roster->processes[i]->pid;
	all.nr_named = all.nr;
	attached_add_descendants(&all);
	for (size_t i = all.nr_named; i < all.nr; i++)
		nr_added += add_root(roster, all.pids[i], false, NULL) == 0;
	attached_release(&all);
	return nr_added;
}

void roster_add_command(struct roster *roster, pid_t pid)
{
	add_root(roster, pid, true, NULL); /* or it has ended by now */
}
