// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * progressing FILE [NR_THREADS]: every thread works and naps in turn and counts
 * its rounds in FILE, an array of 64-bit counters that the test reads meanwhile.
 * The process is sent SIGALRM every 5 ms and counts the handlers run. Ends when
 * standard input is closed. Prints {"rounds", "alarms", "due_alarms"}: the last are those of the
 * time that has passed.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "self_measure.h"

#define MAX_THREADS 64
#define ALARM_NS    (5 * MS)

static _Atomic uint64_t *counters;
static atomic_uint alarms;

/* With those that were due before the handler could run: without a CPU it comes late. */
static void count_alarm(int number, siginfo_t *info, void *unused)
{
	(void)number;
	(void)unused;
	atomic_fetch_add(&alarms, 1 + (unsigned)info->si_overrun);
}

NOINLINE static uint64_t progress_work(uint64_t x)
{
	for (unsigned i = 0; i < 100000; i++)
		SPIN_STEP(x);
	return x;
}

static void *progress_main(void *counter)
{
	uint64_t x = 1;

	for (;;) {
		x = progress_work(x);
		usleep(200);
		atomic_fetch_add((_Atomic uint64_t *)counter, 1 + (x == 0));
	}
	return NULL;
}

static void start_alarms(void)
{
	struct sigaction action = {.sa_sigaction = count_alarm,
				   .sa_flags = SA_RESTART | SA_SIGINFO};
	struct itimerspec every = {.it_value.tv_nsec = ALARM_NS, .it_interval.tv_nsec = ALARM_NS};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
	timer_t timer;

	sigaction(SIGALRM, &action, NULL);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &every, NULL);
}

int main(int argc, char **argv)
{
	unsigned nr = (unsigned)number_argument(argc, argv, 2, 2);
	uint64_t rounds = 0, begun_ns, due;
	pthread_t thread;
	int fd;

	if (argc < 2 || nr > MAX_THREADS)
		return 2;
	fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, MAX_THREADS * sizeof(*counters)))
		return 2;
	counters = mmap(NULL, MAX_THREADS * sizeof(*counters), PROT_READ | PROT_WRITE, MAP_SHARED,
			fd, 0);
	start_alarms();
	begun_ns = monotonic_ns();
	for (unsigned i = 0; i < nr; i++)
		pthread_create(&thread, NULL, progress_main, (void *)&counters[i]);
	say_ready();
	wait_for_end();
	due = (monotonic_ns() - begun_ns) / ALARM_NS;
	for (unsigned i = 0; i < nr; i++)
		rounds += counters[i];
	printf("{\"rounds\": %llu, \"alarms\": %u, \"due_alarms\": %llu}\n",
	       (unsigned long long)rounds, alarms, (unsigned long long)due);
	return 0;
}
