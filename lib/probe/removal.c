// SPDX-License-Identifier: GPL-2.0-or-later
/* Takes probes out of a process, whoever has put them there. */
#include "probe/removal.h"

#include <dirent.h>
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
#include "probe/access.h"
#include "probe/patched.h"
#include "probe/region.h"
#include "probe/remote.h"
#include "probe/stopped.h"
#include "proc/maps.h"
#include "proc/read.h"

#define REGION_PATH   "/memfd:" REGION_NAME
#define PATCHES_MAX   ((uint64_t)1 << 20)
#define REGIONS_MAX   256
#define UNDO_TRIES    100
#define UNDO_PAUSE_NS (200 * NS_PER_US)

/* Where a process has the data of an installation: of its parts the one that is mapped lowest. */
struct found_region {
	uint64_t address, inode;
};

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
		bool is_known = false;

		if (map.nr_path_bytes < strlen(REGION_PATH) || map.offset || !map.writable ||
		    !map.shared || memcmp(map.path, REGION_PATH, strlen(REGION_PATH)) != 0)
			continue;
		for (size_t i = 0; i < nr; i++)
			is_known |= regions[i].inode == map.inode;
		if (!is_known)
			regions[nr++] = (struct found_region){map.start, map.inode};
	}
	buf_release(&text);
	return nr;
}

/* What it says is believed of a region whose layout is ours only. */
static bool read_header(int memory_fd, uint64_t address, struct region_header *header)
{
	if (pread(memory_fd, header, sizeof(*header), (off_t)address) != sizeof(*header) ||
	    memcmp(header->magic, REGION_MAGIC, sizeof(header->magic)) != 0)
		return false;
	return header->nr_parts && header->nr_parts <= REGION_PARTS_MAX &&
	       header->nr_patches <= PATCHES_MAX && header->data_bytes < (uint64_t)1 << 40 &&
	       header->patches_offset + header->nr_patches * sizeof(struct patch) <=
		       header->data_bytes;
}

static enum probes_found owner_of(const struct region_header *header)
{
	struct proc_stat owner;
	struct stat ns;

	if (stat("/proc/self/ns/pid", &ns) == 0 && header->owner_pid_namespace != ns.st_ino)
		return PROBES_OF_OTHERS; /* who cannot be asked after */
	if (!proc_read_task_stat(header->owner_pid, header->owner_pid, &owner) ||
	    owner.start_ticks != header->owner_start_ticks || owner.state == 'Z')
		return PROBES_LEFT_BEHIND;
	return header->owner_pid == getpid() ? PROBES_OURS : PROBES_OF_OTHERS;
}

enum probes_found probes_find(pid_t pid, pid_t *owner)
{
	struct found_region regions[REGIONS_MAX];
	size_t nr = list_regions(pid, regions);
	enum probes_found found = PROBES_NONE;
	cleanup_close int memory_fd = nr ? proc_open_task_file(pid, pid, "mem") : -1;

	for (size_t i = 0; i < nr; i++) {
		struct region_header header;
		enum probes_found whose;

		if (!read_header(memory_fd, regions[i].address, &header))
			continue;
		whose = owner_of(&header);
		if (whose > found) {
			found = whose;
			*owner = header.owner_pid;
		}
	}
	return found;
}

int removal_unmap(const struct probe_access *access, const struct region_header *header,
		  struct probe_cost *cost)
{
	struct remote_code code;
	struct remote *remote = NULL;
	struct err err = ERR_INIT;
	int status = remote_find_code(access->pid, access->memory_fd, &code, &err);
	uint64_t held_ns;

	if (status == 0)
		status = access->is_stopped ? remote_begin_stopped(&remote, access->command,
								   access->memory_fd, &code, &err)
					    : remote_begin(&remote, access->pid, access->command,
							   access->memory_fd, &code,
							   access->patience_ns, &err);
	if (status < 0)
		return status;
	for (uint32_t i = 0; i < header->nr_parts; i++) {
		const struct region_part *part = &header->parts[i];

		remote_call(
			remote, SYS_munmap,
			(const uint64_t[]){part->address, header->data_bytes + part->code_bytes},
			2);
	}
	held_ns = remote_end(remote);
	if (cost)
		cost->remote_ns += held_ns;
	return 0;
}

static int undo(const struct probe_access *access, const struct patched *patched,
		struct probe_cost *cost, struct err *err)
{
	for (int i = 0; i < UNDO_TRIES; i++) {
		struct stopped stopped;
		bool is_done;

		if (stopped_begin(&stopped, access->pid, access->command, access->patience_ns,
				  err) < 0)
			return err->code;
		is_done = patched_undo(patched, &stopped, access->memory_fd);
		stopped_end(&stopped);
		cost->stop_ns += stopped.held_ns;
		if (is_done)
			return 0;
		clock_nanosleep(CLOCK_MONOTONIC, 0,
				&(struct timespec){.tv_nsec = (long)UNDO_PAUSE_NS}, NULL);
	}
	return err_set(err, ERR_LIMIT, "a thread of process %d does not leave the probes",
		       (int)access->pid);
}

static int remove_region(const struct probe_access *access, const struct found_region *region,
			 struct probe_cost *cost, struct err *err)
{
	struct region_header header;
	struct patched patched;
	struct patch *patches;
	size_t nr_bytes;
	int status;

	if (!read_header(access->memory_fd, region->address, &header))
		return err_set(err, ERR_CORRUPT,
			       "process %d has probes that this version of profc does not know",
			       (int)access->pid);
	if (owner_of(&header) == PROBES_OF_OTHERS)
		return 0;
	nr_bytes = header.nr_patches * sizeof(*patches);
	patches = alloc_bounded(header.nr_patches + 1, sizeof(*patches), PATCHES_MAX + 1);
	if (!patches)
		return err_set(err, ERR_NOMEM, "cannot allocate %zu bytes", nr_bytes);
	if (pread(access->memory_fd, patches, nr_bytes,
		  (off_t)(region->address + header.patches_offset)) != (ssize_t)nr_bytes) {
		free(patches);
		return err_set(err, ERR_GONE, "process %d has ended", (int)access->pid);
	}
	patched_init(&patched, patches, header.nr_patches);
	status = undo(access, &patched, cost, err);
	if (status == 0)
		status = removal_unmap(access, &header, cost);
	patched_release(&patched);
	free(patches);
	return status;
}

int probes_remove(const struct probe_access *access, struct probe_cost *cost, struct err *err)
{
	struct found_region regions[REGIONS_MAX];
	size_t nr = list_regions(access->pid, regions);
	struct err own = ERR_INIT;
	int status = 0;

	for (size_t i = 0; i < nr && status == 0; i++)
		status = remove_region(access, &regions[i], cost, &own);
	if (status < 0 && err)
		*err = own;
	return status;
}

void probes_for_each_process(void (*each)(void *context, pid_t pid), void *context)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		pid_t owner;

		if (pid > 0 && pid != getpid() && probes_find(pid, &owner) == PROBES_OURS)
			each(context, pid);
	}
	if (dir)
		closedir(dir);
}
