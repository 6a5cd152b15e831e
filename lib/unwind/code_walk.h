/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwinding of frames without CFI by analysis of their code. */
#ifndef PROFC_UNWIND_CODE_WALK_H
#define PROFC_UNWIND_CODE_WALK_H

#include "unwind/row.h"

struct code_entries;
struct mapping;
struct walk;

/* A frame in code without CFI: its row comes from the code itself. */
struct code_frame {
	const struct mapping *mapping;
	struct elf_image *image;
	uint64_t pc;
	bool is_exact;
	const struct regs *regs;
	struct code_entries *entries; /* of the image, or NULL: do not search them */
};

/*
 * The ways to derive a row from the entry of a function in a file, beside that from here to a
 * return (struct code_reader). Each returns ROW_NO_CFI if it does not lead to one.
 */
/* By the path from the entry that the symbol table has. Not proved. */
struct row code_walk_entered(const struct unwind_arch *arch, const struct walk *walk,
			     const struct code_frame *frame);
/*
 * By the path from the target of a direct call, with its return address on the stack where the path
 * needs it.
 */
struct row code_walk_called(const struct unwind_arch *arch, const struct walk *walk,
			    const struct code_frame *frame);
/* By the path from an address that the file's code takes, or calls; proved. */
struct row code_walk_referenced(const struct unwind_arch *arch, const struct walk *walk,
				const struct code_frame *frame);

/* By the path from `entry`, an address of the image; by_sp: without the frame pointer; proved. */
struct row code_walk_row_from_entry(const struct unwind_arch *arch, const struct walk *walk,
				    const struct code_frame *frame, uint64_t entry, bool by_sp);

/*
 * The row of a frame in JIT-compiled code, read from the process and proved as above;
 * frame->image is not used.
 */
struct row code_walk_jit_row(const struct unwind_arch *arch, const struct walk *walk,
			     const struct code_frame *frame);
/*
 * The code that may have entered JIT-compiled code without a frame of its own; or a function with a
 * frame of unknown size.
 */
struct code_host {
	uint64_t wanted;	 /* the target that a direct call has to have; 0: any call */
	struct row row;		 /* does not know the frame pointer */
	uint64_t return_address; /* of the call that entered it */
	uint64_t cfa;
	uint64_t target; /* of a direct call there, else 0 */
	unsigned int nr_searched;
};

/*
 * The next return address above the stack pointer, for JIT-compiled code that never returns but
 * works in the frame of the code that entered it (traces of LuaJIT, Guile's code): after a call in
 * a file's code, with no word below it that leads into other JIT-compiled code. It may be stale.
 * *host is initially zero except for `wanted`; false: there is no other.
 */
bool code_walk_next_host(const struct unwind_arch *arch, const struct walk *walk,
			 const struct code_frame *frame, struct code_host *host);

/* A frame's place in the image's code, with the end of its function if a symbol has it. */
struct code_at code_walk_at(const struct code_frame *frame);

/* May pc, an address of the target, be a return address: is it after a call? */
bool code_walk_is_behind_call(const struct unwind_arch *arch, const struct walk *walk, uint64_t pc);
/* Is it after a direct call to `callee`, in a file's code? */
bool code_walk_calls(const struct unwind_arch *arch, const struct walk *walk,
		     uint64_t return_address, uint64_t callee);

/* Does the row of a frame in JIT-compiled code lead to code, on the stack at hand? */
bool code_walk_proves_jit_row(const struct unwind_arch *arch, const struct walk *walk,
			      const struct code_frame *frame, const struct row *row);

/* Does a row lead to a return address on the stack at hand, too? */
bool code_walk_proves(const struct unwind_arch *arch, const struct walk *walk,
		      const struct code_frame *frame, const struct row *row);

/* Does it lead to 0, where a return address would be? */
bool code_walk_leads_to_zero(const struct unwind_arch *arch, const struct walk *walk,
			     const struct code_frame *frame, const struct row *row);

/* Does the row lead to no return address, where that can be read? */
bool code_walk_disproves(const struct unwind_arch *arch, const struct walk *walk,
			 const struct code_frame *frame, const struct row *row);

/* Does the row seem to lead to none: to an address that is not code, or not mapped? */
bool code_walk_contradicts(const struct walk *walk, const struct code_frame *frame,
			   const struct row *row);
/* Does a row lead to a return address, or to 0 as at the start of a stack, so that it is neither
 * proved nor disproved? */
bool code_walk_may_hold(const struct unwind_arch *arch, const struct walk *walk,
			const struct code_frame *frame, const struct row *row);

/*
 * Has the function that calls here left the stack it was entered on (Go's mcall and morestack)?
 * Without CFI and symbols the padding before it shows its entry.
 */
bool code_walk_is_on_other_stack(const struct unwind_arch *arch, const struct code_frame *frame);

#endif
