/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_MACHINE_H
#define PROFC_INJECT_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

/*
 * What differs between machines: machine_x86_64.c and machine_aarch64.c implement it. Remote calls
 * and the search of stacks for contexts are in remote_x86_64.c and contexts_x86_64.c.
 */

uint64_t inject_pc(const struct user_regs_struct *regs);
uint64_t inject_stack_pointer(const struct user_regs_struct *regs);
/* Where the thread has its data; 0: there are none yet, or the registers do not say. */
uint64_t inject_thread_pointer(const struct user_regs_struct *regs);
/* Go on at `pc`, in no system call. */
void inject_go_to(struct user_regs_struct *regs, uint64_t pc);
/* Does the kernel let programs read the base of fs? The same for all of them. */
bool inject_reads_thread_pointer(void);

/*
 * Code that the loader of a dynamic program is led to in place of the entry: a system call that
 * changes nothing, and at whose end we see it stop, then a jump to the entry. So nothing waits for
 * us there, and the program begins as ever if we are no more. No registers change that the program
 * is promised anything of.
 */
#define INJECT_DETOUR_MAX_BYTES 40

struct inject_detour {
	uint8_t code[INJECT_DETOUR_MAX_BYTES];
	size_t nr_bytes;
	size_t called_offset; /* of what follows the system call */
};

void inject_make_detour(struct inject_detour *detour, uint64_t entry);

#endif
