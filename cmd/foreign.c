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
#define RATE	"use -F HZ to set the sampling frequency"
#define PIDS	"use -p PID to select processes"
#define FORMATS "'profc export --help' lists the formats"
#define CALLS                                                                                      \
	"profc record --count FUNC counts calls, --spans FUNC times each, --count-syscalls "       \
	"counts system calls"
#define MEMORY "profc record --mem, then profc report --leaks or --tree -m alloc"
#define TEXT   "the output is always text; --tree shows the call tree"
#define PICTURES                                                                                   \
	"profc view shows a profile in a browser; profc export --html or --flamegraph writes a "   \
	"file"

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
	{"trace", CALLS},
	{"probe", CALLS},
	{"ftrace", CALLS},
	{"mem", MEMORY},
	{"kmem", MEMORY},
	{"lock",
	 "profc report --by lock shows the locks that threads waited for, and their owners"},
	{"sched", "profc report -m runq shows which threads waited for a CPU, and for whom"},
	{"timechart", "profc view shows when each thread ran"},
	{"archive", "profc record --with-source keeps source and instructions in the file"},
	{"evlist", "profc info shows how a profile was recorded"},
	{"buildid-list", "profc info lists modules with their build-ids"},
	{"daemon", "profc attach -p PID --keep 60s: a flight recorder, asked by 'profc ctl'"},
	{"list-events", "profc record --metrics help lists the counters"},
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
	{"flamegraph", "profc export --flamegraph -o FILE"},
	{"run", "profc record COMMAND"},
	{"start", "profc record COMMAND, or profc attach -p PID"},
	{"strace", CALLS},
	{"replay", "profc report --tree"},
	{"graph", "profc report --tree"},
	{"live", "profc top -p PID"},
	{"leaks", MEMORY},
	{"heap", MEMORY},
	{"import", "profc report FILE shows a profile; those of other profilers are not read"},
};

const char *foreign_word_hint(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(words[i].word, word) == 0)
			return words[i].hint;
	return NULL;
}
