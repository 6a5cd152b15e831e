// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "proc/read.h"
#include "target/target_priv.h"

/*
 * Threads whose kernel stack is not for us (target_spoil.c): an ordinary user's, and those of most
 * containers. No file tells then whether one that runs is in a transfer, which a stop would cut
 * short, or computes. But who computes runs on, while a transfer sleeps each time that its peer is
 * slower. So until a thread has been seen asleep so often that its calls are known, and while it
 * was seen in a transfer of late, it is asked to stop only once it has run for a while and not
 * slept. Who goes on without being seen asleep, or computes in short bursts, is not waited for
 * without end.
 */
#define RUN_ON_NS	NS_PER_MS
#define SEEN_ENOUGH	8
#define WAITED_ENOUGH	16
#define REFUSED_ENOUGH	4
#define SLEEPS_OF_START 2 /* its birth, an exec */

/* Of processes that live for milliseconds each look counts, and they begin by computing. */
static bool is_at_start(const struct tracee *tracee, uint64_t nr_slept)
{
	return tracee->tid == tracee->tgid && nr_slept <= SLEEPS_OF_START;
}

static struct tracee *first_thread(const struct tracee *tracee)
{
	return target_find(tracee->priv->target, tracee->tgid);
}

void target_note_transfer(const struct tracee *tracee)
{
	struct tracee *first = first_thread(tracee);

	if (first)
		first->priv->sleeps.process_sent_ns = clock_monotonic_ns();
}

/* So long are threads that a process begins expected to do as its others did. */
#define SENT_LATELY_NS (10 * NS_PER_SEC)

static bool process_has_sent_lately(const struct tracee *tracee)
{
	const struct tracee *first = tracee ? first_thread(tracee) : NULL;
	uint64_t sent_ns = first ? first->priv->sleeps.process_sent_ns : 0;

	return sent_ns && clock_monotonic_ns() - sent_ns < SENT_LATELY_NS;
}

static bool may_send_at_once(const struct tracee *tracee)
{
	const struct tracee *first = first_thread(tracee);

	if (process_has_sent_lately(tracee))
		return true;
	/* A forked process does as its maker, up to its first exec. */
	return first && first->priv->parent_tid && !first->priv->has_executed &&
	       process_has_sent_lately(target_find(tracee->priv->target, first->priv->parent_tid));
}

/*
 * Who has never slept is new, and computes, as a rule: many threads are over before they would have
 * run on. But where transfers are made, new threads may make some, too.
 */
static bool has_run_on_so_far(const struct tracee *tracee, uint64_t nr_slept, uint64_t cpu_ns)
{
	if (!nr_slept)
		return cpu_ns >= RUN_ON_NS || !may_send_at_once(tracee);
	return nr_slept * RUN_ON_NS < cpu_ns || is_at_start(tracee, nr_slept);
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
	if (nr == sleeps->nr && !is_first)
		return cpu_ns - sleeps->cpu_ns >= RUN_ON_NS;
	sleeps->are_known = true;
	sleeps->nr = nr;
	sleeps->cpu_ns = cpu_ns;
	return is_first && has_run_on_so_far(tracee, nr, cpu_ns);
}

/*
 * What is cut all the same had not slept yet: to a program that computes and sends in turns it
 * happens once in some hundred stops. So who makes transfers is stopped more rarely than others,
 * and once a stop has cut one, more rarely still; its time goes to the looks that are left. Whose
 * transfers hardly ever sleep, and are cut again by one of the next stops, is left alone for ever
 * longer; but not who computes for the most part, of whom that few are cut by chance: its time
 * would stay unknown. All that ends when it has not been seen in one for a while.
 */
#define PAUSE_NS		(4 * NS_PER_MS)
#define FIRST_PAUSE_NS		(10 * NS_PER_MS)
#define LONGEST_PAUSE_NS	(60 * NS_PER_SEC)
#define LONGEST_OF_COMPUTING_NS (40 * NS_PER_MS)
#define LONGER			16
#define SOON_STOPS		4
#define SHORTER			8
#define LATELY_NS		(250 * NS_PER_MS)

/* Longer pauses of who computes now are from before that. */
static uint64_t pause_ns(const struct known_sleeps *sleeps)
{
	return min_u64(sleeps->pause_ns, sleeps->computes && !sleeps->is_cut_anywhere
						 ? LONGEST_OF_COMPUTING_NS
						 : LONGEST_PAUSE_NS);
}

static void forget_old_transfers(struct tracee *tracee, uint64_t cpu_ns)
{
	struct tracee_private *priv = tracee->priv;

	if (cpu_ns - priv->transfer_cpu_ns >= max_u64(pause_ns(&priv->sleeps), LATELY_NS))
		priv->makes_transfers = false;
}

static bool is_in_pause(const struct tracee *tracee, uint64_t cpu_ns)
{
	const struct known_sleeps *sleeps = &tracee->priv->sleeps;

	return tracee->priv->makes_transfers &&
	       cpu_ns - sleeps->asked_cpu_ns < max_u64(pause_ns(sleeps), PAUSE_NS);
}

static bool is_wary(const struct tracee_private *priv)
{
	return priv->makes_transfers ||
	       (priv->sleeps.nr_seen < SEEN_ENOUGH && priv->sleeps.nr_waited_for < WAITED_ENOUGH);
}

/* In the kernel's ticks; that many tell where it runs for the most part, those of late. */
#define ENOUGH_TICKS 5
#define LATE_TICKS   128

static void note_where_it_runs(struct tracee_private *priv)
{
	uint64_t user = priv->ticks.user - priv->late.user;
	uint64_t system = priv->ticks.system - priv->late.system;

	if (user + system < ENOUGH_TICKS)
		return;
	priv->sleeps.computes = user > system;
	if (user + system >= LATE_TICKS)
		priv->late = priv->ticks;
}

/* While it is not stopped its time goes to where it was met before: not so for ever. */
static bool has_waited_enough(const struct tracee_private *priv)
{
	return priv->sleeps.nr_refused >= REFUSED_ENOUGH && priv->sleeps.computes;
}

static bool is_to_be_refused(struct tracee *tracee, uint64_t cpu_ns)
{
	const struct tracee_private *priv = tracee->priv;

	/* Asked each time: it goes by what has happened since the last. */
	return (!has_run_on(tracee, cpu_ns) && !has_waited_enough(priv)) ||
	       is_in_pause(tracee, cpu_ns);
}

bool target_may_be_in_transfer(struct tracee *tracee)
{
	struct known_sleeps *sleeps = &tracee->priv->sleeps;
	uint64_t cpu_ns = target_cpu_ns(tracee);

	forget_old_transfers(tracee, cpu_ns);
	note_where_it_runs(tracee->priv);
	if (is_wary(tracee->priv) && is_to_be_refused(tracee, cpu_ns)) {
		sleeps->nr_waited_for++;
		sleeps->nr_refused++;
		return true;
	}
	sleeps->nr_refused = 0;
	sleeps->asked_cpu_ns = cpu_ns;
	return false;
}

static void make_pause_longer(struct known_sleeps *sleeps, uint64_t nr_stops, int64_t call)
{
	bool is_soon = sleeps->pause_ns && nr_stops - sleeps->nr_stops_to_cut <= SOON_STOPS;

	sleeps->nr_stops_to_cut = nr_stops;
	/* splice(2) moves no more than is there: what looks cut may not be. */
	if (!is_soon || call == SYS_splice)
		sleeps->pause_ns = FIRST_PAUSE_NS;
	else
		sleeps->pause_ns *= LONGER;
	/* sendfile(2) looks for signals at each page: a stop cuts it wherever it meets it. */
	sleeps->is_cut_anywhere = call == SYS_sendfile;
	if (sleeps->is_cut_anywhere)
		sleeps->pause_ns *= LONGER * LONGER;
	sleeps->pause_ns = pause_ns(sleeps);
}

static void make_pause_shorter(struct known_sleeps *sleeps)
{
	if (sleeps->pause_ns > FIRST_PAUSE_NS)
		sleeps->pause_ns -= sleeps->pause_ns / SHORTER;
}

void target_learn_of_stop(struct tracee *tracee, const struct proc_syscall *syscall, int64_t result)
{
	struct tracee_private *priv = tracee->priv;

	if (!priv->hides_kernel_stack)
		return;
	if (!syscall || !target_call_was_cut(tracee->tid, syscall, result)) {
		make_pause_shorter(&priv->sleeps);
		return;
	}
	target_met_in_transfer(tracee);
	make_pause_longer(&priv->sleeps, priv->ticks.nr_interrupts, syscall->nr);
}
