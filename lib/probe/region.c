// SPDX-License-Identifier: GPL-2.0-or-later
/* The memory of probes, in the process and here. */
#include "probe/region.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/minmax.h"
#include "probe/heap_shared.h"
#include "probe/memory_file.h"
#include "probe/remote.h"
#include "proc/maps.h"
#include "proc/read.h"
#include "proc/scan.h"

#define PAGE_BYTES UINT64_C(4096)
#define SHARDS	   16

static uint64_t whole_pages(uint64_t nr_bytes)
{
	return (nr_bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

struct region_counters region_counters_for(uint64_t nr, bool is_sharded)
{
	struct region_counters counters = {.nr = nr, .nr_shards = is_sharded ? SHARDS : 1};

	counters.shard_log2 = 6; /* a line of the cache, which no two share */
	while (UINT64_C(1) << counters.shard_log2 < nr * sizeof(uint64_t))
		counters.shard_log2++;
	return counters;
}

void region_plan_data(struct region_plan *plan)
{
	const struct region_counters *counters = &plan->counters;
	uint64_t code_offset;

	plan->patches_offset = whole_pages(sizeof(struct region_header));
	plan->counters_offset =
		whole_pages(plan->patches_offset + plan->nr_patches * sizeof(struct patch));
	plan->data_bytes = whole_pages(plan->counters_offset +
				       ((uint64_t)counters->nr_shards << counters->shard_log2));
	plan->heap_offset = 0;
	if (plan->has_heap) {
		plan->heap_offset =
			plan->data_bytes + (plan->has_all ? sizeof(struct heap_all) : 0);
		plan->data_bytes = plan->heap_offset + sizeof(struct heap_shared);
	}
	code_offset = plan->data_bytes;
	for (uint32_t i = 0; i < plan->nr_parts; i++) {
		plan->parts[i].file_offset = code_offset;
		code_offset += plan->parts[i].code_bytes;
	}
}

uint64_t region_plan_counters(const struct region_plan *plan, uint32_t part)
{
	return plan->parts[part].address + plan->counters_offset;
}

uint64_t region_plan_gate(const struct region_plan *plan)
{
	return plan->parts[0].address + plan->data_bytes + plan->parts[0].code_bytes;
}

uint64_t region_plan_heap(const struct region_plan *plan, uint32_t part)
{
	return plan->parts[part].address + plan->heap_offset;
}

static uint64_t own_pid_namespace(void)
{
	struct stat found;

	return stat("/proc/self/ns/pid", &found) == 0 ? found.st_ino : 0;
}

struct region_owner region_own_identity(void)
{
	struct proc_stat self = {.start_ticks = 0};

	proc_read_task_stat(getpid(), getpid(), &self);
	return (struct region_owner){.pid = getpid(),
				     .start_ticks = self.start_ticks,
				     .pid_namespace = own_pid_namespace()};
}

/* What there is from its first moment on. */
static void write_name(char *name, size_t cap)
{
	struct region_owner owner = region_own_identity();

	snprintf(name, cap, REGION_NAME "-%" PRId32 "-%" PRIu64 "-%" PRIu64, owner.pid,
		 owner.start_ticks, owner.pid_namespace);
}

bool region_read_name(const char *name, struct region_owner *owner)
{
	struct scan scan = {.at = name, .end = name + strlen(name)};
	uint64_t pid;

	if (strncmp(name, REGION_NAME, strlen(REGION_NAME)) != 0)
		return false;
	scan.at += strlen(REGION_NAME);
	if (!scan_char(&scan, '-') || !scan_decimal(&scan, &pid) || !scan_char(&scan, '-') ||
	    !scan_decimal(&scan, &owner->start_ticks) || !scan_char(&scan, '-') ||
	    !scan_decimal(&scan, &owner->pid_namespace) || pid > INT32_MAX)
		return false;
	owner->pid = (int32_t)pid;
	return true;
}

/* Its patches are told of once they are there. */
static void fill_header(struct region_header *header, const struct region_plan *plan)
{
	*header = (struct region_header){
		.owner = region_own_identity(),
		.nr_parts = plan->nr_parts,
		.patches_offset = plan->patches_offset,
		.counters_offset = plan->counters_offset,
		.data_bytes = plan->data_bytes,
		.gate_bytes = plan->gate_bytes,
		.heap_offset = plan->heap_offset,
		.blob_bytes = plan->blob_bytes,
	};
	memcpy(header->parts, plan->parts, sizeof(header->parts));
	memcpy(header->magic, REGION_MAGIC, sizeof(header->magic));
}

static void share_header(const struct region *region)
{
	memcpy(region->bytes, &region->header, sizeof(region->header));
}

/* The file, by a descriptor that the process says it has made. */
static int map_here(struct region *region, pid_t pid, int64_t fd, const char *name, struct err *err)
{
	cleanup_close int file = -1;
	struct stat found;
	void *at;
	int status = memory_file_take(&file, pid, fd, name, region->nr_bytes, err);

	if (status < 0)
		return status;
	if (fstat(file, &found) < 0)
		return err_sys(err, "cannot look at the memory of probes");
	at = mmap(NULL, region->nr_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (at == MAP_FAILED)
		return err_sys(err, "cannot map the memory of probes");
	region->bytes = at;
	region->dev = found.st_dev;
	region->inode = found.st_ino;
	return 0;
}

/* Is it this file that was mapped, and not another one that took its descriptor's place since? */
static bool is_mapped_there(const struct region *region, const struct region_plan *plan, pid_t pid)
{
	uint64_t nr_missing = plan->gate_bytes;
	struct proc_maps_iter iter;
	struct buf text = {0};
	struct proc_map map;

	for (uint32_t i = 0; i < plan->nr_parts; i++)
		nr_missing += plan->data_bytes + plan->parts[i].code_bytes;
	if (!proc_read_process_file(pid, "maps", &text))
		return false;
	iter = proc_maps_over(buf_str(&text), text.nr_bytes);
	while (nr_missing && proc_maps_next(&iter, &map) == 1) {
		if (map.inode == region->inode &&
		    makedev(map.dev_major, map.dev_minor) == region->dev)
			nr_missing -= min_u64(nr_missing, map.end - map.start);
	}
	buf_release(&text);
	return !nr_missing;
}

static int refused(struct err *err, pid_t pid, const char *what, int64_t result)
{
	if (result == -ESRCH)
		return err_set(err, ERR_GONE, "process %d has ended", (int)pid);
	if (result == -EEXIST)
		return err_set(err, ERR_LIMIT, "memory of process %d was taken meanwhile",
			       (int)pid);
	errno = (int)-result;
	err_sys(err, "process %d may not %s", (int)pid, what);
	if (err)
		err->code = ERR_UNSUPPORTED;
	return ERR_UNSUPPORTED;
}

static int64_t map_there(struct remote *remote, uint64_t address, uint64_t nr_bytes, int protection,
			 int flags, int64_t fd, uint64_t offset)
{
	const uint64_t args[] = {address,
				 nr_bytes,
				 (uint64_t)protection,
				 (uint64_t)(flags | MAP_FIXED_NOREPLACE),
				 (uint64_t)fd,
				 offset};
	int64_t got = remote_call(remote, SYS_mmap, args, 6);

	if (got < 0 || (uint64_t)got == address)
		return got < 0 ? got : 0;
	/* Kernels before 4.17 take the address for a wish. */
	remote_call(remote, SYS_munmap, (const uint64_t[]){(uint64_t)got, nr_bytes}, 2);
	return -EEXIST;
}

static int64_t map_part(struct remote *remote, const struct region_plan *plan, uint32_t part,
			int64_t fd)
{
	const struct region_part *wanted = &plan->parts[part];
	int64_t status = map_there(remote, wanted->address, plan->data_bytes,
				   PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (status < 0)
		return status;
	status = map_there(remote, wanted->address + plan->data_bytes, wanted->code_bytes,
			   PROT_READ | PROT_EXEC, MAP_SHARED, fd, wanted->file_offset);
	if (status < 0)
		remote_call(remote, SYS_munmap,
			    (const uint64_t[]){wanted->address, plan->data_bytes}, 2);
	return status;
}

/*
 * Of a forked child the threads are others, at the same addresses: the table is not shared, as
 * all else is.
 */
static int64_t map_gate(struct remote *remote, const struct region_plan *plan, int64_t fd)
{
	const struct region_part *last = &plan->parts[plan->nr_parts - 1];

	if (!plan->gate_bytes)
		return 0;
	return map_there(remote, region_plan_gate(plan), plan->gate_bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE, fd, last->file_offset + last->code_bytes);
}

static void unmap_parts(struct remote *remote, const struct region_plan *plan, uint32_t nr_parts)
{
	for (uint32_t i = 0; i < nr_parts; i++) {
		const uint64_t args[] = {plan->parts[i].address,
					 plan->data_bytes + plan->parts[i].code_bytes};

		remote_call(remote, SYS_munmap, args, 2);
	}
}

/* Anywhere; a child that is forked finds it empty. */
static int map_private(struct remote *remote, struct region_header *header, pid_t pid,
		       struct err *err)
{
	const uint64_t nr_bytes = sizeof(struct heap_private);
	const uint64_t args[] = {
		0, nr_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0};
	int64_t at = remote_call(remote, SYS_mmap, args, 6);
	int64_t wiped;

	if (at < 0)
		return refused(err, pid, "map memory", at);
	wiped = remote_call(remote, SYS_madvise,
			    (const uint64_t[]){(uint64_t)at, nr_bytes, MADV_WIPEONFORK}, 3);
	if (wiped < 0) {
		remote_call(remote, SYS_munmap, (const uint64_t[]){(uint64_t)at, nr_bytes}, 2);
		return refused(err, pid, "have memory that children begin without", wiped);
	}
	header->private_address = (uint64_t)at;
	header->private_bytes = nr_bytes;
	return 0;
}

static int make_with_file(struct region *region, const struct region_plan *plan,
			  struct remote *remote, pid_t pid, int64_t fd, struct err *err)
{
	uint32_t nr_mapped = 0;
	int status = 0;

	fill_header(&region->header, plan);
	share_header(region);
	while (status == 0 && nr_mapped < plan->nr_parts) {
		int64_t result = map_part(remote, plan, nr_mapped, fd);

		if (result < 0)
			status = refused(err, pid, "map executable memory", result);
		else
			nr_mapped++;
	}
	if (status == 0 && map_gate(remote, plan, fd) < 0)
		status = err_set(err, ERR_LIMIT, "memory of process %d was taken meanwhile",
				 (int)pid);
	if (status == 0 && !is_mapped_there(region, plan, pid))
		status = err_set(err, ERR_CORRUPT,
				 "process %d has mapped another file in the place of the memory "
				 "for its probes",
				 (int)pid);
	if (status == 0 && plan->has_heap)
		status = map_private(remote, &region->header, pid, err);
	share_header(region);
	if (status < 0)
		unmap_parts(remote, plan, nr_mapped);
	return status;
}

int region_make(struct region *region, const struct region_plan *plan, struct remote *remote,
		pid_t pid, struct err *err)
{
	const struct region_part *last = &plan->parts[plan->nr_parts - 1];
	char name[64];
	int64_t fd;
	int status;

	write_name(name, sizeof(name));
	*region = (struct region){.nr_bytes =
					  last->file_offset + last->code_bytes + plan->gate_bytes};
	fd = remote_call(
		remote, SYS_memfd_create,
		(const uint64_t[]){remote_text(remote, name), MFD_CLOEXEC | MFD_ALLOW_SEALING}, 2);
	if (fd < 0)
		return refused(err, pid, "make memory to share", fd);
	status = map_here(region, pid, fd, name, err);
	if (status == 0)
		status = make_with_file(region, plan, remote, pid, fd, err);
	remote_call(remote, SYS_close, (const uint64_t[]){(uint64_t)fd}, 1);
	if (status < 0)
		region_close(region);
	return status;
}

void region_close(struct region *region)
{
	if (region->bytes)
		munmap(region->bytes, region->nr_bytes);
	*region = (struct region){0};
}

static uint8_t *at(const struct region *region, uint64_t offset)
{
	return region->bytes + offset;
}

void region_share_patches(struct region *region, const struct patch *patches, size_t nr)
{
	memcpy(at(region, region->header.patches_offset), patches, nr * sizeof(*patches));
	region->header.nr_patches = nr;
	share_header(region);
}

void region_keep(struct region *region)
{
	region->header.is_kept = true;
	share_header(region);
}

uint8_t *region_code(const struct region *region, uint32_t part)
{
	return at(region, region->header.parts[part].file_offset);
}

struct heap_shared *region_heap(const struct region *region)
{
	return region->header.heap_offset
		       ? (struct heap_shared *)(void *)at(region, region->header.heap_offset)
		       : NULL;
}

uint64_t region_counter(const struct region *region, const struct region_counters *counters,
			uint64_t index)
{
	const uint8_t *first = at(region, region->header.counters_offset);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < counters->nr_shards; i++) {
		const _Atomic uint64_t *counter =
			(const _Atomic uint64_t *)(const void *)(first +
								 ((uint64_t)i
								  << counters->shard_log2)) +
			index;

		sum += atomic_load_explicit(counter, memory_order_relaxed);
	}
	return sum;
}

/* -- of a region that was found -- */

#define DATA_BYTES_MAX ((uint64_t)1 << 40)

bool region_is_of_this_version(const struct region_header *header)
{
	return memcmp(header->magic, REGION_MAGIC, sizeof(header->magic)) == 0;
}

static bool has_sound_heap(const struct region_header *header)
{
	if (!header->heap_offset)
		return !header->blob_bytes && !header->private_bytes;
	for (uint64_t i = 0; i < header->nr_parts; i++) {
		if (header->blob_bytes > header->parts[i].code_bytes)
			return false;
	}
	/* Without the latter it was being made. */
	return header->data_bytes >= sizeof(struct heap_shared) &&
	       header->heap_offset == header->data_bytes - sizeof(struct heap_shared) &&
	       (header->private_bytes == sizeof(struct heap_private) || !header->private_bytes);
}

bool region_is_sound(const struct region_header *header)
{
	return header->nr_parts && header->nr_parts <= REGION_PARTS_MAX &&
	       header->data_bytes <= DATA_BYTES_MAX && header->patches_offset >= sizeof(*header) &&
	       header->patches_offset <= header->data_bytes &&
	       header->nr_patches <=
		       (header->data_bytes - header->patches_offset) / sizeof(struct patch) &&
	       has_sound_heap(header);
}

bool region_patches_are_sound(const struct patch *patches, size_t nr)
{
	uint64_t end = 0; /* of the last one */

	for (size_t i = 0; i < nr; i++) {
		const struct patch *patch = &patches[i];

		if (patch->address < end || !patch->nr_bytes || patch->nr_bytes > PATCH_MAX_BYTES ||
		    patch->address > UINT64_MAX - PATCH_MAX_BYTES ||
		    patch->nr_steps > PATCH_MAX_STEPS)
			return false;
		end = patch->address + patch->nr_bytes;
	}
	return true;
}
