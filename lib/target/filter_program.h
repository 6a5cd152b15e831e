/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TARGET_FILTER_PROGRAM_H
#define PROFC_TARGET_FILTER_PROGRAM_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What a seccomp filter says of a system call: SECCOMP_RET_*, with its data (seccomp(2)). The
 * program is one that the kernel has accepted (seccomp_check_filter() in kernel/seccomp.c); of
 * any other the result is SECCOMP_RET_KILL_PROCESS, and nothing is read or written that is not its.
 */
uint32_t filter_program_run(const struct sock_filter *code, size_t nr,
			    const struct seccomp_data *call);

/* Is a call made, whose filter says this? */
bool filter_program_allows(uint32_t result);

#endif
