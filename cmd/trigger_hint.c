// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/trigger_hint.h"

#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/duration_text.h"
#include "base/escape.h"
#include "base/minmax.h"
#include "cmd/command.h"
#include "profile/profile.h"

/* The length of the later side, unless the trigger looks back for longer, and of the earlier. */
#define AROUND_NS (10 * NS_PER_SEC)
#define BEFORE_NS (50 * NS_PER_SEC)

static bool is_of(const char *trigger, const char *kind)
{
	return strncmp(trigger, kind, strlen(kind)) == 0;
}

/* The TIME of cpu>180%/TIME, stall>TIME and their like; 0: it has none. */
static uint64_t span_of(const char *trigger)
{
	const char *before = strrchr(trigger, '/');
	uint64_t span_ns = 0;

	if (!before)
		before = strrchr(trigger, '>');
	return before && duration_parse(before + 1, &span_ns, NULL) == 0 ? span_ns : 0;
}

/* A call that took long has been beside others all the time. */
static void append_slow(struct buf *out, const char *limit, const char *input)
{
	buf_append_str(out, "profc report -i ");
	escape_shell(out, profile_path_or_default(input));
	buf_append_str(out, " --slow ");
	escape_shell(out, limit);
}

bool trigger_hint_append(struct buf *out, const struct profile *profile, const char *input)
{
	const char *trigger = profile_trigger(profile);
	double around_s;
	uint64_t around_ns;

	if (!trigger || strcmp(trigger, "exit") == 0)
		return false;
	if (is_of(trigger, "span:")) {
		append_slow(out, trigger + strlen("span:"), input);
		return true;
	}
	around_ns = max_u64(AROUND_NS, span_of(trigger));
	if (profile_counter(profile, "trigger_ns") < around_ns + around_ns / 2)
		return false;
	around_s = (double)around_ns / (double)NS_PER_SEC;
	buf_append_str(out, "profc diff ");
	escape_shell(out, profile_path_or_default(input));
	buf_printf(out, " --time -%.0fs..-%.0fs -- -%.0fs..%s",
		   around_s + (double)BEFORE_NS / (double)NS_PER_SEC, around_s, around_s,
		   is_of(trigger, "runq>")    ? " -m runq"
		   : is_of(trigger, "stall>") ? " -m blocked"
					      : "");
	return true;
}

void trigger_hint_print(const struct profile *profile, const char *input)
{
	struct buf command = {0};

	if (trigger_hint_append(&command, profile, input))
		print_hint("what was different then: %s", buf_str(&command));
	buf_release(&command);
}
