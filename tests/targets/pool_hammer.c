// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads that take blocks of static functions of a pool, and map and unmap memory, look after what
 * they have, and keep values in registers meanwhile; with signals, until standard input is closed.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#define OWN	__attribute__((noinline, noclone, used))
#define THREADS 4
#define BLOCKS	64

struct block {
	struct block *next;
	unsigned char bytes[248];
};

struct pool {
	pthread_mutex_t lock;
	struct block blocks[BLOCKS * THREADS];
	struct block *free;
};

static struct pool pool = {.lock = PTHREAD_MUTEX_INITIALIZER};
static volatile int is_over;

static void expect(int is_true, const char *what)
{
	if (is_true)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

/* Of eight arguments two are on the stack. */
OWN static struct block *pool_get(struct pool *from, size_t nr, uint64_t c, uint64_t d, uint64_t e,
				  uint64_t f, uint64_t seventh, uint64_t eighth)
{
	struct block *block;

	expect(c + d + e + f == 10 && seventh == nr + 1 && eighth == nr + 2,
	       "arguments are lost");
	pthread_mutex_lock(&from->lock);
	block = from->free;
	if (block)
		from->free = block->next;
	pthread_mutex_unlock(&from->lock);
	return block;
}

OWN static void pool_put(struct pool *to, struct block *block)
{
	pthread_mutex_lock(&to->lock);
	block->next = to->free;
	to->free = block;
	pthread_mutex_unlock(&to->lock);
}

static void check_mapping(unsigned char mark, size_t nr)
{
	unsigned char *at =
		mmap(NULL, nr, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	expect(at != MAP_FAILED, "mmap failed");
	at[0] = at[nr - 1] = mark;
	at = mremap(at, nr, 2 * nr, MREMAP_MAYMOVE);
	expect(at != MAP_FAILED && at[0] == mark && at[nr - 1] == mark, "a mapping is wrong");
	expect(munmap(at, 2 * nr) == 0, "munmap failed");
}

static void *run(void *context)
{
	struct block *kept[BLOCKS / 2] = {NULL};
	uint64_t x = (uint64_t)(uintptr_t)context | 1, sum = 0, check = 0, rounds = 0;

	while (!is_over) {
		unsigned int at = (unsigned int)(x >> 40) % (BLOCKS / 2);
		unsigned char mark = (unsigned char)(at + 1);

		if (kept[at]) {
			for (size_t i = 0; i < sizeof(kept[at]->bytes); i++)
				expect(kept[at]->bytes[i] == mark, "a block is wrong");
			pool_put(&pool, kept[at]);
			kept[at] = NULL;
		} else {
			kept[at] = pool_get(&pool, x % 1000, 1, 2, 3, 4, x % 1000 + 1, x % 1000 + 2);
			expect(kept[at] != NULL, "the pool is empty");
			memset(kept[at]->bytes, mark, sizeof(kept[at]->bytes));
		}
		sum += x ^ rounds;
		check -= x ^ rounds;
		if (x % 64 == 5)
			check_mapping(mark, 4096 * (1 + x % 5));
		x = x * 6364136223846793005u + 1442695040888963407u;
		rounds++;
	}
	expect(sum + check == 0, "a register is wrong");
	for (size_t i = 0; i < BLOCKS / 2; i++) {
		if (kept[i])
			pool_put(&pool, kept[i]);
	}
	return (void *)(uintptr_t)rounds;
}

static void on_signal(int signal)
{
	(void)signal;
}

int main(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	const struct itimerval often = {{0, 2000}, {0, 2000}};
	pthread_t threads[THREADS];
	uint64_t sum = 0;
	char line[100];

	for (size_t i = 0; i < BLOCKS * THREADS; i++)
		pool_put(&pool, &pool.blocks[i]);
	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &often, NULL);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run, (void *)(i * 77));
	expect(write(1, "ready\n", 6) == 6, "nobody listens");
	while (read(0, line, sizeof(line)) > 0)
		;
	is_over = 1;
	for (int i = 0; i < THREADS; i++) {
		void *rounds;

		pthread_join(threads[i], &rounds);
		sum += (uint64_t)(uintptr_t)rounds;
	}
	printf("{\"rounds\":%llu}\n", (unsigned long long)sum);
	return 0;
}
