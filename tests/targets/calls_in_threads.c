// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * calls_in_threads [CALLS]: four threads call one function as often as they can, beside eight
 * threads in a row of births and deaths, threads made by clone(2), and a timer whose signals arrive
 * a thousand times a second: their handler calls the function that it has interrupted, too. Prints
 * its own counts.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "own_counts.h"

#define HOT_THREADS   4
#define CHURN_THREADS 8
#define CLONES	      50
#define STACK_BYTES   (64 * 1024)

static uint64_t hot_calls, young_calls, cloned_calls, handler_calls, from_handler_calls,
	in_context_calls;
static unsigned nr_calls;
static volatile int handled;

COUNTED void hot_function(uint64_t *own)
{
	++*own;
}

COUNTED void young_function(void)
{
	OWN_CALL(young_calls);
}

COUNTED int cloned_function(void *nothing)
{
	OWN_CALL(cloned_calls);
	return nothing != NULL;
}

COUNTED void called_by_handler(void)
{
	OWN_CALL(from_handler_calls);
}

COUNTED void signal_handler(int number)
{
	OWN_CALL(handler_calls);
	called_by_handler();
	handled = number;
}

static void *be_hot(void *argument)
{
	uint64_t own = 0;

	(void)argument;
	while (own < nr_calls)
		hot_function(&own);
	__atomic_fetch_add(&hot_calls, own, __ATOMIC_RELAXED);
	return NULL;
}

static void *be_young(void *argument)
{
	for (int i = 0; i < 11; i++)
		young_function();
	return argument;
}

static void churn(unsigned rounds)
{
	pthread_t threads[CHURN_THREADS];

	for (unsigned i = 0; i < rounds; i++) {
		for (int k = 0; k < CHURN_THREADS; k++)
			pthread_create(&threads[k], NULL, be_young, NULL);
		for (int k = 0; k < CHURN_THREADS; k++)
			pthread_join(threads[k], NULL);
	}
}

/* Without the data of a thread of the C library: the parent's word at fs:0. */
static void clone_threads(void)
{
	for (int i = 0; i < CLONES; i++) {
		pid_t tid = 0;
		char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (stack == MAP_FAILED)
			abort();
		clone(cloned_function, stack + STACK_BYTES,
		      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			      CLONE_SYSVSEM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID,
		      NULL, &tid, NULL, &tid);
		while (__atomic_load_n(&tid, __ATOMIC_ACQUIRE))
			sched_yield();
		munmap(stack, STACK_BYTES);
	}
}

/* Each signal is caught by a thread that is calling what its handler calls. */
static void call_under_signals(void)
{
	const struct itimerval period = {{0, 1000}, {0, 1000}}, none = {{0, 0}, {0, 0}};
	struct sigaction action;
	uint64_t before = 0;

	memset(&action, 0, sizeof(action));
	action.sa_handler = signal_handler;
	action.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &period, NULL);
	while (__atomic_load_n(&handler_calls, __ATOMIC_RELAXED) < 200) {
		called_by_handler();
		before++;
	}
	setitimer(ITIMER_REAL, &none, NULL);
	if (from_handler_calls != before + handler_calls)
		abort();
}

static ucontext_t contexts[2], home;

COUNTED void step_in_context(void)
{
	OWN_CALL(in_context_calls);
}

static void in_context(int self)
{
	for (int i = 0; i < 101; i++) {
		step_in_context();
		swapcontext(&contexts[self], &contexts[!self]);
	}
}

static void switch_contexts(void)
{
	for (int i = 0; i < 2; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = malloc(STACK_BYTES);
		contexts[i].uc_stack.ss_size = STACK_BYTES;
		contexts[i].uc_link = &home;
		makecontext(&contexts[i], (void (*)(void))in_context, 1, i);
	}
	swapcontext(&home, &contexts[0]);
}

int main(int argc, char **argv)
{
	pthread_t threads[HOT_THREADS];

	nr_calls = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : 2000000;
	for (int i = 0; i < HOT_THREADS; i++)
		pthread_create(&threads[i], NULL, be_hot, NULL);
	churn(40);
	clone_threads();
	for (int i = 0; i < HOT_THREADS; i++)
		pthread_join(threads[i], NULL);
	call_under_signals();
	switch_contexts();
	say_own_count("hot_function", hot_calls);
	say_own_count("young_function", young_calls);
	say_own_count("cloned_function", cloned_calls);
	say_own_count("signal_handler", handler_calls);
	say_own_count("called_by_handler", from_handler_calls);
	say_own_count("step_in_context", in_context_calls);
	return 0;
}
