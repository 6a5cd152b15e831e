// SPDX-License-Identifier: GPL-2.0-or-later
/* Marks and cuts, from any thread to the collector's. */
#include "collector/moments.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "profile/profile.h"

struct moment {
	uint64_t time_ns;	   /* CLOCK_MONOTONIC */
	char *mark;		   /* owned; or NULL */
	struct collector_cut *cut; /* borrowed; or NULL */
};

void moments_init(struct moments *moments)
{
	pthread_mutex_init(&moments->lock, NULL);
	atomic_init(&moments->cut_due_ns, UINT64_MAX);
}

void moments_release(struct moments *moments)
{
	pthread_mutex_destroy(&moments->lock);
	for (size_t i = 0; i < moments->nr; i++)
		free(moments->rows[i].mark);
	free(moments->rows);
}

/* The time is taken under the lock: moments are in its order. */
static void add(struct moments *moments, struct moment moment)
{
	pthread_mutex_lock(&moments->lock);
	moment.time_ns = clock_monotonic_ns();
	ARRAY_GROW(moments->rows, moments->nr, moments->cap);
	moments->rows[moments->nr++] = moment;
	if (moment.cut && atomic_load(&moments->cut_due_ns) == UINT64_MAX)
		atomic_store(&moments->cut_due_ns, moment.time_ns);
	pthread_mutex_unlock(&moments->lock);
}

void moments_add_mark(struct moments *moments, const char *text)
{
	add(moments, (struct moment){.mark = xstrdup(text)});
}

void moments_add_cut(struct moments *moments, struct collector_cut *cut)
{
	add(moments, (struct moment){.cut = cut});
}

bool moments_has_cut_before(const struct moments *moments, uint64_t time_ns)
{
	return atomic_load_explicit(&moments->cut_due_ns, memory_order_relaxed) < time_ns;
}

static void drop_first(struct moments *moments, size_t nr)
{
	uint64_t due_ns = UINT64_MAX;

	if (nr == 0) /* nor may there be an array yet */
		return;
	moments->nr -= nr;
	memmove(moments->rows, moments->rows + nr, moments->nr * sizeof(*moments->rows));
	for (size_t i = moments->nr; i-- > 0;) {
		if (moments->rows[i].cut)
			due_ns = moments->rows[i].time_ns;
	}
	atomic_store(&moments->cut_due_ns, due_ns);
}

struct collector_cut *moments_take(struct moments *moments, uint64_t until_ns,
				   struct profile *profile, uint64_t start_ns)
{
	struct collector_cut *cut = NULL;
	size_t nr = 0;

	pthread_mutex_lock(&moments->lock);
	while (!cut && nr < moments->nr && moments->rows[nr].time_ns <= until_ns) {
		struct moment *moment = &moments->rows[nr++];

		cut = moment->cut;
		if (moment->mark)
			profile_add_mark(profile, moment->time_ns - start_ns, moment->mark);
		free(moment->mark);
	}
	drop_first(moments, nr);
	pthread_mutex_unlock(&moments->lock);
	return cut;
}
