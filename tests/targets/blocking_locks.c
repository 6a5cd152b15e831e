// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cases that wait for what another process holds: file locks, semaphores,
 * and the end of a child. The holder is a child that lives as long as the program.
 */
#include "blocking_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pid_t holder;
static int lock_file;
static char lock_path[64];

static int open_lock_file(void)
{
	return open(lock_path, O_RDWR | O_CLOEXEC);
}

static void hold_until_end(int held, int end)
{
	struct flock whole = {.l_type = F_WRLCK};
	char byte = 0;

	fcntl(lock_file, F_SETLK, &whole);
	if (write(held, &byte, 1) == 1)
		while (read(end, &byte, 1) < 0)
			;
	_exit(0);
}

/* The first case's: starts the child that holds the POSIX lock. */
static int prepare_holder(void)
{
	char path[] = "/tmp/profc-lock-XXXXXX";
	int held[2], end[2];
	char byte;

	lock_file = mkostemp(path, O_CLOEXEC);
	if (lock_file < 0 || unlink(path) || pipe(held) || pipe(end))
		return -1;
	snprintf(lock_path, sizeof(lock_path), "/proc/self/fd/%d", lock_file);
	holder = fork();
	if (holder == 0) {
		close(end[1]);
		hold_until_end(held[1], end[0]);
	}
	return read(held[0], &byte, 1) == 1 ? open_lock_file() : -1;
}

static long call_setlkw(int fd)
{
	struct flock whole = {.l_type = F_WRLCK};

	return fcntl(fd, F_SETLKW, &whole);
}

/* An OFD lock conflicts with the POSIX lock of the holder too. */
static int prepare_lock_file(void)
{
	return open_lock_file();
}

static long call_ofd_setlkw(int fd)
{
	struct flock whole = {.l_type = F_WRLCK};

	return fcntl(fd, F_OFD_SETLKW, &whole);
}

static int prepare_flock(void)
{
	return flock(open_lock_file(), LOCK_EX) ? -1 : open_lock_file();
}

static long call_flock(int fd)
{
	return flock(fd, LOCK_EX);
}

static long call_wait4(int unused)
{
	(void)unused;
	return waitpid(holder, NULL, 0);
}

static long call_waitid(int unused)
{
	siginfo_t siginfo;

	(void)unused;
	return waitid(P_PID, (id_t)holder, &siginfo, WEXITED);
}

static int semaphore_set = -1;

static void remove_semaphores(void)
{
	semctl(semaphore_set, 0, IPC_RMID);
}

static int prepare_semaphore(void)
{
	if (semaphore_set < 0) {
		semaphore_set = semget(IPC_PRIVATE, 1, 0600);
		atexit(remove_semaphores);
	}
	return semaphore_set;
}

static long call_semop(int set)
{
	struct sembuf take = {.sem_op = -1};

	return semop(set, &take, 1);
}

static long call_semtimedop(int set)
{
	struct timespec timeout = {.tv_nsec = TIMEOUT_MS * 1000000L};
	struct sembuf take = {.sem_op = -1};

	return semtimedop(set, &take, 1, &timeout);
}

struct blocking_case blocking_locks[] = {
	NEVER(setlkw, prepare_holder, call_setlkw),
	NEVER(ofd_setlkw, prepare_lock_file, call_ofd_setlkw),
	NEVER(flock, prepare_flock, call_flock),
	NEVER(wait4, NULL, call_wait4),
	NEVER(waitid, NULL, call_waitid),
	NEVER(semop, prepare_semaphore, call_semop),
	TIMED(semtimedop, prepare_semaphore, call_semtimedop, -1, EAGAIN),
};
const unsigned nr_blocking_locks = sizeof(blocking_locks) / sizeof(blocking_locks[0]);
