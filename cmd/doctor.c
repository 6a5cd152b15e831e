// SPDX-License-Identifier: GPL-2.0-or-later
/* profc doctor: checks whether profiling works on this machine. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/escape.h"
#include "base/wrap.h"
#include "cmd/command.h"
#include "cmd/doctor_probe.h"
#include "cmd/record_options.h"
#include "cmd/view_options.h"
#include "proc/read.h"
#include "tracee/permission.h"

struct doctor_args {
	struct option_list pid_texts;
};

static const struct option_row rows[] = {
	{.type = OPTION_LIST,
	 .short_name = 'p',
	 .name = "pid",
	 .argument = "PID",
	 .offset = offsetof(struct doctor_args, pid_texts),
	 .commas = true,
	 .help = "also attach to this process, and detach at once (repeatable)"},
	OPTIONS_END,
};

enum verdict {
	VERDICT_GOOD,
	VERDICT_FAIR, /* it works, but could be better */
	VERDICT_BAD,  /* it does not work */
};

static const char *const verdict_words[] = {"ok", "fair", "BAD"};

#define INDENT 6

/* Programs get one line of each, however long. */
static size_t line_columns(void)
{
	const struct view_options options = VIEW_OPTIONS_INIT;

	return isatty(STDOUT_FILENO) ? view_options_resolve(&options).columns : SIZE_MAX;
}

static void append_wrapped(struct buf *text, const char *words)
{
	const struct wrap wrap = {.columns = line_columns(), .indent = INDENT};
	struct buf escaped = {0};

	escape_terminal(&escaped, words);
	wrap_words(text, buf_str(&escaped), escaped.nr_bytes, &wrap);
	buf_release(&escaped);
}

/* A finding, and on the next line what to do about it, if anything. */
static void say(enum verdict verdict, const char *what, const char *hint)
{
	struct buf text = {0};

	buf_printf(&text, "%-*s", INDENT, verdict_words[verdict]);
	append_wrapped(&text, what);
	if (hint && *hint) {
		buf_printf(&text, "%*s", INDENT, "");
		append_wrapped(&text, hint);
	}
	fputs(buf_str(&text), stdout);
	buf_release(&text);
}

static void examine_system(void)
{
	struct utsname host;
	char line[sizeof(host)];

	if (uname(&host) < 0)
		return;
	snprintf(line, sizeof(line), "%s %s on %s, profc " PROFC_VERSION, host.sysname,
		 host.release, host.machine);
	say(VERDICT_GOOD, line, NULL);
}

static void examine_permissions(void)
{
	enum yama_scope scope = yama_scope_now();
	char line[128];

	if (refusal_of_proc(NULL) < 0)
		return; /* the next check reports it */
	if (scope == YAMA_NOBODY) {
		say(VERDICT_BAD, "Yama forbids ptrace altogether (kernel.yama.ptrace_scope is 3)",
		    "this cannot be changed without a reboot");
	} else if (may_trace_all()) {
		say(VERDICT_GOOD, "may attach to processes of all users (CAP_SYS_PTRACE)", NULL);
	} else if (scope <= YAMA_CLASSIC) {
		say(VERDICT_GOOD, "may attach to processes of this user only",
		    "for other users: run profc as that user, as root, or with CAP_SYS_PTRACE");
	} else {
		snprintf(line, sizeof(line),
			 "Yama lets profc attach to %s (kernel.yama.ptrace_scope is %d)",
			 scope == YAMA_DESCENDANTS ? "its own descendants only" : "no process",
			 (int)scope);
		say(scope == YAMA_DESCENDANTS ? VERDICT_FAIR : VERDICT_BAD, line,
		    "`profc record -- CMD` works with scope 1; to attach, run as root, or: "
		    "sysctl kernel.yama.ptrace_scope=0");
	}
}

static bool examine_tracing(void)
{
	struct doctor_probe probe;
	struct err err = ERR_INIT;
	char line[160];

	if (doctor_probe_child(&probe, &err) < 0) {
		const char *hint = hint_of(&err);

		say(VERDICT_BAD, err.what,
		    *hint ? hint
			  : "a container may forbid ptrace(2): docker run --cap-add=SYS_PTRACE, or "
			    "a seccomp profile that allows it");
		return false;
	}
	snprintf(line, sizeof(line),
		 "visited a child, copied %llu bytes of its stack, detached it: %.0f \xc2\xb5s",
		 (unsigned long long)probe.stack_bytes, (double)probe.stop_ns / (double)NS_PER_US);
	say(VERDICT_GOOD, line, NULL);
	if (probe.reads_sleepers)
		say(VERDICT_GOOD, "sleeping threads can be read without a stop", NULL);
	else
		say(VERDICT_FAIR, "sleeping threads cannot be read: blocked time has no stacks",
		    "/proc/PID/syscall or the process' memory is not available");
	if (probe.reads_kernel_stack)
		say(VERDICT_GOOD,
		    "running threads are not stopped in the middle of a long transfer", NULL);
	else
		say(VERDICT_FAIR,
		    "a stop may make a long transfer of a running thread, to a pipe or socket, "
		    "short",
		    "/proc/PID/stack, which shows such transfers, needs CAP_SYS_ADMIN");
	if (!probe.has_pcount)
		say(VERDICT_FAIR, "the kernel does not count context switches in schedstat",
		    "it was built without CONFIG_SCHED_INFO: CPU time has the precision of a clock "
		    "tick (10 ms), and the time spent waiting for a CPU is unknown");
	return true;
}

static void *try_realtime(void *allowed)
{
	struct sched_param param = {.sched_priority = 1};

	*(bool *)allowed = pthread_setschedparam(pthread_self(), SCHED_FIFO | SCHED_RESET_ON_FORK,
						 &param) == 0;
	return NULL;
}

static void examine_priority(void)
{
	struct rlimit longest;
	bool allowed = false;
	pthread_t thread;

	if (getrlimit(RLIMIT_RTTIME, &longest) == 0 && longest.rlim_cur != RLIM_INFINITY) {
		say(VERDICT_FAIR,
		    "no real-time priority: bursts under a millisecond are sampled too rarely",
		    "its run time is limited, and exceeding the limit kills: ulimit -R unlimited");
		return;
	}
	if (pthread_create(&thread, NULL, try_realtime, &allowed) == 0)
		pthread_join(thread, NULL);
	if (allowed)
		say(VERDICT_GOOD, "real-time priority: short bursts are sampled without bias",
		    NULL);
	else
		say(VERDICT_FAIR,
		    "no real-time priority: bursts under a millisecond are sampled too rarely",
		    "run as root, with CAP_SYS_NICE, or after: ulimit -r 1");
}

#define MANY_DESCRIPTORS 1024

static void examine_limits(void)
{
	struct rlimit limit;
	char line[96];

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= MANY_DESCRIPTORS)
		return;
	snprintf(line, sizeof(line), "only %llu file descriptors",
		 (unsigned long long)limit.rlim_cur);
	say(VERDICT_FAIR, line, "raise the limit to profile many threads: ulimit -n 4096");
}

static bool examine_process(pid_t pid)
{
	struct err err = ERR_INIT;
	struct proc_stat stat = {.nr_threads = 1};
	char line[96];
	pid_t tgid;

	if (permission_to_trace(pid, &tgid, &err) < 0) {
		say(VERDICT_BAD, err.what, hint_of(&err));
		return false;
	}
	proc_read_task_stat(tgid, tgid, &stat);
	snprintf(line, sizeof(line), "process %d may be traced: %llu thread%s", (int)pid,
		 (unsigned long long)stat.nr_threads, stat.nr_threads == 1 ? "" : "s");
	say(VERDICT_GOOD, line, NULL);
	return true;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct doctor_args args = {0};
	struct record_options pid_options = {0};
	struct err err = ERR_INIT;
	pid_t *pids = NULL;
	size_t nr_pids = 0;
	int first = 0;
	int status = EXIT_DONE;

	if (options_parse(rows, &args, argc, argv, false, &first, &err) < 0) {
		status = usage_error(self, &err);
	} else if (first < argc) {
		err_set(&err, ERR_INVALID, "unexpected argument '%s'", argv[first]);
		status = usage_error(self, &err);
	} else {
		pid_options.pid_texts = args.pid_texts;
		if (record_options_pids(&pid_options, &pids, &nr_pids, &err) < 0)
			status = usage_error(self, &err);
	}
	if (status == EXIT_DONE) {
		examine_system();
		examine_permissions();
		if (!examine_tracing())
			status = EXIT_CANNOT;
		examine_priority();
		examine_limits();
		for (size_t i = 0; i < nr_pids; i++) {
			if (!examine_process(pids[i]))
				status = EXIT_CANNOT;
		}
	}
	free(pids);
	options_release(rows, &args);
	return status;
}

const struct command command_doctor = {
	.name = "doctor",
	.synopsis = "[-p PID]",
	.summary = "check whether profiling works here, and if not why",
	.help = "Tries what a recording needs on a child of its own and on the processes given "
		"with -p. Each line is ok, fair (works, but could be better) or BAD, with what "
		"to do about it. The exit status is 1 if anything that profiling needs is "
		"BAD.\n\n"
		"Examples:\n"
		"  profc doctor\n"
		"  profc doctor -p 1234",
	.options = rows,
	.run = run,
};
