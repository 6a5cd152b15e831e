// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * keeps_registers: a loop without calls that fills vector registers, the x87 stack, MXCSR and the
 * control word with values of its own, lets some time pass, and looks whether they are still there;
 * so with the red zone. On aarch64 the vector registers, some others and FPCR. Until standard input
 * ends; then {"rounds", "wrong"}. With the argument "alone" there is one thread.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "self_measure.h"

#define NR_VECTORS 16

static atomic_bool is_over;
static atomic_ulong rounds, wrong;

struct vectors {
	uint64_t words[NR_VECTORS][4];
} __attribute__((aligned(32)));

NOINLINE void counted(void)
{
	__asm__ volatile("" ::: "memory");
}

#if defined(__x86_64__)

#define MXCSR_ODD   0x7f80u /* rounds to zero: not what programs have */
#define CONTROL_ODD 0x0f7fu

#define LOAD(n)	 "vmovdqa " #n "*32(%0), %%ymm" #n "\n\t"
#define STORE(n) "vmovdqa %%ymm" #n ", " #n "*32(%1)\n\t"
#define ALL(what)                                                                                  \
	what(0) what(1) what(2) what(3) what(4) what(5) what(6) what(7) what(8) what(9) what(10)   \
		what(11) what(12) what(13) what(14) what(15)

/* All in one piece, so that no compiler uses any of it meanwhile. Returns what was on x87's stack.
 */
static uint64_t keep(const struct vectors *in, struct vectors *out, uint64_t red_zone)
{
	uint32_t mxcsr = MXCSR_ODD, mxcsr_after = 0, mxcsr_before;
	uint16_t control = CONTROL_ODD, control_after = 0, control_before;
	uint64_t kept = 0, spins = 200000, number = 0x4009218654321abc, number_after = 0;

	__asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr_before), "=m"(control_before));
	__asm__ volatile(ALL(LOAD) "ldmxcsr %[mxcsr]\n\t"
				   "fldcw %[control]\n\t"
				   "fldl %[number]\n\t"
				   "mov %[zone], -64(%%rsp)\n\t"
				   "1: dec %[spins]\n\t"
				   "jnz 1b\n\t"
				   "mov -64(%%rsp), %[kept]\n\t"
				   "fstpl %[number_after]\n\t"
				   "fnstcw %[control_after]\n\t"
				   "stmxcsr %[mxcsr_after]\n\t" ALL(STORE)
			 : "+r"(in), "+r"(out), [spins] "+r"(spins), [kept] "=&r"(kept),
			   [number_after] "=m"(number_after), [control_after] "=m"(control_after),
			   [mxcsr_after] "=m"(mxcsr_after)
			 : [mxcsr] "m"(mxcsr), [control] "m"(control), [number] "m"(number),
			   [zone] "r"(red_zone)
			 : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
			   "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
			   "xmm15");
	__asm__ volatile("ldmxcsr %0\n\tfldcw %1" ::"m"(mxcsr_before), "m"(control_before));
	/* Inexact results set flags in MXCSR, which nothing here brings about. */
	return (kept != red_zone) + (number_after != number) + (control_after != CONTROL_ODD) * 4 +
	       (mxcsr_after != MXCSR_ODD) * 8;
}

#else

#define FPCR_ODD UINT64_C(0xc00000) /* rounds to zero */

#define LOAD(n)	 "ldr q" #n ", [%0, #" #n "*16]\n\t"
#define STORE(n) "str q" #n ", [%1, #" #n "*16]\n\t"
#define ALL(what)                                                                                  \
	what(0) what(1) what(2) what(3) what(4) what(5) what(6) what(7) what(8) what(9) what(10)   \
		what(11) what(12) what(13) what(14) what(15) what(16) what(17) what(18) what(19)   \
			what(20) what(21) what(22) what(23) what(24) what(25) what(26) what(27)    \
				what(28) what(29) what(30) what(31)

static uint64_t keep(const struct vectors *in, struct vectors *out, uint64_t value)
{
	uint64_t spins = 200000, fpcr_before, fpcr_after, kept = 0;

	__asm__ volatile(
		"mrs %[before], fpcr\n\t"
		"msr fpcr, %[odd]\n\t" ALL(
			LOAD) "mov x8, %[value]\n\tmov x16, %[value]\n\t"
			      "mov x17, %[value]\n\tmov x30, %[value]\n\t"
			      "1: subs %[spins], %[spins], #1\n\t"
			      "b.ne 1b\n\t"
			      "eor x8, x8, x16\n\teor x17, x17, x30\n\torr %[kept], x8, x17\n\t"
			      "eor x16, x16, %[value]\n\torr %[kept], %[kept], x16\n\t"
			      "mrs %[after], fpcr\n\t"
			      "msr fpcr, %[before]\n\t" ALL(STORE)
		: "+r"(in), "+r"(out), [spins] "+r"(spins), [kept] "+&r"(kept),
		  [before] "=&r"(fpcr_before), [after] "=&r"(fpcr_after)
		: [odd] "r"(FPCR_ODD), [value] "r"(value)
		: "memory", "cc", "x8", "x16", "x17", "x30", "v0", "v1", "v2", "v3", "v4", "v5",
		  "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17",
		  "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28",
		  "v29", "v30", "v31");
	return kept + (fpcr_after != FPCR_ODD);
}

#endif

static void work(void)
{
	struct vectors in, out;
	uint64_t x = 1;

	for (int i = 0; i < NR_VECTORS * 4; i++)
		in.words[i / 4][i % 4] = SPIN_STEP(x);
	memset(&out, 0, sizeof(out));
	if (keep(&in, &out, x) || memcmp(&in, &out, sizeof(in)) != 0)
		wrong++;
	counted();
	rounds++;
}

static void *await_end(void *nothing)
{
	wait_for_end();
	is_over = true;
	return nothing;
}

static void look_for_end(void)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

	is_over = poll(&input, 1, 0) != 0;
}

/* The first thread is the one that system calls are made in the place of. */
int main(int argc, char **argv)
{
	bool is_alone = argc > 1 && strcmp(argv[1], "alone") == 0;
	pthread_t waiter;

	if (!is_alone)
		pthread_create(&waiter, NULL, await_end, NULL);
	say_ready();
	while (!is_over) {
		work();
		if (is_alone)
			look_for_end();
	}
	printf("{\"rounds\": %lu, \"wrong\": %lu}\n", rounds, wrong);
	return 0;
}
