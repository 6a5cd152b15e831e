// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usdt_sites: static probes as <sys/sdt.h> makes them, of the provider profc_test. Threads pass
 * request__begin and request__end around a known time, behind words that say how many want these;
 * between them LEAVES times leaf__begin and leaf__end, in a function that says whether anything has
 * changed there, and each fourth time lone__mark, which have no such words. Then it says, as JSON,
 * how often it has passed each. With a fourth argument it waits for the line "go" before, and for
 * the end of its standard input after that: for each other line it says what the words are; "want"
 * has one more want the first, as another tool would. If CALLS is 0, it calls until there is a
 * line. Each millisecond a signal interrupts it. By a function with probes around that each call
 * calls another, which begins with one.
 *
 *	usdt_sites THREADS CALLS LEAVES [wait]
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "self_measure.h"

/* The base is where it was linked to be, which prelink(8) changes. */
#define PLAIN_PROBE(name, semaphore)                                                               \
	"990:	nop\n"                                                                               \
	".pushsection .note.stapsdt,\"?\",\"note\"\n"                                              \
	".balign 4\n"                                                                              \
	".4byte 992f-991f, 994f-993f, 3\n"                                                         \
	"991:	.asciz \"stapsdt\"\n"                                                                \
	"992:	.balign 4\n"                                                                         \
	"993:	.8byte 990b\n"                                                                       \
	".8byte _.stapsdt.base\n"                                                                  \
	".8byte " semaphore "\n"                                                                   \
	".asciz \"profc_test\"\n"                                                                  \
	".asciz \"" name "\"\n"                                                                    \
	".asciz \"\"\n"                                                                            \
	"994:	.balign 4\n"                                                                         \
	".popsection\n"                                                                            \
	".ifndef _.stapsdt.base\n"                                                                 \
	".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"                    \
	".weak _.stapsdt.base\n"                                                                   \
	".hidden _.stapsdt.base\n"                                                                 \
	"_.stapsdt.base: .space 1\n"                                                               \
	".size _.stapsdt.base, 1\n"                                                                \
	".popsection\n"                                                                            \
	".endif\n"

/* An instruction without effect, whose first four bytes lead far away from all that there is. */
#if !defined(IS_AT_FIXED_PLACE)
#define FAR ".byte 0x0f, 0x1f, 0x80, 0xa0, 0, 0, 0\n"
#else
#define FAR ".byte 0x0f, 0x1f, 0x80, 0x60, 0, 0, 0\n"
#endif
#define PROBE(name, semaphore) PLAIN_PROBE(name, semaphore) FAR

#define SEMAPHORE __attribute__((section(".probes"), visibility("hidden")))

volatile unsigned short begin_semaphore SEMAPHORE;
volatile unsigned short end_semaphore SEMAPHORE;

struct thread {
	pthread_t id;
	uint64_t begun, ended, marked, wrong;
};

static uint64_t nr_calls, nr_leaves;
static volatile bool is_over;
static volatile uint64_t sink;

#define ALL_WORDS ".irp at,8,16,24,32,40,48,56,64,72,80,88,96,104,112,120,128\n"

/*
 * A function without a frame, which has 16 words below its stack pointer, and flags that a probe
 * must leave as they are: is anything of that another after it?
 */
uint64_t leaf(uint64_t value);
__asm__(".text\n"
	".skip 256, 0xcc\n" /* start-up code has no call frame information */
	".type leaf, @function\n"
	"leaf:	.cfi_startproc\n"
	"xor %eax, %eax\n" ALL_WORDS "mov %rdi, -\\at(%rsp)\n"
	".endr\n"
	"cmp %rdi, %rdi\n"
	"stc\n" PROBE("leaf__begin", "0") "jnc 1f\n"
					  "jne 1f\n" ALL_WORDS "cmp %rdi, -\\at(%rsp)\n"
					  "jne 1f\n"
					  ".endr\n"
					  "cmp $-1, %eax\n" PROBE("leaf__end",
								  "0") "jnc 1f\n"
								       "je 1f\n" ALL_WORDS
								       "cmp %rdi, -\\at(%rsp)\n"
								       "jne 1f\n"
								       ".endr\n"
								       "ret\n"
								       "1:	inc %eax\n"
								       "ret\n"
								       ".cfi_endproc\n"
								       ".size leaf, . - leaf\n");

/* The first instruction of one is a probe; the other has one before its call, and one after it. */
uint64_t early(void);
uint64_t caller(void);
__asm__(".text\n"
	".skip 256, 0xcc\n"
	".type early, @function\n"
	"early:	.cfi_startproc\n" PROBE("early__begin",
					"0") "mov $7, %eax\n"
					     "ret\n"
					     ".cfi_endproc\n"
					     ".size early, . - early\n"
					     ".type caller, @function\n"
					     "caller:	.cfi_startproc\n"
					     "sub $8, %rsp\n"
					     ".cfi_def_cfa_offset 16\n"
					     "xor %eax, %eax\n" PROBE(
						     "call__begin",
						     "0") "xor %edx, %edx\n"
							  "call early\n" PROBE(
								  "call__end",
								  "0") "add $8, %rsp\n"
								       ".cfi_def_cfa_offset 8\n"
								       "ret\n"
								       ".cfi_endproc\n"
								       ".size caller, . - caller\n"
								       ".skip 256, 0xcc\n");

/*
 * Each adds 3. The probes are passed by odd numbers: one before a jump, one that others skip, one
 * that they skip before a jump, and one whose next bytes lead to nowhere but here.
 */
uint64_t cold(uint64_t value);
uint64_t skips(uint64_t value);
uint64_t skips_jump(uint64_t value);
uint64_t leads_here(uint64_t value);
#define BEGIN(name) ".type " name ", @function\n" name ":	.cfi_startproc\ntest $1, %dil\n"
#define END(name)   "lea 3(%rdi), %rax\nret\n.cfi_endproc\n.size " name ", . - " name "\n"
#define LONG_JUMP   ".byte 0xe9\n.long 1f - (. + 4)\n.skip 16, 0xcc\n"
/* clang-format off */
__asm__(".text\n"
	BEGIN("cold") "je 1f\n" PLAIN_PROBE("cold__mark", "0") LONG_JUMP "1:	" END("cold")
	BEGIN("skips") "je 1f\n" PLAIN_PROBE("skipped__mark", "0") "1:	" FAR END("skips")
	BEGIN("skips_jump") "je 2f\n" PLAIN_PROBE("led__mark", "0") "2:	" LONG_JUMP "1:	"
	END("skips_jump")
	BEGIN("leads_here") PLAIN_PROBE("own__mark", "0") ".byte 0x3d, 0, 0, 0, 0\n" END("leads_here"));
/* clang-format on */

/* Probes to which a table leads. */
NOINLINE static uint64_t by_table(uint64_t i)
{
	switch (i % 8) {
	case 0:
		return i + 3;
	case 1:
		i *= 7;
		break;
	case 2:
		i ^= sink;
		break;
	case 3:
		__asm__ volatile(PROBE("table__begin", "0"));
		i -= sink;
		break;
	case 4:
		return i | sink;
	case 5:
		__asm__ volatile(PROBE("table__end", "0"));
		return sink + 1;
	default:
		break;
	}
	return i * 3;
}

NOINLINE static void handle(uint64_t i, struct thread *thread)
{
	uint64_t x = i;

	if (begin_semaphore) {
		__asm__ volatile(PROBE("request__begin", "begin_semaphore"));
		thread->begun++;
	}
	for (int k = 0; k < (i % 16 ? 100 : 20000); k++)
		SPIN_STEP(x);
	for (uint64_t k = 0; k < nr_leaves; k++)
		thread->wrong += leaf(i + k);
	thread->wrong += caller() != 7;
	x += by_table(i);
	thread->wrong += cold(i) + skips(i) + skips_jump(i) + leads_here(i) != 4 * (i + 3);
	if (i % 4 == 0) {
		__asm__ volatile(PROBE("lone__mark", "0"));
		thread->marked++;
	}
	if (end_semaphore) {
		__asm__ volatile(PROBE("request__end", "end_semaphore"));
		thread->ended++;
	}
	sink = x;
}

static void *run(void *context)
{
	for (uint64_t i = 0; nr_calls ? i < nr_calls : !is_over; i++)
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
		sum.wrong += threads[i].wrong;
	}
	printf("{\"begun\":%llu,\"ended\":%llu,\"marked\":%llu,\"wrong\":%llu,\"semaphores\":[%u,%"
	       "u]}\n",
	       (unsigned long long)sum.begun, (unsigned long long)sum.ended,
	       (unsigned long long)sum.marked, (unsigned long long)sum.wrong, begin_semaphore,
	       end_semaphore);
	fflush(stdout);
}

static void on_signal(int signal)
{
	sink = (uint64_t)signal;
}

static void interrupt_often(void)
{
	const struct itimerval often = {{0, 1000}, {0, 1000}};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &often, NULL);
}

int main(int argc, char **argv)
{
	uint64_t nr = number_argument(argc, argv, 1, 1);
	struct thread *threads = calloc(nr, sizeof(*threads));
	char line[16];

	nr_calls = number_argument(argc, argv, 2, 1000);
	nr_leaves = number_argument(argc, argv, 3, 0);
	interrupt_often();
	if (argc > 4) {
		say_ready();
		while (fgets(line, sizeof(line), stdin) && strcmp(line, "go\n") != 0) {
			if (strcmp(line, "want\n") == 0)
				begin_semaphore++;
			say(threads, 0);
		}
	}
	for (uint64_t i = 0; i < nr; i++)
		pthread_create(&threads[i].id, NULL, run, &threads[i]);
	if (!nr_calls)
		is_over = fgets(line, sizeof(line), stdin);
	for (uint64_t i = 0; i < nr; i++)
		pthread_join(threads[i].id, NULL);
	say(threads, nr);
	while (argc > 4 && fgets(line, sizeof(line), stdin))
		say(threads, nr);
	free(threads);
	return 0;
}
