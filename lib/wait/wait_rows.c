// SPDX-License-Identifier: GPL-2.0-or-later
/* Turns observed waits into rows: proves owners, and finds places and names. */
#include "wait/wait_rows.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "mapping/space.h"
#include "profile/profile.h"
#include "wait/inner_ids.h"
#include "wait/object_names.h"
#include "wait/wait.h"

/* A row with an unknown peer, or with one that may change or end while the thread still waits. */
struct pending {
	uint32_t row;
	pid_t pid;
	pid_t peer; /* 0: unknown */
	bool may_change;
	uint64_t began_ns;
	unsigned int nr_checks, nr_tries;
};

/* A forked child closes the ends that it does not need: after 0.1, 0.4 and 1.6 s that is checked.
 */
#define FIRST_CHECK_NS (100 * NS_PER_MS)
#define NR_CHECKS      3

/* The limit of such rows: others keep the peer that was found first, or none. */
#define PENDING_MAX 1024
#define TRIES_MAX   8

struct wait_rows {
	struct profile *profile;
	struct object_names *names;
	struct pending *pending; /* owned */
	size_t nr, cap;
	struct inner_ids ids;
};

struct wait_rows *wait_rows_new(struct profile *profile)
{
	struct wait_rows *rows = xcalloc(1, sizeof(*rows));

	rows->profile = profile;
	rows->names = object_names_new();
	return rows;
}

void wait_rows_free(struct wait_rows *rows)
{
	if (!rows)
		return;
	object_names_free(rows->names);
	free(rows->pending);
	inner_ids_release(&rows->ids);
	free(rows);
}

static void set_owner(struct wait_rows *rows, const struct waiting_process *process,
		      const struct seen_wait *wait, struct profile_wait *row)
{
	pid_t tid = wait->owner ? inner_ids_outer(&rows->ids, process->pid, wait->owner) : 0;

	if (tid)
		row->owner = process->find_thread(process->context, tid);
	if (row->owner.v == THREAD_NONE.v && row->kind != WAIT_OWNED)
		row->kind = WAIT_FUTEX;
}

static void set_place(struct wait_rows *rows, const struct waiting_process *process,
		      struct profile_wait *row)
{
	struct code_address where;

	if (space_locate_data(process->space, row->number, &where))
		row->place = profile_intern_frame(rows->profile, where);
	else
		row->name =
			profile_intern(rows->profile, space_name_at(process->space, row->number));
}

static void set_peer(struct wait_rows *rows, uint32_t row, struct str_id peer)
{
	struct profile_waits *waits = profile_waits(rows->profile);

	if (waits->rows[row].peer.v != peer.v)
		profile_waits_set_peer(waits, row, peer);
}

static bool find_peer(struct wait_rows *rows, struct pending *pending)
{
	const struct profile_wait *wait = &profile_waits(rows->profile)->rows[pending->row];
	const char *object = profile_str(rows->profile, wait->name);
	struct buf text = {0};
	struct object_name name = {.text = &text};
	bool found = object_names_find(rows->names, pending->pid, (int)wait->number, object, &name);

	if (found) {
		set_peer(rows, pending->row, profile_intern(rows->profile, buf_str(&text)));
		pending->peer = name.peer;
		pending->may_change = name.may_change;
	}
	buf_release(&text);
	return found;
}

static void begin_peer(struct wait_rows *rows, uint32_t row, pid_t pid)
{
	const struct profile_wait *wait = &profile_waits(rows->profile)->rows[row];
	struct pending pending = {.row = row, .pid = pid, .began_ns = clock_monotonic_ns()};

	if (wait->kind != WAIT_FILE || !object_has_peer(profile_str(rows->profile, wait->name)) ||
	    (find_peer(rows, &pending) && !pending.peer && !pending.may_change) ||
	    rows->nr >= PENDING_MAX)
		return;
	ARRAY_GROW(rows->pending, rows->nr, rows->cap);
	rows->pending[rows->nr++] = pending;
}

uint32_t wait_rows_number(struct wait_rows *rows, const struct waiting_process *process,
			  const struct seen_wait *wait)
{
	struct profile_wait row = {.process = process->row,
				   .kind = (uint8_t)wait->kind,
				   .number = wait->number,
				   .place = WAIT_NO_PLACE,
				   .owner = THREAD_NONE};
	size_t nr_before = profile_waits(rows->profile)->nr;
	uint32_t number;

	if (!wait->is_known)
		return 0;
	if (wait_is_of_memory(wait->kind)) {
		set_owner(rows, process, wait, &row);
		if (wait->lock.end)
			row.name = profile_intern(rows->profile, WAIT_NAME_GIL);
		else
			set_place(rows, process, &row);
	} else if (wait->object) {
		row.name = profile_intern(rows->profile, wait->object);
	}
	number = profile_waits_intern(profile_waits(rows->profile), &row);
	if (profile_waits(rows->profile)->nr > nr_before)
		begin_peer(rows, number - 1, process->pid);
	return number;
}

static bool has_ended(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == ESRCH;
}

static bool is_to_be_checked(const struct pending *pending)
{
	return pending->may_change && pending->nr_checks < NR_CHECKS;
}

static bool is_check_due(const struct pending *pending, uint64_t now_ns)
{
	return is_to_be_checked(pending) &&
	       now_ns - pending->began_ns >= FIRST_CHECK_NS << 2 * pending->nr_checks;
}

/* Is the search for the peer of a row over? */
static bool is_settled(struct wait_rows *rows, struct pending *pending, uint64_t now_ns)
{
	bool is_check = is_to_be_checked(pending);
	bool found;

	if (is_check ? !is_check_due(pending, now_ns) : pending->peer && !has_ended(pending->peer))
		return false;
	if (!is_check && pending->peer)
		object_names_forget_ends(rows->names);
	pending->nr_checks += is_check;
	found = find_peer(rows, pending);
	if (found && !pending->peer)
		return !is_to_be_checked(pending);
	return !is_check && ++pending->nr_tries >= TRIES_MAX;
}

/* All rows of a round share one reading of the ends. */
static void forget_what_may_change(struct wait_rows *rows, uint64_t now_ns)
{
	for (size_t i = 0; i < rows->nr; i++) {
		if (is_check_due(&rows->pending[i], now_ns)) {
			object_names_forget_ends(rows->names);
			return;
		}
	}
}

void wait_rows_catch_up(struct wait_rows *rows)
{
	uint64_t now_ns = clock_monotonic_ns();
	size_t kept = 0;

	forget_what_may_change(rows, now_ns);
	for (size_t i = 0; i < rows->nr; i++) {
		struct pending pending = rows->pending[i];

		if (!is_settled(rows, &pending, now_ns))
			rows->pending[kept++] = pending;
	}
	rows->nr = kept;
}
