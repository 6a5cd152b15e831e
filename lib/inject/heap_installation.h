/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probes at the functions of an allocator. */
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
struct patch_table_maker;
struct probe_request;
struct region_header;
struct stopped;

/* The hooks of an installation that is being prepared. */
struct heap_draft {
	enum heap_threads threads;
	bool is_all;
	bool has_own_slots; /* all threads have their own word at fs:0 */
	bool is_later;	    /* an earlier installation has hooks */
	struct heap_hook hooks[HEAP_HOOKS];
	uint64_t modules[HEAP_HOOKS];		    /* for each hook, the bias of its module */
	struct probe_request *requests[HEAP_HOOKS]; /* borrowed, as all here */
	size_t nr;
	uint64_t unfreed[HEAP_CODES]; /* biases of modules with blocks that are freed unseen */
	size_t nr_unfreed;
	uint64_t *entries; /* owned, sorted: addresses of functions to be hooked */
	size_t nr_entries;
	struct heap_code_range codes[HEAP_CODES];
	size_t nr_codes;
};

/*
 * Note all that is to be hooked, before anything is drawn. `options` may be NULL if there is
 * nothing.
 */
void heap_draft_init(struct heap_draft *draft, const struct probe_request *requests,
		     size_t nr_requests, const struct heap_options *options, bool has_thread_data);
void heap_draft_release(struct heap_draft *draft);
/* The bytes of struct heap_rules and the blob, which each part has; 0: there is no blob. */
size_t heap_draft_code_bytes(void);
void heap_draft_put_code(uint8_t *code);

/* Addresses of the shared memory's parts in the process; the stub is the first code. */
struct heap_place {
	uint64_t shared, rules, stub;
};

/*
 * As patch_entry(). `request` stays in place until heap_draft_finish(), which may still refuse the
 * hook: it sets the request's outcome, and makes its patch, with its counter's number, change
 * nothing.
 */
enum patch_outcome heap_draft_draw(struct heap_draft *draft, struct probe_request *request,
				   const struct patch_function *function, struct code_area *area,
				   const struct heap_place *place, struct target_memory *memory,
				   struct patch *patch);
void heap_draft_finish(struct heap_draft *draft, struct patch_table_maker *patches);

/*
 * Fill in the rules once all hooks are drawn, except for the private address. `own_pid`: of the
 * process, in its PID namespace.
 */
void heap_draft_rules(const struct heap_draft *draft, const struct heap_options *options,
		      pid_t own_pid, struct heap_rules *rules);
/* Fill in the shared and the private memory, before any probe leads there. */
void heap_draft_share(struct heap_ring *ring, const struct heap_options *options,
		      struct target_memory *memory);
/*
 * Where threads keep their ids in their data, from the threads of a stopped process, whose id in
 * its own PID namespace is own_pid; 0: not known. *main_data is set if its main thread is stopped,
 * and may be NULL.
 */
int32_t heap_find_id_at(const struct stopped *stopped, pid_t own_pid, struct target_memory *memory,
			uint64_t *main_data);
/* Tell the blob. */
void heap_find_ids(const struct heap_ring *ring, const struct stopped *stopped,
		   struct target_memory *memory);

/*
 * Is a thread of a stopped process in the blob, or will it return there? Ask this once nothing
 * leads there any more. Doubt counts as yes.
 */
bool heap_is_in_use(const struct region_header *header, struct stopped *stopped,
		    struct target_memory *memory);

#endif
