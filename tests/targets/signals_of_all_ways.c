// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * signals_of_all_ways [ROUNDS]: signals sent and taken in each of the kernel's ways, one at a time,
 * so that none may coalesce. Prints {"name", "wrong", "first"} of each: how often one did not come
 * exactly once and as it was sent, and the first such value.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "self_measure.h"

static atomic_uint nr_handled;
static atomic_int last_code, last_value;

static void count(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	last_code = info->si_code;
	last_value = info->si_value.sival_int;
	nr_handled++;
}

static void handle(int number, int flags)
{
	struct sigaction action = {.sa_sigaction = count, .sa_flags = SA_SIGINFO | flags};

	sigaction(number, &action, NULL);
	nr_handled = 0;
}

static void set_blocked(int number, int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	pthread_sigmask(how, &set, NULL);
}

/* A signal to oneself is handled before kill() returns. */
static long to_oneself(unsigned round)
{
	handle(SIGUSR1, 0);
	kill(getpid(), SIGUSR1);
	(void)round;
	return nr_handled != 1 || last_code != SI_USER ? 100 + (long)nr_handled : 0;
}

static long with_a_value(unsigned round)
{
	const union sigval value = {.sival_int = (int)round};

	handle(SIGRTMIN + 3, 0);
	sigqueue(getpid(), SIGRTMIN + 3, value);
	return nr_handled != 1 || last_code != SI_QUEUE || last_value != (int)round ? 200 : 0;
}

/* Real-time signals queue, in the order they were sent. */
static long queued(unsigned round)
{
	sigset_t set;
	long result = 0;

	(void)round;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 4);
	set_blocked(SIGRTMIN + 4, SIG_BLOCK);
	for (int i = 0; i < 20; i++)
		sigqueue(getpid(), SIGRTMIN + 4, (union sigval){.sival_int = i});
	for (int i = 0; i < 20; i++) {
		siginfo_t info;

		if (sigwaitinfo(&set, &info) != SIGRTMIN + 4 || info.si_value.sival_int != i)
			result = 300 + i;
	}
	return result;
}

static void *send_later(void *number)
{
	usleep(300);
	kill(getpid(), *(int *)number);
	return NULL;
}

static long waited_for(unsigned round)
{
	int number = SIGUSR2, got = 0;
	pthread_t sender;
	siginfo_t info;
	sigset_t set;

	(void)round;
	sigemptyset(&set);
	sigaddset(&set, number);
	set_blocked(number, SIG_BLOCK);
	pthread_create(&sender, NULL, send_later, &number);
	got = sigwaitinfo(&set, &info);
	pthread_join(sender, NULL);
	set_blocked(number, SIG_UNBLOCK);
	return got == number ? 0 : 400 + errno;
}

static long read_from_signalfd(unsigned round)
{
	struct signalfd_siginfo info;
	int number = SIGUSR2, fd;
	struct pollfd poll_it = {.events = POLLIN};
	pthread_t sender;
	sigset_t set;
	long result = 0;

	sigemptyset(&set);
	sigaddset(&set, number);
	set_blocked(number, SIG_BLOCK);
	fd = signalfd(-1, &set, SFD_NONBLOCK);
	poll_it.fd = fd;
	pthread_create(&sender, NULL, send_later, &number);
	if (round % 2 && poll(&poll_it, 1, 20000) != 1)
		result = 500 + errno;
	pthread_join(sender, NULL);
	if (read(fd, &info, sizeof(info)) != sizeof(info) || info.ssi_signo != SIGUSR2)
		result = 550 + errno;
	if (read(fd, &info, sizeof(info)) >= 0)
		result = 590;
	close(fd);
	set_blocked(number, SIG_UNBLOCK);
	return result;
}

/* sigsuspend() ends once the handler has run, and not before. */
static long suspended_for(unsigned round)
{
	int number = SIGUSR1;
	pthread_t sender;
	sigset_t none;

	(void)round;
	sigemptyset(&none);
	handle(number, 0);
	set_blocked(number, SIG_BLOCK);
	pthread_create(&sender, NULL, send_later, &number);
	sigsuspend(&none);
	pthread_join(sender, NULL);
	set_blocked(number, SIG_UNBLOCK);
	return nr_handled == 1 ? 0 : 600 + (long)nr_handled;
}

/* The ring of a timer for one thread comes to that one. */
static long timer_for_a_thread(unsigned round)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
				 .sigev_signo = SIGRTMIN + 5,
				 .sigev_value = {.sival_int = (int)round}};
	const struct itimerspec soon = {.it_value = {.tv_nsec = 200000}};
	timer_t timer;
	sigset_t set;
	siginfo_t info;
	long result = 0;

	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	sigemptyset(&set);
	sigaddset(&set, event.sigev_signo);
	set_blocked(event.sigev_signo, SIG_BLOCK);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer))
		return 700 + errno;
	timer_settime(timer, 0, &soon, NULL);
	if (sigwaitinfo(&set, &info) != event.sigev_signo || info.si_code != SI_TIMER ||
	    info.si_value.sival_int != (int)round || info.si_overrun)
		result = 750;
	timer_delete(timer);
	return result;
}

static long alarms(unsigned round)
{
	const struct itimerval soon = {.it_value = {.tv_usec = 200}};
	unsigned spins = 0;

	handle(SIGALRM, round % 2 ? SA_RESTART : 0);
	setitimer(ITIMER_REAL, &soon, NULL);
	while (!nr_handled && spins++ < 20000)
		if (round % 2)
			usleep(100);
	while (!nr_handled && spins++ < 40000)
		usleep(100);
	usleep(300);
	return nr_handled == 1 ? 0 : 800 + (long)nr_handled;
}

/* Nested: the second interrupts the handler of the first. */
static void send_other(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	raise(SIGUSR2);
	nr_handled += 10;
}

static long nested(unsigned round)
{
	struct sigaction action = {.sa_sigaction = send_other, .sa_flags = SA_SIGINFO};

	(void)round;
	handle(SIGUSR2, 0);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	return nr_handled == 11 ? 0 : 900 + (long)nr_handled;
}

static void *spin_until_handled(void *unused)
{
	while (!nr_handled)
		continue;
	return unused;
}

/* To one thread of several, which runs. */
static long to_a_thread(unsigned round)
{
	pthread_t thread;

	(void)round;
	handle(SIGUSR1, 0);
	pthread_create(&thread, NULL, spin_until_handled, NULL);
	pthread_kill(thread, SIGUSR1);
	pthread_join(thread, NULL);
	return nr_handled == 1 && last_code == SI_TKILL ? 0 : 1000 + (long)nr_handled;
}

/* What a fault raises is the program's own business. */
static void skip_fault(int number, siginfo_t *info, void *context)
{
	count(number, info, context);
#ifdef __x86_64__
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2; /* of ud2 */
#else
	((ucontext_t *)context)->uc_mcontext.pc += 4;
#endif
}

static long faults(unsigned round)
{
	struct sigaction action = {.sa_sigaction = skip_fault, .sa_flags = SA_SIGINFO};

	(void)round;
	nr_handled = 0;
	sigaction(SIGILL, &action, NULL);
#ifdef __x86_64__
	__asm__ volatile("ud2");
#else
	__asm__ volatile(".inst 0");
#endif
	return nr_handled == 1 && last_code > 0 ? 0 : 1100 + (long)nr_handled;
}

#ifdef __x86_64__
/* A breakpoint and a trap flag of the program's own are no stops of a tracer. */
static long breakpoints(unsigned round)
{
	(void)round;
	handle(SIGTRAP, 0);
	__asm__ volatile("int3");
	if (nr_handled != 1)
		return 1200 + (long)nr_handled;
	raise(SIGTRAP);
	return nr_handled == 2 && last_code == SI_TKILL ? 0 : 1300 + (long)nr_handled;
}
#endif

struct one {
	const char *name;
	long (*check)(unsigned round);
};

static const struct one all[] = {
	{"to_oneself", to_oneself},
	{"with_a_value", with_a_value},
	{"queued", queued},
	{"waited_for", waited_for},
	{"read_from_signalfd", read_from_signalfd},
	{"suspended_for", suspended_for},
	{"timer_for_a_thread", timer_for_a_thread},
	{"alarms", alarms},
	{"nested", nested},
	{"to_a_thread", to_a_thread},
	{"faults", faults},
#ifdef __x86_64__
	{"breakpoints", breakpoints},
#endif
};

int main(int argc, char **argv)
{
	unsigned rounds = (unsigned)number_argument(argc, argv, 1, 200);

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
	return 0;
}
