// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * let_in [MODE [NR [MS]]]: SIGWINCH and SIGCHLD, which nobody catches, are blocked, and let in by
 * waits in epoll_pwait for MS at most (1000). MODE "before": each wait is begun with SIGWINCH
 * waiting, which ends it. "child": with the SIGCHLD of a child that was waited for. "within": the
 * wait is of 20 ms, and SIGWINCH is sent in the middle of it, which drops it. "soon": the same, but
 * after 1 ms. "other": a second thread waits, and the SIGCHLD is one of the first thread's, which
 * blocks it. "timer": a second thread waits, and the SIGWINCH is that of a timer of its own, which
 * has waited; the first thread does not block it. "timer_within": the same, but it comes in the
 * middle of a wait of 20 ms, and the first thread does block it. "amid": NR children end, one each
 * 300 us or so, beside the second thread, which waits for as long. Prints {"waits", "eintr"}.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "let_in_wait.h"
#include "self_measure.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define WITHIN_MS 20

static void end_child(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
}

struct sender {
	unsigned nr;
	useconds_t after_us;
};

static void *send_within(void *argument)
{
	const struct sender *sender = argument;

	for (unsigned i = 1; i <= sender->nr; i++) {
		while (atomic_load(&nr_begun) < i)
			usleep(100);
		usleep(sender->after_us);
		kill(getpid(), SIGWINCH);
	}
	return NULL;
}

struct waits {
	unsigned nr;
	int ms;
};

static void *wait_on(void *argument)
{
	const struct waits *waits = argument;

	for (unsigned i = 0; i < waits->nr; i++)
		wait_for(waits->ms);
	return NULL;
}

/* Each of them ends a wait: the next is for the next one. */
static void end_children(const struct waits *waits)
{
	for (unsigned i = 1; i <= waits->nr; i++) {
		while (atomic_load(&nr_begun) < i)
			usleep(100);
		usleep(3000);
		end_child();
		while (atomic_load(&nr_ended) < i)
			usleep(100);
	}
}

static atomic_bool is_over;

static void *wait_amid(void *argument)
{
	const struct waits *waits = argument;

	while (!atomic_load(&is_over))
		wait_for(waits->ms);
	return NULL;
}

static void end_many_children(unsigned nr)
{
	while (nr--) {
		end_child();
		usleep(300);
	}
	atomic_store(&is_over, true);
}

static timer_t timer_of_this_thread(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGWINCH};
	timer_t timer = NULL;

	event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	return timer;
}

static void wait_until_pending(int signal)
{
	sigset_t pending;

	do {
		sigpending(&pending);
	} while (!sigismember(&pending, signal));
}

static void *wait_with_timer(void *argument)
{
	const struct waits *waits = argument;
	const struct itimerspec at_once = {.it_value.tv_nsec = 1};
	timer_t timer = timer_of_this_thread();

	for (unsigned i = 0; i < waits->nr; i++) {
		timer_settime(timer, 0, &at_once, NULL);
		wait_until_pending(SIGWINCH);
		wait_for(waits->ms);
	}
	return NULL;
}

static void *wait_with_timer_within(void *argument)
{
	const struct waits *waits = argument;
	const struct itimerspec in_the_middle = {.it_value.tv_nsec = WITHIN_MS * 500000};
	timer_t timer = timer_of_this_thread();

	for (unsigned i = 0; i < waits->nr; i++) {
		timer_settime(timer, 0, &in_the_middle, NULL);
		wait_for(WITHIN_MS);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "before";
	unsigned nr = (unsigned)number_argument(argc, argv, 2, 50);
	struct waits waits = {nr, (int)number_argument(argc, argv, 3, 1000)};
	struct sender sender = {nr, WITHIN_MS * 1000 / 2};
	pthread_t other;
	sigset_t both;

	sigemptyset(&both);
	sigaddset(&both, SIGWINCH);
	sigaddset(&both, SIGCHLD);
	sigprocmask(SIG_BLOCK, &both, NULL);
	epoll = epoll_create1(0);
	say_ready();
	if (strcmp(mode, "soon") == 0)
		sender.after_us = 1000;
	if (strcmp(mode, "within") == 0 || strcmp(mode, "soon") == 0) {
		waits.ms = WITHIN_MS;
		pthread_create(&other, NULL, send_within, &sender);
		wait_on(&waits);
		pthread_join(other, NULL);
	} else if (strcmp(mode, "amid") == 0) {
		pthread_create(&other, NULL, wait_amid, &waits);
		end_many_children(nr);
		pthread_join(other, NULL);
	} else if (strcmp(mode, "timer") == 0) {
		pthread_create(&other, NULL, wait_with_timer, &waits);
		pthread_sigmask(SIG_UNBLOCK, &both, NULL);
		pthread_join(other, NULL);
	} else if (strcmp(mode, "timer_within") == 0) {
		pthread_create(&other, NULL, wait_with_timer_within, &waits);
		pthread_join(other, NULL);
	} else if (strcmp(mode, "other") == 0) {
		pthread_create(&other, NULL, wait_on, &waits);
		end_children(&waits);
		pthread_join(other, NULL);
	} else {
		for (unsigned i = 0; i < nr; i++) {
			if (strcmp(mode, "child") == 0)
				end_child();
			else
				raise(SIGWINCH);
			wait_for(waits.ms);
		}
	}
	printf("{\"waits\": %u, \"eintr\": %u}\n", atomic_load(&nr_ended), nr_eintr);
	return 0;
}
