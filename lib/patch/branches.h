/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PATCH_BRANCHES_H
#define PROFC_PATCH_BRANCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The targets of direct jumps, branches and calls in some code, as far as they are near the start
 * of a function: its first bytes are overwritten only if none leads into them. Jumps through tables
 * are not seen; compilers make none that lead into the first bytes.
 */
struct branches;

/*
 * `starts`: addresses of the first instructions of all known functions, in any order, copied. They
 * put the decoder back in step after data, and each counts as a target. Freed with branches_free().
 */
struct branches *branches_new(const uint64_t *starts, size_t nr_starts);
/*
 * Further addresses where functions begin, ascending, as unwind information has them: where the
 * starts are those of few functions, these too put the decoder back in step, so that it need not
 * decode all that is between two starts. Borrowed until they are
 * forgotten, by none of them, or by branches_sort().
 */
void branches_know_steps(struct branches *branches, const uint64_t *at, size_t nr);
/* The last of them up to the address; 0: none. */
uint64_t branches_last_step(const struct branches *branches, uint64_t address);
/* Those after an address. */
const uint64_t *branches_steps_after(const struct branches *branches, uint64_t address, size_t *nr);

/* Places in a file that are asked about. Borrowed for the call. */
struct branches_places {
	const uint64_t *at;
	size_t nr;
	/*
	 * By patch_entry_reach(), for places in order, each once; NULL: as far as any probe
	 * reaches.
	 */
	const uint8_t *reach;
	/* The most bytes that a function at a place has, if another one begins in it; or 0. */
	uint64_t span;
};

/*
 * Keep only the branches that lead near one of these places: a file has many functions, and few of
 * them have probes; and most branches lead elsewhere. Before any branch is added. Jumps from one
 * function to the start of another are not kept: they are no loops.
 */
void branches_ask_about(struct branches *branches, const struct branches_places *places);
void branches_free(struct branches *branches);

/*
 * Add the branches of nr_bytes of code, which is at `address`. Code may be added in parts, each
 * from a start or a step on.
 */
void branches_add_code(struct branches *branches, uint64_t address, const uint8_t *bytes,
		       size_t nr_bytes);

/*
 * Add one branch. It is not kept if it leads to no place near a start, nor a call that leads to a
 * start, which is a target in any case.
 */
void branches_add(struct branches *branches, uint64_t source, uint64_t target, bool is_call);
/* Would branches_add() keep it? */
bool branches_keep(const struct branches *branches, uint64_t source, uint64_t target, bool is_call);
/*
 * Each branch in the function between this start and the next one that leads to an address there
 * from this one on is surely not kept. Quicker than branches_keep().
 */
uint64_t branches_ignored_from(const struct branches *branches, uint64_t start);
/* Call this after the last branch was added, and before any question. Places are forgotten. */
void branches_sort(struct branches *branches);

/* Does a branch lead strictly between the two addresses, or does a function start there? */
bool branches_lead_into(const struct branches *branches, uint64_t from, uint64_t to);
/* Does a branch lead to an address in [from, to)? */
bool branches_lead_to(const struct branches *branches, uint64_t from, uint64_t to);
/* Does a jump, not a call, in [start, end) lead to `target`? */
bool branches_loop_to(const struct branches *branches, uint64_t target, uint64_t start,
		      uint64_t end);
/* The first start after the address; UINT64_MAX: none. */
uint64_t branches_next_start(const struct branches *branches, uint64_t address);
/* The last start up to the address; 0: none. */
uint64_t branches_last_start(const struct branches *branches, uint64_t address);

/*
 * The places of branches_ask_about() from an address on, ascending, and the bytes from each that
 * are near it. NULL: no places were asked about.
 */
const uint64_t *branches_places_from(const struct branches *branches, uint64_t from, size_t *nr);
extern const size_t branches_near_bytes;

#endif
