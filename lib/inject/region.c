// SPDX-License-Identifier: GPL-2.0-or-later
/* The memory of probes, in the process and in profc. */
#include "inject/region.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/minmax.h"
#include "base/scan.h"
#include "heap/heap_shared.h"
#include "inject/memory_file.h"
#include "inject/pads.h"
#include "inject/remote.h"
#include "inject/stopped.h"
#include "patch/note.h"
#include "patch/patch_machine.h"
#include "patch/span.h"
#include "proc/range.h"
#include "proc/read.h"
#include "proc/target_memory.h"

#define SHARDS 16
/* Own copies of counters, at most: of address space, and of memory if all is counted by all. */
#define OWN_BYTES_MAX ((uint64_t)64 << 20)
/* With more copies that all threads share a region keeps its file, to know which parts are there.
 */
#define SPARSE_BYTES ((uint64_t)1 << 20)
/* Processors fetch cache lines in pairs: copies do not share one. */
#define COPY_LOG2_MIN 7

struct region_counters region_counters_for(uint64_t nr, bool is_sharded, bool is_owned,
					   uint32_t nr_spans)
{
	struct region_counters counters = {
		.nr = nr, .nr_shards = is_sharded ? SHARDS : 1, .nr_spans = nr_spans};
	uint64_t nr_bytes = (nr + REGION_COUNTER_COUNT) * sizeof(uint64_t) +
			    nr_spans * sizeof(struct patch_span);

	counters.shard_log2 = COPY_LOG2_MIN;
	while (UINT64_C(1) << counters.shard_log2 < nr_bytes)
		counters.shard_log2++;
	if (is_sharded && is_owned)
		counters.nr_own = (uint32_t)min_u64(OWN_BYTES_MAX >> counters.shard_log2,
						    PATCH_OWN_COPIES_MAX);
	return counters;
}

uint64_t region_counter_index(const struct region_counters *counters, enum region_counter which)
{
	return counters->nr + which;
}

uint32_t region_span_offset(const struct region_counters *counters, uint32_t index)
{
	return (uint32_t)((counters->nr + REGION_COUNTER_COUNT) * sizeof(uint64_t) +
			  index * sizeof(struct patch_span));
}

static uint64_t counters_bytes(const struct region_counters *counters)
{
	return (uint64_t)(counters->nr_shards + counters->nr_own) << counters->shard_log2;
}

/* The offset in the data of the slow calls of a function. */
static uint64_t slow_offset(const struct region_counters *counters, uint32_t index)
{
	return page_align(counters_bytes(counters)) + index * sizeof(struct patch_slow);
}

static uint64_t notes_offset(const struct region_counters *counters)
{
	return page_align(slow_offset(counters, counters->nr_spans));
}

void region_plan_data(struct region_plan *plan)
{
	const uint64_t reach_bytes = PATCH_DATA_REACH_BYTES; /* 0: data lie before the code */
	uint64_t code_offset;

	plan->patches_offset = page_align(sizeof(struct region_header));
	plan->head_bytes =
		page_align(plan->patches_offset + patch_table_max_size(plan->nr_patches));
	plan->data_bytes = page_align(notes_offset(&plan->counters) +
				      plan->counters.has_notes * sizeof(struct patch_notes));
	plan->heap_offset = 0;
	if (plan->has_heap) {
		plan->heap_offset =
			plan->data_bytes + (plan->has_all ? sizeof(struct heap_all) : 0);
		plan->data_bytes = plan->heap_offset + sizeof(struct heap_shared);
	}
	/* The first part's code is as far behind the header as in memory: one call maps both. */
	code_offset = plan->head_bytes + (reach_bytes ? 0 : plan->data_bytes);
	for (uint32_t i = 0; i < plan->nr_parts; i++) {
		plan->parts[i].file_offset = code_offset;
		code_offset += plan->parts[i].code_bytes;
	}
}

static uint64_t gate_bytes(const struct region_plan *plan, uint32_t part)
{
	return part ? 0 : plan->gate_bytes;
}

uint64_t region_plan_counters(const struct region_plan *plan, uint32_t part)
{
	return plan->parts[part].data_address;
}

uint64_t region_plan_counters_end(const struct region_plan *plan, uint32_t part)
{
	return region_plan_counters(plan, part) + counters_bytes(&plan->counters);
}

uint64_t region_plan_slow(const struct region_plan *plan, uint32_t part, uint32_t index)
{
	return region_plan_counters(plan, part) + slow_offset(&plan->counters, index);
}

uint64_t region_plan_notes(const struct region_plan *plan, uint32_t part)
{
	return region_plan_counters(plan, part) + notes_offset(&plan->counters);
}

/* Are data between the header and the code? */
static bool is_one_range(const struct region_part *part, uint64_t head_bytes)
{
	return part->data_address == part->address + head_bytes;
}

static uint64_t code_of(const struct region_part *part, uint64_t head_bytes, uint64_t data_bytes)
{
	return part->address + head_bytes + (is_one_range(part, head_bytes) ? data_bytes : 0);
}

uint64_t region_plan_code(const struct region_plan *plan, uint32_t part)
{
	return code_of(&plan->parts[part], plan->head_bytes, plan->data_bytes);
}

uint64_t region_code(const struct region_header *header, uint32_t part)
{
	return code_of(&header->parts[part], header->head_bytes, header->data_bytes);
}

uint64_t region_plan_gate(const struct region_plan *plan)
{
	return region_plan_code(plan, 0) + plan->parts[0].code_bytes;
}

uint64_t region_plan_bytes(const struct region_plan *plan, uint32_t part, bool is_with_data)
{
	return plan->head_bytes + (is_with_data ? plan->data_bytes : 0) +
	       plan->parts[part].code_bytes + gate_bytes(plan, part);
}

uint64_t region_plan_heap(const struct region_plan *plan, uint32_t part)
{
	return region_plan_counters(plan, part) + plan->heap_offset;
}

/* The file has this name from its first moment on. */
static void write_name(char *name, size_t cap, const struct region_owner *owner)
{
	snprintf(name, cap, REGION_NAME "-%" PRId32 "-%" PRIu64 "-%" PRIu64, owner->pid,
		 owner->start_ticks, owner->pid_namespace);
}

static void fill_header(struct region_header *header, const struct region_plan *plan,
			const struct region_contents *contents, const struct region_owner *owner)
{
	*header = (struct region_header){
		.owner = *owner,
		.is_kept = contents->is_kept,
		.nr_parts = plan->nr_parts,
		.nr_patches = contents->patches->nr,
		.nr_shapes = contents->patches->nr_shapes,
		.nr_patch_bytes = contents->patches->nr_bytes,
		.patches_offset = plan->patches_offset,
		.head_bytes = plan->head_bytes,
		.data_bytes = plan->data_bytes,
		.gate_bytes = plan->gate_bytes,
		.heap_offset = plan->heap_offset,
		.blob_bytes = plan->blob_bytes,
	};
	memcpy(header->parts, plan->parts, sizeof(header->parts));
	memcpy(header->magic, REGION_MAGIC, sizeof(header->magic));
}

/* -- the files -- */

/* Kept free around private memory, as the kernel keeps gaps below stacks. */
#define PRIVATE_APART_BYTES ((uint64_t)1 << 20)

/* A memfd: its descriptor in the process, and ours. */
struct memory {
	int64_t fd; /* negative: there is none */
	int file;
	struct stat found;
	bool is_foretold; /* the descriptor is the one that a call in a row should have returned, */
	bool is_taken;	  /* and was found to be that */
};

struct mapped {
	uint64_t address, nr_bytes;
	bool is_writable; /* or has no rights so far */
};

/*
 * Calls that are to be made in a row, where no other thread runs: what they return is known before,
 * and what they have led to is looked at afterwards.
 */
struct row {
	struct remote_step steps[REMOTE_STEPS_MAX];
	size_t nr;
	int64_t fds[2]; /* of the descriptors that the process opens next */
	size_t nr_fds;	/* used so far */
};

struct making {
	struct region *region;
	const struct region_plan *plan;
	const struct region_contents *contents;
	struct remote *remote;
	pid_t pid;
	int maps; /* of the process; borrowed */
	char name[64];
	uint64_t name_at; /* in the process; 0: nowhere yet */
	struct memory data, rest;
	struct mapped mapped[2 * REGION_PARTS_MAX + 2 + PADS_PAGES_MAX]; /* so far */
	size_t nr_mapped;
	uint64_t below_bytes;	/* below the first part, of private memory and gaps */
	struct row *row;	/* NULL: calls are made at once */
	bool is_first_reserved; /* the range of the first part */
};

static uint64_t pads_bytes(const struct region_contents *contents)
{
	return contents->pads ? contents->pads->nr * contents->pads->page_bytes : 0;
}

/* The call's result; in a row, the one to come. */
static int64_t call_there(struct making *making, long nr, const uint64_t *args,
			  unsigned int nr_args, int64_t expected)
{
	struct row *row = making->row;

	if (!row)
		return remote_call(making->remote, nr, args, nr_args);
	assert(row->nr < REMOTE_STEPS_MAX);
	row->steps[row->nr] = (struct remote_step){.nr = nr};
	memcpy(row->steps[row->nr++].args, args, nr_args * sizeof(*args));
	return expected;
}

/* Makes the calls of the row, by themselves if need be. Returns -errno of the first that failed. */
static int64_t make_row(struct making *making)
{
	const struct row *row = making->row;
	int64_t result = 0;

	making->row = NULL;
	if (!row || remote_calls(making->remote, row->steps, row->nr))
		return 0;
	for (size_t i = 0; i < row->nr && result >= 0; i++)
		result = remote_call(making->remote, row->steps[i].nr, row->steps[i].args, 6);
	return result < 0 ? result : 0;
}

/* Descriptors above these are rare. */
#define OPEN_MAX_KNOWN 1024

/* In the process, which is stopped. */
static bool find_next_descriptors(pid_t pid, int64_t fds[2])
{
	bool is_open[OPEN_MAX_KNOWN] = {false};
	struct rlimit limit;
	struct dirent *entry;
	char path[32];
	DIR *dir;
	int nr = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir || prlimit(pid, RLIMIT_NOFILE, NULL, &limit) < 0)
		limit.rlim_cur = 0;
	while (dir && (entry = readdir(dir))) {
		unsigned long fd = strtoul(entry->d_name, NULL, 10);

		if (*entry->d_name != '.' && fd < OPEN_MAX_KNOWN)
			is_open[fd] = true;
	}
	if (dir)
		closedir(dir);
	for (int64_t fd = 0; fd < OPEN_MAX_KNOWN && fd < (int64_t)limit.rlim_cur && nr < 2; fd++) {
		if (!is_open[fd])
			fds[nr++] = fd;
	}
	return nr == 2;
}

/* Are our files mapped there, or did the process swap the descriptors before the calls of mmap? */
static bool is_mapped_there(const struct making *making)
{
	const struct region_plan *plan = making->plan;
	uint64_t nr_data = 0, nr_rest = plan->gate_bytes + pads_bytes(making->contents);
	uint64_t lowest = UINT64_MAX;
	struct proc_range_walk walk;
	struct proc_range range;

	for (uint32_t i = 0; i < plan->nr_parts; i++) {
		nr_data += plan->data_bytes;
		nr_rest += plan->head_bytes + plan->parts[i].code_bytes;
		lowest = min_u64(lowest,
				 min_u64(plan->parts[i].address, plan->parts[i].data_address));
	}
	for (size_t i = 0; making->contents->pads && i < making->contents->pads->nr; i++)
		lowest = min_u64(lowest, making->contents->pads->addresses[i]);
	proc_range_walk_begin(&walk, making->maps, PROC_RANGE_ANY);
	walk.at = lowest;
	while ((nr_data || nr_rest) && proc_range_walk_next(&walk, &range)) {
		if (makedev(range.dev_major, range.dev_minor) != making->rest.found.st_dev)
			continue;
		if (range.inode == making->data.found.st_ino)
			nr_data -= min_u64(nr_data, range.end - range.start);
		else if (range.inode == making->rest.found.st_ino)
			nr_rest -= min_u64(nr_rest, range.end - range.start);
	}
	proc_range_walk_end(&walk);
	return !nr_data && !nr_rest;
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

static void note_mapped(struct making *making, uint64_t address, uint64_t nr_bytes,
			bool is_writable)
{
	making->mapped[making->nr_mapped++] = (struct mapped){address, nr_bytes, is_writable};
}

static void unmap_all(struct making *making)
{
	for (size_t i = 0; i < making->nr_mapped; i++)
		remote_call(
			making->remote, SYS_munmap,
			(const uint64_t[]){making->mapped[i].address, making->mapped[i].nr_bytes},
			2);
}

struct wanted_map {
	uint64_t address, nr_bytes, offset;
	int protection, flags;
};

static int64_t map_there(struct making *making, const struct memory *memory,
			 const struct wanted_map *wanted)
{
	const uint64_t args[] = {
		wanted->address,	 wanted->nr_bytes,     (uint64_t)wanted->protection,
		(uint64_t)wanted->flags, (uint64_t)memory->fd, wanted->offset};
	int64_t got = call_there(making, SYS_mmap, args, 6, (int64_t)wanted->address);

	if (got >= 0 && wanted->flags & MAP_FIXED_NOREPLACE)
		note_mapped(making, (uint64_t)got, wanted->nr_bytes, false);
	return got < 0 ? got : 0;
}

static int64_t reserve(struct making *making, uint64_t address, uint64_t nr_bytes)
{
	static const struct memory none = {.fd = -1};
	const struct wanted_map nothing = {.address = address,
					   .nr_bytes = nr_bytes,
					   .protection = PROT_NONE,
					   .flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
						    MAP_FIXED_NOREPLACE};

	return map_there(making, &none, &nothing);
}

/*
 * Reserve the address ranges of parts before the header is mapped, but for the first one's, which
 * comes with that, unless calls are made in a row: then what is mapped may replace what is there.
 */
static int reserve_all(struct making *making, struct err *err)
{
	const struct region_plan *plan = making->plan;
	int64_t status = 0;

	making->is_first_reserved = making->row;
	for (uint32_t i = 0; i < plan->nr_parts && status == 0; i++) {
		bool is_one = is_one_range(&plan->parts[i], plan->head_bytes);

		if (i || making->is_first_reserved)
			status = reserve(making, plan->parts[i].address,
					 region_plan_bytes(plan, i, is_one));
		if (status == 0 && !is_one)
			status = reserve(making, plan->parts[i].data_address, plan->data_bytes);
	}
	return status < 0 ? refused(err, making->pid, "map memory", status) : 0;
}

/* As the file is laid out: what else lies between header and code, and behind it, comes later. */
static int64_t map_first(struct making *making)
{
	const struct region_plan *plan = making->plan;
	const struct wanted_map first = {
		.address = plan->parts[0].address,
		.nr_bytes =
			region_plan_bytes(plan, 0, is_one_range(&plan->parts[0], plan->head_bytes)),
		.protection = PROT_READ | PROT_EXEC,
		.flags = MAP_PRIVATE |
			 (making->is_first_reserved ? MAP_FIXED : MAP_FIXED_NOREPLACE)};

	return map_there(making, &making->rest, &first);
}

/* A later profc finds the other mappings by a header. */
static int64_t map_head_and_code(struct making *making, uint32_t part)
{
	const struct region_plan *plan = making->plan;
	const struct wanted_map head = {.address = plan->parts[part].address,
					.nr_bytes = plan->head_bytes,
					.protection = PROT_READ,
					.flags = MAP_PRIVATE | MAP_FIXED};
	const struct wanted_map code = {.address = region_plan_code(plan, part),
					.nr_bytes = plan->parts[part].code_bytes,
					.offset = plan->parts[part].file_offset,
					.protection = PROT_READ | PROT_EXEC,
					.flags = MAP_PRIVATE | MAP_FIXED};
	int64_t status = map_there(making, &making->rest, &head);

	return status < 0 ? status : map_there(making, &making->rest, &code);
}

static int64_t map_part(struct making *making, uint32_t part)
{
	const struct region_plan *plan = making->plan;
	const struct wanted_map data = {.address = region_plan_counters(plan, part),
					.nr_bytes = plan->data_bytes,
					.protection = PROT_READ | PROT_WRITE,
					.flags = MAP_SHARED | MAP_FIXED};
	int64_t status = part ? map_head_and_code(making, part) : map_first(making);

	return status < 0 ? status : map_there(making, &making->data, &data);
}

/* Private: a forked child has other threads at the same addresses. */
static int64_t map_gate(struct making *making)
{
	const struct region_plan *plan = making->plan;
	const struct region_part *last = &plan->parts[plan->nr_parts - 1];
	const struct wanted_map gate = {.address = region_plan_gate(plan),
					.nr_bytes = plan->gate_bytes,
					.offset = last->file_offset + last->code_bytes,
					.protection = PROT_READ | PROT_WRITE,
					.flags = MAP_PRIVATE | MAP_FIXED};

	return plan->gate_bytes ? map_there(making, &making->rest, &gate) : 0;
}

/* In the file they follow the table of the gate. */
static uint64_t pads_offset(const struct region_plan *plan)
{
	const struct region_part *last = &plan->parts[plan->nr_parts - 1];

	return last->file_offset + last->code_bytes + plan->gate_bytes;
}

static int64_t map_pads(struct making *making)
{
	const struct pads *pads = making->contents->pads;
	int64_t status = 0;
	size_t nr;

	for (size_t i = 0; pads && i < pads->nr && status == 0; i += nr) {
		struct wanted_map page = {.address = pads->addresses[i],
					  .offset =
						  pads_offset(making->plan) + i * pads->page_bytes,
					  .protection = PROT_READ | PROT_EXEC,
					  .flags = MAP_PRIVATE | MAP_FIXED_NOREPLACE};

		for (nr = 1; i + nr < pads->nr; nr++) {
			if (pads->addresses[i + nr] != pads->addresses[i] + nr * pads->page_bytes)
				break;
		}
		page.nr_bytes = nr * pads->page_bytes;
		status = map_there(making, &making->rest, &page);
	}
	return status;
}

static int map_all(struct making *making, struct err *err)
{
	int64_t status = 0;

	for (uint32_t i = 0; i < making->plan->nr_parts && status == 0; i++)
		status = map_part(making, i);
	if (status == 0)
		status = map_gate(making);
	if (status == 0)
		status = map_pads(making);
	return status < 0 ? refused(err, making->pid, "map executable memory", status) : 0;
}

/*
 * Memory of the process alone: a forked child gets zeros for the first nr_bytes. All code gets the
 * address, at an offset.
 */
static int wipe_in_children(struct making *making, uint64_t address, uint64_t nr_bytes,
			    size_t code_at, struct err *err)
{
	const uint64_t args[] = {address, nr_bytes, MADV_WIPEONFORK};
	int64_t status = call_there(making, SYS_madvise, args, 3, 0);

	if (status < 0)
		return refused(err, making->pid, "make memory that is cleared in children", status);
	for (uint32_t i = 0; i < making->plan->nr_parts; i++)
		memcpy(making->contents->code[i] + code_at, &address, sizeof(address));
	return 0;
}

static uint64_t private_below(const struct making *making, uint64_t nr_bytes)
{
	const uint64_t part = making->plan->parts[0].address;

	return part - min_u64(part, page_align(nr_bytes) + making->below_bytes);
}

/*
 * Code finds it by its address, so it may be anywhere but where the first part will be: if there is
 * room, below that.
 */
static int map_private(struct making *making, uint64_t nr_bytes, uint64_t *address, struct err *err)
{
	const uint64_t wanted = private_below(making, nr_bytes);
	const uint64_t args[] = {wanted,
				 nr_bytes,
				 PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
					 (making->row ? MAP_FIXED_NOREPLACE : 0),
				 (uint64_t)-1,
				 0};
	int64_t at = call_there(making, SYS_mmap, args, 6, (int64_t)wanted);

	if (at < 0)
		return refused(err, making->pid, "map memory", at);
	note_mapped(making, (uint64_t)at, nr_bytes, true);
	making->below_bytes += page_align(nr_bytes) + PRIVATE_APART_BYTES;
	*address = (uint64_t)at;
	return 0;
}

static int make_heap_private(struct making *making, struct err *err)
{
	struct region_header *header = &making->region->header;
	int status =
		map_private(making, sizeof(struct heap_private), &header->private_address, err);

	if (status < 0)
		return status;
	header->private_bytes = sizeof(struct heap_private);
	return wipe_in_children(making, header->private_address,
				offsetof(struct heap_private, known),
				offsetof(struct heap_rules, private_address), err);
}

static int map_owners(struct making *making, struct err *err)
{
	struct region_header *header = &making->region->header;
	int status = map_private(making, PATCH_OWNERS_BYTES, &header->owners_address, err);

	if (status < 0)
		return status;
	header->owners_bytes = PATCH_OWNERS_BYTES;
	return wipe_in_children(making, header->owners_address, header->owners_bytes,
				making->contents->owners_at, err);
}

static int make_memory(struct making *making, struct memory *memory, struct err *err)
{
	uint64_t args[] = {0, MFD_CLOEXEC | MFD_ALLOW_SEALING};

	/* Both files have one name, which stays where it is until the row is made. */
	if (!making->row || !making->name_at)
		making->name_at = remote_text(making->remote, making->name);
	args[0] = making->name_at;
	memory->is_foretold = making->row;
	memory->fd = call_there(making, SYS_memfd_create, args, 2,
				making->row ? making->row->fds[making->row->nr_fds++] : 0);
	return memory->fd < 0 ? refused(err, making->pid, "make memory to share", memory->fd) : 0;
}

static int look_at(struct memory *memory, struct err *err)
{
	return fstat(memory->file, &memory->found) < 0
		       ? err_sys(err, "cannot look at the memory of probes")
		       : 0;
}

static bool is_sparse(const struct region_counters *counters)
{
	return (uint64_t)counters->nr_shards << counters->shard_log2 > SPARSE_BYTES;
}

static int take_data(struct making *making, struct err *err)
{
	struct memory *data = &making->data;
	const size_t nr_bytes = making->plan->data_bytes;
	int status =
		memory_file_take(&data->file, making->pid, data->fd, making->name, nr_bytes, err);
	void *at;

	data->is_taken = status == 0;
	if (status == 0)
		status = look_at(data, err);
	if (status < 0)
		return status;
	at = mmap(NULL, nr_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, data->file, 0);
	if (at == MAP_FAILED)
		return err_sys(err, "cannot map the memory of probes");
	making->region->data = at;
	making->region->header.data_inode = data->found.st_ino;
	making->region->file = data->file;
	making->region->has_file = is_sparse(&making->plan->counters);
	return 0;
}

/* As patch_table_over() has it. */
static void add_patches(struct file_pieces *pieces, uint64_t offset,
			const struct patch_table *patches)
{
	file_pieces_add(pieces, offset, patches->rows, patch_table_size(patches->nr, 0, 0));
	file_pieces_add(pieces, offset + patch_table_size(patches->nr, 0, 0), patches->shapes,
			patch_table_size(0, patches->nr_shapes, 0));
	file_pieces_add(pieces, offset + patch_table_size(patches->nr, patches->nr_shapes, 0),
			patches->bytes, patches->nr_bytes);
}

static int take_rest(struct making *making, struct err *err)
{
	const struct region_plan *plan = making->plan;
	const struct region_contents *contents = making->contents;
	struct file_pieces pieces = {.nr = 0};
	struct memory *rest = &making->rest;
	void *head;
	int status;

	file_pieces_add(&pieces, 0, &making->region->header, sizeof(making->region->header));
	add_patches(&pieces, plan->patches_offset, contents->patches);
	file_pieces_add(&pieces, page_align(pieces.nr_bytes), NULL, 0);
	file_pieces_leave(&pieces, plan->parts[0].file_offset);
	for (uint32_t i = 0; i < plan->nr_parts; i++)
		file_pieces_add(&pieces, plan->parts[i].file_offset, contents->code[i],
				contents->nr_code_bytes[i]);
	file_pieces_add(&pieces, pads_offset(plan), contents->pads ? contents->pads->bytes : NULL,
			(size_t)pads_bytes(contents));
	status = memory_file_take_filled(&rest->file, making->pid, rest->fd, making->name, &pieces,
					 err);
	rest->is_taken = status == 0;
	if (status == 0)
		status = look_at(rest, err);
	if (status < 0)
		return status;
	head = mmap(NULL, plan->head_bytes, PROT_READ, MAP_SHARED, rest->file, 0);
	if (head == MAP_FAILED)
		return err_sys(err, "cannot map the memory of probes");
	making->region->head = head;
	making->region->dev = rest->found.st_dev;
	making->region->inode = rest->found.st_ino;
	return 0;
}

/* -- both files in the process -- */

static int make_files(struct making *making, struct err *err)
{
	int status = make_memory(making, &making->data, err);

	return status < 0 ? status : make_memory(making, &making->rest, err);
}

/* Processes that share descriptors may have taken a foretold number: ours stay open then. */
static bool is_ours(const struct making *making, const struct memory *memory)
{
	char path[64], link[128], wanted[128];
	ssize_t nr;

	if (!memory->is_foretold || memory->is_taken || memory->fd < 0)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/fd/%" PRId64, (int)making->pid, memory->fd);
	snprintf(wanted, sizeof(wanted), "/memfd:%s (deleted)", making->name);
	nr = readlink(path, link, sizeof(link) - 1);
	link[nr < 0 ? 0 : nr] = '\0';
	return strcmp(link, wanted) == 0;
}

/* One call, as each stops the process twice. */
static bool close_both_there(const struct making *making)
{
	const uint64_t args[] = {(uint64_t)making->data.fd, (uint64_t)making->rest.fd, 0};

	return making->data.fd >= 0 && making->rest.fd == making->data.fd + 1 &&
	       is_ours(making, &making->data) && is_ours(making, &making->rest) &&
	       !remote_is_filtered(making->remote) &&
	       remote_call(making->remote, __NR_close_range, args, 3) == 0;
}

static void close_there(struct making *making, struct memory *memory)
{
	if (memory->fd >= 0 && is_ours(making, memory))
		call_there(making, SYS_close, (const uint64_t[]){(uint64_t)memory->fd}, 1, 0);
	memory->fd = -1;
}

static void close_files(struct making *making)
{
	if (!making->row && close_both_there(making))
		return;
	close_there(making, &making->data);
	close_there(making, &making->rest);
}

/* -- in a row -- */

static bool is_free(int maps, uint64_t address, uint64_t nr_bytes)
{
	struct proc_range_walk walk;
	struct proc_range range = {.end = 0};
	bool is_one = true;

	proc_range_walk_begin(&walk, maps, PROC_RANGE_ANY);
	walk.at = address;
	while (is_one && range.end <= address)
		is_one = proc_range_walk_next(&walk, &range);
	proc_range_walk_end(&walk);
	return !walk.has_failed && (!is_one || range.start >= address + nr_bytes);
}

/* Is there room for all that reserve_all() and make_heap_private() map, and where they map it? */
static bool has_room(const struct making *making, int maps)
{
	const struct region_plan *plan = making->plan;
	const uint64_t private_at = private_below(making, sizeof(struct heap_private));

	for (uint32_t i = 0; i < plan->nr_parts; i++) {
		bool is_one = is_one_range(&plan->parts[i], plan->head_bytes);

		if (!is_free(maps, plan->parts[i].address, region_plan_bytes(plan, i, is_one)) ||
		    (!is_one && !is_free(maps, plan->parts[i].data_address, plan->data_bytes)))
			return false;
	}
	return private_at && is_free(maps, private_at, sizeof(struct heap_private));
}

/* Pads are too many for a row. */
static void begin_row(struct making *making, struct row *row)
{
	if (!making->contents->pads && remote_may_make_row(making->remote) &&
	    has_room(making, making->maps) && find_next_descriptors(making->pid, row->fds))
		making->row = row;
}

/*
 * Is there what a call in a row should have mapped? -ENOMEM: nothing. -EEXIST: something else, by a
 * process that shares the memory and was not stopped. Neighbours of the same kind are one range.
 */
static int64_t look_for(int maps, const struct mapped *mapped)
{
	uint64_t at = mapped->address, end = mapped->address + mapped->nr_bytes;
	struct proc_range range;

	for (; at < end; at = range.end) {
		if (!proc_range_find(maps, at, &range))
			return -ENOMEM;
		/* Old programs may execute all that they may read. */
		if (range.inode || range.shared || range.readable != mapped->is_writable ||
		    range.writable != mapped->is_writable ||
		    (range.executable && !mapped->is_writable))
			return -EEXIST;
	}
	return 0;
}

/* Forgets what is not there as it was foretold: that is not to be unmapped. */
static int64_t look_for_all(struct making *making)
{
	size_t nr = making->nr_mapped;
	int64_t result = 0;

	making->nr_mapped = 0;
	for (size_t i = 0; i < nr; i++) {
		int64_t found = look_for(making->maps, &making->mapped[i]);

		if (found == 0)
			making->mapped[making->nr_mapped++] = making->mapped[i];
		else if (result == 0)
			result = found;
	}
	return result;
}

/* Memory that is cleared in children is a mapping of its own, as it differs from what follows. */
static bool is_wiped(int maps, const struct region_header *header)
{
	struct proc_range range;

	return !header->private_bytes ||
	       (proc_range_find(maps, header->private_address, &range) &&
		range.end == header->private_address + offsetof(struct heap_private, known));
}

static int end_first_row(struct making *making, struct err *err)
{
	int64_t result, found;

	if (!making->row)
		return 0;
	result = make_row(making);
	found = look_for_all(making);
	if (result == 0)
		result = found;
	if (result == 0 && !is_wiped(making->maps, &making->region->header))
		result = -EINVAL;
	return result < 0 ? refused(err, making->pid, "map memory", result) : 0;
}

/* Up to the addresses that the code has to know. */
static int make_first(struct making *making, struct row *row, struct err *err)
{
	const struct region_plan *plan = making->plan;
	int status;

	begin_row(making, row);
	status = make_files(making, err);
	if (status == 0)
		status = reserve_all(making, err);
	if (status == 0 && plan->has_heap)
		status = make_heap_private(making, err);
	if (status == 0)
		status = end_first_row(making, err);
	if (status == 0 && plan->counters.nr_own)
		status = map_owners(making, err);
	return status;
}

/* Calls in a row do not say which of them failed. */
static int mapped_other(const struct making *making, bool is_by_row, struct err *err)
{
	if (is_by_row)
		return err_set(err, ERR_UNSUPPORTED,
			       "process %d may not map executable memory, or has mapped another "
			       "file instead of the memory for its probes",
			       (int)making->pid);
	return err_set(err, ERR_CORRUPT,
		       "process %d has mapped another file instead of the memory for its probes",
		       (int)making->pid);
}

static int make_last(struct making *making, struct row *row, struct err *err)
{
	int status;

	if (making->is_first_reserved) {
		row->nr = 0;
		making->row = row;
	}
	status = map_all(making, err);
	if (making->row) {
		int64_t result;

		close_files(making);
		result = make_row(making);
		if (result < 0)
			status = refused(err, making->pid, "map executable memory", result);
	}
	if (status == 0 && !is_mapped_there(making))
		status = mapped_other(making, making->is_first_reserved, err);
	return status;
}

int region_make(struct region *region, const struct region_plan *plan,
		const struct region_contents *contents, struct remote *remote, pid_t pid, int maps,
		struct err *err)
{
	struct making making = {.region = region,
				.plan = plan,
				.contents = contents,
				.remote = remote,
				.pid = pid,
				.maps = maps,
				.below_bytes = PRIVATE_APART_BYTES,
				.data = {.fd = -1, .file = -1},
				.rest = {.fd = -1, .file = -1}};
	const struct region_owner owner = region_own_identity();
	struct row row = {.nr = 0};
	int status;

	write_name(making.name, sizeof(making.name), &owner);
	*region = (struct region){.inode = 0};
	fill_header(&region->header, plan, contents, &owner);
	status = make_first(&making, &row, err);
	if (status == 0)
		status = take_data(&making, err);
	if (status == 0)
		status = take_rest(&making, err);
	if (status == 0)
		status = make_last(&making, &row, err);
	making.row = NULL;
	if (status < 0)
		unmap_all(&making);
	close_files(&making);
	if (making.data.file >= 0 && !region->has_file)
		close(making.data.file);
	if (making.rest.file >= 0)
		close(making.rest.file);
	if (status < 0)
		region_close(region);
	return status;
}

void region_close(struct region *region)
{
	if (region->data)
		munmap(region->data, region->header.data_bytes);
	if (region->head)
		munmap((void *)(uintptr_t)region->head, region->header.head_bytes);
	if (region->has_file)
		close(region->file);
	*region = (struct region){.inode = 0};
}

bool region_note_kept(uint64_t address, struct target_memory *memory)
{
	const uint64_t is_kept = true;

	return target_memory_put(memory, address + offsetof(struct region_header, is_kept),
				 &is_kept, sizeof(is_kept));
}

bool region_note_uncounted(uint64_t address, struct target_memory *memory)
{
	const uint64_t is_uncounted = true;

	return target_memory_put(memory, address + offsetof(struct region_header, is_uncounted),
				 &is_uncounted, sizeof(is_uncounted));
}

void region_keep(const struct region *region, struct target_memory *memory)
{
	for (uint64_t i = 0; i < region->header.nr_parts; i++)
		region_note_kept(region->header.parts[i].address, memory);
}

struct patch_table region_patches(const struct region *region)
{
	const struct region_header *header = &region->header;

	return patch_table_over(region->head + header->patches_offset, header->nr_patches,
				header->nr_shapes, header->nr_patch_bytes);
}

struct heap_shared *region_heap(const struct region *region)
{
	return region->header.heap_offset
		       ? (struct heap_shared *)(void *)(region->data + region->header.heap_offset)
		       : NULL;
}

struct patch_slow *region_slow(const struct region *region, const struct region_counters *counters,
			       uint32_t index)
{
	return (struct patch_slow *)(void *)(region->data + slow_offset(counters, index));
}

struct patch_notes *region_notes(const struct region *region,
				 const struct region_counters *counters)
{
	return counters->has_notes
		       ? (struct patch_notes *)(void *)(region->data + notes_offset(counters))
		       : NULL;
}

/* -- regions that are found -- */

#define DATA_BYTES_MAX ((uint64_t)1 << 40)

bool region_is_of_this_version(const struct region_header *header)
{
	return memcmp(header->magic, REGION_MAGIC, sizeof(header->magic)) == 0;
}

bool region_is_among(const struct region_header *header, uint64_t address,
		     const struct stopped *stopped)
{
	cleanup_target_memory struct target_memory *memory = stopped_open_memory(stopped);
	struct region_header found;

	return memory && target_memory_get(memory, address, &found, sizeof(found)) &&
	       memcmp(&found, header, sizeof(found)) == 0;
}

/* No other file has its number while it is mapped here. */
bool region_is_of(const struct region *region, const struct stopped *stopped)
{
	pid_t tid = stopped->nr ? stopped->threads[0].tid : stopped->pid;
	cleanup_close int maps = proc_open_task_file(stopped->pid, tid, "maps");
	struct proc_range range;

	if (maps < 0)
		return false;
	/* Before Linux 6.11 there is only the text of all mappings: too long while all stand. */
	if (!proc_range_at(maps, region->header.parts[0].address, &range))
		return errno == ENOTTY &&
		       region_is_among(&region->header, region->header.parts[0].address, stopped);
	return range.inode == region->inode &&
	       makedev(range.dev_major, range.dev_minor) == region->dev;
}

static bool has_sound_heap(const struct region_header *header)
{
	if (!header->heap_offset)
		return !header->blob_bytes && !header->private_bytes;
	for (uint64_t i = 0; i < header->nr_parts; i++) {
		if (header->blob_bytes > header->parts[i].code_bytes)
			return false;
	}
	/* Private bytes are missing if profc was killed while it made the region. */
	return header->data_bytes >= sizeof(struct heap_shared) &&
	       header->heap_offset == header->data_bytes - sizeof(struct heap_shared) &&
	       (header->private_bytes == sizeof(struct heap_private) || !header->private_bytes);
}

/* Each number is bounded by itself, so that sums and products do not wrap. */
static bool has_sound_sizes(const struct region_header *header)
{
	uint64_t nr_bytes = header->head_bytes - header->patches_offset;

	return header->nr_patches <= nr_bytes / sizeof(struct patch_row) &&
	       header->nr_shapes <= PATCH_SHAPES_MAX && header->nr_patch_bytes <= nr_bytes &&
	       patch_table_size(header->nr_patches, header->nr_shapes, header->nr_patch_bytes) <=
		       nr_bytes;
}

bool region_is_sound(const struct region_header *header)
{
	return header->nr_parts && header->nr_parts <= REGION_PARTS_MAX &&
	       (header->owners_bytes == PATCH_OWNERS_BYTES || !header->owners_bytes) &&
	       header->data_bytes <= DATA_BYTES_MAX && header->head_bytes <= DATA_BYTES_MAX &&
	       header->patches_offset >= sizeof(*header) &&
	       header->patches_offset <= header->head_bytes && has_sound_sizes(header) &&
	       has_sound_heap(header);
}
