// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usdt_sites: static probes as <sys/sdt.h> makes them, of the provider profc_test. Threads pass
 * request__begin and request__end around a known time, behind words that say how many want these;
 * between them, each fourth time, is lone__mark, which has no such word. Then it says, as JSON, how
 * often it has passed each. With a third argument it waits for the line "go" before, and for the
 *end of its standard input after that: for each other line it says what the words are; "want" has
 *one more want the first, as another tool would.
 *
 *	usdt_sites THREADS CALLS [wait]
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "self_measure.h"

/* The base is where it was linked to be, which prelink(8) changes. */
#define PROBE_AT(name, semaphore)                                                                  \
	__asm__ volatile("990:	nop\n"                                                              \
			 ".pushsection .note.stapsdt,\"?\",\"note\"\n"                             \
			 ".balign 4\n"                                                             \
			 ".4byte 992f-991f, 994f-993f, 3\n"                                        \
			 "991:	.asciz \"stapsdt\"\n"                                               \
			 "992:	.balign 4\n"                                                        \
			 "993:	.8byte 990b\n"                                                      \
			 ".8byte _.stapsdt.base\n"                                                 \
			 ".8byte " semaphore "\n"                                                  \
			 ".asciz \"profc_test\"\n"                                                 \
			 ".asciz \"" name "\"\n"                                                   \
			 ".asciz \"\"\n"                                                           \
			 "994:	.balign 4\n"                                                        \
			 ".popsection\n"                                                           \
			 ".ifndef _.stapsdt.base\n"                                                \
			 ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"   \
			 ".weak _.stapsdt.base\n"                                                  \
			 ".hidden _.stapsdt.base\n"                                                \
			 "_.stapsdt.base: .space 1\n"                                              \
			 ".size _.stapsdt.base, 1\n"                                               \
			 ".popsection\n"                                                           \
			 ".endif\n")

#define SEMAPHORE __attribute__((section(".probes"), visibility("hidden")))

volatile unsigned short begin_semaphore SEMAPHORE;
volatile unsigned short end_semaphore SEMAPHORE;

struct thread {
	pthread_t id;
	uint64_t begun, ended, marked;
};

static uint64_t nr_calls;
static volatile uint64_t sink;

NOINLINE static void handle(uint64_t i, struct thread *thread)
{
	uint64_t x = i;

	if (begin_semaphore) {
		PROBE_AT("request__begin", "begin_semaphore");
		thread->begun++;
	}
	for (int k = 0; k < (i % 16 ? 100 : 20000); k++)
		SPIN_STEP(x);
	if (i % 4 == 0) {
		PROBE_AT("lone__mark", "0");
		thread->marked++;
	}
	if (end_semaphore) {
		PROBE_AT("request__end", "end_semaphore");
		thread->ended++;
	}
	sink = x;
}

static void *run(void *context)
{
	for (uint64_t i = 0; i < nr_calls; i++)
		handle(i, context);
	return NULL;
}

static void say(const struct thread *threads, uint64_t nr)
{
	struct thread sum = {.begun = 0};

	for (uint64_t i = 0; i < nr; i++) {
		sum.begun += threads[i].begun;
		sum.ended += threads[i].ended;
		sum.marked += threads[i].marked;
	}
	printf("{\"begun\":%llu,\"ended\":%llu,\"marked\":%llu,\"semaphores\":[%u,%u]}\n",
	       (unsigned long long)sum.begun, (unsigned long long)sum.ended,
	       (unsigned long long)sum.marked, begin_semaphore, end_semaphore);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	uint64_t nr = number_argument(argc, argv, 1, 1);
	struct thread *threads = calloc(nr, sizeof(*threads));
	char line[16];

	nr_calls = number_argument(argc, argv, 2, 1000);
	if (argc > 3) {
		say_ready();
		while (fgets(line, sizeof(line), stdin) && strcmp(line, "go\n") != 0) {
			if (strcmp(line, "want\n") == 0)
				begin_semaphore++;
			say(threads, 0);
		}
	}
	for (uint64_t i = 0; i < nr; i++)
		pthread_create(&threads[i].id, NULL, run, &threads[i]);
	for (uint64_t i = 0; i < nr; i++)
		pthread_join(threads[i].id, NULL);
	say(threads, nr);
	while (argc > 3 && fgets(line, sizeof(line), stdin))
		say(threads, nr);
	free(threads);
	return 0;
}
