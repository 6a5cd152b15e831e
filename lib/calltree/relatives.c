// SPDX-License-Identifier: GPL-2.0-or-later
#include "calltree/relatives.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "profile/profile.h"

/* The number of ended processes that are searched for an awaited child. */
#define ENDS_ASKED 256

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_ends(const void *left, const void *right, void *context)
{
	const struct profile_process *rows = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return compare_u64(rows[a].end_ns, rows[b].end_ns);
}

static int compare_pids(const void *left, const void *right, void *context)
{
	const struct profile_process *rows = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	int order = (rows[a].pid > rows[b].pid) - (rows[a].pid < rows[b].pid);

	order = order ? order : compare_u64(rows[a].start_ns, rows[b].start_ns);
	return order ? order : compare_u64(a, b);
}

static void find_leaders(struct relatives *relatives)
{
	const struct profile *profile = relatives->profile;

	for (uint32_t i = 0; i < profile->nr_threads; i++) {
		const struct profile_thread *thread = &profile->threads[i];
		uint32_t *leader = &relatives->leaders[thread->process];

		if (thread->tid == profile->processes[thread->process].pid ||
		    *leader == RELATIVE_NONE)
			*leader = i;
	}
}

static void list_threads(struct relatives *relatives)
{
	const struct profile *profile = relatives->profile;
	size_t *firsts = xcalloc(profile->nr_processes + 2, sizeof(*firsts));

	relatives->threads = xcalloc(profile->nr_threads + 1, sizeof(*relatives->threads));
	for (size_t i = 0; i < profile->nr_threads; i++)
		firsts[profile->threads[i].process + 2]++;
	for (size_t i = 2; i < profile->nr_processes + 2; i++)
		firsts[i] += firsts[i - 1];
	for (size_t i = 0; i < profile->nr_threads; i++)
		relatives->threads[firsts[profile->threads[i].process + 1]++] = (uint32_t)i;
	relatives->first_of_process = firsts;
}

/* The first row of the parent of a process; PROCESS_NONE: it is not known. */
static uint32_t parent_of(const struct relatives *relatives, uint32_t process)
{
	uint32_t parent = relatives->profile->processes[relatives->first_rows[process]].parent;

	return parent == PROCESS_NONE ? PROCESS_NONE : relatives->first_rows[parent];
}

static void find_ends(struct relatives *relatives, const bool *is_replaced)
{
	const struct profile *profile = relatives->profile;
	bool *has_several = xcalloc(profile->nr_processes + 1, sizeof(*has_several));

	for (uint32_t i = 0; i < profile->nr_processes; i++) {
		uint32_t parent = parent_of(relatives, i);

		if (profile->processes[i].nr_unseen && parent != PROCESS_NONE)
			relatives->has_unseen[parent] = true;
		if (is_replaced[i])
			continue;
		if (profile->processes[i].end_ns) {
			relatives->ended[relatives->nr_ended++] = i;
		} else if (parent != PROCESS_NONE && !has_several[parent]) {
			has_several[parent] = relatives->living[parent] != RELATIVE_NONE;
			relatives->living[parent] = has_several[parent] ? RELATIVE_NONE : i;
		}
	}
	qsort_r(relatives->ended, relatives->nr_ended, sizeof(*relatives->ended), compare_ends,
		profile->processes);
	free(has_several);
}

void relatives_init(struct relatives *relatives, const struct profile *profile)
{
	size_t nr = profile->nr_processes;
	bool *is_replaced = xcalloc(nr + 1, sizeof(*is_replaced));

	*relatives = (struct relatives){
		.profile = profile,
		.leaders = xcalloc(nr + 1, sizeof(uint32_t)),
		.first_rows = xcalloc(nr + 1, sizeof(uint32_t)),
		.living = xcalloc(nr + 1, sizeof(uint32_t)),
		.ended = xcalloc(nr + 1, sizeof(uint32_t)),
		.has_unseen = xcalloc(nr + 1, sizeof(bool)),
		.by_pid = xcalloc(nr + 1, sizeof(uint32_t)),
	};
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t parent = profile->processes[i].parent;

		relatives->leaders[i] = relatives->living[i] = RELATIVE_NONE;
		relatives->first_rows[i] = relatives->by_pid[i] = i;
		if (parent == PROCESS_NONE ||
		    profile->processes[parent].pid != profile->processes[i].pid)
			continue;
		is_replaced[parent] = true;
		/* Parents have earlier rows. */
		relatives->first_rows[i] = relatives->first_rows[parent];
	}
	find_leaders(relatives);
	list_threads(relatives);
	find_ends(relatives, is_replaced);
	qsort_r(relatives->by_pid, nr, sizeof(*relatives->by_pid), compare_pids,
		profile->processes);
	free(is_replaced);
}

void relatives_release(struct relatives *relatives)
{
	free(relatives->leaders);
	free(relatives->first_rows);
	free(relatives->living);
	free(relatives->ended);
	free(relatives->has_unseen);
	free(relatives->by_pid);
	free(relatives->threads);
	free(relatives->first_of_process);
}

/* --- children --- */

/* How many processes ended up to that moment. */
static size_t nr_ended_by(const struct relatives *relatives, uint64_t ns)
{
	size_t from = 0, to = relatives->nr_ended;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (relatives->profile->processes[relatives->ended[middle]].end_ns <= ns)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

uint32_t relatives_child_ended(const struct relatives *relatives, uint32_t process,
			       uint64_t begun_ns, uint64_t from_ns, uint64_t to_ns)
{
	const struct profile_process *rows = relatives->profile->processes;
	uint32_t parent = relatives->first_rows[process];
	size_t from = nr_ended_by(relatives, to_ns);
	size_t last = from > ENDS_ASKED ? from - ENDS_ASKED : 0;

	for (; from > last; from--) {
		uint32_t ended = relatives->ended[from - 1];

		if (rows[ended].end_ns < from_ns)
			break;
		if (parent_of(relatives, ended) == parent &&
		    rows[relatives->first_rows[ended]].start_ns < begun_ns)
			return ended;
	}
	return PROCESS_NONE;
}

bool relatives_child_name(const struct relatives *relatives, uint32_t process, uint64_t from_ns,
			  uint64_t to_ns, struct str_id *name)
{
	const struct profile_process *rows = relatives->profile->processes;
	size_t first = nr_ended_by(relatives, from_ns), end = nr_ended_by(relatives, to_ns);
	uint32_t parent = relatives->first_rows[process];
	struct str_id found = STR_EMPTY;

	if (end > first + ENDS_ASKED || relatives->has_unseen[parent])
		return false;
	for (; first < end; first++) {
		uint32_t ended = relatives->ended[first];
		struct str_id other = rows[ended].name;

		if (parent_of(relatives, ended) != parent ||
		    rows[relatives->first_rows[ended]].start_ns > from_ns)
			continue;
		if (found.v != STR_EMPTY.v && found.v != other.v)
			return false;
		found = other;
	}
	*name = found;
	return found.v != STR_EMPTY.v;
}

uint32_t relatives_program_at(const struct relatives *relatives, uint32_t process, uint64_t time_ns)
{
	const struct profile_process *rows = relatives->profile->processes;

	while (rows[process].start_ns >= time_ns && relatives->first_rows[process] != process)
		process = rows[process].parent;
	return process;
}

uint32_t relatives_begun_by(const struct relatives *relatives, uint32_t thread)
{
	uint32_t process = relatives->profile->threads[thread].process;
	uint32_t parent = relatives->profile->processes[process].parent;

	if (relatives->leaders[process] != thread)
		return relatives->leaders[process];
	return parent == PROCESS_NONE ? RELATIVE_NONE : relatives->leaders[parent];
}

/* --- other ends --- */

/* More processes than names have. */
#define PIDS_MAX 4

/* Peers that are too many to be named: any of them may be it. */
static bool has_more(const char *peer)
{
	size_t length = strlen(peer);

	return length > strlen(" more") && strcmp(peer + length - strlen(" more"), " more") == 0;
}

/* Read the ids of "pipe from 77 gzip, 78 zcat". The names are the processes' own. */
static size_t read_pids(const char *peer, pid_t own, pid_t pids[PIDS_MAX])
{
	static const char *const beginnings[] = {"pipe from ", "pipe to ", "socket to "};
	static const char *const within[] = {"pipe within the process",
					     "socket within the process"};
	const char *at = NULL;
	size_t nr = 0;

	for (size_t i = 0; i < ARRAY_SIZE(within); i++) {
		if (strcmp(peer, within[i]) == 0) {
			pids[0] = own;
			return 1;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++) {
		if (strncmp(peer, beginnings[i], strlen(beginnings[i])) == 0)
			at = peer + strlen(beginnings[i]);
	}
	while (at && nr < PIDS_MAX && isdigit((unsigned char)*at)) {
		pids[nr++] = (pid_t)strtol(at, NULL, 10);
		at = strstr(at, ", ");
		at = at ? at + strlen(", ") : NULL;
	}
	return has_more(peer) ? 0 : nr;
}

/* The program that ran under that id then, or that had been the last; or PROCESS_NONE. */
static uint32_t process_at(const struct relatives *relatives, pid_t pid, uint64_t time_ns)
{
	const struct profile_process *rows = relatives->profile->processes;
	size_t from = 0, to = relatives->profile->nr_processes;
	uint32_t found;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		const struct profile_process *row = &rows[relatives->by_pid[middle]];

		if (row->pid < pid || (row->pid == pid && row->start_ns < time_ns))
			from = middle + 1;
		else
			to = middle;
	}
	found = from ? relatives->by_pid[from - 1] : PROCESS_NONE;
	return found != PROCESS_NONE && rows[found].pid == pid ? found : PROCESS_NONE;
}

size_t relatives_at_other_end(const struct relatives *relatives, const struct profile_wait *wait,
			      uint64_t time_ns, uint32_t threads[RELATIVES_PEERS_MAX])
{
	const struct profile *profile = relatives->profile;
	pid_t pids[PIDS_MAX];
	size_t nr_pids = read_pids(profile_str(profile, wait->peer),
				   profile->processes[wait->process].pid, pids);
	size_t nr = 0;

	for (size_t i = 0; i < nr_pids; i++) {
		uint32_t process = process_at(relatives, pids[i], time_ns);
		size_t first, end;

		if (process == PROCESS_NONE)
			return 0;
		first = relatives->first_of_process[process];
		end = relatives->first_of_process[process + 1];
		if (end - first > RELATIVES_PEERS_MAX - nr)
			return 0;
		for (; first < end; first++)
			threads[nr++] = relatives->threads[first];
	}
	return nr;
}
