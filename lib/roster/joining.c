// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds processes that may join a recording by what they are (joiners.h). Those that are born are
 * known from discovery.c, and mostly get their name and their control group a moment later: so each
 * is looked at again for a while. Older ones that come to fit are found by reading all of /proc now
 * and then.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/minmax.h"
#include "proc/read.h"
#include "roster/joiners.h"
#include "roster/roster_priv.h"
#include "tracee/permission.h"

/* All of /proc is read so often at most, some processes at a time, in this part of the time. */
#define SCAN_PAUSE_NS NS_PER_SEC
#define SCAN_AT_ONCE  32
#define SCAN_PART     1000

/* A young process is looked at whenever its age has doubled, up to here. */
#define FIRST_AGE_NS  (5 * NS_PER_MS)
#define OLDEST_AGE_NS (3 * NS_PER_SEC)
/* These looks take no larger part of the time. */
#define YOUNG_PART 100

/* The clocks of a process that was found by this age count from 0. */
#define NEW_AGE_NS NS_PER_SEC

/*
 * A set-user-id program does not get its privileges if a tracer without CAP_SYS_PTRACE holds the
 * process at its exec, which mostly follows a fork soon: such a tracer lets it grow as old as this.
 */
#define SETTLED_AGE_NS (200 * NS_PER_MS)

/* Ancestors of a process among which profc may be. */
#define ANCESTORS_MAX 64

#define REFUSED_MAX 65536

void roster_admit(struct roster *roster, const struct joiners *joiners)
{
	roster->joining = xcalloc(1, sizeof(*roster->joining));
	roster->joining->joiners = joiners;
	roster->joining->traces_all = may_trace_all();
}

struct roster_joined roster_joined(const struct roster *roster)
{
	return roster->joining ? roster->joining->joined : (struct roster_joined){0};
}

static uint64_t age_ns(const struct proc_stat *stat)
{
	uint64_t tick_ns = NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t now_ns = clock_boot_ns();

	return now_ns - min_u64(now_ns, stat->start_ticks * tick_ns);
}

/* What profc has started: readers of debug information, the agent. */
static bool is_of_profc(const struct proc_stat *stat)
{
	struct proc_stat at = *stat;

	for (int i = 0; i < ANCESTORS_MAX && at.ppid > 1; i++) {
		if (at.ppid == getpid())
			return true;
		if (!proc_read_task_stat(at.ppid, at.ppid, &at))
			break;
	}
	return false;
}

static void *mark_of(const struct proc_stat *stat)
{
	return (void *)(uintptr_t)(stat->start_ticks + 1);
}

static void refuse(struct joining *joining, const struct proc_stat *stat, const struct err *err)
{
	if (joining->refused.nr >= REFUSED_MAX)
		pid_table_release(&joining->refused);
	pid_table_set(&joining->refused, stat->pid, mark_of(stat));
	if (!joining->joined.nr_refused)
		joining->joined.refusal = *err;
	joining->joined.nr_refused++;
}

static bool may_join(struct joining *joining, const struct proc_stat *stat)
{
	struct err err = ERR_INIT;
	pid_t tgid;
	int status;

	if (pid_table_get(&joining->refused, stat->pid) == mark_of(stat))
		return false;
	status = permission_to_trace(stat->pid, &tgid, &err);
	if (status < 0 && status != ERR_GONE)
		refuse(joining, stat, &err);
	return status == 0;
}

/* Not another one by now that has its id. */
static bool is_still(const struct proc_stat *stat)
{
	struct proc_stat now;

	return proc_read_task_stat(stat->pid, stat->pid, &now) &&
	       now.start_ticks == stat->start_ticks;
}

static bool is_selected(const struct joining *joining, const struct proc_stat *stat)
{
	return !(stat->flags & PROC_FLAG_KTHREAD) &&
	       !(stat->state == 'Z' && stat->nr_threads <= 1) && stat->pid != getpid() &&
	       joiners_fits(joining->joiners, stat->pid, stat->comm) && !is_of_profc(stat);
}

static bool try_to_join(struct roster *roster, const struct proc_stat *stat)
{
	struct joining *joining = roster->joining;
	bool is_new = age_ns(stat) < NEW_AGE_NS && stat->start_ticks > roster->births.begun_ticks;

	if (!is_selected(joining, stat) ||
	    (!joining->traces_all && age_ns(stat) < SETTLED_AGE_NS) || !may_join(joining, stat) ||
	    !is_still(stat))
		return false;
	if (!roster_add(roster, stat, NULL, is_new ? ROSTER_JOINED : ROSTER_JOINED_RUNNING))
		return false;
	joining->joined.nr++;
	return true;
}

bool joining_consider(struct roster *roster, const struct proc_stat *stat, uint64_t now_ns)
{
	struct joining *joining = roster->joining;

	if (!joining || stat->flags & PROC_FLAG_KTHREAD)
		return false;
	if (try_to_join(roster, stat))
		return true;
	if (joining->nr_young < YOUNG_MAX && age_ns(stat) < OLDEST_AGE_NS)
		joining->young[joining->nr_young++] =
			(struct young){.pid = stat->pid,
				       .age_ns = FIRST_AGE_NS,
				       .again_ns = now_ns + FIRST_AGE_NS};
	return false;
}

/* False: no more looks are needed. */
static bool look_again(struct roster *roster, struct young *young, uint64_t now_ns)
{
	struct proc_stat stat;

	if (roster_find_process(roster, young->pid) ||
	    !proc_read_task_stat(young->pid, young->pid, &stat))
		return false;
	/* Its parent may have joined meanwhile. */
	if (roster_is_child(roster, &stat)) {
		roster_add(roster, &stat, roster_find_process(roster, stat.ppid), ROSTER_BORN);
		return false;
	}
	young->age_ns *= 2;
	young->again_ns = now_ns + young->age_ns;
	return !try_to_join(roster, &stat) && young->age_ns < OLDEST_AGE_NS;
}

static void look_at_young(struct roster *roster, uint64_t now_ns)
{
	struct joining *joining = roster->joining;
	uint64_t began_ns = clock_thread_cpu_ns();
	size_t nr_left = 0;

	if (!joining->nr_young || now_ns < joining->young_again_ns)
		return;
	for (size_t i = 0; i < joining->nr_young; i++) {
		struct young young = joining->young[i];

		if (now_ns < young.again_ns || look_again(roster, &young, now_ns))
			joining->young[nr_left++] = young;
	}
	joining->nr_young = nr_left;
	joining->young_again_ns = now_ns + YOUNG_PART * (clock_thread_cpu_ns() - began_ns);
}

/* No birth will tell of those that are there at the beginning, however young they are. */
static void scan_process(struct roster *roster, pid_t pid, bool is_first)
{
	struct proc_stat stat;

	if (pid == getpid() || roster_find_process(roster, pid) ||
	    !proc_read_task_stat(pid, pid, &stat))
		return;
	if (!roster_is_child(roster, &stat) && is_first)
		joining_consider(roster, &stat, clock_monotonic_ns());
	else if (!roster_is_child(roster, &stat))
		try_to_join(roster, &stat);
	else if (age_ns(&stat) > NEW_AGE_NS) /* a younger one is found as a birth */
		roster_add(roster, &stat, NULL, ROSTER_JOINED_RUNNING);
}

/* Read so many processes at most; at its end the scan is closed. */
static void scan_some(struct roster *roster, size_t nr, bool is_first)
{
	struct joining *joining = roster->joining;
	pid_t pid = 0;

	while (nr-- && (pid = proc_next_id(joining->scan)))
		scan_process(roster, pid, is_first);
	if (pid)
		return;
	closedir(joining->scan);
	joining->scan = NULL;
}

static void scan(struct roster *roster, uint64_t now_ns)
{
	struct joining *joining = roster->joining;
	uint64_t began_ns = clock_thread_cpu_ns();

	if (now_ns < joining->scan_again_ns)
		return;
	if (!joining->scan) {
		joining->scan = opendir("/proc");
		joining->scan_begun_ns = now_ns;
	}
	if (joining->scan)
		scan_some(roster, SCAN_AT_ONCE, false);
	joining->scan_again_ns = now_ns + SCAN_PART * (clock_thread_cpu_ns() - began_ns);
	if (!joining->scan)
		joining->scan_again_ns =
			max_u64(joining->scan_again_ns, joining->scan_begun_ns + SCAN_PAUSE_NS);
}

void roster_join(struct roster *roster, uint64_t now_ns)
{
	if (!roster->joining)
		return;
	look_at_young(roster, now_ns);
	scan(roster, now_ns);
}

void roster_join_all(struct roster *roster)
{
	struct joining *joining = roster->joining;

	if (!joining)
		return;
	joining->scan = opendir("/proc");
	if (joining->scan)
		scan_some(roster, SIZE_MAX, true);
}
