// SPDX-License-Identifier: GPL-2.0-or-later
/* Hints for commands and options of other profilers. */
#include "cmd/foreign.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"

struct foreign {
	const char *word, *hint;
};

#define STACKS "stacks are always recorded; omit this option"
#define METRICS                                                                                    \
	"profc measures time: choose the metric when viewing, with -m cpu, wall, blocked or runq"
#define RATE	 "use -F HZ to set the sampling frequency"
#define PIDS	 "use -p PID to select processes"
#define FORMATS	 "'profc export --help' lists the formats"
#define TEXT	 "the output is always text; --tree shows the call tree"
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
	{"--tui", "'profc top' is interactive"},
	{"script", "profc export --perf-script prints it"},
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
	{"--native", "native stacks are the only kind; omit this option"},
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
