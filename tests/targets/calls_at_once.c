// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * calls_at_once MODE THREADS CALLS: processes and threads that call one small function at the same
 * time, in sum as often as they print (own_counts.h):
 *
 *	threads	each calls it CALLS times
 *	births	each calls it CALLS times, in threads that are born and end one after the other
 *	forks	likewise in forked children, of which each forks another one
 *	vforks	likewise, half of the calls in children that share the thread's memory
 *	clones	each calls it CALLS times, in threads without the C library, whose data begin with 0
 *	signals	threads that are interrupted by signals, whose handler calls it, too, and forks now
 *		and then
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "own_counts.h"

#ifndef sigev_notify_thread_id /* glibc */
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define PIECES	    20
#define MAX_THREADS 1024
#define FORKS_EACH  8 /* signals */

struct tally {
	uint64_t calls; /* of all processes */
};

static struct tally *tally;
static uint64_t nr_calls;

COUNTED uint64_t called_at_once(uint64_t x)
{
	return x * 6364136223846793005ULL + 1442695040888963407ULL;
}

COUNTED static void call(uint64_t nr)
{
	volatile uint64_t sink;
	uint64_t x = nr;

	for (uint64_t i = 0; i < nr; i++)
		x = called_at_once(x);
	sink = x;
	(void)sink;
	__atomic_fetch_add(&tally->calls, nr, __ATOMIC_RELAXED);
}

static void expect(pid_t pid)
{
	int status;
	pid_t ended;

	do
		ended = waitpid(pid, &status, 0);
	while (ended < 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "calls_at_once: a child has ended with %#x\n", (unsigned)status);
		_exit(1);
	}
}

static void *all_in_one(void *unused)
{
	call(nr_calls);
	return unused;
}

static void *a_piece(void *unused)
{
	call(nr_calls / PIECES);
	return unused;
}

static void *born_and_ended(void *unused)
{
	for (int i = 0; i < PIECES; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, a_piece, NULL))
			_exit(2);
		pthread_join(thread, NULL);
	}
	return unused;
}

/* Children call at the same time as their parents. */
static void *forked(void *unused)
{
	for (int i = 0; i < PIECES / 4; i++) {
		pid_t child = fork();

		call(nr_calls / PIECES);
		if (child == 0) {
			child = fork();
			call(nr_calls / PIECES);
			if (child > 0)
				expect(child);
			_exit(0);
		}
		if (child > 0)
			expect(child);
	}
	return unused;
}

/* The child uses the stack and the data of its parent, which waits; other threads do not. */
static void *vforked(void *unused)
{
	for (int i = 0; i < PIECES / 2; i++) {
		pid_t child = vfork();

		if (child == 0) {
			call(nr_calls / PIECES);
			_exit(0);
		}
		call(nr_calls / PIECES);
		if (child > 0)
			expect(child);
	}
	return unused;
}

static void on_signal(int number)
{
	static uint64_t nr_forks;
	pid_t child;

	(void)number;
	called_at_once(1);
	OWN_CALL(tally->calls);
	if (__atomic_fetch_add(&nr_forks, 1, __ATOMIC_RELAXED) >= FORKS_EACH)
		return;
	child = fork();
	called_at_once(1);
	OWN_CALL(tally->calls);
	if (child == 0)
		_exit(0);
	expect(child);
}

static void *interrupted(void *unused)
{
	timer_t timer;
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
	const struct itimerspec often = {.it_interval.tv_nsec = 300000,
					 .it_value.tv_nsec = 300000};

	event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &often, NULL))
		_exit(2);
	call(nr_calls);
	timer_delete(timer);
	return unused;
}

#define CLONE_STACK_BYTES 65536

static int cloned(void *unused)
{
	(void)unused;
	call(nr_calls);
	syscall(SYS_exit, 0); /* of this thread alone */
	return 0;
}

static void *cloning(void *unused)
{
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			  CLONE_SYSVSEM | CLONE_SETTLS | CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID;
	const struct timespec pause = {0, 1000000};
	char *stack = mmap(NULL, CLONE_STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t tid = 0;

	/* Its data are above its stack, which begins in the middle. */
	if (stack == MAP_FAILED || clone(cloned, stack + CLONE_STACK_BYTES / 2, flags, NULL, &tid,
					 stack + CLONE_STACK_BYTES / 2 + 4096, &tid) < 0)
		_exit(2);
	while (__atomic_load_n(&tid, __ATOMIC_ACQUIRE))
		nanosleep(&pause, NULL);
	return unused;
}

static const struct mode {
	const char *name;
	void *(*run)(void *);
} modes[] = {{"threads", all_in_one}, {"births", born_and_ended}, {"forks", forked},
	     {"vforks", vforked},     {"clones", cloning},	{"signals", interrupted}};

int main(int argc, char **argv)
{
	static pthread_t threads[MAX_THREADS];
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	unsigned long nr_threads = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
	const struct mode *mode = NULL;

	for (size_t i = 0; argc == 4 && i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(argv[1], modes[i].name) == 0)
			mode = &modes[i];
	}
	if (!mode || nr_threads > MAX_THREADS)
		return 2;
	nr_calls = strtoull(argv[3], NULL, 10);
	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (tally == MAP_FAILED)
		return 2;
	sigaction(SIGPROF, &action, NULL);
	for (unsigned long i = 0; i < nr_threads; i++) {
		if (pthread_create(&threads[i], NULL, mode->run, NULL))
			return 2;
	}
	for (unsigned long i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
	say_own_count("called_at_once", tally->calls);
	return 0;
}
