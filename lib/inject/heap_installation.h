/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of an allocator among the probes that are put into a process. */
#ifndef PROFC_INJECT_HEAP_INSTALLATION_H
#define PROFC_INJECT_HEAP_INSTALLATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "heap/heap_options.h"
#include "heap/heap_shared.h"
#include "patch/patch.h"

struct target_memory;
struct heap_ring;
struct probe_request;
struct region_header;
struct stopped;

/* The hooks of an installation that is being drawn. */
struct heap_draft {
	enum heap_threads threads;
	bool is_all;
	bool is_later; /* an earlier installation has hooks */
	struct heap_hook hooks[HEAP_HOOKS];
	uint64_t modules[HEAP_HOOKS]; /* of each hook, the bias */
	struct patch *patches[HEAP_HOOKS];
	struct probe_request *requests[HEAP_HOOKS]; /* borrowed, as all here */
	size_t nr;
	uint64_t unfreed[HEAP_CODES]; /* biases of modules of which blocks are freed unseen */
	size_t nr_unfreed;
	uint64_t *entries; /* owned: where functions that are to be hooked begin, sorted */
	size_t nr_entries;
	struct heap_code_range codes[HEAP_CODES];
	size_t nr_codes;
};

/* Note all that is to be hooked, before anything is drawn. `options` may be NULL if that is none.
 */
void heap_draft_init(struct heap_draft *draft, const struct probe_request *requests,
		     size_t nr_requests, const struct heap_options *options, bool has_thread_data);
void heap_draft_release(struct heap_draft *draft);
/* How many bytes struct heap_rules and the blob take in each part; 0: there is no blob. */
size_t heap_draft_code_bytes(void);
void heap_draft_put_code(uint8_t *code);

/* Where the parts of what is shared are in the process; the code's beginning is the stub. */
struct heap_place {
	uint64_t shared, rules, stub;
};

/*
 * As patch_entry(). `patch` and `request` stay where they are until heap_draft_finish(), which may
 * refuse what was drawn: it sets the request's outcome, and the patch to one that changes nothing.
 */
enum patch_outcome heap_draft_draw(struct heap_draft *draft, struct probe_request *request,
				   const struct patch_function *function, struct code_area *area,
				   const struct heap_place *place, struct target_memory *memory,
				   struct patch *patch);
void heap_draft_finish(struct heap_draft *draft);

/* Fill in the rules once all hooks are drawn, except for the private address. */
void heap_draft_rules(const struct heap_draft *draft, const struct heap_options *options, pid_t pid,
		      struct heap_rules *rules);
/* Fill in the shared and the private memory, before any probe leads there. */
void heap_draft_share(struct heap_ring *ring, const struct heap_options *options, pid_t pid,
		      struct target_memory *memory);
/* Where threads have their ids among their data, by those of a stopped process. */
void heap_find_ids(const struct heap_ring *ring, const struct stopped *stopped,
		   struct target_memory *memory);

/*
 * Does a thread of a stopped process stand in the blob, or will it return there? All that leads
 * there has been taken away. What is not known for certain counts as so.
 */
bool heap_is_in_use(const struct region_header *header, struct stopped *stopped,
		    struct target_memory *memory);

#endif
