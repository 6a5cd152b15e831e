/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_INSTALLATION_H
#define PROFC_INJECT_INSTALLATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/read_ahead.h"
#include "inject/request.h"

struct target_memory;
struct err;
struct heap_options;
struct heap_ring;
struct patch_notes;
struct patch_table;
struct patch_slow;
struct patch_span;
struct probe_access;
struct probe_cost;

/* The table of a process' gate (gate.h), for passes that need one. */
struct probe_gate {
	uint64_t table; /* address; 0: the first installation makes the table */
};

/* More settings, for some of the requests. Borrowed. */
struct probe_extras {
	struct probe_gate *gate;	 /* NULL: there is no gate */
	const struct heap_options *heap; /* how allocations are sampled; NULL: they are not */
	bool has_heap_before;		 /* an earlier installation in the same process has hooks */
	/* The file's bytes at an ELF virtual address; NULL: code is not compared with it. */
	read_ahead_source *read_file;
};

/* Probes that were put into a process together. */
struct installation;

/*
 * Put probes into a process, as many as possible. `requests` are sorted by address, each address
 * once. The process runs but for two moments: one thread makes some system calls for us, then all
 * are stopped while the bytes are written. On failure the process is as before. ERR_EMPTY: no probe
 * was possible. ERR_INVALID, with a message: a probe at a way into or out of the gate was not
 * possible, or its calls cannot be timed.
 */
int installation_make(struct installation **installation, const struct probe_access *access,
		      struct probe_request *requests, size_t nr_requests,
		      const struct probe_extras *extras, struct probe_cost *cost, struct err *err);
/*
 * All its patches, if they are in the memory file with this inode, and are as many; or NULL. Valid
 * until it is freed.
 */
const struct patch_table *installation_patches(const struct installation *installation,
					       uint64_t inode, size_t nr);
/* Forget it here. The process keeps its probes, unless probes_remove() has removed them. */
void installation_free(struct installation *installation);

/* Calls since the installation: exact, also after the end of the process. Any thread. */
uint64_t installation_count(const struct installation *installation, uint32_t counter);
/* Likewise all of them, by counter, which is quicker, and takes less memory. The caller frees them.
 */
uint64_t *installation_counts(const struct installation *installation);
/*
 * How many functions are timed, at most, and the calls of one of them, by all threads, of which
 * there were *nr_threads at most; takes_longest as in region_span(). As exact as the counts. Any
 * thread.
 */
uint32_t installation_nr_spans(const struct installation *installation);
void installation_span(const struct installation *installation, uint32_t index, bool takes_longest,
		       struct patch_span *span, uint64_t *nr_threads);
/* As region_slow(): shared with the process, also after its end. */
struct patch_slow *installation_slow(const struct installation *installation, uint32_t index);
/* The notes of calls of futex(2), likewise; NULL: there are none. */
struct patch_notes *installation_notes(const struct installation *installation);
/* Do they have the ids of threads? Likewise. */
bool installation_knows_ids(const struct installation *installation);
/* As region_forget_longest(). */
void installation_forget_longest(const struct installation *installation, uint32_t index);
/*
 * How often a thread that entered the gate found no room in its table, or began a call that could
 * not be timed. Any thread.
 */
uint64_t installation_nr_missed(const struct installation *installation);
/*
 * The callee of a counted call: its address, or that of a word with it. False: not known. Any
 * thread.
 */
bool installation_callee(const struct installation *installation, uint32_t counter,
			 uint64_t *address, bool *is_word);
/*
 * Is the file's own code at the place of a counter's probe? So it is if its library was loaded
 * again.
 */
bool installation_is_loaded_anew(const struct installation *installation, uint32_t counter,
				 pid_t pid, struct target_memory *memory);
/* May the process patch the same place itself? The memory is kept then. */
bool installation_is_in_sled(const struct installation *installation, uint32_t counter);
/*
 * Look which probes of a process are still there. Returns bytes of enum patched_state by counter,
 * to be freed. If the process has changed its code, or can, all memory of its probes is kept from
 * then on. NULL: the process has ended. Any thread.
 */
uint8_t *installation_look(struct installation *installation, pid_t pid,
			   struct target_memory *memory);
/*
 * For what another look at the process showed: as installation_look() would have it, `states` are
 * corrected. True: all memory of its probes is to be kept.
 */
bool installation_judge(struct installation *installation, pid_t pid, uint8_t *states,
			bool is_writable);
/* The records of allocations; NULL: there are none. One thread at a time. */
struct heap_ring *installation_heap(struct installation *installation);
/* Change how allocations are sampled. Any thread. */
void installation_set_heap(struct installation *installation, const struct heap_options *heap);
/* As patched_original_pc(). Any thread. */
bool installation_original_pc(const struct installation *installation, pid_t pid, uint64_t pc,
			      uint64_t link, uint64_t *original, unsigned int *pushed_bytes);

#endif
