// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread in each of several sleeps of the kernel, named by it, until its standard input ends: a
 * futex, a pipe, a lock of a file, a timer, poll(2). With the name of another sleep and a file as
 * arguments one more thread sleeps for moments: it writes and syncs the file, reads pages of it that
 * are not in memory, or pages of its own that are swapped out.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int silent_pipe[2];
static int locked_file;
static const char *file_path;
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

static int open_file(void)
{
	int fd = open(file_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		abort();
	return fd;
}

static void in_fsync(void)
{
	int fd = open_file();

	for (;;) {
		if (pwrite(fd, block, sizeof(block), 0) != sizeof(block) || fsync(fd))
			abort();
	}
}

/* One byte of each page. */
static void touch(const volatile char *bytes, size_t nr_bytes)
{
	for (size_t i = 0; i < nr_bytes; i += 4096)
		(void)bytes[i];
}

static void in_page(void)
{
	const size_t nr_bytes = 256 * sizeof(block);
	int fd = open_file();
	char *bytes;

	for (size_t i = 0; i < nr_bytes; i += sizeof(block)) {
		if (pwrite(fd, block, sizeof(block), (off_t)i) != sizeof(block))
			abort();
	}
	bytes = mmap(NULL, nr_bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (fsync(fd) || bytes == MAP_FAILED || madvise(bytes, nr_bytes, MADV_RANDOM))
		abort();
	for (;;) {
		if (madvise(bytes, nr_bytes, MADV_DONTNEED) ||
		    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
			abort();
		touch(bytes, nr_bytes);
	}
}

static void in_swap(void)
{
	const size_t nr_bytes = 64 * sizeof(block);
	char *bytes = mmap(NULL, nr_bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (bytes == MAP_FAILED)
		abort();
	for (;;) {
		for (size_t i = 0; i < nr_bytes; i += 4096)
			bytes[i]++;
		if (madvise(bytes, nr_bytes, MADV_PAGEOUT))
			abort();
		touch(bytes, nr_bytes);
	}
}

struct sleeper {
	const char *name;
	void (*sleep)(void);
};

static const struct sleeper sleepers[] = {
	{"in_futex", in_futex}, {"in_pipe", in_pipe}, {"in_flock", in_flock},
	{"in_timer", in_timer}, {"in_poll", in_poll},
	/* These begin with the name of the first argument alone. */
	{"in_fsync", in_fsync}, {"in_page", in_page}, {"in_swap", in_swap},
};

#define NR_ALWAYS 5

static void *run(void *argument)
{
	const struct sleeper *sleeper = argument;

	pthread_setname_np(pthread_self(), sleeper->name);
	sleeper->sleep();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	file_path = argc > 2 ? argv[2] : "";
	locked_file = memfd_create("locked", MFD_CLOEXEC);
	if (pipe(silent_pipe) || locked_file < 0 || flock(locked_file, LOCK_EX))
		abort();
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < sizeof(sleepers) / sizeof(*sleepers); i++) {
		if (i >= NR_ALWAYS && (argc < 2 || strcmp(argv[1], sleepers[i].name) != 0))
			continue;
		pthread_create(&thread, NULL, run, (void *)&sleepers[i]);
	}
	printf("ready\n");
	fflush(stdout);
	while (getchar() != EOF)
		;
	_exit(0);
}
