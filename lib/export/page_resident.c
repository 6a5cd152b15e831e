// SPDX-License-Identifier: GPL-2.0-or-later
/* The resident memory of the page: that of all processes together, which were read now and then. */
#include "export/page_resident_priv.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "export/page_columns_priv.h"
#include "profile/profile.h"

/* The recording is divided into so many parts; each gives the most that was resident, and the last.
 */
#define PARTS 2048

/* Times of blocks have this grain, too. */
#define GRAIN_NS UINT64_C(1024)

/* From a moment on a process has so much. */
struct reading {
	uint64_t time_ns, bytes;
	uint32_t process;
};

static int compare_readings(const void *left, const void *right)
{
	const struct reading *a = left, *b = right;

	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

/* A process that has ended has no memory from then on. The caller frees the result. */
static struct reading *readings_new(const struct profile *profile, size_t *nr)
{
	const struct profile_heap *heap = &profile->heap;
	struct reading *readings =
		xcalloc(heap->nr_moments + profile->nr_processes + 1, sizeof(*readings));

	*nr = 0;
	for (size_t i = 0; i < heap->nr_moments; i++) {
		const struct profile_heap_moment *moment = &heap->moments[i];

		readings[(*nr)++] = (struct reading){
			.time_ns = moment->time_ns,
			.bytes = moment->rss_anon_bytes + moment->rss_file_bytes +
				 moment->rss_shmem_bytes,
			.process = moment->process,
		};
	}
	for (size_t i = 0; i < profile->nr_processes; i++)
		if (profile->processes[i].end_ns)
			readings[(*nr)++] = (struct reading){
				.time_ns = profile->processes[i].end_ns, .process = (uint32_t)i};
	qsort(readings, *nr, sizeof(*readings), compare_readings);
	return readings;
}

/* In place: each then has the sum of all processes, and there are few. Returns how many. */
static size_t add_up(const struct profile *profile, struct reading *readings, size_t nr)
{
	cleanup_free uint64_t *bytes = xcalloc(profile->nr_processes + 1, sizeof(*bytes));
	uint64_t part_ns = max_u64(1, profile->meta.duration_ns / PARTS), sum = 0;
	size_t kept = 0;

	for (size_t i = 0; i < nr; i++) {
		struct reading now = readings[i];
		bool in_part;

		sum += now.bytes - bytes[now.process];
		bytes[now.process] = now.bytes;
		now.bytes = sum;
		in_part = kept > 1 && readings[kept - 2].time_ns / part_ns == now.time_ns / part_ns;
		if (in_part) {
			/* Two are of the part: its most, and the last. */
			if (readings[kept - 1].bytes > readings[kept - 2].bytes)
				readings[kept - 2] = readings[kept - 1];
			kept--;
		}
		readings[kept++] = now;
	}
	return kept;
}

void page_resident_write(const struct profile *profile, struct page_columns *columns)
{
	size_t nr;
	cleanup_free struct reading *readings = NULL;
	uint64_t before = 0;

	if (!profile->heap.nr_moments)
		return;
	readings = readings_new(profile, &nr);
	nr = add_up(profile, readings, nr);
	page_columns_begin(columns, "residentTime"); /* each since the one before */
	for (size_t i = 0; i < nr; i++) {
		page_columns_add(columns, readings[i].time_ns / GRAIN_NS - before);
		before = readings[i].time_ns / GRAIN_NS;
	}
	page_columns_begin(columns, "residentBytes");
	for (size_t i = 0; i < nr; i++)
		page_columns_add(columns, readings[i].bytes);
}
