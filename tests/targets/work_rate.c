// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * work_rate NR MS: NR threads count rounds of work for MS milliseconds, and each
 * notes the gaps in its time of more than 4 us: who takes the CPU away, and for
 * how long. Prints {"rounds", "elapsed_ns", "waited_ns", "gaps_ns"}: sums over the
 * threads of the time that passed and of the waits for a CPU; the gaps sorted,
 * largest first.
 */
#include <pthread.h>
#include <unistd.h>

#include "self_measure.h"

#define MAX_THREADS 1024
#define MAX_GAPS    100000
#define GAP_NS	    4000

struct worker {
	pthread_t thread;
	uint64_t end_ns, rounds, elapsed_ns, waited_ns;
	uint32_t *gaps_ns;
	unsigned nr_gaps, stack_kib;
};

/* About a microsecond a round. */
NOINLINE static uint64_t work_round(uint64_t x)
{
	for (unsigned i = 0; i < 600; i++)
		SPIN_STEP(x);
	return x;
}

static void work(struct worker *self)
{
	uint64_t start = monotonic_ns(), now = start, x = 1;

	while (now < self->end_ns) {
		uint64_t before = now;

		x = work_round(x);
		now = monotonic_ns();
		self->rounds += 1 + (x == 0);
		if (now - before > GAP_NS && self->nr_gaps < MAX_GAPS)
			self->gaps_ns[self->nr_gaps++] = (uint32_t)(now - before);
	}
	self->elapsed_ns = now - start;
	self->waited_ns = waited_for_cpu_ns(own_schedstat());
}

/* A frame of a KiB, and one more below it for each that is left. */
NOINLINE static void go_deeper(struct worker *self, unsigned nr_kib)
{
	volatile char frame[1024 - 64];

	frame[0] = 1;
	if (nr_kib)
		go_deeper(self, nr_kib - 1);
	else
		work(self);
	frame[1] = frame[0];
}

static void *worker_main(void *arg)
{
	struct worker *self = arg;

	go_deeper(self, self->stack_kib);
	return NULL;
}

static int larger_first(const void *a, const void *b)
{
	uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;

	return first < second ? 1 : first > second ? -1 : 0;
}

static void print_gaps(const struct worker *workers, unsigned nr)
{
	unsigned nr_all = 0;
	uint32_t *all = malloc((size_t)nr * MAX_GAPS * sizeof(*all));

	for (unsigned i = 0; i < nr; i++)
		for (unsigned j = 0; j < workers[i].nr_gaps; j++)
			all[nr_all++] = workers[i].gaps_ns[j];
	qsort(all, nr_all, sizeof(*all), larger_first);
	for (unsigned i = 0; i < nr_all; i++)
		printf("%s%u", i ? ", " : "", all[i]);
	free(all);
}

int main(int argc, char **argv)
{
	static struct worker workers[MAX_THREADS];
	unsigned nr = (unsigned)number_argument(argc, argv, 1, 1);
	uint64_t end_ns = monotonic_ns() + number_argument(argc, argv, 2, 2000) * MS;
	uint64_t rounds = 0, elapsed_ns = 0, waited_ns = 0;

	if (nr > MAX_THREADS)
		return 2;
	say_ready();
	for (unsigned i = 0; i < nr; i++) {
		workers[i].end_ns = end_ns;
		workers[i].stack_kib = (unsigned)number_argument(argc, argv, 3, 0);
		workers[i].gaps_ns = malloc(MAX_GAPS * sizeof(uint32_t));
		pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]);
	}
	for (unsigned i = 0; i < nr; i++) {
		pthread_join(workers[i].thread, NULL);
		rounds += workers[i].rounds;
		elapsed_ns += workers[i].elapsed_ns;
		waited_ns += workers[i].waited_ns;
	}
	printf("{\"rounds\": %llu, \"elapsed_ns\": %llu, \"waited_ns\": %llu, \"gaps_ns\": [",
	       (unsigned long long)rounds, (unsigned long long)elapsed_ns,
	       (unsigned long long)waited_ns);
	print_gaps(workers, nr);
	printf("]}\n");
	return 0;
}
