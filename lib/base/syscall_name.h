/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of system calls by number. */
#ifndef PROFC_BASE_SYSCALL_NAME_H
#define PROFC_BASE_SYSCALL_NAME_H

/*
 * The name of a system call by its number on an architecture ("x86_64",
 * "aarch64"), which need not be the one this program runs on; NULL when unknown.
 */
const char *syscall_name(const char *arch, int nr);

#endif
