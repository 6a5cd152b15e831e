// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * publishes_contexts HOW MS THREADS [PLUGIN]: threads that answer requests of three routes, and
 * publish which; the variable is this program's own, or that of PLUGIN, which dlopen(3) loads
 * (thread_context_plugin.c). HOW:
 *
 *	cpu	requests compute: 70, 20 and 10 parts; a record for each route
 *	renamed	likewise, with one record, which is changed, and the route also with a key of its own
 *	blocked	requests sleep: 70, 20 and 10 parts
 *	hostile	likewise computes, with records of random bytes in all but the last 10 parts
 *	apart	each thread answers one route, in a function of its own, and computes and sleeps
 *
 * Prints for each route {"route", "ns"}: by the threads' own clocks, or for how long they slept. Of threads, which are started
 * first, none knows of PLUGIN before it uses it.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

#include "self_measure.h"
#include "thread_context.h"

#ifndef IN_PLUGIN
__attribute__((visibility("default"))) __thread void *otel_thread_ctx_v1;

static void attach_own(void *record)
{
	*(void *volatile *)&otel_thread_ctx_v1 = record;
}
#else
#define attach_own NULL
#endif

static void (*attach)(void *record) = attach_own;

#define NR_ROUTES 3
static const char *const routes[NR_ROUTES] = {"/users/{id}", "/orders", "/health"};
static const char *const keys[] = {"http.route", "http.method", "route.2", "route.3"};
static const unsigned int parts[NR_ROUTES] = {7, 2, 1};

static const char *how;
static uint64_t until_ns;
static pthread_barrier_t barrier;
static struct totals {
	uint64_t ns[NR_ROUTES];
} totals[64];

NOINLINE uint64_t compute(uint64_t ns)
{
	uint64_t end = thread_cpu_ns() + ns, x = 1;

	while (thread_cpu_ns() < end)
		for (int i = 0; i < 1000; i++)
			SPIN_STEP(x);
	return x;
}

/* A sleep ends when its time is over; the thread then waits for a CPU, and is not asleep. */
static void spend(struct totals *own, unsigned int route, uint64_t ns)
{
	uint64_t begun = thread_cpu_ns();

	if (strcmp(how, "blocked") == 0) {
		nanosleep(&(struct timespec){.tv_nsec = (long)(10 * ns)}, NULL);
		own->ns[route] += 10 * ns;
		return;
	}
	compute(ns);
	own->ns[route] += thread_cpu_ns() - begun;
}

static void fill(struct context_record *record, unsigned int route)
{
	int is_renamed = strcmp(how, "renamed") == 0;

	context_begin(record);
	memset(record->trace_id, (int)route + 1, sizeof(record->trace_id));
	memset(record->span_id, (int)route + 1, sizeof(record->span_id));
	context_add(record, 0, "/");
	context_add(record, 1, "GET");
	context_add(record, 0, routes[route]);
	if (is_renamed && route)
		context_add(record, (uint8_t)(1 + route), "yes");
	context_end(record);
}

/* Any bytes, as a record or as its address. */
static void attach_rubbish(struct context_record *record, unsigned int *seed)
{
	static const uintptr_t addresses[] = {1, 0x7fff00000000, UINTPTR_MAX - 7, 4096, 0x123456789};
	unsigned int kind = (unsigned int)rand_r(seed) % 8;

	attach(NULL);
	/* No key below 128 at any moment: those have names, and their labels would be right. */
	for (size_t i = 0; i < sizeof(*record); i++)
		((volatile uint8_t *)record)[i] =
			(uint8_t)(rand_r(seed) |
				  (i >= offsetof(struct context_record, attributes) ? 128 : 0));
	/* Zeros, which follow it, would be labels without a text. */
	record->nr_attribute_bytes =
		(uint16_t)(kind < 3 ? rand_r(seed) % 600 : rand_r(seed) | 0x8000);
	if (kind < 6)
		context_end(record);
	attach(kind == 7 ? (void *)addresses[rand_r(seed) % 5] : record);
}

/* The function in the stack of a sample says which label it has to have. */
static void answer_apart(struct totals *own, unsigned int route)
{
	do {
		spend(own, route, MS / 2);
		nanosleep(&(struct timespec){.tv_nsec = (long)(20 * MS)}, NULL);
	} while (monotonic_ns() < until_ns);
}

#define ANSWERS(name, route)                                                                       \
	NOINLINE void name(struct totals *own)                                                     \
	{                                                                                          \
		answer_apart(own, route);                                                          \
		__asm__ volatile("" ::: "memory"); /* no tail call */                              \
	}
ANSWERS(answer_users, 0)
ANSWERS(answer_orders, 1)
ANSWERS(answer_health, 2)

static void *answer(void *argument)
{
	struct totals *own = argument;
	unsigned int seed = (unsigned int)(own - totals) + 1;
	static __thread struct context_record records[NR_ROUTES + 1];
	int is_renamed = strcmp(how, "renamed") == 0, is_hostile = strcmp(how, "hostile") == 0;

	for (unsigned int i = 0; i < NR_ROUTES; i++)
		fill(&records[i], i);
	pthread_barrier_wait(&barrier);
	if (strcmp(how, "apart") == 0) {
		static void (*const answers[NR_ROUTES])(struct totals *) = {
			answer_users, answer_orders, answer_health};
		unsigned int route = (unsigned int)(own - totals) % NR_ROUTES;

		attach(&records[route]);
		answers[route](own);
		return NULL;
	}
	while (monotonic_ns() < until_ns) {
		for (unsigned int route = 0; route < NR_ROUTES; route++) {
			if (is_hostile && route < 2) {
				for (unsigned int i = 0; i < parts[route]; i++) {
					attach_rubbish(&records[NR_ROUTES], &seed);
					spend(own, route, MS / 2);
				}
				continue;
			}
			if (is_renamed)
				fill(&records[0], route);
			attach(&records[is_renamed ? 0 : route]);
			spend(own, route, parts[route] * MS / 2);
			attach(NULL);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t ms = number_argument(argc, argv, 2, 1000);
	unsigned int nr = (unsigned int)number_argument(argc, argv, 3, 2);
	pthread_t threads[64];

	how = argc > 1 ? argv[1] : "cpu";
	pthread_barrier_init(&barrier, NULL, nr + 1);
	for (unsigned int i = 0; i < nr; i++)
		pthread_create(&threads[i], NULL, answer, &totals[i]);
	if (argc > 4) {
		void *plugin = dlopen(argv[4], RTLD_NOW);

		if (!plugin)
			return 2;
		*(void **)&attach = dlsym(plugin, "attach_context");
	}
	context_publish(keys, strcmp(how, "renamed") == 0 ? 2 : 4);
	until_ns = monotonic_ns() + ms * MS;
	pthread_barrier_wait(&barrier);
	if (strcmp(how, "renamed") == 0) {
		nanosleep(&(struct timespec){.tv_nsec = (long)(20 * MS)}, NULL);
		context_publish(keys, 4);
	}
	for (unsigned int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	for (unsigned int route = 0; route < NR_ROUTES; route++) {
		uint64_t sum = 0;

		for (unsigned int i = 0; i < nr; i++)
			sum += totals[i].ns[route];
		printf("{\"route\": \"%s\", \"ns\": %llu}\n", routes[route],
		       (unsigned long long)sum);
	}
	return 0;
}
