// SPDX-License-Identifier: GPL-2.0-or-later
/* Which interpreters were recognised, and why the functions of some are not read. */
#include "view/script_words.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "profile/profile.h"
#include "profile/runtime.h"

struct support {
	const char *prefix; /* of counters */
	const char *words;  /* NULL: its functions are read */
};

static const struct support supports[] = {
	{"script_read_", NULL},
	{"script_unknown_version_", "its functions are not read"},
	{"script_other_layout_",
	 "its functions are not read, as it is not built as its version usually is"},
	{"script_thread-safe_", "its functions are not read, as it is built for several threads"},
	{"script_compiled_", "its functions are not read, as its JIT compiles them"},
	{"script_other_processor_", "its functions are read on x86-64 alone"},
};

static const struct support *support_of(const char *counter)
{
	for (size_t i = 0; i < ARRAY_SIZE(supports); i++) {
		if (strncmp(counter, supports[i].prefix, strlen(supports[i].prefix)) == 0)
			return &supports[i];
	}
	return NULL;
}

bool script_counts_processes(const char *counter)
{
	return support_of(counter) != NULL;
}

static void append_known(struct buf *out, const char *name)
{
	const char *known = runtime_known_versions(name);

	if (known)
		buf_printf(out, " (known: %s)", known);
}

static void append_interpreter(struct buf *out, const struct support *support,
			       const char *interpreter, uint64_t nr)
{
	cleanup_free char *name = xstrdup(interpreter);
	char *end = strchr(name, '_');

	if (end)
		*end = ' ';
	buf_append_str(out, name);
	if (nr)
		buf_printf(out, " in %" PRIu64 " process%s", nr, nr == 1 ? "" : "es");
	if (!support->words)
		return;
	buf_printf(out, ": %s", support->words);
	if (end)
		*end = '\0';
	append_known(out, name);
}

void script_append_interpreters(struct buf *out, const struct profile *profile, bool only_refused)
{
	size_t start = out->nr_bytes;

	for (size_t i = 0; i < profile->nr_counters; i++) {
		const struct profile_counter *counter = &profile->counters[i];
		const char *name = profile_str(profile, counter->name);
		const struct support *support = support_of(name);

		if (!support || !counter->value || (only_refused && !support->words))
			continue;
		if (out->nr_bytes > start)
			buf_append_str(out, "; ");
		append_interpreter(out, support, name + strlen(support->prefix),
				   only_refused ? 0 : counter->value);
	}
}
