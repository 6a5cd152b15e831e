// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Takes blocks from a pool of its own by static functions, N times each, keeps the sums, and
 * checks what is in the blocks; or, with "serve", does so for each line with an N. Of such functions compilers know which registers they leave alone.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define OWN __attribute__((noinline, used))
#else
#define OWN __attribute__((noinline, noclone, used))
#endif

#define CHUNK_BYTES ((size_t)64 << 10)

struct pool {
	char *next;
	size_t nr_left, nr_chunks;
};

static struct pool pool;
static unsigned long long bytes, blocks, live;
static unsigned int nr_wrong;

/* Upper halves of registers with an int mean nothing; here there is something in them. */
OWN static void *pool_get(struct pool *from, int size)
{
	char *block;

	if (from->nr_left < (size_t)size) {
		from->next = malloc(CHUNK_BYTES); /* is part of a block of the pool */
		if (!from->next)
			abort();
		from->nr_left = CHUNK_BYTES;
		from->nr_chunks++;
	}
	block = from->next;
	from->next += ((size_t)size + 15) & ~(size_t)15;
	from->nr_left -= ((size_t)size + 15) & ~(size_t)15;
	return block;
}

/* It knows nothing of those that are free: the test is short. */
OWN static void pool_put(struct pool *from, void *block)
{
	from->nr_chunks += (uintptr_t)block & 1;
}

OWN static int pool_store(void **to, size_t nr, size_t size, int fails)
{
	if (fails)
		return -1;
	*to = pool_get(&pool, (int)(nr * size));
	return 0;
}

OWN static void *pool_node(void)
{
	return malloc(200);
}

OWN static void pool_free_node(void *node)
{
	free(node);
}

OWN static void *pool_resize(void *old, size_t nr)
{
	void *block = pool_get(&pool, (int)nr);

	if (old)
		memcpy(block, old, nr / 2);
	return block;
}

/* Of this the compiler makes a clone without the second argument. */
__attribute__((noinline)) static void *pool_clone(size_t nr, int is_zeroed)
{
	void *block = pool_get(&pool, (int)nr);

	return is_zeroed ? memset(block, 0, nr) : block;
}

static void took(size_t size)
{
	bytes += size;
	live += size;
	blocks++;
}

static void rest_now_and_then(size_t i)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	if (i % 64 == 63)
		nanosleep(&pause, NULL);
}

/* Many values are kept in registers across the calls. */
OWN static uint64_t leaks_from_pool(uint64_t nr, uint64_t size)
{
	uint64_t a = 1, b = 2, c = 3, d = 4, e = 5;

	for (uint64_t i = 0; i < nr; i++) {
		unsigned char *block = pool_get(&pool, (int)(size | a << 40));

		block[0] = (unsigned char)i;
		a += b ^ i;
		b = b * 3 + c;
		c ^= d + i;
		d += e;
		e = e * 7 + a;
		took(size);
		nr_wrong += block[0] != (unsigned char)i;
		rest_now_and_then(i);
	}
	return a ^ b ^ c ^ d ^ e;
}

OWN static uint64_t borrows_from_pool(uint64_t nr, uint64_t size)
{
	uint64_t a = 11, b = 12, c = 13;

	for (uint64_t i = 0; i < nr; i++) {
		void *block = pool_get(&pool, (int)(size | b << 40));

		a += b ^ i;
		pool_put(&pool, block);
		b = b * 5 + c;
		took(size);
		live -= size;
		c ^= a;
		rest_now_and_then(i);
	}
	return a ^ b ^ c;
}

OWN static void stores(uint64_t nr, uint64_t size)
{
	for (uint64_t i = 0; i < nr; i++) {
		void *block = NULL;

		if (pool_store(&block, 3, size, i % 2 == 1) == 0)
			took(3 * size);
		nr_wrong += (block == NULL) != (i % 2 == 1);
		rest_now_and_then(i);
	}
}

OWN static void nodes(uint64_t nr)
{
	for (uint64_t i = 0; i < nr; i++) {
		void *kept = pool_node();

		took(200);
		pool_free_node(pool_node());
		took(200);
		live -= 200;
		nr_wrong += kept == NULL;
		rest_now_and_then(i);
	}
}

OWN static void resizes(uint64_t nr, uint64_t size)
{
	void *block = NULL;

	for (uint64_t i = 1; i <= nr; i++) {
		block = pool_resize(block, i * size);
		live -= (i - 1) * size;
		took(i * size);
		rest_now_and_then(i);
	}
}

/* The same whether somebody looks on or not. */
static uint64_t expected(uint64_t nr)
{
	uint64_t a = 1, b = 2, c = 3, d = 4, e = 5;

	for (uint64_t i = 0; i < nr; i++) {
		a += b ^ i;
		b = b * 3 + c;
		c ^= d + i;
		d += e;
		e = e * 7 + a;
	}
	return a ^ b ^ c ^ d ^ e;
}

static uint64_t expected_of_borrowing(uint64_t nr)
{
	uint64_t a = 11, b = 12, c = 13;

	for (uint64_t i = 0; i < nr; i++) {
		a += b ^ i;
		b = b * 5 + c;
		c ^= a;
	}
	return a ^ b ^ c;
}

/* True: that could not be said, or something was wrong. */
static int run(uint64_t nr)
{
	char text[200];
	int nr_bytes;

	nr_wrong += leaks_from_pool(nr, 500) != expected(nr);
	nr_wrong += borrows_from_pool(nr, 700) != expected_of_borrowing(nr);
	stores(nr, 300);
	nodes(nr);
	resizes(nr < 1000 ? nr / 10 : 100, 600);
	nr_wrong += pool_clone(1000, 1) == NULL;
	nr_bytes = snprintf(text, sizeof(text),
			    "{\"bytes\": %llu, \"blocks\": %llu, \"live\": %llu, \"wrong\": %u, "
			    "\"chunks\": %zu}\n",
			    bytes, blocks, live, nr_wrong, pool.nr_chunks);
	return write(STDOUT_FILENO, text, (size_t)nr_bytes) != nr_bytes || nr_wrong;
}

static int serve(void)
{
	char line[32];
	size_t nr = 0;

	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		return 2;
	while (nr < sizeof(line) && read(STDIN_FILENO, &line[nr], 1) == 1) {
		if (line[nr++] != '\n')
			continue;
		nr = 0;
		if (run(strtoull(line, NULL, 10)))
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "serve") == 0)
		return serve();
	return run(argc > 1 ? strtoull(argv[1], NULL, 10) : 100);
}
