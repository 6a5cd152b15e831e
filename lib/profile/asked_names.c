// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/asked_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/demangled_name.h"
#include "profile/profile.h"

/* The list of names with `put` first, and without `taken`. */
static struct str_id exchange(struct profile *profile, const char *list, const char *taken,
			      const char *put)
{
	cleanup_free char *copy = xstrdup(list);
	char *rest = copy, *name;
	struct buf changed = {0};
	struct str_id id;

	buf_append_str(&changed, put);
	while ((name = strsep(&rest, "\n"))) {
		if (strcmp(name, taken) == 0)
			continue;
		buf_append_byte(&changed, '\n');
		buf_append_str(&changed, name);
	}
	id = profile_intern(profile, buf_str(&changed));
	buf_release(&changed);
	return id;
}

/* The function with the name that is asked for, if one of its other names is. */
static struct function as_asked(struct profile *profile, struct function function,
				bool (*is_asked)(const void *context, const char *name),
				const void *context)
{
	const char *shown = profile_str(profile, function.name);
	const char *linkage_name = profile_str(profile, function.linkage_name);
	cleanup_free char *list = xstrdup(profile_str(profile, function.shared));
	cleanup_free char *copy = xstrdup(list), *former = xstrdup(shown);
	char *rest = copy, *name;

	if (!*list || demangled_name_is_meant(shown, is_asked, context) ||
	    (*linkage_name && is_asked(context, linkage_name)))
		return function;
	while ((name = strsep(&rest, "\n"))) {
		if (!demangled_name_is_meant(name, is_asked, context))
			continue;
		function.name = profile_intern(profile, name);
		function.shared = exchange(profile, list, name, former);
		/* Lines stay as debug information has them: those of the code. */
		function.linkage_name = STR_EMPTY;
		break;
	}
	return function;
}

void profile_show_asked(struct profile *profile,
			bool (*is_asked)(const void *context, const char *name),
			const void *context)
{
	size_t nr = profile->symbols.nr_functions;
	cleanup_free struct function_id *shown = xcalloc(nr ? nr : 1, sizeof(*shown));

	for (uint32_t i = 0; i < nr; i++) {
		const struct function function =
			as_asked(profile, profile->symbols.functions[i], is_asked, context);

		shown[i].v = i;
		if (function.name.v != profile->symbols.functions[i].name.v)
			shown[i] = profile_intern_function(profile, &function);
	}
	for (size_t i = 0; i < profile->symbols.nr_locations; i++) {
		struct location *location = &profile->symbols.locations[i];

		location->function = shown[location->function.v];
	}
}
