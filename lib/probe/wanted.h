/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROBE_WANTED_H
#define PROFC_PROBE_WANTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/heap_names.h"
#include "heap/heap_shared.h"
#include "patch/patch.h"
#include "patch/span.h"

struct call_site;
struct elf_image;

/* A file of code that a process has mapped. Borrowed. */
struct probe_file {
	const char *path; /* as the process sees it */
	int fd;
	struct elf_image *image;
};

/* Places in a file, by ELF virtual addresses. */
enum wanted_kind {
	WANTED_HEAP, /* allocations by the function at `address`; its calls are not counted */
	/* Not counted: the word at `address` leads to such a function, and is made to lead
	   elsewhere. */
	WANTED_HEAP_WORD,
	WANTED_ENTRY, /* calls of the function at `address` */
	WANTED_CALL,  /* the call at `address` */
	/* Not counted, but needed to count within a function, the gate. */
	WANTED_GATE_ENTRY,
	WANTED_GATE_PART, /* a separate part of the gate's code, where no call enters it */
	WANTED_GATE_EXIT,
	WANTED_GATE_NOTICE, /* a function's entry, by which frames of the gate may have gone */
	/* The function at `address` is the first, or the second, of a pair between which time
	   is measured: its calls are not counted. */
	WANTED_SPAN_FROM,
	WANTED_SPAN_TO,
	/* Not counted: nr_bytes of instructions, before a system call that may be futex(2). */
	WANTED_SYSCALL,
};

/* More of a WANTED_HEAP or WANTED_HEAP_WORD. */
struct wanted_of_heap {
	struct heap_form form; /* of WANTED_HEAP, and its relation to other functions */
	enum heap_kin kin;
	/* WANTED_HEAP_WORD: the function, and the place that is to lead to it. */
	uint64_t function, leads_to;
};

/* A file has many places: they are small. */
struct wanted_place {
	uint64_t address;
	/* of the function; owned; NULL: prober_options.name() tells it, and nearly none is needed
	 */
	char *name;
	uint32_t nr_bytes; /* of the function, or the call, at most; 0: not known */
	enum wanted_kind kind : 4;
	bool is_gate_entry : 1; /* WANTED_ENTRY: it is the gate's, too */
	bool is_site : 1;	/* of a pair: a static probe amid a function, and not that */
	/* No reason against a probe is in the file; set by prober_file_search(). */
	bool is_plain : 1;
	/* WANTED_ENTRY: tail_calls_has() was asked, as it is called; and the answer. */
	bool is_decoded : 1, has_tail_call : 1;
	/* The number of its gate, if it is of one: of several each is alone. */
	unsigned int gate : 4;
	union {
		uint16_t exit_at;   /* WANTED_GATE_EXIT: offset of the way out from `address` */
		uint16_t return_at; /* WANTED_SYSCALL: by PATCH_RETURN_AT() */
		uint16_t heap;	    /* WANTED_HEAP and WANTED_HEAP_WORD: by wanted_heap_of() */
	};
};

#define WANTED_GATE_MASK (PATCH_SPANS_MAX - 1U)
_Static_assert(sizeof(struct wanted_place) == 24, "there may be 100,000");

/* A function of the file. There may be 100,000: it is small. */
struct wanted_function {
	uint32_t start;		/* after that of the first one */
	uint32_t nr_bytes : 31; /* at most */
	uint32_t is_part : 1;	/* which is no function that can be called */
};

/* A place that a program passes only while a word says that this is wanted, see struct patch. */
struct wanted_semaphore {
	uint64_t site, word;
};

/* A function that cannot be counted in any process. */
struct wanted_refusal {
	char *name, *reason; /* owned */
};

struct wanted {
	struct wanted_place *places; /* owned, as all here; any order */
	size_t nr_places, cap_places;
	struct wanted_of_heap *heaps; /* of places, which may be sorted */
	size_t nr_heaps, cap_heaps;
	uint64_t *starts; /* of all functions of the file, if there are places */
	size_t nr_starts, cap_starts;
	struct wanted_function *functions; /* likewise, by address; where entries are wanted */
	size_t nr_functions, cap_functions;
	uint64_t first_function; /* its start */
	struct wanted_semaphore *semaphores;
	size_t nr_semaphores, cap_semaphores;
	struct wanted_refusal *refusals;
	size_t nr_refusals, cap_refusals;
	struct patch_gate_part *gate_parts; /* set by wanted_watch_gates(), if there are ways out */
	size_t nr_gate_parts;
	char *gate_refusal; /* for the user: why it is no gate, or no pair; or NULL */
};

/* NULL: the place is of another kind. Valid until another place is added. */
const struct wanted_of_heap *wanted_heap_of(const struct wanted *wanted,
					    const struct wanted_place *place);
/* Make room for so many more places. */
void wanted_expect(struct wanted *wanted, size_t nr_places);
/* `name` may be NULL in a WANTED_ENTRY. */
void wanted_add(struct wanted *wanted, enum wanted_kind kind, uint64_t address, uint64_t nr_bytes,
		const char *name);
/* A function of an allocator. All of one allocator are in one file. */
void wanted_add_heap(struct wanted *wanted, const struct heap_form *form, enum heap_kin kin,
		     uint64_t address, uint64_t nr_bytes, const char *name);
/*
 * A word with a pointer to such a function, which `leads_to` replaces. `name`, for users, of what
 * calls it; empty: it is not told if the program replaces the pointer.
 */
void wanted_add_heap_word(struct wanted *wanted, uint64_t address, uint64_t function,
			  uint64_t leads_to, const char *name);
/* Instructions before a system call; return_at by PATCH_RETURN_AT(). */
void wanted_add_syscall(struct wanted *wanted, uint64_t address, uint64_t nr_bytes,
			uint16_t return_at);
/* For users, of the system call at that address; the caller frees it. */
char *wanted_name_of_syscall(uint64_t address);
/*
 * A static probe that begins or ends the time of this gate: WANTED_SPAN_FROM or TO. `semaphore` is
 * the word that it needs, or 0.
 */
void wanted_add_site(struct wanted *wanted, enum wanted_kind kind, uint8_t gate, uint64_t address,
		     uint64_t semaphore, const char *name);
/* The word of a place; 0: it needs none. There are few of them (ELF_SDT_SITES_MAX). */
uint64_t wanted_semaphore(const struct wanted *wanted, uint64_t site);
/* A call becomes a place or a refusal. */
void wanted_add_call(struct wanted *wanted, const struct call_site *call);
void wanted_add_start(struct wanted *wanted, uint64_t address);
/* By rising addresses. */
void wanted_add_function(struct wanted *wanted, uint64_t start, uint64_t end, bool is_part);
/*
 * Is the target of a jump another function, or outside any function, as the PLT is, rather than in
 * the same function or a part of it?
 */
bool wanted_is_function(const struct wanted *wanted, uint64_t address);
void wanted_refuse(struct wanted *wanted, const char *name, const char *reason);
/*
 * Call this once all places and starts are added. It adds the ways out of each gate, which is all
 * of WANTED_GATE_ENTRY and WANTED_GATE_PART with its number. If one cannot be watched, gate_refusal
 * says so, and that gate is dropped. `are_timed`: their calls were to be timed, rather than others
 * to be counted in the one gate.
 */
void wanted_watch_gates(struct wanted *wanted, const struct elf_image *image, bool are_timed);
/* Was the place asked for, and is it counted? */
bool wanted_is_counted(const struct wanted_place *place);
/*
 * Is the reason reported if there is no probe, with that outcome? Another function of the allocator
 * may have one instead.
 */
bool wanted_is_told(const struct wanted *wanted, const struct wanted_place *place,
		    enum patch_outcome outcome);
/* Will any code be overwritten? */
bool wanted_has_probes(const struct wanted *wanted);
/*
 * Sort by address, each once; of places at the same address the first in enum wanted_kind stays. A
 * function of a pair is nothing else: else gate_refusal says so.
 */
void wanted_sort(struct wanted *wanted);
/* The starts are not needed any more. */
void wanted_forget_starts(struct wanted *wanted);
void wanted_release(struct wanted *wanted);

#endif
