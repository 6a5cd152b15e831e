// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * seccomp_crowd [MS [MODE [THREADS]]]: threads in waits of 3 ms that the kernel takes up again
 * by restart_syscall, and, each seventh time, in one that asks for signals with a mask of its own,
 * under a filter that kills who makes that call, beside threads that start children. SIGCHLD is
 * left as it is. MODE "watched": the children are waited for by their pidfds. "signals": instead of
 * them, one child sends a signal each millisecond that nobody cares for; "busy": and the main
 * thread runs all the time; "working": another one. "allowed": likewise, under a filter that kills
 * for another call. "alone": the main thread makes such waits, and there is no other. "parents": as
 * with "allowed", but there are no signals, and each thread that waits has a child that lives.
 * "late": as with "allowed", but there are no signals, and the main thread alone has a filter, as
 * the others were there before, which wait for longer. "mixed": as with "busy", but half of the
 * others have none for the same reason. Prints {"waits", "children", "failed", "early"}: waits that
 * failed, and those that were too short.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "self_measure.h"

#define WAIT_MS	    3
#define THREADS_MAX 200

static atomic_ulong waits, children, failed, early;
static atomic_bool ends, have_children;

static int install_filter(bool allowed)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed ? SYS_sync : SYS_restart_syscall, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(rules) / sizeof(rules[0]), .filter = rules};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static bool in_nanosleep(void)
{
	struct timespec nap = {.tv_nsec = WAIT_MS * MS};

	return nanosleep(&nap, &nap) == 0; /* as is done in loops: what is left becomes the time */
}

static bool in_poll(void)
{
	return poll(NULL, 0, WAIT_MS) == 0;
}

static bool in_futex(void)
{
	const struct timespec nap = {.tv_nsec = WAIT_MS * MS};
	int word = 0;

	return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &nap, NULL, 0) != 0 &&
	       errno == ETIMEDOUT;
}

static bool in_epoll(int epoll)
{
	struct epoll_event event;
	sigset_t none;

	sigemptyset(&none);
	return epoll_pwait(epoll, &event, 1, WAIT_MS, &none) == 0;
}

static void have_child(void)
{
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* as the thread ends */
		pause();
		_exit(0);
	}
}

static void *wait_on(void *argument)
{
	bool (*wait)(void) = *(bool (**)(void))argument;
	int epoll = epoll_create1(0);

	if (atomic_load(&have_children))
		have_child();
	for (unsigned nr = 1; !atomic_load(&ends); nr++) {
		uint64_t begun_ns = monotonic_ns();
		bool good = nr % 7 ? wait() : in_epoll(epoll);

		atomic_fetch_add(&early, good && monotonic_ns() - begun_ns < WAIT_MS * MS);
		atomic_fetch_add(&failed, !good);
		atomic_fetch_add(&waits, 1);
	}
	return NULL;
}

static void *poll_on(void *unused)
{
	while (!atomic_load(&ends)) {
		poll(NULL, 0, 50);
		atomic_fetch_add(&waits, 1);
	}
	return unused;
}

static void wait_by_pidfd(pid_t pid)
{
	struct pollfd watched = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};

	poll(&watched, 1, -1);
	close(watched.fd);
}

static void *fork_on(void *argument)
{
	bool watched = *(bool *)argument;

	while (!atomic_load(&ends)) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		if (watched)
			wait_by_pidfd(pid);
		atomic_fetch_add(&children, waitpid(pid, NULL, 0) == pid);
	}
	return NULL;
}

static pid_t send_signals(void)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	while (pid == 0) {
		usleep(1000);
		if (getppid() != parent || kill(parent, SIGURG))
			_exit(0);
	}
	return pid;
}

static void run_for(uint64_t length_ms)
{
	uint64_t end_ns = monotonic_ns() + length_ms * MS;

	while (monotonic_ns() < end_ns)
		;
}

static void wait_for(bool (*const *waits_in)(void), uint64_t length_ms)
{
	uint64_t end_ns = monotonic_ns() + length_ms * MS;

	while (monotonic_ns() < end_ns) {
		atomic_fetch_add(&failed, !waits_in[atomic_load(&waits) % 3]());
		atomic_fetch_add(&waits, 1);
	}
}

static void *run_on(void *length_ms)
{
	run_for(*(uint64_t *)length_ms);
	return NULL;
}

static void say(void)
{
	printf("{\"waits\": %lu, \"children\": %lu, \"failed\": %lu, \"early\": %lu}\n",
	       atomic_load(&waits), atomic_load(&children), atomic_load(&failed),
	       atomic_load(&early));
}

int main(int argc, char **argv)
{
	static bool (*waits_in[])(void) = {in_nanosleep, in_poll, in_futex};
	bool watched = argc > 2 && strcmp(argv[2], "watched") == 0;
	bool parents = argc > 2 && strcmp(argv[2], "parents") == 0;
	bool late = argc > 2 && strcmp(argv[2], "late") == 0;
	bool mixed = argc > 2 && strcmp(argv[2], "mixed") == 0;
	bool allowed = parents || late || (argc > 2 && strcmp(argv[2], "allowed") == 0);
	bool busy = allowed || mixed || (argc > 2 && strcmp(argv[2], "busy") == 0);
	bool working = argc > 2 && strcmp(argv[2], "working") == 0;
	bool alone = argc > 2 && strcmp(argv[2], "alone") == 0;
	bool signals = busy || working || (argc > 2 && strcmp(argv[2], "signals") == 0);
	uint64_t length_ms = number_argument(argc, argv, 1, 2000);
	uint64_t nr_waiting = number_argument(argc, argv, 3, 6);
	uint64_t nr_without = late ? nr_waiting : mixed ? nr_waiting / 2 : 0;
	pthread_t threads[THREADS_MAX + 3];
	size_t nr = 0;
	pid_t sender;

	atomic_store(&have_children, parents);
	say_ready();
	for (size_t i = 0; !alone && i < nr_waiting && i < THREADS_MAX; i++) {
		if (i == nr_without && install_filter(allowed))
			return 2;
		nr += pthread_create(&threads[nr], NULL, late ? poll_on : wait_on,
				     &waits_in[i % 3]) == 0;
	}
	if ((alone || nr_without == nr_waiting) && install_filter(allowed))
		return 2;
	for (size_t i = 0; !alone && !signals && i < 2; i++)
		nr += pthread_create(&threads[nr], NULL, fork_on, &watched) == 0;
	if (working)
		nr += pthread_create(&threads[nr], NULL, run_on, &length_ms) == 0;
	/* Not before: where threads are made all signals are blocked, and so not dropped. */
	sender = signals && !parents && !late ? send_signals() : 0;
	if (alone)
		wait_for(waits_in, length_ms);
	else if (busy)
		run_for(length_ms);
	else
		poll(NULL, 0, (int)length_ms);
	if (sender)
		kill(sender, SIGKILL);
	atomic_store(&ends, true);
	for (size_t i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	say();
	return 0;
}
