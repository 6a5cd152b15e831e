/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_COLLECTOR_MAPS_H
#define PROFC_COLLECTOR_MAPS_H

#include <stdbool.h>
#include <stdint.h>

struct message_sample;
struct module_table;
struct proc_range;
struct space;
struct unwind_walk;

/*
 * When the memory map of a process is read anew. A sample is walked some time after it was taken,
 * and the map may have changed before or since. Reading it takes up to milliseconds: so it is done
 * where a walk shows it to be old, and for no reason now and then. All times are CLOCK_MONOTONIC;
 * zero-initialised is that of a process whose map has just been read.
 */
struct map_watch {
	uint64_t refresh_again_ns; /* not before: the last time it did not help a walk */
	uint64_t refresh_pause_ns;
	uint64_t watch_again_ns;      /* not before: whether the map is still right */
	uint64_t read_whole_again_ns; /* before, asking after its code will do */
	uint64_t restless_until_ns;   /* libraries have changed places */
	uint32_t nr_replaced;	      /* space_nr_replaced(), as of the last walk */
	bool is_gone;		      /* the process, or its program, is: there is no map to read */
	bool is_queued;		      /* for the caller: maps_watch() is due */
};

/*
 * After a walk: was it wrong because the map is old? True where the map has been read anew, and
 * the walk is to be made again.
 */
/* Where libraries change places, other code has come to stand where it went. */
bool maps_renew_if_replaced(struct map_watch *watch, struct space *space,
			    const struct message_sample *sample, const struct unwind_walk *walk);
/* It went through a file that was written anew in place, or was still being copied. */
bool maps_renew_if_doubtful(struct map_watch *watch, struct space *space,
			    const struct message_sample *sample, const struct unwind_walk *walk,
			    const struct module_table *modules);
/* It left the map. */
bool maps_renew_if_left(struct map_watch *watch, struct space *space,
			const struct unwind_walk *walk);

/* When nothing waits to be walked: read it anew if it is time to. */
void maps_watch(struct map_watch *watch, struct space *space);
/* What the kernel said at the sample of the code at pc, or NULL. */
const struct proc_range *maps_place_at(const struct message_sample *sample, uint64_t pc);

#endif
