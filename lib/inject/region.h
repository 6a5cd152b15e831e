/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_REGION_H
#define PROFC_INJECT_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "patch/patch_table.h"

struct target_memory;
struct err;
struct heap_shared;
struct pads;
struct patch_notes;
struct patch_slow;
struct patch_span;
struct remote;
struct stopped;

/*
 * The memory of probes in a process: two memfds, mapped once for each part of the address space
 * that has probes, with the data between header and code. profc maps the data, too: so it knows the
 * counts up to the last instruction of the process, and forked children add to the same memory. The
 * other file is written and sealed before it is mapped: no process can change it, so a child that
 * has given up rights cannot change it for its parent. With its header a later profc can remove
 * probes that were left behind:
 *
 *	counters | slow calls | notes | all | heap	the data: mapped read-write
 *	header | patches	sealed: mapped before the data
 *	code of part 0 | ...	sealed: each mapped after the data, to be executed
 *	table of a gate		private and writable, after the code of part 0
 *	pads			sealed: each page where the code of the program decides
 *
 * The data of a part are elsewhere where its code would else be too far from what leads there: then
 * the code follows the header.
 */
#define REGION_NAME	 "profc-probes"
#define REGION_PARTS_MAX 8

struct region_part {
	uint64_t address;      /* in the process: of the header */
	uint64_t data_address; /* after the header, in front of the code; or anywhere else */
	uint64_t code_bytes;   /* a multiple of the page */
	uint64_t file_offset;  /* of its code */
};

/* The profc that has made it. */
struct region_owner {
	int32_t pid;
	uint32_t padding;
	uint64_t start_ticks; /* makes the pid unique */
	uint64_t pid_namespace;
};

struct region_header {
	char magic[8]; /* REGION_MAGIC, which changes with the layout of header or patches */
	struct region_owner owner;
	/*
	 * Not 0: the process changes its own code, and may restore a jump to this memory. profc
	 * writes this through /proc/PID/mem, which copies the page for that process.
	 */
	uint64_t is_kept;
	uint64_t is_uncounted; /* likewise: patched_uncount() was called, or is */
	uint64_t nr_parts;
	/* of struct patch_table, as patch_table_over() takes it */
	uint64_t nr_patches, nr_shapes, nr_patch_bytes, patches_offset;
	uint64_t head_bytes;		 /* of header and patches, a multiple of the page */
	uint64_t data_inode, data_bytes; /* a multiple of the page; begins with the counters */
	uint64_t gate_bytes;		 /* of the gate's table; 0: there is none */
	/*
	 * For probes at an allocator: struct heap_shared ends the data, and struct heap_rules and
	 * the blob begin each part's code. 0: there are none.
	 */
	uint64_t heap_offset, blob_bytes;
	uint64_t private_address, private_bytes; /* not shared; cleared in a forked child */
	uint64_t owners_address, owners_bytes;	 /* likewise: the table of struct patch_owners */
	struct region_part parts[REGION_PARTS_MAX];
};

#define REGION_MAGIC "profcPH"

/* The memory in profc. */
struct region {
	struct region_header header; /* as profc made it */
	uint8_t *data;		     /* all of it, mapped */
	const uint8_t *head; /* header and patches, mapped: sealed, and so as profc made them */
	uint64_t dev, inode; /* of the file with header and code */
	bool has_file;	     /* of the data: `file`, a descriptor, where counters are many */
	int file;
};

/*
 * The layout of counters: threads are spread over a few copies of all of them; further copies have
 * an owner each. A copy takes memory only as far as its thread counts there.
 */
struct region_counters {
	uint64_t nr;	     /* of probes; those of enum region_counter follow */
	uint32_t nr_shards;  /* a power of two; 1: all threads share one copy */
	uint32_t nr_own;     /* copies with an owner, after the shards */
	uint32_t shard_log2; /* log2 of the bytes of a copy */
	uint32_t nr_spans;   /* each copy ends with so many of struct patch_span */
	bool has_notes;	     /* of calls of futex(2), after all copies */
};

/* Counters that no probe has. */
enum region_counter {
	REGION_MISSED,	/* threads that found no room in the gate's table */
	REGION_CLAIMED, /* copies with an owner; only in the first shard, as is the next */
	REGION_ID_AT,	/* where threads have their ids, see patch_counter.id_at */
	REGION_COUNTER_COUNT,
};

/* Copies with spans need owners. */
struct region_counters region_counters_for(uint64_t nr, bool is_sharded, bool is_owned,
					   uint32_t nr_spans);
/* The place of such a counter in a copy. */
uint64_t region_counter_index(const struct region_counters *counters, enum region_counter which);
/* The offset of a span in a copy. */
uint32_t region_span_offset(const struct region_counters *counters, uint32_t index);

struct region_owner region_own_identity(void);
/* Read the owner from a memory file's name: REGION_NAME, then the owner. False: another name. */
bool region_read_name(const char *name, struct region_owner *owner);

/* A region's sizes and addresses. */
struct region_plan {
	uint64_t nr_patches; /* at most */
	struct region_counters counters;
	uint32_t nr_parts;
	struct region_part parts[REGION_PARTS_MAX];
	uint64_t gate_bytes; /* 0 or GATE_BYTES */
	bool has_heap;
	bool has_all; /* struct heap_all in front of the heap */
	uint64_t blob_bytes;
	/* set by region_plan_data(); without a heap its offset is 0, and nothing is private */
	uint64_t head_bytes, data_bytes, patches_offset, heap_offset;
};

void region_plan_data(struct region_plan *plan);
/*
 * The addresses that the counters of a part, their end, its heap, and its code will have in the
 * process.
 */
uint64_t region_plan_counters(const struct region_plan *plan, uint32_t part);
uint64_t region_plan_counters_end(const struct region_plan *plan, uint32_t part);
/* That of the slow calls of a function. */
uint64_t region_plan_slow(const struct region_plan *plan, uint32_t part, uint32_t index);
/* That of struct patch_notes, where there are notes. */
uint64_t region_plan_notes(const struct region_plan *plan, uint32_t part);
uint64_t region_plan_heap(const struct region_plan *plan, uint32_t part);
uint64_t region_plan_code(const struct region_plan *plan, uint32_t part);
/* The address of a part's code in the process. */
uint64_t region_code(const struct region_header *header, uint32_t part);

/* The address of the gate's table. A forked process has its own table at the same address. */
uint64_t region_plan_gate(const struct region_plan *plan);

/* All addresses that a part takes, without data that are elsewhere. */
uint64_t region_plan_bytes(const struct region_plan *plan, uint32_t part, bool is_with_data);

/* The contents of the sealed file. Borrowed for the call. */
struct region_contents {
	const struct patch_table *patches; /* for removal, also by a later profc */
	size_t nr_code_bytes[REGION_PARTS_MAX];
	uint8_t *code[REGION_PARTS_MAX]; /* region_make() adds the private address, */
	size_t owners_at; /* and here that of the table of owners, if copies have some */
	bool is_kept;
	const struct pads *pads; /* or NULL */
};

/*
 * Make the memory, by calls that the process makes for us, and map the data here, which are zeros.
 * `maps` is a descriptor on the process's maps. Only the address space of the process changes.
 * ERR_LIMIT: an address was taken meanwhile.
 */
int region_make(struct region *region, const struct region_plan *plan,
		const struct region_contents *contents, struct remote *remote, pid_t pid, int maps,
		struct err *err);
void region_close(struct region *region); /* here only */

/* Set is_kept: no profc unmaps it in this process, nor in children forked later. */
void region_keep(const struct region *region, struct target_memory *memory);
/* Set is_kept of the header at an address. False: the memory is gone. */
bool region_note_kept(uint64_t address, struct target_memory *memory);
/* Set is_uncounted, likewise. */
bool region_note_uncounted(uint64_t address, struct target_memory *memory);
/* Valid up to region_close(). */
struct patch_table region_patches(const struct region *region);
/* NULL: the region has none. */
struct heap_shared *region_heap(const struct region *region);
uint64_t region_counter(const struct region *region, const struct region_counters *counters,
			uint64_t index);
/*
 * Those of all probes, at once: quicker, and memory that no thread has counted in is not read, as
 * it would be there from then on. `sums` has room for all.
 */
void region_read_counters(const struct region *region, const struct region_counters *counters,
			  uint64_t *sums);
void region_set_counter(const struct region *region, const struct region_counters *counters,
			enum region_counter which, uint64_t value);
/* From now on the longest of later calls. One that ends at this moment may stay. */
void region_forget_longest(const struct region *region, const struct region_counters *counters,
			   uint32_t index);
/* The slow calls of a function: the process may write anything there. Borrowed. */
struct patch_slow *region_slow(const struct region *region, const struct region_counters *counters,
			       uint32_t index);
/* Likewise the notes; NULL: there are none. */
struct patch_notes *region_notes(const struct region *region,
				 const struct region_counters *counters);
/*
 * The calls of all threads: sums, and the longest one; and how many threads there were at most.
 * With takes_longest the next time it is the longest of later calls.
 */
uint64_t region_span(const struct region *region, const struct region_counters *counters,
		     uint32_t index, bool takes_longest, struct patch_span *sum);

/*
 * A region that is found in a process, which may have written to it: is it of this version, and is
 * it possible? Believe sizes and places in its header and patches only then.
 */
bool region_is_of_this_version(const struct region_header *header);
bool region_is_sound(const struct region_header *header);
/*
 * Do the stopped threads see this header? Not if their process has executed another program since
 * its memory was opened: then nothing found in that memory holds for them.
 */
bool region_is_among(const struct region_header *header, uint64_t address,
		     const struct stopped *stopped);
/* The same of a region of ours, by its file. */
bool region_is_of(const struct region *region, const struct stopped *stopped);

#endif
