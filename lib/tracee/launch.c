// SPDX-License-Identifier: GPL-2.0-or-later
/* A command that is started for a recording. */
#include "tracee/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/scan.h"
#include "proc/read.h"

void child_signals_take_over(const sigset_t *ours, struct child_signals *former)
{
	struct sigaction of_children;

	former->ignores_children =
		sigaction(SIGCHLD, NULL, &of_children) == 0 && of_children.sa_handler == SIG_IGN;
	if (former->ignores_children)
		signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_BLOCK, ours, &former->mask);
}

/* The child's side, between fork and exec: only async-signal-safe calls. */
static _Noreturn void run_program(char *const *argv, const struct child_signals *signals,
				  int parent)
{
	char go;
	int failed;
	ssize_t written;

	/* Signals that profc ignores stay ignored: the shell wanted that. */
	if (signals->ignores_children)
		signal(SIGCHLD, SIG_IGN);
	pthread_sigmask(SIG_SETMASK, &signals->mask, NULL);
	if (read(parent, &go, 1) != 1)
		_exit(127); /* profc died, or does not want to run it */
	execvp(argv[0], argv);
	failed = errno;
	written = write(parent, &failed, sizeof(failed));
	(void)written;
	_exit(127);
}

int launch_start(struct launch *launch, char *const *argv, const struct child_signals *signals,
		 struct err *err)
{
	int ends[2];

	*launch = (struct launch){.fd = -1};
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return err_sys(err, "cannot make a pair of sockets");
	launch->fd = ends[0];
	launch->pid = fork();
	if (launch->pid == 0) {
		close(ends[0]); /* or profc's death would not end the wait */
		run_program(argv, signals, ends[1]);
	}
	close(ends[1]);
	if (launch->pid > 0)
		return 0;
	launch_release(launch);
	return err_start(err, "cannot fork");
}

/* The child's end is closed by a successful exec. */
int launch_run(void *context)
{
	struct launch *launch = context;
	int failed = 0;
	ssize_t got;

	if (write(launch->fd, "", 1) != 1)
		return errno;
	do {
		got = read(launch->fd, &failed, sizeof(failed));
	} while (got < 0 && errno == EINTR);
	launch_release(launch);
	return got == sizeof(failed) ? failed : 0;
}

void launch_release(struct launch *launch)
{
	if (launch->fd >= 0)
		close(launch->fd);
	launch->fd = -1;
}

static uint64_t ns_of(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * NS_PER_SEC + (uint64_t)time->tv_usec * NS_PER_US;
}

static uint64_t faults_of(const struct rusage *usage)
{
	return (uint64_t)usage->ru_minflt + (uint64_t)usage->ru_majflt;
}

struct proc_cpu_split reaped_cpu(void)
{
	struct rusage reaped;

	getrusage(RUSAGE_CHILDREN, &reaped);
	return (struct proc_cpu_split){.user_ns = ns_of(&reaped.ru_utime),
				       .system_ns = ns_of(&reaped.ru_stime),
				       .nr_faults = faults_of(&reaped)};
}

/*
 * Has the child ended? False with errno 0 while it runs, with ECHILD once it was reaped. The C
 * library's waitid() does not return the kernel's resource usage.
 */
static bool has_ended(pid_t pid, struct rusage *usage)
{
	siginfo_t info = {.si_pid = 0};

	errno = 0;
	return syscall(SYS_waitid, P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT, usage) == 0 &&
	       info.si_pid == pid;
}

bool child_cpu(pid_t pid, struct proc_cpu_split *cpu)
{
	struct rusage usage = {0};

	/* The reaped ones include orphans, and the child itself if a visit reaped it. */
	*cpu = reaped_cpu();
	if (!has_ended(pid, &usage))
		return errno != 0;
	cpu->user_ns += ns_of(&usage.ru_utime);
	cpu->system_ns += ns_of(&usage.ru_stime);
	cpu->nr_faults += faults_of(&usage);
	return true;
}

bool child_usage(pid_t pid, struct child_usage *out)
{
	struct rusage usage = {0};

	if (!has_ended(pid, &usage))
		return false;
	*out = (struct child_usage){
		.peak_rss_bytes = (uint64_t)usage.ru_maxrss * 1024,
		.nr_minor_faults = (uint64_t)usage.ru_minflt,
		.nr_major_faults = (uint64_t)usage.ru_majflt,
		.nr_voluntary_switches = (uint64_t)usage.ru_nvcsw,
		.nr_involuntary_switches = (uint64_t)usage.ru_nivcsw,
	};
	return true;
}

/* By id, and only when dead: a wait for any child would take stops from visitors. */
void launch_reap_orphans(pid_t command)
{
	struct buf text = {0};
	char path[48];
	uint64_t number;
	struct proc_stat stat;
	struct scan scan;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	if (!proc_read_file(path, &text))
		return;
	scan = (struct scan){.at = buf_str(&text), .end = buf_str(&text) + text.nr_bytes};
	while (scan_decimal(&scan, &number)) {
		pid_t pid = (pid_t)number;

		if (pid != command && proc_read_task_stat(pid, pid, &stat) && stat.state == 'Z')
			waitpid(pid, NULL, WNOHANG);
		scan_blanks(&scan);
	}
	buf_release(&text);
}

int child_reap(pid_t pid, int *status)
{
	pid_t got;

	do {
		got = waitpid(pid, status, 0);
	} while (got < 0 && errno == EINTR);
	return got == pid ? 0 : -1;
}
