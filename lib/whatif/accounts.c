// SPDX-License-Identifier: GPL-2.0-or-later
#include "whatif/accounts.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"

#define LEAST_HOLD_NS (10 * NS_PER_US)
#define MOST_HOLD_NS  (2 * NS_PER_MS)

#define SPAN_NS (NS_PER_SEC / WHATIF_GOVERNOR_SPANS)

/* Forget what is longer than a second ago. */
static void move_on(struct whatif_governor *governor, uint64_t now_ns)
{
	uint64_t span = now_ns / SPAN_NS;

	if (span - governor->last > WHATIF_GOVERNOR_SPANS)
		governor->last = span - WHATIF_GOVERNOR_SPANS - 1;
	while (governor->last < span) {
		uint64_t *oldest =
			&governor->spans_ns[++governor->last % ARRAY_SIZE(governor->spans_ns)];

		governor->within_ns -= *oldest;
		*oldest = 0;
	}
}

/* How much of a growth of the program's account is allowed. */
static uint64_t allowed_ns(struct whatif_governor *governor, uint64_t wanted_ns, uint64_t now_ns)
{
	uint64_t most_ns = (uint64_t)(governor->most * (double)NS_PER_SEC), allowed;

	if (governor->most <= 0)
		return wanted_ns;
	move_on(governor, now_ns);
	allowed = min_u64(wanted_ns, most_ns - min_u64(most_ns, governor->within_ns));
	governor->spans_ns[governor->last % ARRAY_SIZE(governor->spans_ns)] += allowed;
	governor->within_ns += allowed;
	return allowed;
}

static bool is_asleep(const struct whatif_account *account)
{
	return account->seen.state == WHATIF_AWAITS_THREAD ||
	       account->seen.state == WHATIF_AWAITS_OUTSIDE;
}

/* A debt is paid by sleeping, too. Does it sleep without one, until another thread wakes it? */
static bool sleeps_free(struct whatif_account *account, uint64_t global_ns)
{
	if (is_asleep(account))
		account->sleeps_outside = account->seen.state == WHATIF_AWAITS_OUTSIDE;
	if (account->sleeps_outside)
		return false;
	if (account->own_ns < global_ns)
		account->own_ns = min_u64(account->own_ns + account->seen.slept_ns, global_ns);
	return is_asleep(account) && account->own_ns >= global_ns;
}

void whatif_look(struct whatif_accounts *all, struct whatif_account *const *accounts, size_t nr,
		 double part, uint64_t now_ns)
{
	uint64_t former_ns = all->global_ns, wanted_ns = former_ns, growth_ns, stopped_ns = 0;

	for (size_t i = 0; i < nr; i++) {
		struct whatif_account *account = accounts[i];

		account->is_free = sleeps_free(account, former_ns);
		stopped_ns = max_u64(stopped_ns, account->seen.stopped_ns);
		if (account->seen.state != WHATIF_HITS)
			continue;
		account->own_ns += (uint64_t)(part * (double)account->seen.cpu_ns);
		wanted_ns = max_u64(wanted_ns, account->own_ns);
	}
	growth_ns = allowed_ns(&all->governor, wanted_ns - former_ns, now_ns);
	all->refused_ns += wanted_ns - former_ns - growth_ns;
	all->global_ns = former_ns + growth_ns;
	for (size_t i = 0; i < nr; i++)
		if (accounts[i]->seen.state == WHATIF_HITS)
			accounts[i]->own_ns = min_u64(accounts[i]->own_ns, all->global_ns);
	/* The stops of the look are holds, too. */
	all->global_ns += stopped_ns;
	for (size_t i = 0; i < nr; i++)
		accounts[i]->own_ns += accounts[i]->is_free ? growth_ns + stopped_ns
							    : accounts[i]->seen.stopped_ns;
}

void whatif_account_open(struct whatif_account *account, const struct whatif_accounts *all)
{
	*account = (struct whatif_account){.own_ns = all->global_ns};
}

void whatif_account_held(struct whatif_account *account, uint64_t ns)
{
	account->own_ns += ns;
}

uint64_t whatif_account_hold_ns(const struct whatif_account *account,
				const struct whatif_accounts *all)
{
	uint64_t owed_ns = all->global_ns - min_u64(all->global_ns, account->own_ns);

	return owed_ns < LEAST_HOLD_NS ? 0 : min_u64(owed_ns, MOST_HOLD_NS);
}

void whatif_account_settle(struct whatif_account *account, const struct whatif_accounts *all)
{
	account->own_ns = all->global_ns;
}
