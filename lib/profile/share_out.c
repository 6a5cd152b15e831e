// SPDX-License-Identifier: GPL-2.0-or-later
/* Has samples stand for equal parts of a sum of time, and says which stands where for which. */
#include "profile/share_out.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"

void share_list_add(struct share_list *list, const struct share *share)
{
	ARRAY_GROW(list->rows, list->nr, list->cap);
	list->rows[list->nr++] = *share;
}

/* Products of a long double are rounded: a part would have a nanosecond more than there is. */
__extension__ typedef unsigned __int128 product;

static uint64_t up_to(uint64_t total, uint64_t at, uint64_t whole)
{
	return at >= whole ? total : (uint64_t)((product)total * at / whole);
}

uint64_t share_of(uint64_t total, uint64_t from, uint64_t to, uint64_t whole)
{
	return up_to(total, to, whole) - up_to(total, from, whole);
}

uint64_t share_bound(uint64_t nr, uint64_t most)
{
	return nr && most > UINT64_MAX / nr ? UINT64_MAX : nr * most;
}

/* The time that a stake can give away, and the time that it lacks. */
struct balance {
	uint64_t offered_ns, wanted_ns;
};

struct sums {
	uint64_t cpu_ns, nr;
	uint64_t offered_ns, wanted_ns;
};

static void weigh(const struct stake *stake, uint64_t aim_ns, bool keeps, struct balance *balance)
{
	*balance = (struct balance){0};
	if (stake->nr && aim_ns > stake->cpu_ns)
		balance->wanted_ns = aim_ns - stake->cpu_ns;
	else if (!keeps || !stake->is_attributed)
		balance->offered_ns = stake->cpu_ns - aim_ns;
}

static struct balance *weigh_all(const struct stake *stakes, size_t nr, uint64_t most_ns,
				 struct sums *sums)
{
	struct balance *balances = xcalloc(nr, sizeof(*balances));
	uint64_t aim_ns, before = 0;

	for (size_t i = 0; i < nr; i++) {
		sums->cpu_ns += stakes[i].cpu_ns;
		sums->nr += stakes[i].nr;
	}
	aim_ns = min_u64(sums->cpu_ns, share_bound(sums->nr, most_ns));
	for (size_t i = 0; i < nr && sums->nr; i++) {
		uint64_t own_ns = share_of(aim_ns, before, before + stakes[i].nr, sums->nr);

		weigh(&stakes[i], own_ns, aim_ns < sums->cpu_ns, &balances[i]);
		before += stakes[i].nr;
		sums->offered_ns += balances[i].offered_ns;
		sums->wanted_ns += balances[i].wanted_ns;
	}
	return balances;
}

/* If offers and wants differ, each has its part in the smaller sum. */
static void settle(struct balance *balances, size_t nr, const struct sums *sums)
{
	uint64_t all_ns = min_u64(sums->offered_ns, sums->wanted_ns), offered = 0, wanted = 0;

	for (size_t i = 0; i < nr; i++) {
		struct balance *balance = &balances[i];
		uint64_t offers_to = offered + balance->offered_ns;
		uint64_t wants_to = wanted + balance->wanted_ns;

		balance->offered_ns = share_of(all_ns, offered, offers_to, sums->offered_ns);
		balance->wanted_ns = share_of(all_ns, wanted, wants_to, sums->wanted_ns);
		offered = offers_to;
		wanted = wants_to;
	}
}

void share_out(const struct stake *stakes, size_t nr, uint64_t most_ns, struct share_list *out)
{
	struct sums sums = {0};
	struct balance *balances = weigh_all(stakes, nr, most_ns, &sums);
	size_t to = 0;

	settle(balances, nr, &sums);
	for (size_t from = 0; from < nr; from++) {
		while (balances[from].offered_ns) {
			uint64_t ns;

			while (!balances[to].wanted_ns)
				to++;
			ns = min_u64(balances[from].offered_ns, balances[to].wanted_ns);
			share_list_add(out, &(struct share){.from = stakes[from].sample,
							    .to = stakes[to].sample,
							    .to_time_ns = stakes[to].time_ns,
							    .ns = ns});
			balances[from].offered_ns -= ns;
			balances[to].wanted_ns -= ns;
		}
	}
	free(balances);
}
