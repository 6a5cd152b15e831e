/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_MACHINE_H
#define PROFC_INJECT_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

/*
 * Differences between processors: machine_x86_64.c and machine_aarch64.c implement this. Those of
 * remote calls are in remote_machine.h, and those of contexts in contexts_machine.h.
 */

uint64_t inject_pc(const struct user_regs_struct *regs);
uint64_t inject_stack_pointer(const struct user_regs_struct *regs);
/* The address of the data of a thread, which is stopped; 0: there are none yet. */
uint64_t inject_thread_pointer(pid_t tid, const struct user_regs_struct *regs);
/* Continue at `pc`, outside of system calls, after the detour or the exec. */
void inject_go_to(struct user_regs_struct *regs, uint64_t pc);
/* Registers at the entry of a system call become those before the instruction that makes it. */
void inject_go_before_call(struct user_regs_struct *regs);
/* Can programs read that address from a register (the base of fs)? The same for all. */
bool inject_reads_thread_pointer(void);

/*
 * The loader of a dynamic program is sent to this code instead of the entry: a system call without
 * effect, at whose end we see it stop, then a jump to the entry. So nothing waits for us there, and
 * the program begins normally if profc is gone. Registers that are defined at the entry do not
 * change.
 */
#define INJECT_DETOUR_MAX_BYTES 40

struct inject_detour {
	uint8_t code[INJECT_DETOUR_MAX_BYTES];
	size_t nr_bytes;
	size_t called_offset; /* of the instruction after the system call */
};

void inject_make_detour(struct inject_detour *detour, uint64_t entry);

#endif
