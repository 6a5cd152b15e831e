// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler/account.h"
#include "base/minmax.h"

void account_start(struct account *account, const struct account_clocks *clocks)
{
	*account = (struct account){.seen = *clocks};
}

/* Totals never run backwards for us, whatever a read says. */
static uint64_t advance(uint64_t *seen, uint64_t now)
{
	uint64_t difference = now > *seen ? now - *seen : 0;

	*seen += difference;
	return difference;
}

static void owe(struct account *account, const struct account_clocks *clocks)
{
	uint64_t wall = advance(&account->seen.time_ns, clocks->time_ns);
	uint64_t cpu = advance(&account->seen.cpu_ns, clocks->cpu_ns);
	uint64_t runq = advance(&account->seen.runq_ns, clocks->runq_ns);

	account->owed_cpu_ns += cpu;
	account->owed_runq_ns += runq;
	account->owed_blocked_ns += (int64_t)wall - (int64_t)cpu - (int64_t)runq;
}

static uint64_t take(uint64_t *owed)
{
	uint64_t all = *owed;

	*owed = 0;
	return all;
}

static uint64_t take_positive(int64_t *owed)
{
	uint64_t all = *owed > 0 ? (uint64_t)*owed : 0;

	*owed -= (int64_t)all;
	return all;
}

/* No more than there is: some of what was held may have been stolen. */
static void give_back_stolen(struct account *account, uint64_t stolen_ns)
{
	uint64_t owed_ns = account->owed_blocked_ns > 0 ? (uint64_t)account->owed_blocked_ns : 0;
	uint64_t found_ns = min_u64(stolen_ns, owed_ns);

	account->owed_blocked_ns -= (int64_t)found_ns;
	account->owed_runq_ns += found_ns;
}

static void owe_awake(struct account *account, const struct account_clocks *clocks,
		      const struct account_losses *losses)
{
	owe(account, clocks);
	account->owed_blocked_ns -= (int64_t)losses->held_ns;
	give_back_stolen(account, losses->stolen_ns);
}

struct weights account_running(struct account *account, const struct account_clocks *clocks,
			       const struct account_losses *losses)
{
	owe_awake(account, clocks, losses);
	return (struct weights){
		.cpu_ns = take(&account->owed_cpu_ns),
		.runq_ns = take(&account->owed_runq_ns),
	};
}

struct weights account_waiting(struct account *account, const struct account_clocks *clocks,
			       const struct account_losses *losses)
{
	owe_awake(account, clocks, losses);
	return (struct weights){.runq_ns = take(&account->owed_runq_ns)};
}

struct weights account_blocked(struct account *account, const struct account_clocks *clocks)
{
	owe(account, clocks);
	return (struct weights){.blocked_ns = take_positive(&account->owed_blocked_ns)};
}

struct weights account_slept_until(struct account *account, uint64_t time_ns)
{
	struct account_clocks clocks = account->seen;

	clocks.time_ns = time_ns;
	return account_blocked(account, &clocks);
}

struct weights account_rest(struct account *account, const struct account_clocks *clocks)
{
	owe(account, clocks);
	return (struct weights){
		.cpu_ns = take(&account->owed_cpu_ns),
		.runq_ns = take(&account->owed_runq_ns),
		.blocked_ns = take_positive(&account->owed_blocked_ns),
	};
}
