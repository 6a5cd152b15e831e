// SPDX-License-Identifier: GPL-2.0-or-later
/* Checks whether profiling works here, with the reasons if not. */
#include "doctor/doctor.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "doctor/interpreter_priv.h"
#include "doctor/probe_priv.h"
#include "proc/event_counter.h"
#include "proc/kernel_counters.h"
#include "proc/read.h"
#include "profile/runtime.h"
#include "script/script.h"
#include "tracee/permission.h"

static void say(struct doctor *doctor, enum finding finding, const char *what, const char *hint)
{
	doctor->nr[finding]++;
	doctor->say(doctor, finding, what, hint);
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

/* If tracing works at all. */
static void examine_permissions(struct doctor *doctor)
{
	if (may_trace_all())
		say(doctor, FINDING_OK, "may attach to processes of all users (CAP_SYS_PTRACE)",
		    NULL);
	else if (yama_scope_now() <= YAMA_CLASSIC)
		say(doctor, FINDING_OK, "may attach to processes of this user (root: to all)",
		    NULL);
	else
		say(doctor, FINDING_WARNING,
		    "record works, attach does not: kernel.yama.ptrace_scope is 1",
		    "to attach, be root, or: sysctl kernel.yama.ptrace_scope=0");
}

static void examine_probes(struct doctor *doctor, const struct doctor_probe *probe)
{
	if (probe->takes_descriptors)
		say(doctor, FINDING_OK, "calls and allocations of processes can be recorded", NULL);
	else
		say(doctor, FINDING_WARNING,
		    "calls and allocations cannot be recorded: no pidfd_getfd(2)",
		    "it came with Linux 5.6; in a container: docker run --cap-add=SYS_PTRACE");
}

/* Report how well the working parts work. */
static void examine_precision(struct doctor *doctor, const struct doctor_probe *probe)
{
	if (probe->reads_sleepers)
		say(doctor, FINDING_OK, "sleeping threads can be read without a stop", NULL);
	else
		say(doctor, FINDING_WARNING,
		    "sleeping threads cannot be read: blocked time has no stacks",
		    "let profc read /proc/PID/syscall and process_vm_readv(2)");
	if (probe->reads_kernel_stack) {
		say(doctor, FINDING_OK,
		    "running threads are not stopped in the middle of a long transfer", NULL);
		say(doctor, FINDING_OK,
		    "--kernel of views shows in which functions of the kernel threads sleep", NULL);
	} else {
		say(doctor, FINDING_WARNING,
		    "a stop may cut a long transfer to a pipe or socket short, and --kernel of "
		    "views shows one function of the kernel at most",
		    "run as root or with CAP_SYS_ADMIN: /proc/PID/stack shows them");
	}
	if (!probe->has_pcount)
		say(doctor, FINDING_WARNING,
		    "CPU times are in steps of 10 ms, waits for a CPU unknown",
		    "use a kernel with CONFIG_SCHED_INFO, which counts in schedstat");
}

/* The reason why nothing can be traced is left in err. */
static bool examine_tracing(struct doctor *doctor, struct err *err)
{
	struct doctor_probe probe;
	char line[160];

	if (doctor_probe_child(&probe, err) < 0) {
		const char *hint = err_advice(err);

		say(doctor, FINDING_FAILURE, err->what,
		    *hint ? hint : "let the container use ptrace: docker run --cap-add=SYS_PTRACE");
		return false;
	}
	examine_permissions(doctor);
	snprintf(line, sizeof(line),
		 "visited a child, copied %llu bytes of its stack, detached it: %.0f \xc2\xb5s",
		 (unsigned long long)probe.stack_bytes, (double)probe.stop_ns / (double)NS_PER_US);
	say(doctor, FINDING_OK, line, NULL);
	examine_precision(doctor, &probe);
	examine_probes(doctor, &probe);
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

/* Never needed. */
static void examine_events(struct doctor *doctor)
{
	const unsigned int wanted = KERNEL_COUNTER_BIT(KERNEL_COUNTER_INSTRUCTIONS) |
				    KERNEL_COUNTER_BIT(KERNEL_COUNTER_CYCLES) |
				    KERNEL_COUNTER_BIT(KERNEL_COUNTER_CACHE_MISSES) |
				    KERNEL_COUNTER_BIT(KERNEL_COUNTER_BRANCH_MISSES);
	struct err err = ERR_INIT;
	const char *hint;

	if (kernel_counters_check(&event_opener_of_kernel, wanted, &err) == 0) {
		say(doctor, FINDING_OK,
		    "instructions, cycles, cache and branch misses of threads can be counted",
		    NULL);
		return;
	}
	hint = err_advice(&err);
	err_prefix(&err, "no counts of instructions or misses");
	say(doctor, FINDING_WARNING, err.what,
	    *hint ? hint : "a virtual machine has them if its host passes them on");
}

static void examine_interpreters(struct doctor *doctor)
{
	static const char *const names[] = {"Python", "Node.js", "PHP", "Perl"};
	struct buf line = {0};

	buf_append_str(&line, "functions of ");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (script_is_read_here(names[i]))
			buf_printf(&line, "%s%s %s", i ? ", " : "", names[i],
				   runtime_known_versions(names[i]));
	}
	buf_append_str(&line, " are read, with files and lines");
	say(doctor, FINDING_OK, buf_str(&line), NULL);
	buf_release(&line);
}

static void examine_interpreter(struct doctor *doctor, pid_t pid)
{
	struct doctor_interpreter found;
	char line[160], hint[96];

	if (!doctor_find_interpreter(pid, &found))
		return;
	if (!found.problem) {
		snprintf(line, sizeof(line), "process %d runs %s %s, whose functions are read",
			 (int)pid, found.name, found.version);
		say(doctor, FINDING_OK, line, NULL);
		return;
	}
	snprintf(line, sizeof(line), "process %d runs %s%s%s, whose functions are not read: %s",
		 (int)pid, found.name, *found.version ? " " : "", found.version, found.problem);
	snprintf(hint, sizeof(hint), "they are in %s %s, built as usual%s", found.name,
		 found.versions ? found.versions : "of no version",
		 strcmp(found.name, "Python") == 0 ? ", with its global lock" : "");
	say(doctor, FINDING_WARNING, line, hint);
}

/* A child of ours was refused for this reason, and is not the only one. */
static bool is_same_cause(const struct err *err, const struct err *of_child)
{
	return *of_child->hint && strcmp(err->hint, of_child->hint) == 0;
}

static bool examine_process(struct doctor *doctor, pid_t pid, const struct err *of_child)
{
	struct err err = ERR_INIT;
	struct proc_stat stat = {.nr_threads = 1};
	char line[96];
	pid_t tgid;

	if (permission_to_trace(pid, &tgid, &err) < 0) {
		const char *hint = err_advice(&err);

		if (!is_same_cause(&err, of_child))
			say(doctor, FINDING_FAILURE, err.what,
			    *hint ? hint : "name another process: `pgrep -a NAME` lists them");
		return false;
	}
	proc_read_task_stat(tgid, tgid, &stat);
	snprintf(line, sizeof(line), "process %d may be traced: %llu thread%s", (int)pid,
		 (unsigned long long)stat.nr_threads, stat.nr_threads == 1 ? "" : "s");
	say(doctor, FINDING_OK, line, NULL);
	examine_interpreter(doctor, tgid);
	return true;
}

bool doctor_examine(struct doctor *doctor, const pid_t *pids, size_t nr_pids)
{
	struct err of_child = ERR_INIT;
	bool works;

	examine_system(doctor);
	works = examine_tracing(doctor, &of_child);
	examine_priority(doctor);
	examine_limits(doctor);
	examine_events(doctor);
	examine_interpreters(doctor);
	for (size_t i = 0; i < nr_pids; i++)
		works &= examine_process(doctor, pids[i], &of_child);
	return works;
}
