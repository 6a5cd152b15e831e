/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TRACEE_CALL_FILTERS_H
#define PROFC_TRACEE_CALL_FILTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct seccomp_data;
struct sock_filter;

/*
 * The filters of system calls (seccomp) of another thread. They are programs of classic BPF that
 * see the number, the arguments and the address of a call, and nothing else: so their result can be
 * computed before the call is made. Containers have one: that of Docker and Podman allows all that
 * probes need.
 */
struct call_filters;

/*
 * Does the kernel show us filters of others? To CAP_SYS_ADMIN, if the caller has no filter itself
 * (ptrace(2), PTRACE_SECCOMP_GET_FILTER); not to that of a user namespace, which is not asked here.
 */
bool call_filters_are_shown(void);

/*
 * The filters of a thread that the calling thread traces and has stopped; the caller frees them.
 * NULL: the kernel does not show them, or the thread has died (errno is ESRCH). A stopped thread
 * can get more only by another thread's SECCOMP_FILTER_FLAG_TSYNC.
 */
struct call_filters *call_filters_read(pid_t tid);
void call_filters_free(struct call_filters *filters);

/*
 * Do all filters allow the call? Logging it counts as a refusal, and so do an instruction that is
 * not known, and more filters than are read, which programs do not have.
 */
bool call_filters_allow(const struct call_filters *filters, const struct seccomp_data *call);

/* Runs one program. Returns a SECCOMP_RET_ value; SECCOMP_RET_KILL_PROCESS if the program is not
 * valid. */
unsigned int call_filter_run(const struct sock_filter *program, size_t nr,
			     const struct seccomp_data *call);

#endif
