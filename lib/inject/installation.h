/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_INSTALLATION_H
#define PROFC_INJECT_INSTALLATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "inject/request.h"

struct target_memory;
struct err;
struct heap_options;
struct heap_ring;
struct probe_access;
struct probe_cost;

/* The table of a process' gate, see gate.h, for passes that need one. */
struct probe_gate {
	uint64_t table; /* address; 0: none yet: the first installation makes it */
};

/* What some requests need besides. Borrowed. */
struct probe_extras {
	struct probe_gate *gate;	 /* NULL: there is none */
	const struct heap_options *heap; /* how allocations are sampled; NULL: they are not */
	bool has_heap_before;		 /* by an earlier installation in the same process */
};

/* The probes that were put into a process in one go. */
struct installation;

/*
 * Put probes into a process, those that can be. `requests` are sorted by address, each address
 * once. The process runs all the while but for two moments: one thread makes some system calls for
 * us, then all stand while the bytes are written. Where it fails the process is as it was. An
 * installation without any probe is a failure, too: ERR_EMPTY. With a gate all probes that are not
 * counted must be possible: else ERR_INVALID, with words.
 */
int installation_make(struct installation **installation, const struct probe_access *access,
		      struct probe_request *requests, size_t nr_requests,
		      const struct probe_extras *extras, struct probe_cost *cost, struct err *err);
/* Forget it here. The process keeps its probes, unless probes_remove() has taken them away. */
void installation_free(struct installation *installation);

/* Calls since it was installed: exact, also after the end of the process. Any thread. */
uint64_t installation_count(const struct installation *installation, uint32_t counter);
/* How often a thread that entered the gate found no room in its table. Any thread. */
uint64_t installation_nr_missed(const struct installation *installation);
/* Whom a counted call leads to: a callee, or a word with its address. False: not known. */
bool installation_callee(const struct installation *installation, uint32_t counter,
			 uint64_t *address, bool *is_word);
/* Does the file's code stand where a counter's probe was put? So where its library is loaded anew.
 */
bool installation_is_loaded_anew(const struct installation *installation, uint32_t counter,
				 pid_t pid, struct target_memory *memory);
/* May the process put a patch of its own in the same place? The memory is kept then. */
bool installation_is_in_sled(const struct installation *installation, uint32_t counter);
/*
 * What of a process' probes is still there: *states, to be freed, are by counter, bytes of enum
 * patched_state. Where the process has changed its code, or may, all of their memory is kept from
 * then on. NULL: it has ended. Any thread.
 */
uint8_t *installation_look(struct installation *installation, pid_t pid,
			   struct target_memory *memory);
/* What was sampled of allocations; NULL: nothing is. One thread at a time. */
struct heap_ring *installation_heap(struct installation *installation);
/* Sample otherwise from now on. Any thread. */
void installation_set_heap(struct installation *installation, const struct heap_options *heap);
/* As patched_original_pc(). Any thread. */
bool installation_original_pc(const struct installation *installation, pid_t pid, uint64_t pc,
			      uint64_t *original, unsigned int *pushed_bytes);

#endif
