// SPDX-License-Identifier: GPL-2.0-or-later
/* Which objects of an interpreter stay the same. */
#include "script/steadiness.h"

#include "base/clock.h"
#include "base/minmax.h"

#define STEADY_NS   (100 * NS_PER_MS)
#define STEADY_SEEN 4
#define CALM_NS	    (2 * NS_PER_SEC)
/* So many walks that have seen none replaced are as good, if these were over some time. */
#define CALM_WALKS    100
#define CALM_WALKS_NS (NS_PER_SEC / 2)

void steady_walks_begin(struct steady_walks *walks, uint64_t time_ns)
{
	if (!walks->nr++)
		walks->replaced_ns = time_ns;
	/* Snapshots of allocations are read later. */
	walks->latest_ns = max_u64(walks->latest_ns, time_ns);
}

void steady_walks_replaced(struct steady_walks *walks)
{
	walks->has_replaced = true;
	walks->replaced_ns = walks->latest_ns;
}

void steadiness_seen(struct steadiness *steadiness, const struct steady_walks *walks, bool is_same)
{
	if (!is_same)
		*steadiness = (struct steadiness){.since_ns = walks->latest_ns};
	steadiness->until_ns = walks->latest_ns;
	steadiness->nr_seen += steadiness->nr_seen < STEADY_SEEN;
}

static bool are_calm(const struct steady_walks *walks)
{
	uint64_t calm_ns = walks->latest_ns - walks->replaced_ns;

	return calm_ns >= CALM_NS ||
	       (!walks->has_replaced && calm_ns >= CALM_WALKS_NS && walks->nr >= CALM_WALKS);
}

bool steadiness_is_given(const struct steadiness *steadiness, const struct steady_walks *walks)
{
	return are_calm(walks) && steadiness->nr_seen >= STEADY_SEEN &&
	       steadiness->until_ns - steadiness->since_ns >= STEADY_NS;
}
