/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_LETTING_GO_H
#define PROFC_INJECT_LETTING_GO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

/* The calling thread releases what it has seized, so that nothing of it is noticed. */

/*
 * The state of a thread that we trace. Nothing here waits for one id: such a wait would never end
 * for a leader that another thread's exec kills.
 */
enum rest {
	REST_NONE, /* it runs, or is about to stop or die */
	REST_STOPPED,
	REST_DEAD, /* not reaped yet */
	REST_NOT_OURS,
};

enum rest letting_go_look(pid_t id);
/*
 * The same after a sleep until a tracee or child of the calling thread has stopped or died. It may
 * be another than the wanted one, and a signal ends the sleep, too: look again. Returns at once if
 * there is none.
 */
enum rest letting_go_await(pid_t id);
/*
 * After REST_STOPPED: take the stop, with a status as of waitpid(2). False: it was killed just now.
 */
bool letting_go_take_stop(pid_t id, int *status);
void letting_go_reap(pid_t id); /* after REST_DEAD */

/*
 * Release the thread that has this id now. A dead one is reaped, as a process that executes a
 * program waits for that; a live one is stopped and detached. `command` is a child of ours that
 * others reap, or 0. Does nothing if we do not trace the thread. False: it did not stop within a
 * second, as it waits in the kernel for a program that does not answer. It stays traced until the
 * calling thread ends, which should be soon: the answer would stop it.
 */
bool letting_go_of(pid_t id, pid_t command);
/*
 * Release a stopped thread whose call the stop has ended (machine_rewind_call()): it goes on into
 * the call, `begun`, which begins again. `ended`: its registers in the stop. False as above.
 */
bool letting_go_into_call(pid_t id, pid_t command, const struct user_regs_struct *begun,
			  const struct user_regs_struct *ended);
/*
 * Has the calling thread released all that it has seized? If not it should end soon: the kernel
 * then detaches it. Children of the calling thread count, too.
 */
bool letting_go_is_over(void);
/* Has a thread that was interrupted at since_ns (CLOCK_MONOTONIC) had its second to stop? */
bool letting_go_is_stuck(uint64_t since_ns);

#endif
