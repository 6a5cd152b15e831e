// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads that allocate in all ways, and know how much. They stand ready first; a line on standard
 * input lets them go, and then, while they stand again, the sums are printed.
 */
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS	60000
#define KEPT	256

static pthread_barrier_t begin, done;

struct sums {
	uint64_t bytes, nr, failed;
};

static struct sums sums[THREADS];

static void *keep(struct sums *sum, void *pointer, size_t nr)
{
	sum->bytes += nr;
	sum->nr++;
	if (pointer && nr)
		memset(pointer, 1, nr < 64 ? nr : 64);
	else if (!pointer)
		sum->failed++;
	return pointer;
}

static void allocate(struct sums *sum, void **place, unsigned int how, size_t nr)
{
	void *pointer = NULL;

	if (how == 0) {
		*place = keep(sum, realloc(*place, nr), nr);
		return;
	}
	if (how == 1) {
		*place = keep(sum, realloc(*place, 3 * nr), 3 * nr);
		return;
	}
	free(*place);
	switch (how) {
	case 2:
		pointer = calloc(3, nr);
		nr *= 3;
		break;
	case 3:
		pointer = memalign(8, nr);
		break;
	case 4:
		pointer = memalign(256, nr);
		break;
	case 5:
		if (posix_memalign(&pointer, 64, nr))
			pointer = NULL;
		break;
	case 6:
		pointer = aligned_alloc(32, nr);
		break;
	case 7:
		pointer = realloc(NULL, nr);
		break;
	default:
		pointer = malloc(nr);
		break;
	}
	*place = keep(sum, pointer, nr);
}

static void *run(void *context)
{
	struct sums *sum = context;
	unsigned int x = (unsigned int)(sum - sums) + 1;
	static __thread void *kept[KEPT];

	pthread_barrier_wait(&begin);
	for (int i = 0; i < ROUNDS; i++) {
		size_t nr;

		x = x * 1103515245u + 12345u;
		nr = 1 + (x >> 8) % 2000;
		if (x >> 22 == 0) /* by mmap(2), and grown by mremap(2) */
			nr *= 300;
		allocate(sum, &kept[x >> 24], (x >> 4) % 12, nr);
	}
	for (int i = 0; i < KEPT; i++)
		free(kept[i]);
	pthread_barrier_wait(&done);
	pthread_barrier_wait(&begin); /* for ever: what ends a thread may allocate */
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	struct sums sum = {0};
	char line[200];

	signal(SIGPIPE, SIG_IGN); /* so that a static program has the code to return from signals */
	pthread_barrier_init(&begin, NULL, THREADS + 1);
	pthread_barrier_init(&done, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run, &sums[i]);
	if (write(1, "ready\n", 6) != 6 || read(0, line, sizeof(line)) <= 0)
		return 1;
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&done);
	for (int i = 0; i < THREADS; i++) {
		sum.bytes += sums[i].bytes;
		sum.nr += sums[i].nr;
		sum.failed += sums[i].failed;
	}
	snprintf(line, sizeof(line), "{\"bytes\":%llu,\"allocations\":%llu,\"failed\":%llu}\n",
		 (unsigned long long)sum.bytes, (unsigned long long)sum.nr,
		 (unsigned long long)sum.failed);
	if (write(1, line, strlen(line)) < 0)
		return 1;
	while (read(0, line, sizeof(line)) > 0)
		;
	return 0;
}
