// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/known_names.h"

#include "base/buf.h"
#include "base/err.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "profile/profile.h"

#define NAMES_SHOWN 8

/* Each once, and those that follow as an ellipsis. */
struct names {
	struct str_id shown[NAMES_SHOWN];
	size_t nr;
	bool are_more;
};

static void add_name(struct names *names, struct str_id name)
{
	if (name.v == STR_EMPTY.v)
		return;
	for (size_t i = 0; i < names->nr; i++) {
		if (names->shown[i].v == name.v)
			return;
	}
	if (names->nr == NAMES_SHOWN)
		names->are_more = true;
	else
		names->shown[names->nr++] = name;
}

static void hint(struct err *err, const struct profile *profile, const struct names *names,
		 const char *what)
{
	struct buf text = {0};

	for (size_t i = 0; i < names->nr; i++)
		buf_printf(&text, "%s%s", i ? ", " : "", profile_str(profile, names->shown[i]));
	if (names->are_more)
		buf_append_str(&text, ", ...");
	if (names->nr)
		err_hint(err, "there were %s called %s", what, buf_str(&text));
	buf_release(&text);
}

/* `processes`: by row, those that count; NULL: all do. */
static void hint_at_threads(struct err *err, const struct profile *profile, const bool *processes)
{
	struct names names = {.nr = 0};

	for (size_t i = 0; i < profile->nr_threads; i++) {
		if (!processes || processes[profile->threads[i].process])
			add_name(&names, profile->threads[i].name);
	}
	hint(err, profile, &names, "threads");
}

static void hint_at_processes(struct err *err, const struct profile *profile)
{
	struct names names = {.nr = 0};

	for (size_t i = 0; i < profile->nr_processes; i++)
		add_name(&names, profile->processes[i].name);
	hint(err, profile, &names, "processes");
}

void known_threads_hint(struct err *err, const struct profile *profile)
{
	hint_at_threads(err, profile, NULL);
}

static bool is_any(const bool *selected, size_t nr)
{
	while (nr && !selected[nr - 1])
		nr--;
	return nr;
}

bool known_names_hint(struct err *err, const struct selection *selection)
{
	const struct profile *profile = selection->expansion->profile;

	if (!is_any(selection->processes, profile->nr_processes))
		hint_at_processes(err, profile);
	else if (!is_any(selection->threads, profile->nr_threads))
		hint_at_threads(err, profile, selection->processes);
	else
		return false;
	return true;
}
