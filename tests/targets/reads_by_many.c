// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * reads_by_many [MS]: threads, ever new ones, that read megabytes of zeros in one system call,
 * while each gets signals of its own. What a call says is what it did: so many bytes of the
 * room are zeros now, and its arguments are what they were. Prints
 * {"calls", "cut" (without a signal), "handled", "wrong", "changed"}.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "self_measure.h"

#define ROOM_BYTES ((size_t)8 << 20)
#define THREADS	   4
#define CALLS	   6

static atomic_uint calls, cut, handled, wrong, changed;
static __thread volatile unsigned handled_here;
static int zeros;

static void handle(int signal)
{
	(void)signal;
	handled_here++;
	atomic_fetch_add(&handled, 1);
}

#if defined(__x86_64__)
static long read_zeros(char *room)
{
	long result = SYS_read;
	long fd = zeros;
	char *at = room;
	size_t size = ROOM_BYTES;

	__asm__ volatile("syscall"
			 : "+a"(result), "+D"(fd), "+S"(at), "+d"(size)
			 :
			 : "rcx", "r11", "memory");
	if (fd != zeros || at != room || size != ROOM_BYTES)
		atomic_fetch_add(&changed, 1);
	return result;
}
#else
static long read_zeros(char *room)
{
	long result = read(zeros, room, ROOM_BYTES);

	return result < 0 ? -errno : result;
}
#endif

static bool is_zeros_for(const char *room, size_t nr)
{
	for (size_t i = 0; i < nr; i += 4096) {
		if (room[i])
			return false;
	}
	return (!nr || !room[nr - 1]) && (nr == ROOM_BYTES || room[nr] == 1);
}

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* A signal that nobody else is woken for, again and again. */
static timer_t send_myself_signals(void)
{
	const struct itimerspec each = {{0, 11000000}, {0, 3000000}};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
	timer_t timer;

	event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &each, NULL))
		exit(2);
	return timer;
}

static void *read_some(void *room)
{
	timer_t timer = send_myself_signals();

	for (unsigned i = 0; i < CALLS; i++) {
		unsigned before;
		long result;

		memset(room, 1, ROOM_BYTES);
		before = handled_here;
		result = read_zeros(room);
		atomic_fetch_add(&calls, 1);
		if (result != (long)ROOM_BYTES && handled_here == before)
			atomic_fetch_add(&cut, 1);
		if (result != -EINTR && (result <= 0 || !is_zeros_for(room, (size_t)result)))
			atomic_fetch_add(&wrong, 1);
	}
	timer_delete(timer);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t until_ns = monotonic_ns() + number_argument(argc, argv, 1, 3000) * 1000000;
	struct sigaction action = {.sa_handler = handle};
	char *rooms[THREADS];

	zeros = open("/dev/zero", O_RDONLY);
	sigaction(SIGUSR1, &action, NULL);
	for (unsigned i = 0; i < THREADS; i++)
		rooms[i] = malloc(ROOM_BYTES);
	say_ready();
	while (monotonic_ns() < until_ns) {
		pthread_t threads[THREADS];

		for (unsigned i = 0; i < THREADS; i++)
			pthread_create(&threads[i], NULL, read_some, rooms[i]);
		for (unsigned i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	}
	printf("{\"calls\": %u, \"cut\": %u, \"handled\": %u, \"wrong\": %u, \"changed\": %u}\n",
	       calls, cut, handled, wrong, changed);
	return 0;
}
