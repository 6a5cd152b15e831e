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

/*
 * A thread's system time is worth a look at its kernel stack from this share on, of what it ran
 * in all or, once that is long enough, of late: a busy start says nothing about the hours after.
 */
#define YOUNG_TICKS	  10
#define LATE_TICKS	  128
#define SYSTEM_TIME_SHARE 64

static enum kernel_place read_place(struct tracee *tracee)
{
	char text[KERNEL_STACK_BYTES];
	ssize_t got = target_read_file(tracee, KEPT_STACK, text, sizeof(text));

	if (got < 0) {
		tracee->priv->hides_kernel_stack = errno == EPERM || errno == EACCES;
		return KERNEL_PLACE_UNKNOWN;
	}
	return kernel_stack_place(text, (size_t)got);
}

/* Each stop of ours is charged to the thread as system time: some 25 us of it. */
#define STOPS_PER_TICK 400

static bool is_small(const struct run_ticks *ticks)
{
	uint64_t ours = ticks->nr_interrupts / STOPS_PER_TICK;
	uint64_t its_own = ticks->system > ours ? ticks->system - ours : 0;

	return its_own * SYSTEM_TIME_SHARE < ticks->user + ticks->system;
}

/*
 * At high rates the kernel's ticks of 4 ms tell its own time from that of our stops badly. The
 * stops themselves do: so many show where the thread is, and one that was not made for what the
 * thread was in counts like one that met it in a call.
 */
#define JUDGED_STOPS 256

void target_note_stop(struct tracee *tracee, bool in_call)
{
	struct judged_stops *stops = &tracee->priv->stops;

	stops->nr_in_calls += in_call;
	if (++stops->nr < JUDGED_STOPS)
		return;
	*stops = (struct judged_stops){
		.few_in_calls = stops->nr_in_calls * SYSTEM_TIME_SHARE < stops->nr,
	};
}

void target_judge_anew(struct tracee *tracee)
{
	struct tracee_private *priv = tracee->priv;
	struct known_sleeps sleeps = {
		.are_known = priv->sleeps.are_known,
		.nr = priv->sleeps.nr,
		.cpu_ns = priv->sleeps.cpu_ns,
	};

	priv->stops = (struct judged_stops){0};
	priv->late = priv->ticks;
	priv->makes_few_calls = false;
	priv->makes_transfers = false;
	priv->makes_waits = false;
	priv->sleeps = sleeps;
}

/* A thread that hardly ever is in the kernel makes no long transfers there. */
static bool makes_few_calls(struct tracee_private *priv)
{
	struct run_ticks late = {
		.user = priv->ticks.user - priv->late.user,
		.system = priv->ticks.system - priv->late.system,
		.nr_interrupts = priv->ticks.nr_interrupts - priv->late.nr_interrupts,
	};
	uint64_t nr = late.user + late.system;

	if (nr >= LATE_TICKS || (!priv->late.user && !priv->late.system && nr >= YOUNG_TICKS))
		priv->makes_few_calls = is_small(&late);
	if (nr >= LATE_TICKS)
		priv->late = priv->ticks;
	return (priv->makes_few_calls || priv->stops.few_in_calls) && !priv->makes_transfers &&
	       !priv->makes_waits;
}

uint64_t target_cpu_ns(struct tracee *tracee)
{
	struct proc_schedstat clocks;

	return target_clocks(tracee, &clocks) ? clocks.cpu_ns : 0;
}

void target_met_in_transfer(struct tracee *tracee)
{
	tracee->priv->makes_transfers = true;
	target_note_transfer(tracee);
	tracee->priv->transfer_cpu_ns = target_cpu_ns(tracee);
}

static void met_in_wait(struct tracee *tracee)
{
	tracee->priv->makes_waits = true;
	tracee->priv->transfer_cpu_ns = target_cpu_ns(tracee);
}

bool target_makes_transfers(const struct tracee *tracee)
{
	return tracee->priv->makes_transfers || tracee->priv->makes_waits;
}

static bool was_met_of_late(struct tracee *tracee)
{
	return target_cpu_ns(tracee) - tracee->priv->transfer_cpu_ns < TRANSFER_PAUSE_NS;
}

/* One line for its terminal says little about what a program does with its time. */
static void forget_waits(struct tracee *tracee)
{
	if (tracee->priv->makes_waits && !was_met_of_late(tracee))
		tracee->priv->makes_waits = false;
}

static bool is_in_unknown(struct tracee *tracee)
{
	if (tracee->priv->hides_kernel_stack)
		return target_may_be_in_transfer(tracee);
	return target_makes_transfers(tracee) && was_met_of_late(tracee);
}

/* It may not have run since it was let go from the entry of that call. */
static bool has_entered_spoilt(const struct tracee_private *priv)
{
	return priv->is_in_call && priv->entered_spoilt;
}

/* Of a wait no more than its timeout. */
static bool is_in_what_would_spoil(struct tracee *tracee, bool spoils_timeout)
{
	const struct tracee_private *priv = tracee->priv;

	if (has_entered_spoilt(priv))
		return true;
	switch (read_place(tracee)) {
	case KERNEL_PLACE_UNKNOWN:
		return is_in_unknown(tracee);
	case KERNEL_PLACE_USER:
	case KERNEL_PLACE_CALL:
		return false;
	case KERNEL_PLACE_SOCKET:
		return priv->makes_transfers;
	case KERNEL_PLACE_SHORT_WAIT:
		return priv->makes_waits;
	case KERNEL_PLACE_WAITING:
		return true;
	case KERNEL_PLACE_TIMED_WAIT:
		return spoils_timeout;
	case KERNEL_PLACE_TRANSFER:
		target_met_in_transfer(tracee);
		return true;
	}
	return false;
}

bool target_is_in_what_would_spoil(struct tracee *tracee)
{
	return is_in_what_would_spoil(tracee, true);
}

bool target_is_in_what_would_cut(struct tracee *tracee)
{
	return is_in_what_would_spoil(tracee, false);
}

bool target_stop_would_spoil(struct tracee *tracee)
{
	struct tracee_private *priv = tracee->priv;
	bool would;

	if (!priv->looked_awake)
		return false;
	if (has_entered_spoilt(priv))
		return true;
	forget_waits(tracee);
	if (priv->hides_kernel_stack)
		return target_may_be_in_transfer(tracee);
	if (makes_few_calls(priv))
		return false;
	would = target_is_in_what_would_spoil(tracee);
	if (would)
		target_note_stop(tracee, true);
	return would;
}

void target_take_care(struct tracee *tracee, const struct proc_syscall *syscall)
{
	tracee->care = target_care_of(tracee->tid, syscall);
	if (syscall->kind == PROC_SYSCALL_INSIDE)
		target_note_met_asleep(tracee);
	if (syscall->kind == PROC_SYSCALL_INSIDE && target_note_danger(tracee, syscall))
		tracee->care.is_unrestarted = true;
	tracee->priv->target->any_unrestarted |= tracee->care.is_unrestarted;
	tracee->priv->is_asker |= tracee->care.asks_for_signals && machine_can_restart();
	if (tracee->care.asks_for_signals)
		target_note_asker(tracee->priv->target, tracee);
	if (!tracee->care.spoilt_cpu_ns)
		return;
	if (tracee->care.is_long_transfer)
		target_met_in_transfer(tracee);
	else
		met_in_wait(tracee);
	/* Where more is known of it, there is no need to spare it blindly. */
	if (!tracee->priv->hides_kernel_stack || tracee->care.is_long_transfer)
		tracee->care.spoilt_cpu_ns = 0;
}
