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

/* Code that a process has mapped from a file. */
struct probe_code {
	uint64_t bias; /* address = ELF virtual address + bias */
	struct heap_code_range range;
	const struct branches *branches; /* borrowed: by ELF virtual addresses */
	struct patch_gate gate;		 /* what is there of it */
	void *file;			 /* of probe_extras.read_file; borrowed */
};

/* A probe at a function of an allocator, which records allocations and counts no calls. */
struct probe_of_heap {
	struct heap_form form; /* its arguments, and its relation to others */
	enum heap_kin kin;
	bool is_word;		 /* no code: a pointer to a function of an allocator is replaced */
	uint64_t word, new_word; /* if so: the pointer before, and after that */
	const struct probe_callee *callees; /* borrowed, as the next */
	size_t nr_callees;
	const uint8_t *file_bytes; /* the file's bytes there; NULL: they are to be read */
	size_t nr_file_bytes;
};

/* A place in a process that gets a probe. There may be 100,000: it is small. */
struct probe_request {
	uint64_t address; /* in the process: a function's first instruction, or a call */
	/* Borrowed. */
	const struct probe_code *code;
	const struct probe_of_heap *heap; /* NULL: it is none of an allocator */
	uint64_t semaphore;		  /* is_site: of its word, or 0 */
	uint32_t nr_bytes;		  /* of the function; 0: not known */
	uint32_t number;		  /* the caller's own */
	uint32_t counter;		  /* set by installation_make(), if PATCH_OK */
	enum patch_outcome outcome : 8;	  /* likewise, always */
	enum patch_pass pass : 8;
	bool is_call, is_exit; /* else an entry, */
	bool is_site;	       /* or the nop of a static probe */
	bool has_other_word;   /* is_site: the word is not of its file */
	uint8_t exit_at;       /* is_exit: the offset of the way out, in nr_bytes */
	bool is_plain;	       /* an entry: as patch_function has it */
	bool is_syscall;       /* or, in front of a system call, nr_bytes of instructions */
	uint16_t return_at;    /* PATCH_NOTE: by PATCH_RETURN_AT() */
	uint8_t gate;	       /* of spans: the number of the function that is timed */
};

/* Does it replace a pointer? */
static inline bool probe_is_of_word(const struct probe_request *request)
{
	return request->heap && request->heap->is_word;
}

/* Is it in a function of an allocator? */
static inline bool probe_is_of_heap(const struct probe_request *request)
{
	return request->heap && !request->heap->is_word;
}

#endif
