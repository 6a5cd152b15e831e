// SPDX-License-Identifier: GPL-2.0-or-later
/* In which system call is a thread that a visit has stopped, and how does that end? */
#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/read.h"
#include "proc/task.h"
#include "snapshot/snapshot.h"
#include "tests/unit/unit.h"
#include "tracee/tracee.h"
#include "tracee/visit.h"

#define STACK_BYTES 4096

/* A child, and what a visit finds of it. */
struct visited {
	int ends[2]; /* of a pipe into which nobody writes */
	pid_t pid;
	volatile bool *is_ready; /* shared with it */
	struct visit visit;
	struct snapshot snapshot;
};

static void set_up(struct visited *visited)
{
	int status = pipe(visited->ends);

	assert_int_equal(status, 0);
	visited->is_ready =
		mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(visited->is_ready, MAP_FAILED);
	visited->snapshot = (struct snapshot){0};
}

static void tear_down(struct visited *visited)
{
	snapshot_release(&visited->snapshot);
	if (visited->pid > 0) {
		kill(visited->pid, SIGKILL);
		waitpid(visited->pid, NULL, 0);
	}
	munmap((void *)(uintptr_t)visited->is_ready, 1);
	close(visited->ends[0]);
	close(visited->ends[1]);
}

static void visit(struct visited *visited)
{
	struct tracee_host *host = tracee_host_new();
	struct tracee tracee;

	tracee_open(&tracee, host, visited->pid, visited->pid);
	assert_int_equal(visit_begin(&visited->visit, visited->pid, visited->pid), VISIT_PENDING);
	assert_int_equal(visit_wait(&visited->visit, true), VISIT_STOPPED);
	visit_capture(&visited->visit, &tracee, STACK_BYTES, &visited->snapshot);
	visit_end(&visited->visit);
	tracee_close(&tracee);
	tracee_host_free(host);
}

static void await_sleep(const struct visited *visited)
{
	int fd = proc_open_task_file(visited->pid, visited->pid, "stat");
	struct proc_stat stat;

	do {
		usleep(1000);
		assert_true(proc_read_stat(fd, &stat) && stat.state != 'Z');
	} while (!*visited->is_ready || stat.state != 'S');
	close(fd);
}

TEST(tracee_call, one_that_a_thread_sleeps_in)
{
	struct visited visited;
	char byte;

	set_up(&visited);
	visited.pid = fork();
	if (visited.pid == 0) {
		*visited.is_ready = true;
		_exit(read(visited.ends[0], &byte, 1) < 0);
	}
	await_sleep(&visited);
	visit(&visited);
	assert_int_equal(visited.snapshot.syscall_nr, SYS_read);
	assert_int_equal(visited.snapshot.state, THREAD_STATE_SLEEPING);
	assert_int_equal(visited.visit.syscall.kind, PROC_SYSCALL_INSIDE);
	assert_int_equal(visited.visit.syscall.nr, SYS_read);
	assert_int_equal(visited.visit.syscall.args[0], visited.ends[0]);
	assert_int_equal(visited.visit.syscall.args[2], 1);
	tear_down(&visited);
}

/* The number of its last call is still in the registers. */
TEST(tracee_call, none_of_a_thread_in_its_program)
{
	struct visited visited;

	set_up(&visited);
	visited.pid = fork();
	if (visited.pid == 0) {
		getppid();
		for (*visited.is_ready = true;;)
			;
	}
	while (!*visited.is_ready)
		usleep(1000);
	visit(&visited);
	assert_int_equal(visited.snapshot.syscall_nr, SNAPSHOT_NO_SYSCALL);
	assert_int_equal(visited.snapshot.state, THREAD_STATE_RUNNING);
	assert_int_equal(visited.visit.syscall.kind, PROC_SYSCALL_OUTSIDE);
	tear_down(&visited);
}

/* It is visited twice in its call, and then gets what it waits for. */
static void expect_undisturbed(struct visited *visited, void (*release)(const struct visited *))
{
	int status;

	for (int i = 0; i < 2; i++) {
		await_sleep(visited);
		visit(visited);
	}
	await_sleep(visited);
	release(visited);
	assert_int_equal(waitpid(visited->pid, &status, 0), visited->pid);
	visited->pid = 0;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	tear_down(visited);
}

static void send_signal(const struct visited *visited)
{
	kill(visited->pid, SIGUSR2);
}

static void write_byte(const struct visited *visited)
{
	ssize_t written = write(visited->ends[1], "", 1);

	assert_int_equal(written, 1);
}

/* One that the kernel does not begin again where it was interrupted; nor that of the next test. */
TEST(tracee_call, one_that_waits_for_a_signal_goes_on)
{
	struct visited visited;
	siginfo_t info = {0};
	sigset_t set;

	set_up(&visited);
	visited.pid = fork();
	if (visited.pid == 0) {
		sigemptyset(&set);
		sigaddset(&set, SIGUSR2);
		sigprocmask(SIG_BLOCK, &set, NULL);
		*visited.is_ready = true;
		_exit(sigwaitinfo(&set, &info) != SIGUSR2 || info.si_pid != getppid());
	}
	expect_undisturbed(&visited, send_signal);
}

TEST(tracee_call, one_that_waits_for_events_goes_on)
{
	struct visited visited;
	int fd;

	set_up(&visited);
	visited.pid = fork();
	if (visited.pid == 0) {
		struct epoll_event event = {.events = EPOLLIN, .data.u32 = 5};

		fd = epoll_create1(EPOLL_CLOEXEC);
		epoll_ctl(fd, EPOLL_CTL_ADD, visited.ends[0], &event);
		event.data.u32 = 0;
		*visited.is_ready = true;
		_exit(epoll_wait(fd, &event, 1, -1) != 1 || event.data.u32 != 5);
	}
	expect_undisturbed(&visited, write_byte);
}

/* It may have been refused only because we traced it: it is, once more, without us. */
TEST(tracee_call, exec_that_was_refused_is_made_again)
{
	struct visited visited;
	int status;

	set_up(&visited);
	visited.pid = fork();
	if (visited.pid == 0) {
		char name[] = "null", *const argv[] = {name, NULL};

		*visited.is_ready = true;
		while (*visited.is_ready) {
			if (execve("/dev/null", argv, argv) != -1 || errno != EACCES)
				_exit(1);
		}
		_exit(0);
	}
	do {
		snapshot_release(&visited.snapshot);
		visited.snapshot = (struct snapshot){0};
		visit(&visited);
	} while (!visited.visit.was_fixed_up);
	assert_int_equal(visited.snapshot.syscall_nr, SYS_execve);
	*visited.is_ready = false;
	assert_int_equal(waitpid(visited.pid, &status, 0), visited.pid);
	visited.pid = 0;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	tear_down(&visited);
}
