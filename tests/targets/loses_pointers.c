// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Leaves blocks behind, of which each function's are lost or kept in one way. Its words:
 *
 *	all  again (waits for a byte on standard input, having said "ready", and goes on)
 *	hidden (blocks that are kept in odd places)
 *	maps (of which one is lost)  indirect (blocks that only lost ones point to)
 *	zeros (4 GiB that it reads: all are the kernel's page of zeros)
 *	exit  _exit  return  kill  threads_exit (pthread_exit() of all)
 *	spawn (a program that is not there, so that a child of vfork(2) ends)  fork (waits for a
 *child that loses blocks of its own)  fork_again (that child waits as "again" does)
 *
 * Sizes are multiples of 16: an allocator's own pointers to what is behind a block are not in it.
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOT_INLINED __attribute__((noinline, noclone))
#define NR	    10

struct node {
	struct node *next;
	char rest[56];
};

static void *volatile in_global;
static char *volatile to_the_middle;
static struct node *list;
static void *volatile sink;
static void *volatile closed[512] __attribute__((aligned(4096)));
static char *volatile behind;
static struct __attribute__((packed)) {
	char kind;
	void *volatile block;
} packed __attribute__((aligned(8)));
static struct __attribute__((packed, aligned(4096))) {
	char before[4096 - 3];
	void *volatile block;
} across;
static void *volatile mapped;
static sem_t begun, never;

/* So that no stale copy is left in what of the stack is in use later on. */
static NOT_INLINED void wipe(void)
{
	char volatile bytes[16384];

	memset((char *)bytes, 0, sizeof(bytes));
}

NOT_INLINED static void loses(void)
{
	for (int i = 0; i < NR; i++) {
		char *block = malloc(160);

		memset(block, 1, 160);
		sink = block;
	}
	sink = NULL;
}

/* It points to itself, which is of no use. */
NOT_INLINED static void loses_ring(void)
{
	struct node *node = malloc(sizeof(*node));

	node->next = node;
	sink = node;
	sink = NULL;
}

/* The first is lost, of the others each is pointed to by one that is. */
NOT_INLINED static void loses_chain(void)
{
	struct node *chain = NULL;

	for (int i = 0; i < 4; i++) {
		struct node *node = malloc(sizeof(*node));

		node->next = chain;
		chain = node;
	}
	sink = chain;
	sink = NULL;
}

NOT_INLINED static void loses_cycle(void)
{
	struct node *one = malloc(sizeof(*one)), *other = malloc(sizeof(*other));

	one->next = other;
	other->next = one;
	sink = one;
	sink = NULL;
}

NOT_INLINED static void keeps_in_global(void)
{
	in_global = malloc(320);
}

NOT_INLINED static void keeps_middle(void)
{
	char *block = malloc(640);

	to_the_middle = block + 300;
}

NOT_INLINED static void keeps_in_list(void)
{
	for (int i = 0; i < NR; i++) {
		struct node *node = malloc(sizeof(*node));

		node->next = list;
		list = node;
	}
}

/* Mapped by the allocator for itself. */
NOT_INLINED static void loses_large(void)
{
	char *block = malloc(1 << 20);

	block[0] = 1;
	sink = block;
	sink = NULL;
}

NOT_INLINED static void sleeps_with(void *block)
{
	void *volatile kept[4] = {block};

	sem_post(&begun);
	while (sem_wait(&never) < 0 || kept[0] != block)
		;
}

NOT_INLINED static void *keeps_on_stack(void *unused)
{
	(void)unused;
	sleeps_with(malloc(480));
	return NULL;
}

/* In a register that calls leave alone, as compilers keep what is needed after them. */
NOT_INLINED static void spins_with(void *block)
{
#if defined(__x86_64__)
	register void *kept __asm__("r12") = block;

	block = NULL;
	sem_post(&begun);
	for (;;)
		__asm__ volatile("pause" : "+r"(kept));
#else
	sleeps_with(block);
#endif
}

NOT_INLINED static void *keeps_in_register(void *unused)
{
	(void)unused;
	spins_with(malloc(800));
	return NULL;
}

static void start(void *(*run)(void *))
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attributes, run, NULL) != 0)
		abort();
	pthread_attr_destroy(&attributes);
	sem_wait(&begun);
}

static void all(void)
{
	loses();
	loses_ring();
	loses_large();
	keeps_in_global();
	keeps_middle();
	keeps_in_list();
	start(keeps_on_stack);
	start(keeps_in_register);
	wipe();
}

/* As guarded heaps of cryptography do with what is not in use. */
NOT_INLINED static void keeps_in_closed(void)
{
	closed[3] = malloc(1040);
	mprotect((void *)(uintptr_t)closed, sizeof(closed), PROT_NONE);
}

NOT_INLINED static void keeps_packed(void)
{
	packed.block = malloc(1056);
}

NOT_INLINED static void keeps_across_pages(void)
{
	across.block = malloc(1072);
}

NOT_INLINED static void keeps_end(void)
{
	behind = (char *)malloc(1008) + 1008;
}

static void hidden(void)
{
	keeps_in_closed();
	keeps_packed();
	keeps_across_pages();
	keeps_end();
	wipe();
}

static void indirect(void)
{
	loses_chain();
	loses_cycle();
	wipe();
}

static void spawns(void)
{
	char *const words[] = {(char *)"nowhere", NULL};
	pid_t pid;

	if (posix_spawn(&pid, "/nowhere/at/all", NULL, NULL, words, NULL) == 0)
		waitpid(pid, NULL, 0);
}

NOT_INLINED static void loses_in_child(void)
{
	loses();
}

static void wait_for_byte(void)
{
	char byte;

	if (write(STDOUT_FILENO, "ready\n", 6) != 6 || read(STDIN_FILENO, &byte, 1) < 0)
		abort();
}

static void *map(size_t nr)
{
	void *at = mmap(NULL, nr, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		abort();
	return memset(at, 1, nr);
}

static void forks(int waits)
{
	pid_t pid = fork();

	if (pid == 0) {
		loses_in_child();
		wipe();
		munmap(map(4096), 4096); /* which leaves no register as it was */
		if (waits)
			wait_for_byte();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

NOT_INLINED static void loses_map(void)
{
	sink = map((size_t)1 << 20);
	sink = NULL;
}

NOT_INLINED static void keeps_map(void)
{
	mapped = map((size_t)3 << 20);
}

static void maps(void)
{
	loses_map();
	keeps_map();
	wipe();
}

#define ZERO_BYTES ((size_t)4 << 30)

static void zeros(void)
{
	if (mmap(NULL, ZERO_BYTES, PROT_READ,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_POPULATE, -1, 0) == MAP_FAILED)
		_exit(6);
}

int main(int argc, char **argv)
{
	sem_init(&begun, 0, 0);
	sem_init(&never, 0, 0);
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i];

		if (strcmp(word, "all") == 0)
			all();
		else if (strcmp(word, "again") == 0)
			wait_for_byte();
		else if (strcmp(word, "spawn") == 0)
			spawns();
		else if (strcmp(word, "fork") == 0)
			forks(0);
		else if (strcmp(word, "fork_again") == 0)
			forks(1);
		else if (strcmp(word, "hidden") == 0)
			hidden();
		else if (strcmp(word, "indirect") == 0)
			indirect();
		else if (strcmp(word, "maps") == 0)
			maps();
		else if (strcmp(word, "zeros") == 0)
			zeros();
		else if (strcmp(word, "exit") == 0)
			exit(3);
		else if (strcmp(word, "_exit") == 0)
			_exit(4);
		else if (strcmp(word, "kill") == 0)
			kill(getpid(), SIGKILL);
		else
			return 5;
	}
	return 0;
}
