// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/foreign.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"

struct foreign {
	const char *word, *hint;
};

#define STACKS	 "stacks are always taken; leave it out"
#define METRICS	 "time is measured: report and others choose with -m cpu, wall, blocked or runq"
#define RATE	 "-F HZ says how often to look"
#define PIDS	 "processes are named with -p PID"
#define FORMATS	 "'profc export --help' lists the formats"
#define TEXT	 "it prints text in any case; --tree shows calls"
#define PICTURES "profc export --html -o FILE, or --flamegraph, for a browser"

static const struct foreign words[] = {
	/* perf */
	{"-g", STACKS},
	{"--call-graph", STACKS},
	{"-e", METRICS},
	{"--event", METRICS},
	{"-a", PIDS},
	{"--all-cpus", PIDS},
	{"-c", RATE},
	{"--stdio", TEXT},
	{"--tui", "'profc top' is the view with keys"},
	{"script", "profc export --perf-script prints it"},
	{"stat", "profc info shows the totals of a recording"},
	/* pprof */
	{"list", "profc annotate shows source with its cost, with --asm instructions too"},
	{"disasm", "profc annotate --asm FUNCTION"},
	{"peek", "profc report --callers FUNC, or --callees FUNC"},
	{"tree", "profc report --tree"},
	{"text", "profc report"},
	{"web", PICTURES},
	/* samply, py-spy, valgrind and others */
	{"--rate", RATE},
	{"--format", FORMATS},
	{"--svg", "profc export --flamegraph writes an SVG file"},
	{"--native", "that is the only kind; leave it out"},
	{"load", PICTURES},
	{"view", PICTURES},
	{"flamegraph", "profc export --flamegraph -o FILE"},
	{"run", "profc record COMMAND"},
};

const char *foreign_word_hint(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(words[i].word, word) == 0)
			return words[i].hint;
	return NULL;
}
