// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "proc/read.h"
#include "target/kernel_stack.h"
#include "target/target_priv.h"

/*
 * Would a stop now spoil the system call that an awake thread may be in? Nothing can put a
 * cut transfer right afterwards, so it has to be known before. The one file that tells is
 * /proc/PID/stack: of a thread that we have driven off our own CPU it is exact, of one that
 * runs elsewhere it is empty.
 */

/* More than any stack of the kernel's has as text; the outermost functions count. */
#define KERNEL_STACK_BYTES 4096

/*
 * Who was once met in a long transfer, and is on another CPU now, may be in the next one:
 * it is not asked to stop before it has run for so long without being met in one.
 */
#define TRANSFER_PAUSE_NS (500 * NS_PER_MS)

/* Up to here a thread's system time is not worth a look at its kernel stack. */
#define YOUNG_TICKS	  10
#define SYSTEM_TIME_SHARE 64

static enum kernel_place read_place(struct tracee *tracee)
{
	char text[KERNEL_STACK_BYTES];
	cleanup_close int fd = proc_open_task_file(tracee->tgid, tracee->tid, "stack");
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text));

	if (got < 0) {
		tracee->priv->hides_kernel_stack = errno == EPERM || errno == EACCES;
		return KERNEL_PLACE_UNKNOWN;
	}
	return kernel_stack_place(text, (size_t)got);
}

/* A thread that hardly ever is in the kernel makes no long transfers there. */
static bool makes_few_calls(const struct tracee_private *priv)
{
	uint64_t all = priv->user_ticks + priv->system_ticks;

	return !priv->makes_transfers && all >= YOUNG_TICKS &&
	       priv->system_ticks * SYSTEM_TIME_SHARE < all;
}

static uint64_t cpu_ns_of(struct tracee *tracee)
{
	struct proc_schedstat clocks;

	return target_clocks(tracee, &clocks) ? clocks.cpu_ns : 0;
}

static void met_in_transfer(struct tracee *tracee)
{
	tracee->priv->makes_transfers = true;
	tracee->priv->transfer_cpu_ns = cpu_ns_of(tracee);
}

bool target_makes_transfers(const struct tracee *tracee)
{
	return tracee->priv->makes_transfers;
}

bool target_stop_would_spoil(struct tracee *tracee)
{
	struct tracee_private *priv = tracee->priv;

	if (!priv->looked_awake || priv->hides_kernel_stack || makes_few_calls(priv))
		return false;
	switch (read_place(tracee)) {
	case KERNEL_PLACE_UNKNOWN:
		return priv->makes_transfers &&
		       cpu_ns_of(tracee) - priv->transfer_cpu_ns < TRANSFER_PAUSE_NS;
	case KERNEL_PLACE_USER:
	case KERNEL_PLACE_CALL:
		return false;
	case KERNEL_PLACE_SOCKET:
		return priv->makes_transfers;
	case KERNEL_PLACE_WAITING:
		return true;
	case KERNEL_PLACE_TRANSFER:
		met_in_transfer(tracee);
		return true;
	}
	return false;
}

void target_take_care(struct tracee *tracee, const struct proc_syscall *syscall)
{
	tracee->care = target_care_of(tracee->tid, syscall);
	if (!tracee->care.spoilt_cpu_ns)
		return;
	met_in_transfer(tracee);
	/* Where the kernel's stack tells, there is no need to spare it blindly. */
	if (!tracee->priv->hides_kernel_stack)
		tracee->care.spoilt_cpu_ns = 0;
}
