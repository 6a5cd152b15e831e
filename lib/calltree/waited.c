// SPDX-License-Identifier: GPL-2.0-or-later
#include "calltree/waited.h"

#include <string.h>

#include "base/buf.h"
#include "base/syscall_name.h"
#include "calltree/blame.h"
#include "calltree/tally.h"
#include "profile/profile.h"

static bool is_object(struct blame *blame, const struct observation *observation, uint32_t *number)
{
	*number = blame_add(blame, observation);
	return blame_object(blame, *number)->what == BLAME_OBJECT;
}

struct waited waited_of(const struct waited_objects *objects, const struct observation *observation)
{
	struct waited waited = {.kind = WAITED_LOCK};

	if (is_object(objects->locks, observation, &waited.number))
		return waited;
	waited.kind = WAITED_DESCRIPTOR;
	if (is_object(objects->descriptors, observation, &waited.number))
		return waited;
	waited.kind = WAITED_CALL;
	waited.number = (uint32_t)(observation->sample.kind == SAMPLE_BLOCKED
					   ? observation->sample.syscall_nr
					   : -1);
	return waited;
}

bool waited_in_call(const struct profile *profile, const struct sample *sample,
		    const char *const *names)
{
	const char *name = sample->syscall_nr < 0
				   ? NULL
				   : syscall_name(profile_str(profile, profile->meta.arch),
						  sample->syscall_nr);

	for (; name && *names; names++) {
		if (strcmp(name, *names) == 0)
			return true;
	}
	return false;
}

bool waited_for_child(const struct profile *profile, const struct sample *sample)
{
	static const char *const names[] = {"wait4", "waitid", NULL};

	return sample->kind == SAMPLE_BLOCKED && waited_in_call(profile, sample, names);
}

void waited_append(struct buf *out, const struct waited_objects *objects,
		   const struct profile *profile, const struct waited *waited)
{
	int nr = (int32_t)waited->number;
	const char *name;

	if (waited->kind != WAITED_CALL) {
		blame_append_name(
			out, waited->kind == WAITED_LOCK ? objects->locks : objects->descriptors,
			waited->number);
		return;
	}
	name = nr < 0 ? NULL : syscall_name(profile_str(profile, profile->meta.arch), nr);
	if (name)
		buf_append_str(out, name);
	else if (nr >= 0)
		buf_printf(out, "system call %d", nr);
	else if (nr == SAMPLE_PAGE_FAULT)
		buf_append_str(out, "[page fault]");
	else
		buf_append_str(out, "[not known]");
}
