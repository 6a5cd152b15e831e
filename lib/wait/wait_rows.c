// SPDX-License-Identifier: GPL-2.0-or-later
/* Turns observed waits into rows: proves owners, and finds places and names. */
#include "wait/wait_rows.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "mapping/space.h"
#include "profile/profile.h"
#include "wait/inner_ids.h"
#include "wait/object_names.h"
#include "wait/wait.h"

/* A row with an unknown peer, or with one that may end while the thread still waits. */
struct pending {
	uint32_t row;
	pid_t pid;
	pid_t peer; /* 0: unknown */
	unsigned int nr_tries;
};

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

static bool find_peer(struct wait_rows *rows, uint32_t row, pid_t pid, pid_t *peer)
{
	const struct profile_wait *wait = &profile_waits(rows->profile)->rows[row];
	const char *object = profile_str(rows->profile, wait->name);
	struct buf text = {0};
	struct object_name name = {.text = &text};
	bool found = object_names_find(rows->names, pid, (int)wait->number, object, &name);

	if (found)
		profile_waits_set_peer(profile_waits(rows->profile), row,
				       profile_intern(rows->profile, buf_str(&text)));
	buf_release(&text);
	*peer = name.peer;
	return found;
}

static void begin_peer(struct wait_rows *rows, uint32_t row, pid_t pid)
{
	const struct profile_wait *wait = &profile_waits(rows->profile)->rows[row];
	struct pending pending = {.row = row, .pid = pid};

	if (wait->kind != WAIT_FILE || !object_has_peer(profile_str(rows->profile, wait->name)) ||
	    (find_peer(rows, row, pid, &pending.peer) && !pending.peer) || rows->nr >= PENDING_MAX)
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

/* Is the search for the peer of a row over? */
static bool is_settled(struct wait_rows *rows, struct pending *pending)
{
	pid_t before = pending->peer, peer;

	if (before && !has_ended(before))
		return false;
	if (before)
		object_names_forget_ends(rows->names);
	if (find_peer(rows, pending->row, pending->pid, &peer)) {
		pending->peer = peer;
		return !peer || ++pending->nr_tries >= TRIES_MAX;
	}
	return ++pending->nr_tries >= TRIES_MAX;
}

void wait_rows_catch_up(struct wait_rows *rows)
{
	size_t kept = 0;

	for (size_t i = 0; i < rows->nr; i++) {
		struct pending pending = rows->pending[i];

		if (!is_settled(rows, &pending))
			rows->pending[kept++] = pending;
	}
	rows->nr = kept;
}
