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
#include "cmd/command.h"
#include "cmd/doctor_probe.h"
#include "cmd/record_options.h"
#include "cmd/view_options.h"
#include "proc/read.h"
#include "tracee/permission.h"
#include "view/finding.h"

struct doctor_args {
	struct option_list pid_texts;
	int color; /* index of view_color_choices */
};

static const struct option_row rows[] = {
	{.type = OPTION_LIST,
	 .short_name = 'p',
	 .name = "pid",
	 .argument = "PID",
	 .offset = offsetof(struct doctor_args, pid_texts),
	 .commas = true,
	 .help = "also attach to this process, and detach at once (repeatable)"},
	COLOR_OPTION_ROW(struct doctor_args, color),
	OPTIONS_END,
};

/* What is found is printed as it is found. */
struct doctor {
	struct view view;
	unsigned int nr[FINDING_COUNT];
};

static void say(struct doctor *doctor, enum finding finding, const char *what, const char *hint)
{
	struct buf text = {0};

	doctor->nr[finding]++;
	finding_append(&text, &doctor->view, finding, what, hint);
	fputs(buf_str(&text), stdout);
	fflush(stdout);
	buf_release(&text);
}

static void say_sum(const struct doctor *doctor)
{
	struct buf text = {0};

	findings_append_sum(&text, &doctor->view, doctor->nr);
	fputs(buf_str(&text), stdout);
	buf_release(&text);
}

static void examine_system(struct doctor *doctor)
{
	struct utsname host;
	char line[sizeof(host)];

	if (uname(&host) < 0)
		return;
	snprintf(line, sizeof(line), "%s %s on %s, profc " PROFC_VERSION, host.sysname,
		 host.release, host.machine);
	say(doctor, FINDING_OK, line, NULL);
}

static void examine_permissions(struct doctor *doctor)
{
	enum yama_scope scope = yama_scope_now();

	if (refusal_of_proc(NULL) < 0)
		return; /* the next check reports it */
	if (scope == YAMA_NOBODY)
		say(doctor, FINDING_FAILURE,
		    "Yama forbids ptrace altogether: kernel.yama.ptrace_scope is 3",
		    "set it to 1 or 0 in sysctl.conf(5), and reboot");
	else if (may_trace_all())
		say(doctor, FINDING_OK, "may attach to processes of all users (CAP_SYS_PTRACE)",
		    NULL);
	else if (scope <= YAMA_CLASSIC)
		say(doctor, FINDING_OK, "may attach to processes of this user (root: to all)",
		    NULL);
	else if (scope == YAMA_DESCENDANTS)
		say(doctor, FINDING_WARNING,
		    "record works, attach does not: kernel.yama.ptrace_scope is 1",
		    "to attach, be root, or: sysctl kernel.yama.ptrace_scope=0");
	else
		say(doctor, FINDING_FAILURE,
		    "Yama lets profc trace no process: kernel.yama.ptrace_scope is 2",
		    "run as root, or: sysctl kernel.yama.ptrace_scope=1");
}

/* How well what works does. */
static void examine_precision(struct doctor *doctor, const struct doctor_probe *probe)
{
	if (probe->reads_sleepers)
		say(doctor, FINDING_OK, "sleeping threads can be read without a stop", NULL);
	else
		say(doctor, FINDING_WARNING,
		    "sleeping threads cannot be read: blocked time has no stacks",
		    "let profc read /proc/PID/syscall and process_vm_readv(2)");
	if (probe->reads_kernel_stack)
		say(doctor, FINDING_OK,
		    "running threads are not stopped in the middle of a long transfer", NULL);
	else
		say(doctor, FINDING_WARNING,
		    "a stop may cut a long transfer to a pipe or socket short",
		    "run as root or with CAP_SYS_ADMIN: /proc/PID/stack shows them");
	if (!probe->has_pcount)
		say(doctor, FINDING_WARNING,
		    "CPU times are in steps of 10 ms, waits for a CPU unknown",
		    "use a kernel with CONFIG_SCHED_INFO, which counts in schedstat");
}

static bool examine_tracing(struct doctor *doctor)
{
	struct doctor_probe probe;
	struct err err = ERR_INIT;
	char line[160];

	if (doctor_probe_child(&probe, &err) < 0) {
		const char *hint = hint_of(&err);

		say(doctor, FINDING_FAILURE, err.what,
		    *hint ? hint : "let the container use ptrace: docker run --cap-add=SYS_PTRACE");
		return false;
	}
	snprintf(line, sizeof(line),
		 "visited a child, copied %llu bytes of its stack, detached it: %.0f \xc2\xb5s",
		 (unsigned long long)probe.stack_bytes, (double)probe.stop_ns / (double)NS_PER_US);
	say(doctor, FINDING_OK, line, NULL);
	examine_precision(doctor, &probe);
	return true;
}

static void *try_realtime(void *allowed)
{
	struct sched_param param = {.sched_priority = 1};

	*(bool *)allowed = pthread_setschedparam(pthread_self(), SCHED_FIFO | SCHED_RESET_ON_FORK,
						 &param) == 0;
	return NULL;
}

static void examine_priority(struct doctor *doctor)
{
	static const char none[] =
		"bursts under 1 ms are sampled too rarely: no real-time priority";
	struct rlimit longest;
	bool allowed = false;
	pthread_t thread;

	if (getrlimit(RLIMIT_RTTIME, &longest) == 0 && longest.rlim_cur != RLIM_INFINITY) {
		say(doctor, FINDING_WARNING, none,
		    "its run time is limited, which kills: ulimit -R unlimited");
		return;
	}
	if (pthread_create(&thread, NULL, try_realtime, &allowed) == 0)
		pthread_join(thread, NULL);
	if (allowed)
		say(doctor, FINDING_OK, "real-time priority: short bursts are sampled without bias",
		    NULL);
	else
		say(doctor, FINDING_WARNING, none,
		    "run as root, with CAP_SYS_NICE, or after: ulimit -r 1");
}

#define MANY_DESCRIPTORS 1024

static void examine_limits(struct doctor *doctor)
{
	struct rlimit limit;
	char line[96];

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= MANY_DESCRIPTORS)
		return;
	snprintf(line, sizeof(line), "only %llu file descriptors: too few for many threads",
		 (unsigned long long)limit.rlim_cur);
	say(doctor, FINDING_WARNING, line, "raise the limit: ulimit -n 4096");
}

static bool examine_process(struct doctor *doctor, pid_t pid)
{
	struct err err = ERR_INIT;
	struct proc_stat stat = {.nr_threads = 1};
	char line[96];
	pid_t tgid;

	if (permission_to_trace(pid, &tgid, &err) < 0) {
		const char *hint = hint_of(&err);

		say(doctor, FINDING_FAILURE, err.what,
		    *hint ? hint : "name another process: `pgrep -a NAME` lists them");
		return false;
	}
	proc_read_task_stat(tgid, tgid, &stat);
	snprintf(line, sizeof(line), "process %d may be traced: %llu thread%s", (int)pid,
		 (unsigned long long)stat.nr_threads, stat.nr_threads == 1 ? "" : "s");
	say(doctor, FINDING_OK, line, NULL);
	return true;
}

/* Whether all works that is needed. */
static bool examine(struct doctor *doctor, const pid_t *pids, size_t nr_pids)
{
	bool works;

	examine_system(doctor);
	examine_permissions(doctor);
	works = examine_tracing(doctor);
	examine_priority(doctor);
	examine_limits(doctor);
	for (size_t i = 0; i < nr_pids; i++)
		works &= examine_process(doctor, pids[i]);
	say_sum(doctor);
	return works;
}

/* Programs get one line of each, however long. */
static struct view view_of(const struct doctor_args *args)
{
	struct view_options options = VIEW_OPTIONS_INIT;
	struct view view;

	options.color = args->color;
	view = view_options_resolve(&options);
	if (!isatty(STDOUT_FILENO))
		view.columns = SIZE_MAX;
	return view;
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
	struct doctor doctor;

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
		doctor = (struct doctor){.view = view_of(&args)};
		if (!examine(&doctor, pids, nr_pids))
			status = EXIT_CANNOT;
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
		"with -p. Each line is ok, warn (works, but could be better) or FAIL, with a "
		"hint what to do about it. The exit status is 1 if anything that profiling "
		"needs is FAIL.\n\n"
		"Examples:\n"
		"  profc doctor\n"
		"  profc doctor -p 1234",
	.options = rows,
	.run = run,
};
