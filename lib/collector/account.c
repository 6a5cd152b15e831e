// SPDX-License-Identifier: GPL-2.0-or-later
/* Divides a thread's time among its samples. */
#include "collector/account.h"

#include "base/minmax.h"

void account_start(struct account *account, const struct account_clocks *clocks)
{
	*account = (struct account){.seen = *clocks};
}

/* A total that is read lower than before has not advanced. */
static uint64_t advance(uint64_t *seen, uint64_t now)
{
	uint64_t difference = now > *seen ? now - *seen : 0;

	*seen += difference;
	return difference;
}

static void advance_clocks(struct account *account, const struct account_clocks *clocks)
{
	uint64_t wall = advance(&account->seen.time_ns, clocks->time_ns);
	uint64_t cpu = advance(&account->seen.cpu_ns, clocks->cpu_ns);
	uint64_t runq = advance(&account->seen.runq_ns, clocks->runq_ns);

	account->unattributed_cpu_ns += cpu;
	account->unattributed_runq_ns += runq;
	account->unattributed_blocked_ns += (int64_t)wall - (int64_t)cpu - (int64_t)runq;
}

static uint64_t take(uint64_t *unattributed)
{
	uint64_t all = *unattributed;

	*unattributed = 0;
	return all;
}

static uint64_t take_positive(int64_t *unattributed)
{
	uint64_t all = *unattributed > 0 ? (uint64_t)*unattributed : 0;

	*unattributed -= (int64_t)all;
	return all;
}

/*
 * For a running or runnable thread: neither the time for which it was held nor stolen time is
 * sleep.
 */
static void leave_out(struct account *account, const struct account_losses *losses)
{
	int64_t blocked_ns = account->unattributed_blocked_ns - (int64_t)losses->held_ns;
	/* Stolen time is a wait. No more than there is: held time may be stolen, too. */
	int64_t stolen_ns =
		blocked_ns > 0 ? (int64_t)min_u64(losses->stolen_ns, (uint64_t)blocked_ns) : 0;

	account->unattributed_blocked_ns = blocked_ns - stolen_ns;
	account->unattributed_runq_ns += (uint64_t)stolen_ns;
}

struct account_weights account_seen(struct account *account, enum seen_state state,
				    const struct account_clocks *clocks,
				    const struct account_losses *losses)
{
	struct account_weights weights = {0};

	advance_clocks(account, clocks);
	if (state == SEEN_BLOCKED) {
		weights.blocked_ns = take_positive(&account->unattributed_blocked_ns);
		return weights;
	}
	leave_out(account, losses);
	weights.runq_ns = take(&account->unattributed_runq_ns);
	if (state == SEEN_RUNNING)
		weights.cpu_ns = take(&account->unattributed_cpu_ns);
	return weights;
}

uint64_t account_blocked_until(struct account *account, uint64_t time_ns)
{
	struct account_clocks clocks = account->seen;

	clocks.time_ns = time_ns;
	return account_seen(account, SEEN_BLOCKED, &clocks, &(struct account_losses){0}).blocked_ns;
}

struct account_weights account_rest(struct account *account, const struct account_clocks *clocks)
{
	advance_clocks(account, clocks);
	return (struct account_weights){
		.cpu_ns = take(&account->unattributed_cpu_ns),
		.runq_ns = take(&account->unattributed_runq_ns),
		.blocked_ns = take_positive(&account->unattributed_blocked_ns),
	};
}
