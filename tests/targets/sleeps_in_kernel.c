// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread in each of several sleeps of the kernel, named by it, until its standard input ends: a
 * futex, a pipe, a lock of a file, a timer, poll(2). With a file as its argument, another one writes
 * and syncs that.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int silent_pipe[2];
static int locked_file;
static const char *synced;
static char block[1 << 16];

static void in_futex(void)
{
	if (pthread_mutex_lock(&lock) == 0)
		abort();
}

static void in_pipe(void)
{
	char byte;

	if (read(silent_pipe[0], &byte, 1) != 1)
		abort();
}

static void in_flock(void)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", locked_file);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_EX))
		abort();
}

static void in_timer(void)
{
	nanosleep(&(struct timespec){.tv_sec = 3600}, NULL);
}

static void in_poll(void)
{
	poll(&(struct pollfd){.fd = silent_pipe[0], .events = POLLIN}, 1, -1);
}

static void in_fsync(void)
{
	int fd = open(synced, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		abort();
	for (;;) {
		if (pwrite(fd, block, sizeof(block), 0) != sizeof(block) || fsync(fd))
			abort();
	}
}

struct sleeper {
	const char *name;
	void (*sleep)(void);
};

static const struct sleeper sleepers[] = {
	{"in_futex", in_futex}, {"in_pipe", in_pipe}, {"in_flock", in_flock},
	{"in_timer", in_timer}, {"in_poll", in_poll}, {"in_fsync", in_fsync},
};

static void *run(void *argument)
{
	const struct sleeper *sleeper = argument;

	pthread_setname_np(pthread_self(), sleeper->name);
	sleeper->sleep();
	return NULL;
}

int main(int argc, char **argv)
{
	size_t nr = sizeof(sleepers) / sizeof(*sleepers) - (argc < 2);
	pthread_t thread;

	synced = argv[1];
	locked_file = memfd_create("locked", MFD_CLOEXEC);
	if (pipe(silent_pipe) || locked_file < 0 || flock(locked_file, LOCK_EX))
		abort();
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < nr; i++)
		pthread_create(&thread, NULL, run, (void *)&sleepers[i]);
	printf("ready\n");
	fflush(stdout);
	while (getchar() != EOF)
		;
	_exit(0);
}
