// SPDX-License-Identifier: GPL-2.0-or-later
/* Takes probes out of a process, also those of another profc. */
#include "inject/removal.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/minmax.h"
#include "base/served_file.h"
#include "inject/access.h"
#include "inject/heap_installation.h"
#include "inject/pads.h"
#include "inject/patched.h"
#include "inject/patched_look.h"
#include "inject/region.h"
#include "inject/remote.h"
#include "inject/stopped.h"
#include "proc/maps.h"
#include "proc/read.h"
#include "proc/target_memory.h"

#define MEMFD_PREFIX	"/memfd:"
#define REGION_PATH	MEMFD_PREFIX REGION_NAME
#define PATCHES_MAX	((uint64_t)1 << 20)
#define REGIONS_MAX	256
#define DESCRIPTORS_MAX 64
#define RANGES_MAX	(4 * REGION_PARTS_MAX + PADS_PAGES_MAX)
/*
 * If a thread has to leave the probes by itself we pause, each time twice as long: a wait with a
 * time-out that restarts at each stop can end between two of them.
 */
#define UNDO_PAUSE_NS (200 * NS_PER_US)
/*
 * Limits for one region, and for all of a process, in multiples of the patience: a process may show
 * any number of regions.
 */
#define UNDO_PATIENCES	 2
#define REMOVE_PATIENCES 5

static bool is_of_region(const struct proc_map *map)
{
	return map->nr_path_bytes >= strlen(REGION_PATH) &&
	       memcmp(map->path, REGION_PATH, strlen(REGION_PATH)) == 0;
}

struct range {
	uint64_t start, end;
	bool has_header;
};

/*
 * A profc that was killed between two calls leaves the descriptor of the memory; so does a child
 * that was forked at that moment.
 */
struct found_descriptor {
	uint64_t fd, inode;
	struct region_owner owner;
};

/* A file in a file system that does not answer may have such a name, too. */
static bool stat_descriptor(int directory, const char *name, struct stat *found)
{
	cleanup_close int fd = openat(directory, name, O_PATH | O_CLOEXEC);

	return fd >= 0 && served_file_stat(fd, found) == 0;
}

static size_t list_descriptors(pid_t pid, struct found_descriptor *found)
{
	struct stat file;
	char link[128];
	struct dirent *entry;
	size_t nr = 0;
	DIR *dir;

	snprintf(link, sizeof(link), "/proc/%d/fd", (int)pid);
	dir = opendir(link);
	while (dir && nr < DESCRIPTORS_MAX && (entry = readdir(dir))) {
		ssize_t nr_bytes = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);

		link[nr_bytes > 0 ? nr_bytes : 0] = 0;
		if (strncmp(link, REGION_PATH, strlen(REGION_PATH)) != 0 ||
		    !region_read_name(link + strlen(MEMFD_PREFIX), &found[nr].owner) ||
		    !stat_descriptor(dirfd(dir), entry->d_name, &file))
			continue;
		found[nr].fd = strtoul(entry->d_name, NULL, 10);
		found[nr++].inode = file.st_ino;
	}
	if (dir)
		closedir(dir);
	return nr;
}

static void close_descriptors(pid_t pid, const uint64_t inodes[2], struct remote *remote)
{
	struct found_descriptor found[DESCRIPTORS_MAX];
	size_t nr = list_descriptors(pid, found);

	for (size_t i = 0; i < nr; i++) {
		if (found[i].inode == inodes[0] || found[i].inode == inodes[1])
			remote_call(remote, SYS_close, &found[i].fd, 1);
	}
}

/*
 * The header of an installation in a process, in the part that is mapped lowest. The owner is read
 * from the file's name only: the process may have made the rest.
 */
struct found_region {
	uint64_t address, inode;
	struct region_owner owner;
};

static bool read_owner(const struct proc_map *map, struct region_owner *owner)
{
	char name[128];
	size_t nr = min_u64(map->nr_path_bytes, sizeof(name) - 1);

	memcpy(name, map->path, nr);
	name[nr] = 0;
	return nr >= strlen(MEMFD_PREFIX) && region_read_name(name + strlen(MEMFD_PREFIX), owner);
}

static size_t list_regions(pid_t pid, struct found_region *regions)
{
	struct buf text = {0};
	struct proc_maps_iter iter;
	struct proc_map map;
	size_t nr = 0;

	if (!proc_read_process_file(pid, "maps", &text))
		return 0;
	iter = proc_maps_over(buf_str(&text), text.nr_bytes);
	while (nr < REGIONS_MAX && proc_maps_next(&iter, &map) == 1) {
		struct region_owner owner;
		bool is_known = false;

		if (!is_of_region(&map) || !read_owner(&map, &owner) || map.offset || map.shared)
			continue;
		for (size_t i = 0; i < nr; i++)
			is_known |= regions[i].inode == map.inode;
		if (!is_known)
			regions[nr++] = (struct found_region){map.start, map.inode, owner};
	}
	buf_release(&text);
	return nr;
}

/* False: the layout is not of this version. */
static bool read_header(struct target_memory *memory, uint64_t address,
			struct region_header *header)
{
	return target_memory_get(memory, address, header, sizeof(*header)) &&
	       region_is_of_this_version(header);
}

static enum probes_found whose(const struct region_owner *owner)
{
	struct proc_stat stat;

	if (owner->pid_namespace != region_own_identity().pid_namespace)
		return PROBES_OF_OTHERS;
	if (!proc_read_task_stat(owner->pid, owner->pid, &stat) ||
	    stat.start_ticks != owner->start_ticks || stat.state == 'Z')
		return PROBES_LEFT_BEHIND;
	return owner->pid == getpid() ? PROBES_OURS : PROBES_OF_OTHERS;
}

/* The kinds of owners of the regions in a process; `owner`: one of PROBES_OF_OTHERS. */
struct found {
	bool is_any[PROBES_OF_OTHERS + 1];
	pid_t owner;
};

static void look_for(pid_t pid, struct found *found)
{
	struct found_region regions[REGIONS_MAX];
	size_t nr = list_regions(pid, regions);
	cleanup_target_memory struct target_memory *memory =
		nr ? target_memory_open(pid, NULL) : NULL;

	for (size_t i = 0; i < nr; i++) {
		enum probes_found of = whose(&regions[i].owner);
		struct region_header header;

		if (of != PROBES_OURS &&
		    !(memory && read_header(memory, regions[i].address, &header)))
			continue;
		found->is_any[of] = true;
		if (of == PROBES_OF_OTHERS)
			found->owner = regions[i].owner.pid;
	}
}

enum probes_found probes_find(pid_t pid, pid_t *owner)
{
	struct found found = {.owner = 0};

	look_for(pid, &found);
	if (found.is_any[PROBES_OF_OTHERS])
		*owner = found.owner;
	return found.is_any[PROBES_OF_OTHERS]	  ? PROBES_OF_OTHERS
	       : found.is_any[PROBES_LEFT_BEHIND] ? PROBES_LEFT_BEHIND
	       : found.is_any[PROBES_OURS]	  ? PROBES_OURS
						  : PROBES_NONE;
}

/*
 * Lists the mapped ranges of a region's files, inodes[0] that of headers and code: all, or fewer
 * after a profc that was killed.
 */
static size_t list_ranges(pid_t pid, const uint64_t inodes[2], struct range *ranges)
{
	struct buf text = {0};
	struct proc_maps_iter iter;
	struct proc_map map;
	size_t nr = 0;

	if (!proc_read_process_file(pid, "maps", &text))
		return 0;
	iter = proc_maps_over(buf_str(&text), text.nr_bytes);
	while (nr < RANGES_MAX && proc_maps_next(&iter, &map) == 1) {
		if (!is_of_region(&map) || (map.inode != inodes[0] && map.inode != inodes[1]))
			continue;
		if (nr && ranges[nr - 1].end == map.start)
			ranges[nr - 1].end = map.end;
		else
			ranges[nr++] = (struct range){map.start, map.end, false};
		ranges[nr - 1].has_header |= map.inode == inodes[0] && !map.offset;
	}
	buf_release(&text);
	return nr;
}

static int begin_remote(struct remote **remote, const struct probe_access *access, struct err *err)
{
	struct remote_code code;
	int status = remote_find_code(access->pid, access->memory, access->hint, &code, err);

	return status < 0 ? status : remote_begin(remote, access, &code, err);
}

/*
 * A profc that comes after one that is killed here finds the rest by a header: so these go last,
 * and with one call what adjoins them.
 */
static void unmap_ranges(struct remote *remote, const struct range *ranges, size_t nr,
			 bool have_header)
{
	for (size_t i = 0; i < nr; i++) {
		if (ranges[i].has_header == have_header)
			remote_call(remote, SYS_munmap,
				    (const uint64_t[]){ranges[i].start,
						       ranges[i].end - ranges[i].start},
				    2);
	}
}

int removal_unmap(const struct probe_access *access, uint64_t inode,
		  const struct region_header *header, struct probe_cost *cost, struct err *err)
{
	const uint64_t inodes[] = {inode, header->data_inode};
	struct range ranges[RANGES_MAX];
	size_t nr = list_ranges(access->pid, inodes, ranges);
	struct remote *remote = NULL;
	int status = begin_remote(&remote, access, err);
	uint64_t held_ns;

	if (status < 0)
		return status;
	unmap_ranges(remote, ranges, nr, false);
	unmap_ranges(remote, ranges, nr, true);
	close_descriptors(access->pid, inodes, remote);
	if (header->private_bytes)
		remote_call(remote, SYS_munmap,
			    (const uint64_t[]){header->private_address, header->private_bytes}, 2);
	if (header->owners_bytes)
		remote_call(remote, SYS_munmap,
			    (const uint64_t[]){header->owners_address, header->owners_bytes}, 2);
	held_ns = remote_end(remote);
	if (cost)
		cost->remote_ns += held_ns;
	return 0;
}

/* A removal that is under way. */
struct removal {
	const struct probe_access *access;
	const struct removal_patches *known; /* or NULL */
	struct probe_cost *cost;
	bool *is_kept; /* set if the memory must stay */
};

/* A region whose code is restored. */
struct restoring {
	const struct removal *removal;
	const struct found_region *region;
	const struct patched *patched;
	struct region_header *header;
	bool is_told; /* or need not be: removal_patches.looked() */
};

/* Has the process changed its patches? If it has ended, they count as unchanged. */
static void look_at(struct restoring *restoring, uint8_t *states)
{
	const struct probe_access *access = restoring->removal->access;
	const struct removal_patches *known = restoring->removal->known;
	size_t nr = restoring->patched->patches.nr;
	struct removal_look look = {.inode = restoring->region->inode, .nr = nr, .states = states};
	bool is_read;

	memset(states, PATCHED_OURS, nr);
	is_read = patched_look_stopped(restoring->patched, access->pid, access->memory, states,
				       &look.is_writable);
	restoring->header->is_kept |= look.is_writable || (nr && memchr(states, PATCHED_OTHER, nr));
	if (is_read && !restoring->is_told && known)
		restoring->header->is_kept |= known->looked(known->context, &look);
	restoring->is_told = true;
}

/* The code that threads must leave. */
struct leaving {
	const struct probe_access *access;
	const struct region_header *header;
	const struct patched *patched;
	const uint8_t *states;
};

/* The old bytes are back: a thread that has left does not come in again. */
static bool has_left(void *context, struct stopped *stopped)
{
	const struct leaving *leaving = context;
	struct target_memory *memory = leaving->access->memory;

	return patched_leave(leaving->patched, stopped, memory, leaving->states) &&
	       !heap_is_in_use(leaving->header, stopped, memory);
}

static bool undo_in(struct stopped *stopped, struct leaving *leaving)
{
	struct target_memory *memory = leaving->access->memory;

	return patched_undo(leaving->patched, stopped, memory, leaving->states) &&
	       !heap_is_in_use(leaving->header, stopped, memory) &&
	       stopped_settle(stopped, has_left, leaving);
}

static void sleep_until(uint64_t ns)
{
	const struct timespec end = {.tv_sec = (time_t)(ns / NS_PER_SEC),
				     .tv_nsec = (long)(ns % NS_PER_SEC)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
}

static int undo(struct restoring *restoring, struct err *err)
{
	const struct probe_access *access = restoring->removal->access;
	const struct patched *patched = restoring->patched;
	struct region_header *header = restoring->header;
	uint64_t address = restoring->region->address;
	struct region_header found = *header;
	cleanup_free uint8_t *states = xcalloc(patched->patches.nr + 1, sizeof(*states));
	struct leaving leaving = {access, header, patched, states};
	uint64_t end_ns = clock_monotonic_ns() + UNDO_PATIENCES * access->patience_ns;
	uint64_t pause_ns = UNDO_PAUSE_NS;

	for (uint64_t now_ns = 0; now_ns < end_ns; now_ns = clock_monotonic_ns()) {
		struct stopped stopped;
		bool is_done;

		if (stopped_begin(&stopped, access->pid, access->command, STOPPED_BUT_ASLEEP,
				  access->patience_ns, err) < 0)
			return err->code;
		if (!region_is_among(&found, address, &stopped)) {
			stopped_end(&stopped);
			return err_set(err, ERR_GONE, "process %d has executed another program",
				       (int)access->pid);
		}
		look_at(restoring, states);
		is_done = undo_in(&stopped, &leaving) || header->is_kept;
		/* If profc is killed right here, its places are passed in vain from now on. */
		if (!found.is_uncounted && region_note_uncounted(address, access->memory)) {
			found.is_uncounted = header->is_uncounted = true;
			patched_uncount(patched, access->memory, states);
		}
		stopped_end(&stopped);
		restoring->removal->cost->stop_ns += stopped.held_ns;
		if (is_done)
			return 0;
		sleep_until(min_u64(clock_monotonic_ns() + pause_ns, end_ns));
		pause_ns *= 2;
	}
	return err_set(err, ERR_LIMIT, "a thread of process %d does not leave the probes",
		       (int)access->pid);
}

static int fail_damaged(const struct probe_access *access, struct err *err)
{
	return err_set(err, ERR_CORRUPT,
		       "process %d has written to the memory of its probes: they stay",
		       (int)access->pid);
}

/* The table is in *read, which the caller frees. */
static int read_patches(const struct probe_access *access, uint64_t address,
			const struct region_header *header, struct patch_table *patches,
			void **read, struct err *err)
{
	size_t nr_bytes =
		patch_table_size(header->nr_patches, header->nr_shapes, header->nr_patch_bytes);

	*read = alloc_bounded(nr_bytes + 1, 1, patch_table_max_size(PATCHES_MAX));
	if (!*read)
		return err_set(err, ERR_NOMEM, "cannot allocate %zu bytes", nr_bytes);
	if (!target_memory_get(access->memory, address + header->patches_offset, *read, nr_bytes))
		return err_set(err, ERR_GONE, "process %d has ended", (int)access->pid);
	*patches = patch_table_over(*read, header->nr_patches, header->nr_shapes,
				    header->nr_patch_bytes);
	return patch_table_is_sound(patches) ? 0 : fail_damaged(access, err);
}

/* Without `unmaps`, only restore the code; `again`: that has been done. */
static int remove_region(const struct removal *removal, const struct found_region *region,
			 bool unmaps, bool again, struct err *err)
{
	const struct probe_access *access = removal->access;
	struct region_header header;
	struct patched patched;
	const struct patch_table *known = NULL;
	struct restoring restoring;
	struct patch_table patches;
	cleanup_free void *read = NULL;
	enum probes_found of = whose(&region->owner);
	int status;

	/* Another version, or another profc that runs, removes its own. */
	if (of == PROBES_OF_OTHERS)
		return 0;
	if (!read_header(access->memory, region->address, &header))
		return of == PROBES_OURS ? fail_damaged(access, err) : 0;
	if (!region_is_sound(&header))
		return fail_damaged(access, err);
	if (removal->known && of == PROBES_OURS)
		known = removal->known->find(removal->known->context, region->inode,
					     header.nr_patches);
	status = known ? 0 : read_patches(access, region->address, &header, &patches, &read, err);
	if (status < 0)
		return status;
	patched_init(&patched, known ? known : &patches);
	restoring = (struct restoring){.removal = removal,
				       .region = region,
				       .patched = &patched,
				       .header = &header,
				       .is_told = again || of != PROBES_OURS};
	status = undo(&restoring, err);
	if (status == 0 && header.is_kept)
		*removal->is_kept |= region_note_kept(region->address, access->memory);
	if (status == 0 && unmaps && !*removal->is_kept)
		status = removal_unmap(access, region->inode, &header, removal->cost, err);
	patched_release(&patched);
	return status;
}

/* Closes memory files that were left behind before they were mapped. */
static int close_left_behind(const struct probe_access *access, struct probe_cost *cost,
			     struct err *err)
{
	struct found_descriptor found[DESCRIPTORS_MAX];
	size_t nr = list_descriptors(access->pid, found);

	for (size_t i = 0; i < nr; i++) {
		const uint64_t fd = found[i].fd;
		struct remote *remote = NULL;
		int status;

		if (whose(&found[i].owner) != PROBES_LEFT_BEHIND)
			continue;
		status = begin_remote(&remote, access, err);
		if (status < 0)
			return status;
		remote_call(remote, SYS_close, &fd, 1);
		cost->remote_ns += remote_end(remote);
	}
	return 0;
}

int probes_remove(const struct probe_access *access, const struct removal_patches *known,
		  struct probe_cost *cost, bool *is_kept, struct err *err)
{
	const struct removal removal = {access, known, cost, is_kept};
	struct found_region regions[REGIONS_MAX];
	size_t nr = list_regions(access->pid, regions);
	uint64_t end_ns = clock_monotonic_ns() + REMOVE_PATIENCES * access->patience_ns;
	struct err own = ERR_INIT;
	int status = 0;

	*is_kept = false;
	/*
	 * One region has the table of the gate, which the others use: all threads must have left
	 * all of them before the first is unmapped, and if one must stay, all stay.
	 */
	for (size_t i = 0; i < 2 * nr && status == 0; i++) {
		bool unmaps = i >= nr;

		if (nr > 1 ? unmaps && *is_kept : !unmaps)
			continue;
		status = clock_monotonic_ns() < end_ns
				 ? remove_region(&removal, &regions[i % nr], unmaps,
						 unmaps && nr > 1, &own)
				 : err_set(&own, ERR_LIMIT,
					   "the probes in process %d take too long to remove",
					   (int)access->pid);
	}
	if (status == 0)
		status = close_left_behind(access, cost, &own);
	if (status < 0 && err)
		*err = own;
	return status;
}

static bool has_ours(pid_t pid)
{
	struct found found = {.owner = 0};

	look_for(pid, &found);
	return found.is_any[PROBES_OURS];
}

void probes_for_each_process(void (*each)(void *context, pid_t pid), void *context)
{
	DIR *dir = opendir("/proc");
	pid_t pid;

	while (dir && (pid = proc_next_id(dir))) {
		if (pid != getpid() && has_ours(pid))
			each(context, pid);
	}
	if (dir)
		closedir(dir);
}
