/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TARGET_TARGET_REGS_H
#define PROFC_TARGET_TARGET_REGS_H

#include <stdbool.h>
#include <sys/types.h>

#include "target/machine.h"

/*
 * The general registers of a held thread. False if it is gone, or runs in another
 * mode than profc does (a 32-bit program), whose registers have another layout.
 */
bool target_get_regs(pid_t tid, struct machine_regs *regs);
bool target_set_regs(pid_t tid, const struct machine_regs *regs);

#endif
