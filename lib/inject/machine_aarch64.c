// SPDX-License-Identifier: GPL-2.0-or-later
#include "inject/machine.h"

#if defined(__aarch64__)

#include <elf.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

static const uint8_t detour_code[] = {
	0x9f, 0x24, 0x03, 0xd5, /* bti j */
	0xe9, 0x03, 0x00, 0xaa, /* mov x9, x0 */
	0x88, 0x15, 0x80, 0xd2, /* mov x8, #SYS_getpid */
	0x01, 0x00, 0x00, 0xd4, /* svc #0 */
	0xe0, 0x03, 0x09, 0xaa, /* mov x0, x9 */
	0x49, 0x00, 0x00, 0x58, /* ldr x9, entry */
	0x20, 0x01, 0x1f, 0xd6, /* br x9 */
	0,    0,    0,	  0,	0, 0, 0, 0,
};
#define CALL_BYTES	      4
#define DETOUR_CALLED_OFFSET  16
#define DETOUR_ADDRESS_OFFSET 28

_Static_assert(sizeof(detour_code) <= INJECT_DETOUR_MAX_BYTES, "it fits");

uint64_t inject_pc(const struct user_regs_struct *regs)
{
	return regs->pc;
}

uint64_t inject_stack_pointer(const struct user_regs_struct *regs)
{
	return regs->sp;
}

/* The thread pointer is in another register set. */
uint64_t inject_thread_pointer(pid_t tid, const struct user_regs_struct *regs)
{
	uint64_t pointer = 0;
	struct iovec set = {.iov_base = &pointer, .iov_len = sizeof(pointer)};

	(void)regs;
	return ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)NT_ARM_TLS, &set) == 0 ? pointer
										       : 0;
}

/* The detour has saved there what its call has overwritten; without one both are 0. */
void inject_go_to(struct user_regs_struct *regs, uint64_t pc)
{
	regs->regs[0] = regs->regs[9];
	regs->pc = pc;
}

void inject_go_before_call(struct user_regs_struct *regs)
{
	regs->pc -= CALL_BYTES;
}

bool inject_reads_thread_pointer(void)
{
	return true;
}

void inject_make_detour(struct inject_detour *detour, uint64_t entry)
{
	*detour = (struct inject_detour){.nr_bytes = sizeof(detour_code),
					 .called_offset = DETOUR_CALLED_OFFSET};
	memcpy(detour->code, detour_code, sizeof(detour_code));
	memcpy(detour->code + DETOUR_ADDRESS_OFFSET, &entry, sizeof(entry));
}

#endif
