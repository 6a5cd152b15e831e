/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_REQUEST_H
#define PROFC_INJECT_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/heap_names.h"
#include "heap/heap_shared.h"
#include "patch/patch.h"

struct branches;

/* A function that another one calls, or jumps to. */
struct probe_callee {
	uint64_t at;  /* its ELF virtual address, */
	bool is_word; /* or that of a word with its address in the process */
};

/* A place in a process that gets a probe. */
struct probe_request {
	uint64_t address;      /* in the process: a function's first instruction, or a call */
	uint64_t nr_bytes;     /* of the function; 0: not known */
	uint64_t bias;	       /* address = ELF virtual address + bias */
	bool is_call, is_exit; /* else an entry */
	uint8_t exit_at;       /* is_exit: the offset of the way out, in nr_bytes */
	enum patch_pass pass;
	bool is_heap;	       /* allocations are recorded there instead of calls counted */
	struct heap_form heap; /* if so: its arguments, and its relation to others */
	enum heap_kin kin;
	struct heap_code_range code; /* likewise: the mapped code of its file */
	bool is_word;		 /* no code: a pointer to a function of an allocator is replaced */
	uint64_t word, new_word; /* if so: the pointer before, and after that */
	const uint8_t *file_bytes; /* borrowed: the file's bytes there; NULL: not compared */
	size_t nr_file_bytes;
	const struct probe_callee *callees; /* borrowed: of an allocator's function */
	size_t nr_callees;
	const struct branches *branches; /* by ELF virtual addresses; entries only */
	enum patch_outcome outcome;	 /* set by installation_make() */
	uint32_t counter;		 /* likewise, if PATCH_OK */
};

#endif
