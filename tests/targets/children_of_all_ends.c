// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * children_of_all_ends ROUNDS | 0 ROUNDS: what a parent can see of its children, by each of the
 * kernel's ways, over and over; the second form waits for a line of input before. Prints {"name",
 * "wrong", "first"} of each: how often it did not come as it always does without a tracer, and
 * the first such value.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "self_measure.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

static void work_a_little(void)
{
	for (volatile unsigned i = 0; i < 20000; i++)
		continue;
}

static pid_t start(int status)
{
	pid_t pid = fork();

	if (pid == 0) {
		work_a_little();
		_exit(status);
	}
	return pid;
}

static void wait_for_line(void)
{
	int c;

	do {
		c = getchar();
	} while (c != EOF && c != '\n');
}

/* Each returns 0 if all is as it should be. */
static long exit_statuses(unsigned round)
{
	int status = -1;
	pid_t pid = start((int)(round & 255));

	return waitpid(pid, &status, 0) != pid || status != (int)(round & 255) << 8 ? status + 1
										    : 0;
}

static long deaths_by_signal(unsigned round)
{
	static const int numbers[] = {SIGHUP,  SIGINT,	SIGQUIT, SIGILL,  SIGTRAP, SIGABRT, SIGBUS,
				      SIGFPE,  SIGKILL, SIGUSR1, SIGSEGV, SIGUSR2, SIGPIPE, SIGALRM,
				      SIGTERM, SIGXCPU, SIGSYS,	 34,	  64};
	const int number = numbers[round % (sizeof(numbers) / sizeof(*numbers))];
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		const struct rlimit no_core = {0, 0};

		setrlimit(RLIMIT_CORE, &no_core);
		signal(number, SIG_DFL);
		kill(getpid(), number);
		_exit(99);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status) || WTERMSIG(status) != number)
		return status + 1;
	return 0;
}

static long core_dumps(unsigned round)
{
	int status = -1;
	pid_t pid = fork();

	(void)round;
	if (pid == 0) {
		abort();
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
		return status + 1;
	return WCOREDUMP(status) ? 0 : 0x10000;
}

static long info_of_waitid(unsigned round)
{
	siginfo_t info = {0};
	pid_t pid = start((int)(round & 127));

	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) || info.si_code != CLD_EXITED ||
	    info.si_status != (int)(round & 127) || info.si_pid != pid)
		return info.si_code + 1;
	memset(&info, 0, sizeof(info));
	if (waitid(P_ALL, 0, &info, WEXITED) || info.si_pid != pid)
		return 1000;
	return waitid(P_ALL, 0, &info, WEXITED) == -1 && errno == ECHILD ? 0 : 2000;
}

static long polled_pidfd(unsigned round)
{
	siginfo_t info = {0};
	pid_t pid = start((int)(round & 127));
	struct pollfd poll_it = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
	long result = 0;

	if (poll_it.fd < 0)
		return errno;
	if (poll(&poll_it, 1, 20000) != 1)
		result = 3000;
	else if (waitid(P_PIDFD, (id_t)poll_it.fd, &info, WEXITED))
		result = errno;
	else if (info.si_pid != pid || info.si_status != (int)(round & 127))
		result = 4000;
	close(poll_it.fd);
	return result;
}

static void *wait_for_ever(void *nothing)
{
	for (;;)
		pause();
	return nothing;
}

/* Some have threads, which an exit ends, too. */
static pid_t start_after(int go, unsigned round)
{
	pid_t pid = fork();
	pthread_t thread;
	char byte;

	if (pid == 0) {
		for (unsigned i = 0; i < round % 3; i++)
			pthread_create(&thread, NULL, wait_for_ever, NULL);
		if (read(go, &byte, 1) == 1)
			work_a_little();
		_exit((int)(round & 127));
	}
	return pid;
}

/* As Rust's tokio does, which panics if there is nothing to be waited for. */
static bool is_taken_once_polled(int pidfd, siginfo_t *info)
{
	struct pollfd poll_it = {.fd = pidfd, .events = POLLIN};

	info->si_pid = 0;
	poll(&poll_it, 1, 20000);
	if (waitid(P_PIDFD, (id_t)pidfd, info, WEXITED | WNOHANG) == 0 && info->si_pid)
		return true;
	waitid(P_PIDFD, (id_t)pidfd, info, WEXITED);
	return false;
}

static long polled_pidfd_and_not_waited(unsigned round)
{
	siginfo_t info = {0};
	long result = 0;
	int go[2], pidfd;
	pid_t pid;

	if (pipe2(go, O_CLOEXEC))
		return errno;
	pid = start_after(go[0], round);
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0 || write(go[1], "", 1) != 1)
		return errno;
	if (!is_taken_once_polled(pidfd, &info))
		result = 5000 + round % 3;
	if (info.si_status != (int)(round & 127))
		result = info.si_status;
	close(pidfd);
	close(go[0]);
	close(go[1]);
	return result;
}

#define SLOW_TO_END_BYTES ((size_t)48 << 20)

/* It says that it ends, and then has memory to give back for milliseconds. */
static pid_t start_slow_to_end(int told)
{
	pid_t pid = fork();

	if (pid == 0) {
		char *memory = mmap(NULL, SLOW_TO_END_BYTES, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		if (memory == MAP_FAILED || write(told, "", 1) != 1)
			_exit(99);
		_exit(7);
	}
	return pid;
}

/* Now and then, the pidfd comes when its process is about to end. */
static long pidfd_opened_late(unsigned round)
{
	const struct timespec long_after = {.tv_nsec = 120 * MS}, at_its_end = {.tv_nsec = MS};
	siginfo_t info = {0};
	int told[2], pidfd;
	long result = 0;
	char byte;
	pid_t pid;

	if (round % 4 != 3)
		return polled_pidfd_and_not_waited(round);
	nanosleep(&long_after, NULL);
	if (pipe2(told, O_CLOEXEC))
		return errno;
	pid = start_slow_to_end(told[1]);
	if (read(told[0], &byte, 1) != 1)
		return errno;
	nanosleep(&at_its_end, NULL);
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0 || !is_taken_once_polled(pidfd, &info) || info.si_status != 7)
		result = 18000 + info.si_status;
	close(pidfd);
	close(told[0]);
	close(told[1]);
	return result;
}

static void *wait_for_children(void *stop)
{
	while (!atomic_load((atomic_bool *)stop))
		waitpid(start(0), NULL, 0);
	return NULL;
}

/* One thread polls, and another waits for children of its own. */
static long polled_pidfd_beside_waits(unsigned round)
{
	atomic_bool stop = false;
	pthread_t waiter;
	long result;

	if (pthread_create(&waiter, NULL, wait_for_children, &stop))
		return 16000;
	result = polled_pidfd_and_not_waited(round);
	atomic_store(&stop, true);
	pthread_join(waiter, NULL);
	return result;
}

static void *take_once_polled(void *argument)
{
	const int *pidfd = argument;
	siginfo_t info;

	return (void *)(intptr_t)!is_taken_once_polled(*pidfd, &info);
}

/* One that ends when a byte comes. */
static pid_t spawn_reader(int go)
{
	char *argv[] = {(char *)(intptr_t) "head", (char *)(intptr_t) "-c1", NULL};
	posix_spawn_file_actions_t actions;
	pid_t pid = -1;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, go, STDIN_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	if (posix_spawnp(&pid, argv[0], &actions, NULL, argv, NULL))
		pid = -1;
	posix_spawn_file_actions_destroy(&actions);
	return pid;
}

/* It ends while the thread that made it waits for another child to let go of its memory. */
static long polled_pidfd_beside_vfork(unsigned round)
{
	void *missed = NULL;
	pthread_t watcher;
	int go[2], pidfd, status;
	pid_t pid;

	(void)round;
	if (pipe2(go, O_CLOEXEC))
		return errno;
	pidfd = (int)syscall(SYS_pidfd_open, spawn_reader(go[0]), 0);
	if (pidfd < 0 || pthread_create(&watcher, NULL, take_once_polled, &pidfd))
		return 16000;
	pid = vfork();
	if (pid == 0) {
		syscall(SYS_write, go[1], "", 1);
		syscall(SYS_nanosleep, &(struct timespec){.tv_nsec = 3 * MS}, NULL);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	pthread_join(watcher, &missed);
	close(pidfd);
	close(go[0]);
	close(go[1]);
	return missed ? 17000 : 0;
}

static long not_waited_for_after_end_of_pipe(unsigned round)
{
	int ends[2], status;
	char byte;
	pid_t pid;
	long tries = 0;

	(void)round;
	if (pipe2(ends, O_CLOEXEC))
		return errno;
	pid = start(0);
	close(ends[1]);
	if (read(ends[0], &byte, 1) != 0)
		return 1;
	close(ends[0]);
	while (waitpid(pid, &status, WNOHANG) == 0 && tries < 1000) {
		tries++;
		usleep(1000);
	}
	return tries > 20 ? tries : 0;
}

static int leave(void *status)
{
	return *(int *)status;
}

static long clone_children(unsigned round)
{
	static char stack[65536] __attribute__((aligned(16)));
	int given = (int)(round & 63), status = -1;
	pid_t pid = clone(leave, stack + sizeof(stack), CLONE_VM, &given);

	/* One without a signal is not to be seen by a plain wait. */
	if (waitpid(pid, &status, WNOHANG) != -1 || errno != ECHILD)
		return 6000 + errno;
	if (waitpid(pid, &status, __WCLONE) != pid || status != given << 8)
		return status + 1;
	return 0;
}

static long stops_and_continues(unsigned round)
{
	int status = -1;
	pid_t pid = fork();

	(void)round;
	if (pid == 0) {
		for (;;)
			pause();
	}
	kill(pid, SIGSTOP);
	if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status) ||
	    WSTOPSIG(status) != SIGSTOP)
		return status + 1;
	if (waitpid(pid, &status, WUNTRACED | WNOHANG) != 0)
		return 7000;
	kill(pid, SIGCONT);
	if (waitpid(pid, &status, WCONTINUED) != pid || !WIFCONTINUED(status))
		return status + 1;
	kill(pid, SIGTERM);
	if (waitpid(pid, &status, 0) != pid || status != SIGTERM)
		return status + 1;
	return 0;
}

static volatile sig_atomic_t nr_chld;
static volatile sig_atomic_t last_code;

static void on_chld(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	nr_chld++;
	last_code = info->si_code;
}

/* One SIGCHLD for each change, and none for what only a tracer sees. */
static long counted_sigchld(unsigned round)
{
	struct sigaction action = {.sa_sigaction = on_chld, .sa_flags = SA_SIGINFO | SA_RESTART};
	int status;
	long result = 0;
	pid_t pid;

	(void)round;
	nr_chld = 0;
	sigaction(SIGCHLD, &action, NULL);
	pid = fork();
	if (pid == 0) {
		raise(SIGWINCH);
		execl("/bin/true", "true", NULL);
		_exit(99);
	}
	waitpid(pid, &status, 0);
	usleep(500);
	if (nr_chld != 1 || last_code != CLD_EXITED)
		result = 8000 + nr_chld;
	signal(SIGCHLD, SIG_DFL);
	return result;
}

static long nobody_waits(int flags)
{
	struct sigaction action = {.sa_handler = flags ? SIG_DFL : SIG_IGN, .sa_flags = flags};
	long result = 0;

	sigaction(SIGCHLD, &action, NULL);
	for (int i = 0; i < 4; i++)
		start(i);
	if (wait(NULL) != -1 || errno != ECHILD)
		result = 9000 + errno;
	signal(SIGCHLD, SIG_DFL);
	return result;
}

static long ignored_children(unsigned round)
{
	return nobody_waits(round % 2 ? SA_NOCLDWAIT : 0);
}

/* A grandchild whose parent dies at once comes to the nearest that has asked for it. */
static long orphans(unsigned round)
{
	int status, seen = 0;

	(void)round;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (fork() == 0) {
		for (int i = 0; i < 3; i++)
			if (fork() == 0) {
				while (getppid() == 0)
					continue;
				usleep(300);
				_exit(20 + i);
			}
		_exit(10);
	}
	for (int i = 0; i < 4; i++) {
		if (wait(&status) < 0)
			return 11000;
		seen += WEXITSTATUS(status);
	}
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	return seen == 10 + 20 + 21 + 22 ? 0 : seen;
}

static long death_signals(unsigned round)
{
	int ends[2], status;
	char byte;
	long result = 0;

	(void)round;
	if (pipe2(ends, O_CLOEXEC))
		return errno;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (fork() == 0) {
		int ready[2];

		if (pipe(ready))
			_exit(1);
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(ready[1]);
			for (;;)
				pause();
		}
		close(ends[1]);
		close(ready[1]);
		_exit(read(ready[0], &byte, 1) != 0);
	}
	close(ends[1]);
	if (read(ends[0], &byte, 1) != 0)
		result = 1;
	close(ends[0]);
	for (int i = 0; i < 2; i++) {
		if (wait(&status) < 0)
			result = 12000;
		else if (status != 0 && status != SIGKILL)
			result = status;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	return result;
}

/* What is charged to a parent at its wait is all that its child used. */
static long usage_of_children(unsigned round)
{
	struct rusage usage;
	int status;
	pid_t pid = fork();

	(void)round;
	if (pid == 0) {
		uint64_t until_ns = thread_cpu_ns() + 4 * MS;

		while (thread_cpu_ns() < until_ns)
			work_a_little();
		_exit(0);
	}
	if (wait4(pid, &status, __WALL, &usage) != pid)
		return 13000;
	return usage.ru_utime.tv_sec * 1000000 + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec >=
			       4000
		       ? 0
		       : 14000;
}

static long vforks(unsigned round)
{
	volatile int changed = 0;
	int status;
	pid_t pid = vfork();

	if (pid == 0) {
		changed = 1;
		_exit((int)(round & 31));
	}
	if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != (int)(round & 31))
		return status + 1;
	return changed ? 0 : 15000;
}

struct one {
	const char *name;
	long (*check)(unsigned round);
};

static const struct one all[] = {
	{"exit_statuses", exit_statuses},
	{"deaths_by_signal", deaths_by_signal},
	{"core_dumps", core_dumps},
	{"info_of_waitid", info_of_waitid},
	{"polled_pidfd", polled_pidfd},
	{"polled_pidfd_and_not_waited", polled_pidfd_and_not_waited},
	{"pidfd_opened_late", pidfd_opened_late},
	{"polled_pidfd_beside_waits", polled_pidfd_beside_waits},
	{"polled_pidfd_beside_vfork", polled_pidfd_beside_vfork},
	{"not_waited_for_after_end_of_pipe", not_waited_for_after_end_of_pipe},
	{"clone_children", clone_children},
	{"stops_and_continues", stops_and_continues},
	{"counted_sigchld", counted_sigchld},
	{"ignored_children", ignored_children},
	{"orphans", orphans},
	{"death_signals", death_signals},
	{"usage_of_children", usage_of_children},
	{"vforks", vforks},
};

static void try_all(unsigned rounds)
{
	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
		unsigned wrong = 0;
		long first = 0;

		for (unsigned round = 0; round < rounds; round++) {
			long result = all[i].check(round);

			wrong += result != 0;
			first = first ? first : result;
		}
		printf("{\"name\": \"%s\", \"wrong\": %u, \"first\": %ld}\n", all[i].name, wrong,
		       first);
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	unsigned waits = argc > 2;

	say_ready();
	if (waits)
		wait_for_line();
	try_all((unsigned)number_argument(argc, argv, 1 + waits, 100));
	return 0;
}
