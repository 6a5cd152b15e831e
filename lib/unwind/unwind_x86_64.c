// SPDX-License-Identifier: GPL-2.0-or-later
/* Signal frames and registers of x86-64. */
#include <string.h>

#include "unwind/row.h"

static const struct arch_regs registers = {
	.name = "x86_64", .nr = 17, .sp = 7, .pc = 16, .fp = 6, .ra = 16};

/*
 * In the trampoline the stack pointer is at the ucontext (<asm/ucontext.h>):
 * flags, link and stack take 40 bytes, then struct sigcontext begins, with r8.
 */
static const int16_t signal_offsets[17] = {
	[0] = 144, /* rax */
	[1] = 136, /* rdx */
	[2] = 152, /* rcx */
	[3] = 128, /* rbx */
	[4] = 112, /* rsi */
	[5] = 104, /* rdi */
	[6] = 120, /* rbp */
	[7] = 160, /* rsp */
	[8] = 40,  /* r8 */
	[9] = 48,  [10] = 56, [11] = 64, [12] = 72,
	[13] = 80, [14] = 88, [15] = 96, [16] = 168, /* rip */
};

/* mov $__NR_rt_sigreturn, %rax; syscall: musl's and Go's trampolines have no CFI. */
static bool is_sigreturn(const uint8_t *at, size_t nr_bytes)
{
	static const uint8_t wide[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	static const uint8_t narrow[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};

	return (nr_bytes >= sizeof(wide) && !memcmp(at, wide, sizeof(wide))) ||
	       (nr_bytes >= sizeof(narrow) && !memcmp(at, narrow, sizeof(narrow)));
}

/* The registers' pointers come first, that of the return address being the 17th of 18. */
static const struct eh_layout eh_layout = {.cfa = 16, .ra = 24, .function = 56, .fp = (6 - 16) * 8};

const struct unwind_arch unwind_arch_x86_64 = {
	.regs = &registers,
	.machine = ELF_MACHINE_X86_64,
	.code_mask = ~UINT64_C(0),
	.signal_offsets = signal_offsets,
	.signal_rows_are_steps = true,
	.is_sigreturn = is_sigreturn,
	.eh = &eh_layout,
	.code = &code_reader_x86_64,
};
