/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_UNWIND_ROW_H
#define PROFC_UNWIND_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi/cfi.h"
#include "elf/elf_image.h"
#include "snapshot/snapshot.h"

/*
 * Rows: how to find the caller of the code at one address, compiled once from its call frame
 * information. A row has the CFA (the caller's stack pointer), the place of the return address and
 * the fate of the frame pointer; almost all code needs no more. Other code has ROW_FALLBACK.
 */
enum row_kind {
	ROW_EMPTY, /* of a free slot in the cache */
	ROW_STEP,  /* CFA = register + offset; the return address is saved or in its register */
	ROW_STEP_DEREF,	   /* CFA = the word at register + offset: realigned stacks */
	ROW_STEP_PLT,	   /* CFA = register + offset, and more after the push in a PLT entry */
	ROW_SIGNAL,	   /* the kernel's signal frame, which has every register */
	ROW_ROOT,	   /* there is no caller: the CFI says so, or the program begins there */
	ROW_NEVER_RETURNS, /* by its code; at the top of a thread's stack there is no caller */
	ROW_OTHER_STACK,   /* the first frame on a stack that its code has switched to */
	ROW_RECORD,	   /* the caller's frame pointer and the return address are at its own */
	ROW_FALLBACK,	   /* more than a row can say: libunwind */
	ROW_NO_CFI,	   /* nothing covers the address */
	ROW_BAD_CFI,	   /* the CFI there contradicts itself */
	ROW_NO_FILE,	   /* the module's file could not be read */
	ROW_FOREIGN,	   /* code of another machine, or of a 32-bit program */
};

enum row_fp {
	ROW_FP_SAME,
	ROW_FP_AT_CFA, /* saved at CFA + fp_offset */
	ROW_FP_AT_FP,  /* saved at frame pointer + fp_offset */
	ROW_FP_LOST,
};

enum row_ra {
	ROW_RA_AT_CFA, /* saved at CFA + ra_offset */
	ROW_RA_IN_REG, /* still in the return-address register */
	/*
	 * Saved just below the CFA, as is the frame pointer, until the unwinding of an exception
	 * overwrites both with those of its target frame; then the unwinder's own notes have it
	 * (eh_context.h).
	 */
	ROW_RA_MAY_BE_REPLACED,
	/* CFA + ra_offset has the address of the handler; the frame is already the handler's. */
	ROW_RA_REPLACED,
};

struct row {
	union {
		int32_t cfa_offset;
		int32_t nr_tries; /* ROW_NO_CFI: the number of searches */
	};
	union {
		int32_t ra_offset;
		int32_t entry_distance; /* ROW_RA_MAY_BE_REPLACED: from the function's entry */
		uint32_t stamp;		/* ROW_NO_CFI: of the space at the search */
	};
	union {
		int32_t fp_offset;
		/*
		 * ROW_STEP_PLT, where the frame pointer is always ROW_FP_SAME: the CFA is `more`
		 * further if (pc & mask) >= from.
		 */
		struct {
			uint8_t mask, from, more;
		} plt;
	};
	uint8_t kind : 4; /* enum row_kind */
	uint8_t fp : 2;	  /* enum row_fp */
	uint8_t ra : 2;	  /* enum row_ra */
	uint8_t cfa_reg;
	uint8_t rule;		  /* enum unwind_rule: the one that made it */
	uint8_t is_from_code : 1; /* derived from the code, for want of CFI */
	uint8_t saves_eh : 1;	  /* of a function that leaves for an exception's handler */
	uint8_t is_of_target : 1; /* the CFI describes longjmp()'s target, not the current frame */
	uint8_t is_from_debug_frame : 1;
	uint8_t caller_is_exact : 1; /* a signal interrupted the caller: it made no call */
	uint8_t is_unproved : 1; /* from code, on a stack with 0 in place of the return address */
};

_Static_assert(sizeof(struct row) == 16, "two rows and their keys share a cache line");

/* The kind of instruction before a return address. */
enum row_call {
	ROW_CALL_NONE, /* no call: it is no return address */
	ROW_CALL_DIRECT,
	ROW_CALL_INDIRECT,
	ROW_CALL_UNSURE, /* JIT-compiled code, with no visible call before it */
};

/* A frame's place in an image's code. */
struct code_at {
	uint64_t pc;
	uint64_t function_end; /* of the function that holds it; 0: not known */
	bool is_exact;
};

/*
 * Rows from code without CFI, of one machine. Addresses are the image's own. Members may be NULL if
 * not implemented: without entry_before no JIT-compiled code is read, without keeps_fp CFI is
 * trusted, without switches_stack and switched_stack stacks are not switched, and without next_call
 * (and the members after it) no exception is followed to its landing pad.
 */
struct code_reader {
	/*
	 * By the effects of the code from there on; ROW_NEVER_RETURNS if it surely does not return,
	 * ROW_NO_CFI if that is unknown.
	 */
	struct row (*row)(const struct elf_image *image, const struct code_at *at);
	/*
	 * The entry of a function that may contain pc, by the prologues of just-in-time compilers.
	 */
	bool (*entry_before)(const struct elf_image *image, uint64_t pc, uint64_t lowest,
			     uint64_t *entry);
	/*
	 * By the effects of the function entered at `entry` before it reaches pc; by_sp: without
	 * the frame pointer.
	 */
	struct row (*row_from_entry)(const struct elf_image *image, uint64_t entry, uint64_t pc,
				     bool by_sp);
	/* Does the function that is entered at `entry` reach pc? */
	bool (*comes_by)(const struct elf_image *image, uint64_t entry, uint64_t pc);
	/* Is pc the return address that a runtime puts at the bottom of its stacks? */
	bool (*is_bottom)(const struct elf_image *image, uint64_t pc);
	/* Is the frame pointer at the return the same as here? */
	bool (*keeps_fp)(const struct elf_image *image, const struct code_at *at);
	/* Will the code return on another stack than the one it is on now? */
	bool (*switches_stack)(const struct elf_image *image, const struct code_at *at);
	/* May the code return to its caller, rather than leave for somewhere else? */
	bool (*may_return)(const struct elf_image *image, const struct code_at *at);
	/* Has it left the stack it was entered on? */
	bool (*switched_stack)(const struct elf_image *image, uint64_t entry, uint64_t pc);
	/* The call before a return address, and the target of a direct one. */
	enum row_call (*call_before)(const struct elf_image *image, uint64_t return_address,
				     uint64_t *target);
	/* The next call in [*at, end); *at moves past it. ROW_CALL_NONE: there is none. */
	enum row_call (*next_call)(const struct elf_image *image, uint64_t *at, uint64_t end,
				   uint64_t *target);
	/*
	 * The next byte of `code`, from *at on, at which an instruction begins that calls, or takes
	 * the address of, code at *target; *at moves past it. False if there is none.
	 */
	bool (*next_named)(const struct elf_bytes *code, size_t *at, uint64_t *target);
	/* Does code in [start, end) jump or branch into [part_start, part_end)? */
	bool (*jumps_into)(const struct elf_image *image, uint64_t start, uint64_t end,
			   uint64_t part_start, uint64_t part_end);
	/* May it leave [start, end), other than by a call or its return? */
	bool (*jumps_out)(const struct elf_image *image, uint64_t start, uint64_t end);
};

extern const struct code_reader code_reader_x86_64;
extern const struct code_reader code_reader_aarch64;

/*
 * Offsets in libgcc's struct _Unwind_Context (unwind-dw2.c) of the CFA and the return address of
 * the frame it describes, of that frame's function, and of a pointer to the saved frame pointer: in
 * bytes from the pointer to the saved return address. Equal in every libgcc since version 3: the
 * struct is part of its interface to itself.
 */
struct eh_layout {
	int16_t cfa, ra, function, fp;
};

/* The differences between machines. */
struct unwind_arch {
	const struct arch_regs *regs;
	enum elf_machine machine; /* of the files that hold its code */
	uint64_t code_mask; /* of a return address: the bits that are no pointer authentication */
	/*
	 * The offset of each register, by DWARF number, in the kernel's signal frame, from the
	 * stack pointer in the trampoline.
	 */
	const int16_t *signal_offsets;
	bool signal_rows_are_steps; /* the CFI of an 'S' entry with an ordinary CFA is right */
	/* Is this the code by which a signal handler returns to the kernel? */
	bool (*is_sigreturn)(const uint8_t *at, size_t nr_bytes);
	const struct eh_layout *eh; /* of libgcc's notes; NULL if unknown */
	/* Reads code without CFI; NULL: not implemented for this machine. */
	const struct code_reader *code;
};

const struct unwind_arch *unwind_arch(enum arch arch);
extern const struct unwind_arch unwind_arch_x86_64;
extern const struct unwind_arch unwind_arch_aarch64;

/* The row for `address` from the CFI of `fde`, which covers it. */
struct row row_compile(const struct unwind_arch *arch, const struct cfi_section *section,
		       const struct cfi_fde *fde, uint64_t address);

struct row row_of_kind(enum row_kind kind);

#endif
