// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/syscall.h>

#include "base/clock.h"
#include "proc/read.h"
#include "target/target_priv.h"

/*
 * Threads whose kernel stack is not for us (target_spoil.c): an ordinary user's, and those of most
 * containers. No file tells then whether one that runs is in a transfer, which a stop would cut
 * short, or computes. But who computes runs on, while a transfer sleeps each time that its peer is
 * slower. So until a thread has been seen asleep so often that its calls are known, and ever after
 * it was seen in a transfer, it is asked to stop only once it has run for a while and not slept.
 * Who goes on without being seen asleep is not waited for without end.
 */
#define RUN_ON_NS	NS_PER_MS
#define SEEN_ENOUGH	16
#define WAITED_ENOUGH	16
#define SLEEPS_OF_START 2 /* its birth, an exec */

/* Of processes that live for milliseconds each look counts, and they begin by computing. */
static bool is_at_start(const struct tracee *tracee, uint64_t nr_slept)
{
	return tracee->tid == tracee->tgid && nr_slept <= SLEEPS_OF_START;
}

/* Since it was last found to have slept; when it is asked about first, in all its life. */
static bool has_run_on(struct tracee *tracee, uint64_t cpu_ns)
{
	struct known_sleeps *sleeps = &tracee->priv->sleeps;
	bool is_first = !sleeps->are_known;
	struct proc_status status;
	uint64_t nr;

	if (!proc_read_status(tracee->tid, &status))
		return true; /* gone */
	/* To be stopped, by our asking or by a signal, is to sleep as well. */
	nr = status.nr_yielded - tracee->priv->nr_stops;
	if (nr == sleeps->nr)
		return cpu_ns - sleeps->cpu_ns >= RUN_ON_NS;
	sleeps->are_known = true;
	sleeps->nr = nr;
	sleeps->cpu_ns = cpu_ns;
	return is_first && (nr * RUN_ON_NS < cpu_ns || is_at_start(tracee, nr));
}

/*
 * What is cut all the same had not slept yet: to a program that computes and sends in turns it
 * happens once in some hundred stops. So who makes transfers is stopped more rarely than others,
 * and once a stop has cut one, more rarely still; its time goes to the looks that are left. Whose
 * transfers hardly ever sleep, and are cut again by one of the next stops, is left alone for ever
 * longer.
 */
#define PAUSE_NS	 (4 * NS_PER_MS)
#define FIRST_PAUSE_NS	 (10 * NS_PER_MS)
#define LONGEST_PAUSE_NS (60 * NS_PER_SEC)
#define LONGER		 16
#define SOON_STOPS	 16

static uint64_t pause_ns(const struct tracee *tracee)
{
	uint64_t since_cut_ns = tracee->priv->sleeps.pause_ns;

	return since_cut_ns || !tracee->priv->makes_transfers ? since_cut_ns : PAUSE_NS;
}

/* Without sleeping: a stop cuts these wherever it meets them. */
static bool asks_at_each_page(const struct proc_syscall *syscall)
{
	return syscall->nr == SYS_sendfile || syscall->nr == SYS_splice;
}

static void make_pause_longer(struct tracee *tracee, bool by_far)
{
	struct known_sleeps *sleeps = &tracee->priv->sleeps;
	uint64_t nr_stops = tracee->priv->ticks.nr_interrupts;
	bool is_soon = sleeps->pause_ns && nr_stops - sleeps->nr_stops_to_cut <= SOON_STOPS;

	if (!is_soon)
		sleeps->pause_ns = FIRST_PAUSE_NS;
	if (is_soon)
		sleeps->pause_ns *= LONGER;
	else if (by_far)
		sleeps->pause_ns *= LONGER * LONGER;
	if (sleeps->pause_ns > LONGEST_PAUSE_NS)
		sleeps->pause_ns = LONGEST_PAUSE_NS;
	sleeps->nr_stops_to_cut = nr_stops;
}

bool target_may_be_in_transfer(struct tracee *tracee)
{
	struct known_sleeps *sleeps = &tracee->priv->sleeps;
	bool is_known = sleeps->nr_seen >= SEEN_ENOUGH || sleeps->nr_waited_for >= WAITED_ENOUGH;
	bool is_wary = tracee->priv->makes_transfers || !is_known;
	uint64_t cpu_ns = target_cpu_ns(tracee);

	if (is_wary &&
	    (!has_run_on(tracee, cpu_ns) || cpu_ns - sleeps->asked_cpu_ns < pause_ns(tracee))) {
		sleeps->nr_waited_for++;
		return true;
	}
	sleeps->asked_cpu_ns = cpu_ns;
	return false;
}

void target_learn_result(struct tracee *tracee, const struct proc_syscall *syscall, int64_t result)
{
	if (!tracee->priv->hides_kernel_stack || !target_call_was_cut(tracee->tid, syscall, result))
		return;
	target_met_in_transfer(tracee);
	make_pause_longer(tracee, asks_at_each_page(syscall));
}
