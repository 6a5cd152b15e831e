// SPDX-License-Identifier: GPL-2.0-or-later
/* Snapshots of threads: registers and stack regions, and access to both. */
#include "snapshot/snapshot.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static const struct arch_regs arch_table[] = {
	[ARCH_X86_64] = {.name = "x86_64",
			 .nr = 17,
			 .sp = 7,
			 .pc = 16,
			 .fp = 6,
			 .ra = 16,
			 .nr_mutex_bytes = 40},
	[ARCH_AARCH64] = {.name = "aarch64",
			  .nr = 33,
			  .sp = 31,
			  .pc = 32,
			  .fp = 29,
			  .ra = 30,
			  .ends_data = true,
			  .nr_mutex_bytes = 48},
};

enum arch arch_native(void)
{
#if defined(__x86_64__)
	return ARCH_X86_64;
#elif defined(__aarch64__)
	return ARCH_AARCH64;
#else
#error "profc supports x86_64 and aarch64"
#endif
}

const struct arch_regs *arch_regs(enum arch arch)
{
	assert((size_t)arch < ARRAY_SIZE(arch_table));
	return &arch_table[arch];
}

bool regs_get(const struct regs *regs, unsigned int reg, uint64_t *value)
{
	if (reg >= REGS_MAX || !(regs->known >> reg & 1))
		return false;
	*value = regs->value[reg];
	return true;
}

void regs_set(struct regs *regs, unsigned int reg, uint64_t value)
{
	assert(reg < REGS_MAX);
	regs->value[reg] = value;
	regs->known |= UINT64_C(1) << reg;
}

void snapshot_release(struct snapshot *snapshot)
{
	free(snapshot->bytes);
	free(snapshot->kernel_stack);
	*snapshot = (struct snapshot){0};
}

/* The room that a snapshot has for bytes and text. */
struct snapshot_room {
	uint8_t *bytes;
	size_t cap_bytes;
	char *kernel_stack;
	size_t cap_kernel_bytes;
};

static struct snapshot_room room_of(const struct snapshot *snapshot)
{
	return (struct snapshot_room){.bytes = snapshot->bytes,
				      .cap_bytes = snapshot->cap_bytes,
				      .kernel_stack = snapshot->kernel_stack,
				      .cap_kernel_bytes = snapshot->cap_kernel_bytes};
}

static void take_room(struct snapshot *snapshot, const struct snapshot_room *room)
{
	snapshot->bytes = room->bytes;
	snapshot->cap_bytes = room->cap_bytes;
	snapshot->kernel_stack = room->kernel_stack;
	snapshot->cap_kernel_bytes = room->cap_kernel_bytes;
}

void snapshot_clear(struct snapshot *snapshot)
{
	struct snapshot_room room = room_of(snapshot);

	memset(snapshot, 0, offsetof(struct snapshot, regions));
	take_room(snapshot, &room);
	snapshot->syscall_nr = SNAPSHOT_NO_SYSCALL;
	snapshot->state = THREAD_STATE_UNKNOWN;
	snapshot->arch = arch_native();
}

void snapshot_set_kernel_stack(struct snapshot *snapshot, const char *text, size_t nr_bytes)
{
	ARRAY_RESERVE(snapshot->kernel_stack, nr_bytes, snapshot->cap_kernel_bytes);
	if (nr_bytes)
		memcpy(snapshot->kernel_stack, text, nr_bytes);
	snapshot->nr_kernel_bytes = nr_bytes;
}

void snapshot_drop_regions(struct snapshot *snapshot)
{
	snapshot->nr_regions = 0;
	snapshot->nr_late = 0;
	snapshot->nr_bytes = 0;
	snapshot->is_withheld = false;
}

void snapshot_copy(struct snapshot *copy, const struct snapshot *snapshot)
{
	struct snapshot_room room = room_of(copy);

	ARRAY_RESERVE(room.bytes, snapshot->nr_bytes, room.cap_bytes);
	memcpy(copy, snapshot, offsetof(struct snapshot, regions));
	memcpy(copy->regions, snapshot->regions, snapshot->nr_regions * sizeof(*copy->regions));
	take_room(copy, &room);
	if (snapshot->nr_bytes)
		memcpy(copy->bytes, snapshot->bytes, snapshot->nr_bytes);
	snapshot_set_kernel_stack(copy, snapshot->kernel_stack, snapshot->nr_kernel_bytes);
}

/* The last region, if a run starting at `start` would continue it. */
static struct stack_region *region_to_extend(struct snapshot *snapshot, uint64_t start,
					     enum region_kind kind)
{
	struct stack_region *last;

	if (!snapshot->nr_regions)
		return NULL;
	last = &snapshot->regions[snapshot->nr_regions - 1];
	return last->kind == kind && last->start + last->nr_bytes == start ? last : NULL;
}

#define NOT_IN_ORDER UINT_MAX

/* The last region is to be copied after the stop. */
static void note_late(struct snapshot *snapshot)
{
	unsigned int i = snapshot->nr_regions - 1;
	const struct stack_region *region = &snapshot->regions[i];

	if (!snapshot->nr_late)
		snapshot->first_late = i;
	else if (i != snapshot->first_late + snapshot->nr_late ||
		 region->start < region[-1].start + region[-1].nr_bytes)
		snapshot->first_late = NOT_IN_ORDER;
	snapshot->nr_late++;
}

static uint8_t *add_region(struct snapshot *snapshot, uint64_t start, size_t nr_bytes,
			   enum region_kind kind)
{
	struct stack_region *region = region_to_extend(snapshot, start, kind);
	uint8_t *room;

	if (nr_bytes > UINT32_MAX - snapshot->nr_bytes)
		return NULL;
	if (!region) {
		if (snapshot->nr_regions == SNAPSHOT_REGIONS_MAX)
			return NULL;
		region = &snapshot->regions[snapshot->nr_regions++];
		*region = (struct stack_region){
			.start = start, .offset = (uint32_t)snapshot->nr_bytes, .kind = kind};
		if (kind > REGION_WANTED)
			note_late(snapshot);
	}
	/* One more, so that there is an array to point into even for an empty region. */
	ARRAY_RESERVE(snapshot->bytes, snapshot->nr_bytes + nr_bytes + 1, snapshot->cap_bytes);
	room = snapshot->bytes + snapshot->nr_bytes;
	snapshot->nr_bytes += nr_bytes;
	region->nr_bytes += (uint32_t)nr_bytes;
	return room;
}

uint8_t *snapshot_add_region(struct snapshot *snapshot, uint64_t start, size_t nr_bytes)
{
	return add_region(snapshot, start, nr_bytes, REGION_STACK);
}

uint8_t *snapshot_add_wanted(struct snapshot *snapshot, uint64_t start, size_t nr_bytes)
{
	return add_region(snapshot, start, nr_bytes, REGION_WANTED);
}

uint8_t *snapshot_add_due(struct snapshot *snapshot, uint64_t start, size_t nr_bytes)
{
	return add_region(snapshot, start, nr_bytes, REGION_DUE);
}

uint8_t *snapshot_add_late(struct snapshot *snapshot, uint64_t start, size_t nr_bytes)
{
	return add_region(snapshot, start, nr_bytes, REGION_LATE);
}

void snapshot_append(struct snapshot *snapshot, const struct snapshot *from, unsigned int first)
{
	unsigned int nr = from->nr_regions - first, at = snapshot->nr_regions;
	size_t begin, nr_bytes;

	if (first >= from->nr_regions || nr > SNAPSHOT_REGIONS_MAX - at)
		return;
	begin = from->regions[first].offset;
	nr_bytes = from->nr_bytes - begin;
	if (nr_bytes > UINT32_MAX - snapshot->nr_bytes)
		return;
	ARRAY_RESERVE(snapshot->bytes, snapshot->nr_bytes + nr_bytes + 1, snapshot->cap_bytes);
	memcpy(snapshot->bytes + snapshot->nr_bytes, from->bytes + begin, nr_bytes);
	for (unsigned int i = 0; i < nr; i++) {
		struct stack_region *region = &snapshot->regions[at + i];

		*region = from->regions[first + i];
		region->offset += (uint32_t)(snapshot->nr_bytes - begin);
	}
	if (from->nr_late) {
		snapshot->first_late = snapshot->nr_late || from->first_late == NOT_IN_ORDER
					       ? NOT_IN_ORDER
					       : from->first_late - first + at;
		snapshot->nr_late += from->nr_late;
	}
	snapshot->nr_regions += nr;
	snapshot->nr_bytes += nr_bytes;
}

/* Larger room stays where it is: each thread has a snapshot to take from, and few have deep stacks.
 */
#define EXCHANGED_BYTES_MAX (256 * 1024)

static void exchange_bytes(struct snapshot *snapshot, struct snapshot *from)
{
	uint8_t *room = snapshot->bytes;
	size_t cap_room = snapshot->cap_bytes;

	snapshot->bytes = from->bytes;
	snapshot->cap_bytes = from->cap_bytes;
	from->bytes = room;
	from->cap_bytes = cap_room;
}

void snapshot_take_regions(struct snapshot *snapshot, struct snapshot *from)
{
	assert(!snapshot->nr_regions);
	memcpy(snapshot->regions, from->regions, from->nr_regions * sizeof(*from->regions));
	snapshot->nr_regions = from->nr_regions;
	snapshot->nr_late = from->nr_late;
	snapshot->first_late = from->first_late;
	snapshot->nr_bytes = from->nr_bytes;
	if (snapshot->cap_bytes > EXCHANGED_BYTES_MAX && snapshot->cap_bytes > from->nr_bytes)
		memcpy(snapshot->bytes, from->bytes, from->nr_bytes);
	else
		exchange_bytes(snapshot, from);
	snapshot_drop_regions(from);
}

bool snapshot_set_first(struct snapshot *snapshot, uint64_t start, size_t nr_bytes)
{
	struct stack_region *region = &snapshot->regions[0];
	uint64_t end = region->start + region->nr_bytes;

	if (region->start - start > region->offset && start < region->start)
		return false;
	if (start >= end || !nr_bytes || nr_bytes > end - start)
		return false;
	region->offset -= (uint32_t)(region->start - start);
	region->start = start;
	region->nr_bytes = (uint32_t)nr_bytes;
	if (snapshot->nr_regions == 1)
		snapshot->nr_bytes = region->offset + nr_bytes;
	return true;
}

void snapshot_trim_region(struct snapshot *snapshot, size_t unread_bytes)
{
	struct stack_region *last;

	assert(snapshot->nr_regions);
	last = &snapshot->regions[snapshot->nr_regions - 1];
	assert(unread_bytes <= last->nr_bytes);
	last->nr_bytes -= (uint32_t)unread_bytes;
	snapshot->nr_bytes -= unread_bytes;
	if (last->nr_bytes)
		return;
	snapshot->nr_late -= last->kind > REGION_WANTED;
	snapshot->nr_regions--;
}

static bool has_range(const struct stack_region *region, uint64_t address, size_t nr_bytes)
{
	uint64_t offset = address - region->start;

	return offset < region->nr_bytes && nr_bytes <= region->nr_bytes - offset;
}

static bool read_region(const struct snapshot *snapshot, const struct stack_region *region,
			uint64_t address, void *out, size_t nr_bytes)
{
	if (!has_range(region, address, nr_bytes))
		return false;
	memcpy(out, snapshot->bytes + region->offset + (address - region->start), nr_bytes);
	return true;
}

bool snapshot_read(const struct snapshot *snapshot, uint64_t address, void *out, size_t nr_bytes)
{
	for (unsigned int i = 0; i < snapshot->nr_regions; i++) {
		if (snapshot->regions[i].kind == REGION_STACK &&
		    read_region(snapshot, &snapshot->regions[i], address, out, nr_bytes))
			return true;
	}
	return false;
}

bool snapshot_read_any(const struct snapshot *snapshot, uint64_t address, void *out,
		       size_t nr_bytes)
{
	for (unsigned int i = 0; i < snapshot->nr_regions; i++) {
		if (snapshot->regions[i].kind <= REGION_WANTED &&
		    read_region(snapshot, &snapshot->regions[i], address, out, nr_bytes))
			return true;
	}
	return false;
}

bool snapshot_has_any(const struct snapshot *snapshot, uint64_t address, size_t nr_bytes)
{
	for (unsigned int i = 0; i < snapshot->nr_regions; i++) {
		if (snapshot->regions[i].kind <= REGION_WANTED &&
		    has_range(&snapshot->regions[i], address, nr_bytes))
			return true;
	}
	return false;
}

static bool read_late(const struct snapshot *snapshot, const struct stack_region *region,
		      uint64_t address, void *out, size_t nr_bytes)
{
	return region->kind == REGION_LATE && read_region(snapshot, region, address, out, nr_bytes);
}

/* The only one of those in order that may have the address. */
static const struct stack_region *late_at(const struct snapshot *snapshot, uint64_t address)
{
	unsigned int low = snapshot->first_late, high = low + snapshot->nr_late;

	while (high - low > 1) {
		unsigned int middle = low + (high - low) / 2;

		if (snapshot->regions[middle].start <= address)
			low = middle;
		else
			high = middle;
	}
	return &snapshot->regions[low];
}

bool snapshot_read_late(const struct snapshot *snapshot, uint64_t address, void *out,
			size_t nr_bytes)
{
	if (!snapshot->nr_late)
		return false;
	if (snapshot->first_late != NOT_IN_ORDER)
		return read_late(snapshot, late_at(snapshot, address), address, out, nr_bytes);
	for (unsigned int i = 0; i < snapshot->nr_regions; i++) {
		if (read_late(snapshot, &snapshot->regions[i], address, out, nr_bytes))
			return true;
	}
	return false;
}

static bool is_late(const struct stack_region *region, uint64_t address, size_t nr_bytes)
{
	return region->kind > REGION_WANTED && has_range(region, address, nr_bytes);
}

const struct stack_region *snapshot_late_region(const struct snapshot *snapshot, uint64_t address)
{
	const struct stack_region *region;

	if (!snapshot->nr_late || snapshot->first_late == NOT_IN_ORDER)
		return NULL;
	region = late_at(snapshot, address);
	return is_late(region, address, 1) ? region : NULL;
}

/* It is asked of each object in the stop, of which some dozens are copied later. */
bool snapshot_is_late(const struct snapshot *snapshot, uint64_t address, size_t nr_bytes)
{
	if (!snapshot->nr_late)
		return false;
	if (snapshot->first_late != NOT_IN_ORDER)
		return is_late(late_at(snapshot, address), address, nr_bytes);
	for (unsigned int i = 0; i < snapshot->nr_regions; i++) {
		if (is_late(&snapshot->regions[i], address, nr_bytes))
			return true;
	}
	return false;
}

/* Deeper chains are not followed: each link is a read during the ptrace-stop. */
#define FP_LINKS_MAX 128

uint64_t snapshot_fp_beyond(const struct snapshot *snapshot)
{
	uint64_t fp;

	if (!regs_get(&snapshot->regs, arch_regs(snapshot->arch)->fp, &fp))
		return 0;
	for (int i = 0; i < FP_LINKS_MAX && fp && fp % sizeof(fp) == 0; i++) {
		uint64_t next;

		if (!snapshot_read(snapshot, fp, &next, sizeof(next)))
			return fp;
		if (next == fp)
			return 0;
		fp = next;
	}
	return 0;
}
