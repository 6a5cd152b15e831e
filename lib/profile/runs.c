// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/runs.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/index_set.h"
#include "base/minmax.h"
#include "profile/profile.h"
#include "profile/renumber.h"

static struct str_id title_of(struct profile *into, const struct profile *from)
{
	struct buf title = {0};
	struct str_id id;

	profile_append_title(&title, from);
	id = profile_intern(into, buf_str(&title));
	buf_release(&title);
	return id;
}

void profile_add_runs_of(struct profile *into, const struct profile *from)
{
	if (!from->runs.nr) {
		const struct profile_run row = {
			.command = title_of(into, from),
			.hostname = profile_intern(into, profile_str(from, from->meta.hostname)),
			.start_realtime_ns = from->meta.start_realtime_ns,
			.duration_ns = from->meta.duration_ns,
			.nr_processes = from->nr_processes,
			.nr_marks = from->nr_marks,
		};

		profile_add_run(into, &row);
	}
	for (size_t i = 0; i < from->runs.nr; i++) {
		struct profile_run row = from->runs.rows[i];

		renumber_texts(into, from, RECORD_RUNS, &row);
		profile_add_run(into, &row);
	}
}

static void group_add(struct run_group *group, const struct profile_run *run)
{
	group->nr_runs++;
	if (!run->start_realtime_ns)
		return;
	if (!group->first_ns || run->start_realtime_ns < group->first_ns)
		group->first_ns = run->start_realtime_ns;
	group->last_ns = max_u64(group->last_ns, run->start_realtime_ns);
}

static bool group_equal(const void *owner, uint32_t index, const void *key)
{
	const struct run_group *group = (const struct run_group *)owner + index;
	const struct profile_run *run = key;

	return group->command.v == run->command.v && group->hostname.v == run->hostname.v;
}

struct run_group *profile_group_runs(const struct profile *profile, size_t *nr)
{
	const struct profile_runs *runs = &profile->runs;
	struct run_group *groups = xcalloc(runs->nr, sizeof(*groups));
	struct index_set set = {.nr = 0};

	*nr = 0;
	for (size_t i = 0; i < runs->nr; i++) {
		const struct profile_run *run = &runs->rows[i];
		uint64_t hash = hash_u64((uint64_t)run->command.v << 32 | run->hostname.v);
		uint32_t at = index_set_find(&set, hash, group_equal, groups, run);

		if (at == INDEX_NONE) {
			at = (uint32_t)*nr;
			index_set_add(&set, hash, at);
			groups[(*nr)++] = (struct run_group){.command = run->command,
							     .hostname = run->hostname};
		}
		group_add(&groups[at], run);
	}
	index_set_release(&set);
	return groups;
}
