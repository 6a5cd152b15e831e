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
 * The memory that probes have in a process: two memfds, mapped there once for each part of the
 * address space that has probes, the data between the header and the code; the data here, too. What
 * is counted is so known here up to the last instruction of the process, and children that it forks
 * count on in the same memory. All else is written once, before it is mapped, and then can be
 * changed by nobody: neither by a child that has given up rights, for its parent, nor by whoever
 * has the descriptor. It tells all that is needed to take the probes away, also for a profc that
 * finds them left behind:
 *
 *	counters | all | heap	the one file, mapped read-write
 *	header | patches	the other: these mapped in front of the data,
 *	code of part 0 | code of part 1 ...	each of these behind them, to be executed,
 *	table of a gate		if there is one; behind the code of part 0, writable, of each
 *process its own
 */
#define REGION_NAME	 "profc-probes"
#define REGION_PARTS_MAX 8

struct region_part {
	uint64_t address;     /* in the process: of the header; then data and code */
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
	/*
	 * Not 0: the process changes its own code, and may come back to what leads here. It is
	 * written through /proc/PID/mem, to the process' own copy of the page.
	 */
	uint64_t is_kept;
	uint64_t nr_parts;
	uint64_t nr_patches, patches_offset;
	uint64_t head_bytes;		 /* of header and patches, a multiple of the page */
	uint64_t data_inode, data_bytes; /* a multiple of the page; counters are its beginning */
	uint64_t gate_bytes;		 /* of the table; 0: there is none */
	/*
	 * Of probes at an allocator: struct heap_shared is the end of the data, and struct
	 * heap_rules and the blob are the beginning of each part's code. 0: there are none.
	 */
	uint64_t heap_offset, blob_bytes;
	uint64_t private_address, private_bytes; /* not shared, and empty in a forked child */
	struct region_part parts[REGION_PARTS_MAX];
};

#define REGION_MAGIC "profcP9"

/* The memory as it is here. */
struct region {
	struct region_header header; /* as we have made it */
	uint8_t *data;		     /* all of it, mapped */
	uint64_t dev, inode;	     /* of the file with header and code */
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

/* A region's sizes and addresses. */
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
	uint64_t head_bytes, data_bytes, patches_offset, heap_offset;
};

void region_plan_data(struct region_plan *plan);
/* Where the counters of a part will be in the process, its heap, and its code. */
uint64_t region_plan_counters(const struct region_plan *plan, uint32_t part);
uint64_t region_plan_heap(const struct region_plan *plan, uint32_t part);
uint64_t region_plan_code(const struct region_plan *plan, uint32_t part);
/* The same of one that is there. */
uint64_t region_code(const struct region_header *header, uint32_t part);

/* Where the table of the gate will be; in a process that is forked it is another one there. */
uint64_t region_plan_gate(const struct region_plan *plan);

/* What nobody can change. Borrowed for the call. */
struct region_contents {
	const struct patch *patches; /* what a profc that finds them is to take away */
	size_t nr_patches;
	uint8_t *code[REGION_PARTS_MAX]; /* where a heap's private memory is is added to it */
	bool is_kept;
};

/*
 * Make the memory in a process, by calls that it makes for us, and map the data here: they are
 * zeros. Nothing of the process but its address space changes. ERR_LIMIT: an address was taken
 * meanwhile.
 */
int region_make(struct region *region, const struct region_plan *plan,
		const struct region_contents *contents, struct remote *remote, pid_t pid,
		struct err *err);
void region_close(struct region *region); /* here only */

/* Nobody is to unmap it, in this process or in those that it forks from now on: see is_kept. */
void region_keep(const struct region *region, int memory_fd);
/* The same of a header at an address. False: its memory is gone. */
bool region_note_kept(uint64_t address, int memory_fd);
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
