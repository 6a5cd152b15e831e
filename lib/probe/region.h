/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROBE_REGION_H
#define PROFC_PROBE_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "probe/patch.h"

struct err;
struct heap_shared;
struct remote;

/*
 * The memory that probes have in a process: a memfd, mapped there once for each part of the address
 * space that has probes, code behind data, and here. What is counted is so known here up to the
 * last instruction of the process, and children that it forks count on in the same memory. It tells
 * all that is needed to take the probes away, also for a profc that finds them left behind:
 *
 *	header | patches | counters | all | heap	mapped read-write, in each part
 *	code of part 0 | code of part 1 ...	each mapped to be executed, behind the data
 *	table of a gate		if there is one; behind the code of part 0, private to each process
 */
#define REGION_NAME	 "profc-probes"
#define REGION_PARTS_MAX 8

struct region_part {
	uint64_t address;     /* in the process: its data; the code is behind it */
	uint64_t code_bytes;  /* a multiple of the page */
	uint64_t file_offset; /* of its code */
};

/* Who installed it. */
struct region_owner {
	int32_t pid;
	uint32_t padding;
	uint64_t start_ticks; /* with the pid, nobody else */
	uint64_t pid_namespace;
};

struct region_header {
	char magic[8]; /* REGION_MAGIC, which changes with the layout of what follows */
	struct region_owner owner;
	/* Not 0: the process changes its own code, and may come back to what leads here. */
	uint64_t is_kept;
	uint64_t nr_parts;
	uint64_t nr_patches, patches_offset;
	uint64_t counters_offset;
	uint64_t data_bytes; /* a multiple of the page: where the code begins in the file */
	uint64_t gate_bytes; /* of the table; 0: there is none */
	/*
	 * Of probes at an allocator: struct heap_shared is the end of the data, and the blob the
	 * beginning of each part's code. 0: there are none.
	 */
	uint64_t heap_offset, blob_bytes;
	uint64_t private_address, private_bytes; /* not shared, and empty in a forked child */
	struct region_part parts[REGION_PARTS_MAX];
};

#define REGION_MAGIC "profcP8"

/* The memory as it is here. */
struct region {
	struct region_header
		header; /* as we have made it: the process may write to the shared one */
	uint8_t *bytes; /* the whole file, mapped */
	size_t nr_bytes;
	uint64_t dev, inode;
};

/* How counters are laid out: threads are spread over a few copies of all of them. */
struct region_counters {
	uint64_t nr;
	uint32_t nr_shards;  /* a power of two; 1: all threads share one copy */
	uint32_t shard_log2; /* of the bytes of a copy */
};

struct region_counters region_counters_for(uint64_t nr, bool is_sharded);

struct region_owner region_own_identity(void);
/* Of a memory file's name, REGION_NAME with the owner behind it. */
bool region_read_name(const char *name, struct region_owner *owner);

/* A region's sizes and addresses are set in `wanted`, and its patches; code is `nr_parts` buffers.
 */
struct region_plan {
	uint64_t nr_patches;
	struct region_counters counters;
	uint32_t nr_parts;
	struct region_part parts[REGION_PARTS_MAX];
	uint64_t gate_bytes; /* 0 or GATE_BYTES */
	bool has_heap;
	bool has_all; /* struct heap_all in front of it */
	uint64_t blob_bytes;
	/* set by region_plan_data(); without a heap its offset is 0 */
	uint64_t data_bytes, patches_offset, counters_offset, heap_offset;
};

void region_plan_data(struct region_plan *plan);
/* Where the counters of a part will be in the process. */
uint64_t region_plan_counters(const struct region_plan *plan, uint32_t part);
uint64_t region_plan_heap(const struct region_plan *plan, uint32_t part);

/* Where the table of the gate will be; in a process that is forked it is another one there. */
uint64_t region_plan_gate(const struct region_plan *plan);

/*
 * Make the memory in a process, by calls that it makes for us, and map it here. Nothing of the
 * process but its address space changes. ERR_LIMIT: an address was taken meanwhile.
 */
int region_make(struct region *region, const struct region_plan *plan, struct remote *remote,
		pid_t pid, struct err *err);
void region_close(struct region *region); /* here only */

/* What a profc that finds them is to take away; at first there are none. Borrowed for the call. */
void region_share_patches(struct region *region, const struct patch *patches, size_t nr);
/* Nobody is to unmap it, in this process or in those that it forks: see is_kept. */
void region_keep(struct region *region);
uint8_t *region_code(const struct region *region, uint32_t part);
/* NULL: there is none. */
struct heap_shared *region_heap(const struct region *region);
uint64_t region_counter(const struct region *region, const struct region_counters *counters,
			uint64_t index);

/*
 * Of a region that is found in a process, and that the process may have written to: is it of this
 * version, and can it be what profc has made? Only then what the header, and its patches, say of
 * sizes and places may be believed.
 */
bool region_is_of_this_version(const struct region_header *header);
bool region_is_sound(const struct region_header *header);
bool region_patches_are_sound(const struct patch *patches, size_t nr);

#endif
