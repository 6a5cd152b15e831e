// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Does what its words say, with the allocator that it runs with, and keeps the sums itself:
 *
 *	leaks:N:SIZE  temporaries:N:SIZE  peaks:N:SIZE  callocs:N:SIZE  aligned:N:SIZE
 *	  holds:N:SIZE lets_go:N:SIZE (these) grows:N:SIZE (one block, by SIZE each time)  shrinks:N:SIZE (likewise)
 *	keeps:N:SIZE (blocks whose realloc() fails)  hammers:N:SIZE (contents are checked)
 *	threads:N (that do the next word)  fork  exec (and goes on with the words behind)
 *	waits  serve (words come as lines; each is answered)  exit:STATUS
 *
 * Nothing here allocates besides: texts are written by write(2).
 */
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOT_INLINED __attribute__((noinline, noclone))

static _Atomic unsigned long long bytes, blocks, live, peak;
static _Atomic unsigned int nr_wrong;
static void *volatile kept;

static void *took(void *block, size_t size)
{
	unsigned long long now;

	if (!block)
		abort();
	bytes += size;
	blocks++;
	now = live += size;
	if (now > peak)
		peak = now;
	kept = block; /* compilers leave out allocations of no effect */
	memset(block, 1, size);
	return block;
}

static void gave(void *block, size_t size)
{
	live -= size;
	free(block);
}

/* So that whoever reads along comes to it: what it misses is another test's. */
static void rest_now_and_then(size_t i)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	if (i % 64 == 63 || (i < 1000 && i % 8 == 7))
		nanosleep(&pause, NULL);
}

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* For a program that was executed it takes a while until it is recorded. */
static void waits(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	double end_s = now_s() + 1.5;

	while (now_s() < end_s)
		nanosleep(&pause, NULL);
}

NOT_INLINED static void leaks(size_t nr, size_t size)
{
	for (size_t i = 0; i < nr; i++) {
		took(malloc(size), size);
		rest_now_and_then(i);
	}
}

NOT_INLINED static void temporaries(size_t nr, size_t size)
{
	for (size_t i = 0; i < nr; i++) {
		gave(took(malloc(size), size), size);
		rest_now_and_then(i);
	}
}

static volatile size_t too_large = (size_t)1 << 60;

NOT_INLINED static void keeps(size_t nr, size_t size)
{
	for (size_t i = 0; i < nr; i++) {
		void *block = took(malloc(size), size);

		if (realloc(block, too_large))
			abort();
		kept = block;
	}
}

static void *holding[10000];

NOT_INLINED static void holds(size_t nr, size_t size)
{
	for (size_t i = 0; i < nr && i < 10000; i++) {
		holding[i] = took(malloc(size), size);
		rest_now_and_then(i);
	}
}

NOT_INLINED static void lets_go(size_t nr, size_t size)
{
	for (size_t i = 0; i < nr && i < 10000; i++)
		gave(holding[i], size);
}

NOT_INLINED static void peaks(size_t nr, size_t size)
{
	static void *all[10000];
	const struct timespec pause = {.tv_nsec = 1000000};

	for (size_t i = 0; i < nr && i < 10000; i++) {
		all[i] = took(malloc(size), size);
		rest_now_and_then(i);
	}
	nanosleep(&pause, NULL);
	for (size_t i = 0; i < nr && i < 10000; i++)
		gave(all[i], size);
}

NOT_INLINED static void callocs(size_t nr, size_t size)
{
	for (size_t i = 0; i < nr; i++) {
		took(calloc(size / 8, 8), size / 8 * 8);
		rest_now_and_then(i);
	}
}

NOT_INLINED static void aligned(size_t nr, size_t size)
{
	for (size_t i = 0; i < nr; i++) {
		void *block = NULL;

		if (i % 3 == 0)
			block = aligned_alloc(64, size);
		else if (i % 3 == 1 && posix_memalign(&block, 4096, size))
			abort();
		else if (i % 3 == 2)
			block = memalign(256, size);
		took(block, size);
		rest_now_and_then(i);
	}
}

/* Each step gives the former block back. */
NOT_INLINED static void grows(size_t nr, size_t size)
{
	char *block = NULL;

	for (size_t i = 1; i <= nr; i++) {
		block = realloc(block, i * size);
		if (i > 1)
			live -= (i - 1) * size; /* as of one that is freed before */
		took(block, i * size);
		rest_now_and_then(i);
	}
}

/* From SIZE times N on, so much less each time, and then it is freed. */
NOT_INLINED static void shrinks(size_t nr, size_t size)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	char *block = NULL;

	for (size_t i = nr; i > 0; i--) {
		block = realloc(block, i * size);
		if (i < nr)
			live -= (i + 1) * size;
		took(block, i * size);
		nanosleep(&pause, NULL);
	}
	gave(block, size);
}

static unsigned int next(unsigned int *state)
{
	return *state = *state * 1103515245u + 12345u;
}

static void fill(unsigned char *block, size_t size)
{
	for (size_t i = 0; i < size; i++)
		block[i] = (unsigned char)(i * 7 + size);
}

static void check(const unsigned char *block, size_t nr, size_t size)
{
	for (size_t i = 0; i < nr; i++)
		nr_wrong += block[i] != (unsigned char)(i * 7 + size);
}

NOT_INLINED static void hammers(size_t nr, size_t size)
{
	struct {
		unsigned char *block;
		size_t size;
	} held[64] = {{NULL, 0}};
	unsigned int state = 1;

	for (size_t i = 0; i < nr; i++) {
		unsigned int at = (next(&state) >> 16) % 64;
		size_t former = held[at].size, wanted = 1 + (next(&state) >> 16) % size;

		if (held[at].block)
			check(held[at].block, former, former);
		if (!held[at].block) {
			held[at].block = took(malloc(wanted), wanted);
		} else if (state & 0x10000) {
			unsigned char *moved = realloc(held[at].block, wanted);

			live -= former;
			check(moved, former < wanted ? former : wanted, former);
			held[at].block = moved;
			bytes += wanted;
			blocks++;
			live += wanted;
		} else {
			gave(held[at].block, former);
			held[at].block = NULL;
			held[at].size = 0;
			continue;
		}
		held[at].size = wanted;
		fill(held[at].block, wanted);
	}
	for (size_t i = 0; i < 64; i++) {
		if (!held[i].block)
			continue;
		check(held[i].block, held[i].size, held[i].size);
		gave(held[i].block, held[i].size);
	}
}

static const struct {
	const char *name;
	void (*run)(size_t nr, size_t size);
} kinds[] = {
	{"leaks", leaks}, {"temporaries", temporaries},
	{"peaks", peaks},     {"callocs", callocs}, {"aligned", aligned},
	{"hammers", hammers}, {"grows", grows},     {"holds", holds},     {"lets_go", lets_go},
	{"shrinks", shrinks}, {"keeps", keeps},
};

static void say(const char *format, ...)
{
	char text[256];
	va_list arguments;
	int nr;

	va_start(arguments, format);
	nr = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (write(STDOUT_FILENO, text, (size_t)nr) != nr)
		abort();
}

static void say_sums(void)
{
	say("{\"pid\": %d, \"bytes\": %llu, \"blocks\": %llu, \"live\": %llu, \"peak\": %llu, "
	    "\"wrong\": %u}\n",
	    (int)getpid(), bytes, blocks, live, peak, nr_wrong);
}

static bool run_kind(const char *word)
{
	unsigned long nr = 0, size = 0;
	const char *end = strchr(word, ':');

	if (!end || sscanf(end, ":%lu:%lu", &nr, &size) != 2)
		return false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strncmp(kinds[i].name, word, (size_t)(end - word)) == 0) {
			kinds[i].run(nr, size);
			return true;
		}
	}
	return false;
}

static void *run_thread(void *word)
{
	run_kind(word);
	return NULL;
}

static void run_threads(int nr, char *word)
{
	pthread_t threads[16];

	for (int i = 0; i < nr && i < 16; i++)
		pthread_create(&threads[i], NULL, run_thread, word);
	for (int i = 0; i < nr && i < 16; i++)
		pthread_join(threads[i], NULL);
}

static void serve(void)
{
	char line[128];
	size_t nr = 0;

	while (nr < sizeof(line) && read(STDIN_FILENO, &line[nr], 1) == 1) {
		if (line[nr++] != '\n')
			continue;
		line[nr - 1] = '\0';
		nr = 0;
		run_kind(line);
		say_sums();
	}
}

int main(int argc, char **argv)
{
	(void)argc;
	for (char **word = argv + 1; *word; word++) {
		if (strcmp(*word, "serve") == 0) {
			say("ready\n");
			serve();
		} else if (strcmp(*word, "fork") == 0) {
			pid_t child = fork();

			if (child)
				waitpid(child, NULL, 0);
			else
				bytes = blocks = live = peak = 0;
			if (child)
				break; /* what follows is the child's */
		} else if (strcmp(*word, "exec") == 0) {
			say_sums();
			*word = argv[0];
			execv(argv[0], word);
			abort();
		} else if (strncmp(*word, "threads:", 8) == 0) {
			run_threads(atoi(*word + 8), word[1]);
			word++;
		} else if (strcmp(*word, "waits") == 0) {
			waits();
		} else if (strncmp(*word, "exit:", 5) == 0) {
			say_sums();
			_exit(atoi(*word + 5));
		} else if (!run_kind(*word)) {
			return 2;
		}
	}
	say_sums();
	return nr_wrong != 0;
}
