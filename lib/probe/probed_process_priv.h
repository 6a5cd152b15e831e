/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The prober's state of one process. */
#ifndef PROFC_PROBE_PROBED_PROCESS_PRIV_H
#define PROFC_PROBE_PROBED_PROCESS_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "heap/heap_ring.h"
#include "inject/installation.h"
#include "probe/believed.h"
#include "probe/prober_file_priv.h"
#include "profile/heap.h"

/* Code that a process has mapped. */
struct prober_mapping {
	uint64_t start, end;
	uint64_t bias; /* address = ELF virtual address + bias */
	struct prober_file *file;
};

/* More of a place that was called, of a call, and of one whose code the process has changed. */
struct counted_more {
	uint64_t callee;   /* of a call: its address in the process; 0: not known */
	uint64_t word;	   /* of a call through a word: the word's address; 0: there is none */
	uint64_t entry;	   /* of the PLT, where that jumps through the word; 0: there is none */
	uint64_t base;	   /* of the counter, when counting began or was resumed */
	uint64_t calls;	   /* counted before that */
	uint64_t until_ns; /* CLOCK_MONOTONIC: when its probe was last there; 0: it still is */
	struct believed_count believed;
};

/*
 * A place that is counted, or was to be counted. There may be 100,000, of which few are called: it
 * is small.
 */
struct counted_place {
	struct counted_more *more; /* owned; NULL: all of it is 0 */
	struct prober_file *file;
	uint32_t wanted; /* of the file's places */
	uint32_t counter;
	uint32_t row; /* in the profile */
	enum patch_outcome outcome : 8;
	bool is_again : 1; /* its library was loaded before: its refusals are known */
	bool has_callee : 1;
	bool is_in_sled : 1, is_changed : 1, is_change_told : 1; /* by the process, or could be */
};

#define NO_ROW UINT32_MAX

static inline struct wanted_place *counted_wanted(const struct counted_place *place)
{
	return &place->file->wanted.places[place->wanted];
}

/* prober_install.c: to be written to. */
struct counted_more *counted_more(struct counted_place *place);

struct timed_calls;
struct noted_calls;

/* prober_install.c: `places` may be NULL. */
void counted_places_free(struct counted_place *places, size_t nr);

/* Probes that were installed in a process together. */
struct probed {
	struct installation *installation;
	struct counted_place *places; /* owned */
	size_t nr_places;
	uint64_t *counts;   /* owned: read at once, see probed_read_counts(); else NULL */
	uint64_t from_ns;   /* CLOCK_MONOTONIC */
	bool is_from_start; /* of the program */
	bool is_told;	    /* its refusals are in the profile */
	/* Totals of allocations: when counting began or was resumed, and counted before that. */
	struct heap_totals heap_base, heap_counted;
	struct timed_calls *timed; /* owned: one for each function that is timed */
	uint32_t nr_timed;
	struct noted_calls *noted; /* owned; or NULL */
	const char *noted_refusal; /* why not, until it is told; or NULL */
};

/*
 * The memory of a process: when it is read again, by the thread that owns the profile, and its last
 * state.
 */
struct moments {
	uint64_t again_ns;
	struct profile_heap_moment latest;
	bool is_last_told;
	bool are_rings_over; /* of all its installations: see struct heap_answers */
	struct believed_totals believed;
};

/* Used by the prober's thread, or before that begins. */
struct looks {
	uint64_t again_ns; /* for libraries */
	uint64_t code_ns;  /* when its probes were last examined */
	bool is_over;	   /* no more probes are put in */
	bool was_last;	   /* a look in the end, as its probes were removed */
	uint64_t print;	   /* of all code, when all mappings were read last; 0: not known */
};

/* The links that were sent to the process, and the number of its installations at that time. */
struct interpreter {
	struct frame_links links; /* without a root: none is known */
	size_t nr_told;
};

/* A process between two execs. */
struct probed_process {
	pid_t pid;
	uint32_t serial; /* UINT32_MAX: the recording does not know it yet */
	/* The process that it was forked from, with probes; or NULL. Constant once it is set. */
	struct probed_process *giver;
	uint32_t nr_heirs; /* living descendants, which count in its memory */
	uint64_t program;  /* proc_program_id(); 0: not known */
	bool has_executed; /* another program since: it is not looked at any more */
	bool is_gone;
	uint32_t nr_users; /* threads that use it, or its heirs, without the lock */
	bool is_closed;	   /* nothing counts there any more, and all of it is in the profile */
	uint64_t born_ns, gone_ns;
	struct prober_mapping *mappings; /* owned */
	size_t nr_mappings, cap_mappings;
	bool has_other_code;   /* not of a file */
	struct probed *probed; /* owned */
	size_t nr_probed, cap_probed;
	bool is_looked_at; /* its memory map was read once */
	char *refusal;	   /* owned: the reason why nothing in it can be counted; or NULL */
	bool is_refusal_told;
	struct looks looks;
	struct probe_gate gate; /* under install_lock */
	struct moments moments;
	struct interpreter interpreter;
};

#endif
