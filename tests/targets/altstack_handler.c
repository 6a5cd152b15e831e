// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * altstack_handler [CPU_MS]: a timer signal interrupts interrupted_work() over
 * and over; its handler works on an alternate stack in handler_work(), for about
 * half of the time. Prints {"handler_ns", "cpu_ns"}.
 */
#include <signal.h>
#include <sys/time.h>

#include "self_measure.h"

static volatile uint64_t handler_ns, handler_x = 1;

NOINLINE uint64_t handler_work(uint64_t x)
{
	for (unsigned i = 0; i < 4000000; i++)
		SPIN_STEP(x);
	return x;
}

NOINLINE uint64_t interrupted_work(uint64_t x)
{
	for (unsigned i = 0; i < 300000; i++)
		SPIN_STEP(x);
	return x;
}

static void on_timer(int number)
{
	uint64_t before = thread_cpu_ns();

	(void)number;
	handler_x = handler_work(handler_x);
	handler_ns += thread_cpu_ns() - before;
}

int main(int argc, char **argv)
{
	static unsigned char room[64 << 10];
	const stack_t stack = {.ss_sp = room, .ss_size = sizeof(room)};
	const struct itimerval every = {.it_value.tv_usec = 10000, .it_interval.tv_usec = 10000};
	const struct sigaction action = {.sa_handler = on_timer,
					 .sa_flags = SA_ONSTACK | SA_RESTART};
	uint64_t until_ns = number_argument(argc, argv, 1, 600) * MS;
	struct rounds rounds = rounds_until(CLOCK_PROCESS_CPUTIME_ID, until_ns);
	uint64_t x = 1;

	sigaltstack(&stack, NULL);
	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &every, NULL);
	while (rounds_go_on(&rounds))
		x = interrupted_work(x);
	setitimer(ITIMER_PROF, &(struct itimerval){0}, NULL); /* none strikes outside of main() */
	printf("{\"handler_ns\": %llu, \"cpu_ns\": %llu, \"x\": %llu}\n",
	       (unsigned long long)handler_ns, (unsigned long long)process_cpu_ns(),
	       (unsigned long long)(x & 1));
	return 0;
}
