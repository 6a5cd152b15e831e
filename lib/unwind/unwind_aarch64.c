// SPDX-License-Identifier: GPL-2.0-or-later
/* Signal frames and registers of aarch64. */
#include <string.h>

#include "unwind/row.h"

static const struct arch_regs registers = {
	.name = "aarch64", .nr = 33, .sp = 31, .pc = 32, .fp = 29, .ra = 30};

/*
 * In the trampoline the stack pointer is at struct rt_sigframe: 128 bytes of siginfo, then the
 * ucontext, with its sigcontext 176 bytes further (<asm/ucontext.h>: aligned to 16), which begins
 * with the fault address.
 */
#define SIGCONTEXT (128 + 176)
#define X(n)	   [n] = SIGCONTEXT + 8 + (n)*8

static const int16_t signal_offsets[33] = {
	X(0),  X(1),  X(2),  X(3),  X(4),  X(5),  X(6),	 X(7),	X(8),  X(9),  X(10),
	X(11), X(12), X(13), X(14), X(15), X(16), X(17), X(18), X(19), X(20), X(21),
	X(22), X(23), X(24), X(25), X(26), X(27), X(28), X(29), X(30), X(31), X(32),
};

/* mov x8, #__NR_rt_sigreturn; svc #0 */
static bool is_sigreturn(const uint8_t *at, size_t nr_bytes)
{
	static const uint8_t trampoline[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};

	return nr_bytes >= sizeof(trampoline) && !memcmp(at, trampoline, sizeof(trampoline));
}

/*
 * User addresses have 48 bits, or 52 with large ones, which a process must request; pointer
 * authentication signs in the bits above (Arm ARM D8.8).
 */
const struct unwind_arch unwind_arch_aarch64 = {
	.regs = &registers,
	.machine = ELF_MACHINE_AARCH64,
	.code_mask = (UINT64_C(1) << 48) - 1,
	.signal_offsets = signal_offsets,
	.signal_rows_are_steps = false,
	.is_sigreturn = is_sigreturn,
	.code = &code_reader_aarch64,
};
