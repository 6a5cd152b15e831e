/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TESTS_SELF_SNAPSHOT_H
#define PROFC_TESTS_SELF_SNAPSHOT_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#include "snapshot/snapshot.h"

/*
 * A snapshot of the calling thread by itself: registers from getcontext(3),
 * stack bytes up to `limit`. True for all frames of the caller's callers, which
 * stand still while the call lasts.
 */
#if defined(__x86_64__)
static inline void regs_from_context(struct regs *regs, const ucontext_t *context)
{
	/* By DWARF number: rax rdx rcx rbx rsi rdi rbp rsp r8-r15 rip. */
	static const int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				    REG_RBP, REG_RSP, REG_R8,  REG_R9,	REG_R10, REG_R11,
				    REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

	for (unsigned int i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		regs_set(regs, i, (uint64_t)context->uc_mcontext.gregs[order[i]]);
}
#elif defined(__aarch64__)
static inline void regs_from_context(struct regs *regs, const ucontext_t *context)
{
	for (unsigned int i = 0; i <= 30; i++)
		regs_set(regs, i, context->uc_mcontext.regs[i]);
	regs_set(regs, 31, context->uc_mcontext.sp);
	regs_set(regs, 32, context->uc_mcontext.pc);
}
#endif

/* The end of the mapping that holds address, from /proc/self/maps; 0 if none does. */
static inline uint64_t self_mapping_end(uint64_t address)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	uint64_t found = 0;

	while (maps && !found && fgets(line, sizeof(line), maps)) {
		unsigned long start;
		unsigned long end;

		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && address >= start && address < end)
			found = end;
	}
	if (maps)
		fclose(maps);
	return found;
}

/* Byte by byte, unchecked: AddressSanitizer poisons what lies between a frame's variables. */
__attribute__((no_sanitize_address)) static inline void self_copy_stack(
	uint8_t *to, const volatile uint8_t *from, size_t nr_bytes)
{
	for (size_t i = 0; i < nr_bytes; i++)
		to[i] = from[i];
}

/* AddressSanitizer would realign the frame, and its size would not stand in the code. */
__attribute__((noinline, no_sanitize_address)) static void self_snapshot(struct snapshot *snapshot)
{
	const struct arch_regs *arch = arch_regs(arch_native());
	ucontext_t context;
	uint64_t sp;
	uint64_t end;

	snapshot_clear(snapshot);
	getcontext(&context);
	regs_from_context(&snapshot->regs, &context);
	sp = snapshot->regs.value[arch->sp];
	end = self_mapping_end(sp);
	self_copy_stack(snapshot_add_region(snapshot, sp, end - sp),
			(const volatile uint8_t *)(uintptr_t)sp, end - sp);
}

#endif
