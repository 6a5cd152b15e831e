/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_LETTING_GO_H
#define PROFC_INJECT_LETTING_GO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* How the calling thread lets go of what it has seized, so that nobody notices. */

/*
 * What a thread that we trace has come to. Nothing here waits for one id: of a leader that is
 * killed by the exec of another thread that would never be told.
 */
enum rest {
	REST_NONE, /* it runs, or is about to stop or die */
	REST_STOPPED,
	REST_DEAD, /* and not reaped yet */
	REST_NOT_OURS,
};

enum rest letting_go_look(pid_t id);
/* STOPPED: take note of that, with a status as of waitpid(2). False: it was killed just now. */
bool letting_go_take_stop(pid_t id, int *status);
void letting_go_reap(pid_t id); /* DEAD */

/*
 * Whatever of ours has this id by now: dead it is reaped, for a process that executes a program
 * waits for that; alive it is stopped and detached from. `command`, a child of ours that others
 * reap, or 0. Does nothing if we do not trace it. Waits until it stops, for a second: false if it
 * does not, as it waits in the kernel for a program that does not answer. It stays traced until the
 * calling thread ends, which should be soon: as soon as it gets its answer it would stop.
 */
bool letting_go_of(pid_t id, pid_t command);
/* Has a thread that was interrupted at since_ns (CLOCK_MONOTONIC) had its second to stop? */
bool letting_go_is_stuck(uint64_t since_ns);

#endif
