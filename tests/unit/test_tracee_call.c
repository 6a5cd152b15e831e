// SPDX-License-Identifier: GPL-2.0-or-later
/* In which system call is a thread that a visit has stopped? */
#include <signal.h>
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
	kill(visited->pid, SIGKILL);
	waitpid(visited->pid, NULL, 0);
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

TEST(tracee_call, one_that_a_thread_sleeps_in)
{
	struct visited visited;
	struct proc_stat stat;
	char byte;
	int fd;

	set_up(&visited);
	visited.pid = fork();
	if (visited.pid == 0) {
		*visited.is_ready = true;
		_exit(read(visited.ends[0], &byte, 1) < 0);
	}
	fd = proc_open_task_file(visited.pid, visited.pid, "stat");
	do {
		usleep(1000);
		assert_true(proc_read_stat(fd, &stat));
	} while (!*visited.is_ready || stat.state != 'S');
	close(fd);
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
