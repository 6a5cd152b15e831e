/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROBE_INSTALLATION_H
#define PROFC_PROBE_INSTALLATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "probe/patch.h"

struct branches;
struct err;
struct probe_access;
struct probe_cost;

/* One place in a process that is to be counted. */
struct probe_request {
	uint64_t address;      /* in the process: a function's first instruction, or a call */
	uint64_t nr_bytes;     /* of the function; 0: not known */
	uint64_t bias;	       /* address = ELF virtual address + bias */
	bool is_call, is_exit; /* else an entry */
	uint8_t exit_at;       /* of an exit, which has nr_bytes */
	enum patch_pass pass;
	const uint8_t *file_bytes; /* borrowed: what the file has there, or NULL: not compared */
	size_t nr_file_bytes;
	const struct branches *branches; /* by ELF virtual addresses; entries only */
	enum patch_outcome outcome;	 /* set by installation_make() */
	uint32_t counter;		 /* likewise, if PATCH_OK */
};

/* The table of a process' gate, see gate.h, for passes that need one. */
struct probe_gate {
	uint64_t table; /* address; 0: none yet: the first installation makes it */
};

/* The probes that were put into a process in one go. */
struct installation;

/*
 * Put probes into a process, those that can be. `requests` are sorted by address, each address
 * once. The process runs all the while but for two moments: one thread makes some system calls for
 * us, then all stand while the bytes are written. Where it fails the process is as it was. An
 * installation without any probe is a failure, too: ERR_EMPTY. With a gate (not NULL) all probes
 * that are not counted must be possible: else ERR_INVALID, with words.
 */
int installation_make(struct installation **installation, const struct probe_access *access,
		      struct probe_request *requests, size_t nr_requests, struct probe_gate *gate,
		      struct probe_cost *cost, struct err *err);
/* Forget it here. The process keeps its probes, unless probes_remove() has taken them away. */
void installation_free(struct installation *installation);

/* Calls since it was installed: exact, also after the end of the process. Any thread. */
uint64_t installation_count(const struct installation *installation, uint32_t counter);
/* How often a thread that entered the gate found no room in its table. Any thread. */
uint64_t installation_nr_missed(const struct installation *installation);
/* Whom a counted call leads to: a callee, or a word with its address. False: not known. */
bool installation_callee(const struct installation *installation, uint32_t counter,
			 uint64_t *address, bool *is_word);
/* Does other code stand where a counter's probe was put? So where its library is loaded anew. */
bool installation_is_replaced(const struct installation *installation, uint32_t counter,
			      int memory_fd);
/* As patched_original_pc(). Any thread. */
bool installation_original_pc(const struct installation *installation, pid_t pid, uint64_t pc,
			      uint64_t *original, unsigned int *pushed_bytes);

#endif
