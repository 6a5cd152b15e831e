// SPDX-License-Identifier: GPL-2.0-or-later
/* Parsers for the files of a thread: schedstat, sched, stat, syscall and status. */
#include "proc/task.h"

#include <linux/seccomp.h>
#include <string.h>

#include "base/index_set.h"
#include "base/scan.h"

static struct scan scan_over(const char *text, size_t nr_bytes)
{
	return (struct scan){.at = text, .end = text + nr_bytes};
}

bool proc_schedstat_parse(const char *text, size_t nr_bytes, struct proc_schedstat *schedstat)
{
	struct scan scan = scan_over(text, nr_bytes);
	struct proc_schedstat found;

	if (!scan_decimal(&scan, &found.cpu_ns) || !scan_char(&scan, ' ') ||
	    !scan_decimal(&scan, &found.runq_ns) || !scan_char(&scan, ' ') ||
	    !scan_decimal(&scan, &found.pcount))
		return false;
	*schedstat = found;
	return true;
}

struct proc_schedstat proc_schedstat_from(const struct proc_stat *stat,
					  const struct proc_status *status, uint64_t tick_ns)
{
	return (struct proc_schedstat){
		.cpu_ns = (stat->user_ticks + stat->system_ticks) * tick_ns,
		.pcount = status->nr_yielded + status->nr_preempted,
	};
}

/* A name may contain ") R 1": only the last parenthesis of the line ends it. */
static bool scan_comm(struct scan *scan, struct proc_stat *stat)
{
	const char *close;
	size_t nr;

	if (!scan_char(scan, '('))
		return false;
	close = memrchr(scan->at, ')', (size_t)(scan->end - scan->at));
	if (!close)
		return false;
	nr = (size_t)(close - scan->at);
	if (nr >= sizeof(stat->comm))
		nr = sizeof(stat->comm) - 1;
	memcpy(stat->comm, scan->at, nr);
	stat->comm[nr] = '\0';
	scan->at = close + 1;
	return scan_char(scan, ' ');
}

/* The numbers after the state, by their field number in proc_pid_stat(5). */
#define STAT_FIRST_NUMBER 4
#define STAT_PPID	  4
#define STAT_FLAGS	  9
#define STAT_PGRP	  5
#define STAT_SESSION	  6
#define STAT_MINFLT	  10
#define STAT_MAJFLT	  12
#define STAT_UTIME	  14
#define STAT_STIME	  15
#define STAT_CUTIME	  16
#define STAT_CSTIME	  17
#define STAT_NR_THREADS	  20
#define STAT_START	  22

static bool scan_stat_numbers(struct scan *scan, struct proc_stat *stat)
{
	for (int field = STAT_FIRST_NUMBER; field <= STAT_START; field++) {
		int64_t number;

		if (!scan_char(scan, ' ') || !scan_signed(scan, &number))
			return false;
		if (field == STAT_PPID)
			stat->ppid = (pid_t)number;
		else if (field == STAT_PGRP)
			stat->pgrp = (pid_t)number;
		else if (field == STAT_SESSION)
			stat->session = (pid_t)number;
		else if (field == STAT_FLAGS)
			stat->flags = (uint64_t)number;
		else if (field == STAT_MINFLT)
			stat->nr_faults = (uint64_t)number;
		else if (field == STAT_MAJFLT)
			stat->nr_major_faults = (uint64_t)number;
		else if (field == STAT_UTIME)
			stat->user_ticks = (uint64_t)number;
		else if (field == STAT_STIME)
			stat->system_ticks = (uint64_t)number;
		else if ((field == STAT_CUTIME || field == STAT_CSTIME) && number > 0)
			stat->child_ticks += (uint64_t)number;
		else if (field == STAT_NR_THREADS)
			stat->nr_threads = (uint64_t)number;
		else if (field == STAT_START)
			stat->start_ticks = (uint64_t)number;
	}
	return true;
}

#define STAT_TEXT_START 26
#define STAT_TEXT_END	27
#define STAT_FIRST_SP	28
#define STAT_LAST_SP	29
#define STAT_LAST_PC	30
#define STAT_SIGNAL	38
#define STAT_CPU	39
#define STAT_RT		40

/* Fields after those above; some of those in between are larger than a signed number. */
static void scan_stat_rest(struct scan *scan, struct proc_stat *stat)
{
	uint64_t number = 0;

	stat->cpu = -1;
	for (int field = STAT_START + 1; field <= STAT_RT; field++) {
		int64_t negative;

		if (!scan_char(scan, ' ') ||
		    (!scan_decimal(scan, &number) && !scan_signed(scan, &negative)))
			return;
		if (field >= STAT_TEXT_START && field <= STAT_FIRST_SP)
			stat->program_mark = hash_mix(stat->program_mark, number);
		if (field == STAT_FIRST_SP)
			stat->first_sp = number;
		else if (field == STAT_LAST_SP)
			stat->last_sp = number;
		else if (field == STAT_LAST_PC)
			stat->last_pc = number;
		else if (field == STAT_SIGNAL)
			stat->exit_signal = number < 128 ? (int)number : 0;
		else if (field == STAT_CPU)
			stat->cpu = number < INT32_MAX ? (int)number : -1;
		else if (field == STAT_RT)
			stat->rt_priority = number < 100 ? (int)number : 0;
	}
}

bool proc_stat_parse(const char *text, size_t nr_bytes, struct proc_stat *stat)
{
	struct scan scan = scan_over(text, nr_bytes);
	struct proc_stat found = {0};
	uint64_t pid;

	if (!scan_decimal(&scan, &pid) || !scan_char(&scan, ' ') || !scan_comm(&scan, &found) ||
	    scan.at >= scan.end)
		return false;
	found.pid = (pid_t)pid;
	found.state = *scan.at++;
	if (!scan_stat_numbers(&scan, &found))
		return false;
	scan_stat_rest(&scan, &found);
	if (!found.first_sp)
		found.program_mark = 0;
	*stat = found;
	return true;
}

#define STAT_STATE 3
#define STAT_HEAP  47

bool proc_stat_heap_start(const char *text, size_t nr_bytes, uint64_t *start)
{
	const char *name_end = memrchr(text, ')', nr_bytes);
	struct scan scan = {.at = name_end ? name_end + 1 : text, .end = text + nr_bytes};

	if (!name_end)
		return false;
	for (int field = STAT_STATE; field <= STAT_HEAP; field++) {
		scan.at = memchr(scan.at, ' ', (size_t)(scan.end - scan.at));
		if (!scan.at)
			return false;
		scan.at++;
	}
	return scan_decimal(&scan, start) && *start;
}

static bool scan_hex_after_blank(struct scan *scan, uint64_t *value)
{
	return scan_char(scan, ' ') && scan_hex(scan, value);
}

bool proc_syscall_parse(const char *text, size_t nr_bytes, struct proc_syscall *syscall)
{
	static const char running[] = "running";
	struct scan scan = scan_over(text, nr_bytes);
	struct proc_syscall found = {.kind = PROC_SYSCALL_RUNNING, .nr = -1};

	if (nr_bytes >= sizeof(running) - 1 && memcmp(text, running, sizeof(running) - 1) == 0) {
		*syscall = found;
		return true;
	}
	if (!scan_signed(&scan, &found.nr))
		return false;
	found.kind = found.nr < 0 ? PROC_SYSCALL_OUTSIDE : PROC_SYSCALL_INSIDE;
	for (int i = 0; found.kind == PROC_SYSCALL_INSIDE && i < 6; i++) {
		if (!scan_hex_after_blank(&scan, &found.args[i]))
			return false;
	}
	if (!scan_hex_after_blank(&scan, &found.sp) || !scan_hex_after_blank(&scan, &found.pc))
		return false;
	*syscall = found;
	return true;
}

/* The position after "\nNAME:" and blanks. */
static bool find_field(const char *text, size_t nr_bytes, const char *name, struct scan *value)
{
	const char *end = text + nr_bytes;
	const size_t nr_name = strlen(name);

	for (const char *line = text; line < end;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		const char *line_end = newline ? newline : end;

		if ((size_t)(line_end - line) > nr_name && line[nr_name] == ':' &&
		    memcmp(line, name, nr_name) == 0) {
			value->at = line + nr_name + 1;
			value->end = line_end;
			scan_blanks(value);
			return true;
		}
		line = line_end + 1;
	}
	return false;
}

bool proc_io_parse(const char *text, size_t nr_bytes, uint64_t *read_bytes, uint64_t *written_bytes)
{
	struct scan read_chars, written_chars;

	return find_field(text, nr_bytes, "rchar", &read_chars) &&
	       find_field(text, nr_bytes, "wchar", &written_chars) &&
	       scan_decimal(&read_chars, read_bytes) && scan_decimal(&written_chars, written_bytes);
}

static uint64_t status_decimal(const char *text, size_t nr_bytes, const char *name)
{
	struct scan value;
	uint64_t number;

	return find_field(text, nr_bytes, name, &value) && scan_decimal(&value, &number) ? number
											 : 0;
}

static uint64_t status_hex(const char *text, size_t nr_bytes, const char *name)
{
	struct scan value;
	uint64_t number;

	return find_field(text, nr_bytes, name, &value) && scan_hex(&value, &number) ? number : 0;
}

/* "Uid:	real	effective	saved	filesystem" */
static void status_uids(const char *text, size_t nr_bytes, struct proc_status *status)
{
	struct scan value;
	uint64_t real;
	uint64_t effective;

	if (!find_field(text, nr_bytes, "Uid", &value) || !scan_decimal(&value, &real))
		return;
	scan_blanks(&value);
	if (!scan_decimal(&value, &effective))
		return;
	status->real_uid = (uint32_t)real;
	status->effective_uid = (uint32_t)effective;
}

/* "NSpid:	outer	…	inner": the last one is the process' own. */
static void status_ns_pids(const char *text, size_t nr_bytes, struct proc_status *status)
{
	struct scan value;
	uint64_t number;

	if (!find_field(text, nr_bytes, "NSpid", &value))
		return;
	while (status->nr_ns_pids < PROC_PID_NAMESPACES_MAX && scan_decimal(&value, &number)) {
		status->ns_pid = status->ns_pids[status->nr_ns_pids++] = (pid_t)number;
		scan_blanks(&value);
	}
}

bool proc_status_parse(const char *text, size_t nr_bytes, struct proc_status *status)
{
	struct scan value;
	struct proc_status found = {0};

	if (!find_field(text, nr_bytes, "Tgid", &value))
		return false;
	found.tgid = (pid_t)status_decimal(text, nr_bytes, "Tgid");
	found.ppid = (pid_t)status_decimal(text, nr_bytes, "PPid");
	found.tracer_pid = (pid_t)status_decimal(text, nr_bytes, "TracerPid");
	status_uids(text, nr_bytes, &found);
	status_ns_pids(text, nr_bytes, &found);
	found.pending_thread = status_hex(text, nr_bytes, "SigPnd");
	found.pending_process = status_hex(text, nr_bytes, "ShdPnd");
	found.blocked = status_hex(text, nr_bytes, "SigBlk");
	found.ignored = status_hex(text, nr_bytes, "SigIgn");
	found.caught = status_hex(text, nr_bytes, "SigCgt");
	found.permitted_capabilities = status_hex(text, nr_bytes, "CapPrm");
	found.effective_capabilities = status_hex(text, nr_bytes, "CapEff");
	found.seccomp = (uint32_t)status_decimal(text, nr_bytes, "Seccomp");
	found.nr_filters = (uint32_t)status_decimal(text, nr_bytes, "Seccomp_filters");
	if (found.seccomp == SECCOMP_MODE_FILTER && !found.nr_filters)
		found.nr_filters = 1;
	found.nr_yielded = status_decimal(text, nr_bytes, "voluntary_ctxt_switches");
	found.nr_preempted = status_decimal(text, nr_bytes, "nonvoluntary_ctxt_switches");
	found.no_new_privileges = status_decimal(text, nr_bytes, "NoNewPrivs") == 1;
	found.kthread = status_decimal(text, nr_bytes, "Kthread") == 1;
	*status = found;
	return true;
}
