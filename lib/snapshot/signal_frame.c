// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the code that a signal interrupted, from the kernel's frame on an alternate stack. */
#include "snapshot/signal_frame.h"

#include <string.h>

/*
 * The kernel's struct rt_sigframe of a machine: the byte offsets of the alternate stack's start and
 * size (uc_stack), and of the interrupted code's stack pointer.
 */
struct signal_frame_layout {
	uint16_t stack_start, stack_size, sp;
	uint16_t nr_bytes;	/* up to the end of the read part */
	uint16_t below_aligned; /* it begins this much below a multiple of 16 */
};

/*
 * arch/x86/include/asm/sigframe.h: the return address to the restorer, then the ucontext: flags,
 * link, and the alternate stack's start, flags and size; further on the registers. The ABI's
 * alignment puts the address after the first word at a multiple of 16.
 *
 * arch/arm64/kernel/signal.c: 128 bytes of siginfo, then the ucontext, likewise; aligned to 16, 176
 * bytes from its start, the sigcontext: the fault's address, x0 to x30, the stack pointer.
 */
#define AARCH64_UCONTEXT   128
#define AARCH64_SIGCONTEXT (AARCH64_UCONTEXT + 176)

static const struct signal_frame_layout layouts[] = {
	[ARCH_X86_64] = {.stack_start = 24,
			 .stack_size = 40,
			 .sp = 168,
			 .nr_bytes = 176,
			 .below_aligned = 8},
	[ARCH_AARCH64] = {.stack_start = AARCH64_UCONTEXT + 16,
			  .stack_size = AARCH64_UCONTEXT + 32,
			  .sp = AARCH64_SIGCONTEXT + 8 + 31 * 8,
			  .nr_bytes = AARCH64_SIGCONTEXT + 8 + 32 * 8},
};

#define FRAME_ALIGNMENT 16
/* A handler's own frames are mostly smaller than this; no more is searched. */
#define FRAME_SEARCH_BYTES (32 * 1024)
/* MINSIGSTKSZ, and a size above all real ones. */
#define SMALLEST_ALTERNATE 2048
#define LARGEST_ALTERNATE  (UINT64_C(1) << 30)

static uint64_t word_at(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

static bool is_signal_frame(const struct signal_frame_layout *layout, const uint8_t *bytes,
			    uint64_t address)
{
	uint64_t start = word_at(bytes + layout->stack_start);
	uint64_t size = word_at(bytes + layout->stack_size);

	/* Stack pointers are never odd, but a word of something that was no signal frame may be. */
	if (word_at(bytes + layout->sp) % sizeof(uint64_t))
		return false;
	return address >= start && address - start < size && size >= SMALLEST_ALTERNATE &&
	       size <= LARGEST_ALTERNATE;
}

bool signal_frame_struck_sp(enum arch arch, const uint8_t *bytes, size_t nr_bytes, uint64_t start,
			    uint64_t *sp)
{
	const struct signal_frame_layout *layout = &layouts[arch];
	size_t nr = nr_bytes < FRAME_SEARCH_BYTES ? nr_bytes : FRAME_SEARCH_BYTES;
	size_t at = (size_t)(-(start + layout->below_aligned) % FRAME_ALIGNMENT);

	for (; at + layout->nr_bytes <= nr; at += FRAME_ALIGNMENT) {
		if (is_signal_frame(layout, bytes + at, start + at)) {
			*sp = word_at(bytes + at + layout->sp);
			return true;
		}
	}
	return false;
}
