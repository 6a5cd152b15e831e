// SPDX-License-Identifier: GPL-2.0-or-later
#include "inject/machine.h"

#if defined(__x86_64__)

#include <string.h>
#include <sys/auxv.h>

/* arch/x86/include/uapi/asm/hwcap2.h */
#define HWCAP2_FSGSBASE (1UL << 1)

static const uint8_t detour_code[] = {
	0xf3, 0x0f, 0x1e, 0xfa,			     /* endbr64 */
	0xb8, 0x27, 0x00, 0x00, 0x00,		     /* mov $SYS_getpid, %eax */
	0x0f, 0x05,				     /* syscall */
	0x49, 0xbb, 0,	  0,	0,    0, 0, 0, 0, 0, /* movabs $entry, %r11 */
	0x41, 0xff, 0xe3,			     /* jmp *%r11 */
};
#define CALL_BYTES	      2
#define DETOUR_CALLED_OFFSET  11 /* after the system call */
#define DETOUR_ADDRESS_OFFSET 13

_Static_assert(sizeof(detour_code) <= INJECT_DETOUR_MAX_BYTES, "it fits");

uint64_t inject_pc(const struct user_regs_struct *regs)
{
	return regs->rip;
}

uint64_t inject_stack_pointer(const struct user_regs_struct *regs)
{
	return regs->rsp;
}

uint64_t inject_thread_pointer(pid_t tid, const struct user_regs_struct *regs)
{
	(void)tid;
	return regs->fs_base;
}

void inject_go_to(struct user_regs_struct *regs, uint64_t pc)
{
	regs->rip = pc;
	regs->orig_rax = (unsigned long long)-1;
}

void inject_go_before_call(struct user_regs_struct *regs)
{
	regs->rip -= CALL_BYTES;
	regs->rax = regs->orig_rax;
	regs->orig_rax = (unsigned long long)-1;
}

bool inject_reads_thread_pointer(void)
{
	return (getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE) != 0;
}

void inject_make_detour(struct inject_detour *detour, uint64_t entry)
{
	*detour = (struct inject_detour){.nr_bytes = sizeof(detour_code),
					 .called_offset = DETOUR_CALLED_OFFSET};
	memcpy(detour->code, detour_code, sizeof(detour_code));
	memcpy(detour->code + DETOUR_ADDRESS_OFFSET, &entry, sizeof(entry));
}

#endif
