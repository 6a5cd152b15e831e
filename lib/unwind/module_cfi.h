/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_UNWIND_MODULE_CFI_H
#define PROFC_UNWIND_MODULE_CFI_H

#include "cfi/cfi.h"
#include "unwind/code_entries.h"
#include "unwind/row.h"

struct elf_image;

/*
 * The call frame information of one module, ready to be searched. Sections
 * without a usable search table get an index on their first use.
 */
struct module_cfi {
	struct elf_image *image; /* borrowed, as is the next */
	uint64_t *work;		 /* sum of the executed bytes of instructions */
	struct cfi_section eh_frame, debug_frame;
	struct elf_bytes eh_frame_hdr; /* empty if it is of no use */
	struct elf_ranges eh_index, debug_index;
	bool eh_indexed, debug_indexed;
	struct code_entries entries; /* for code without CFI */
};

void module_cfi_init(struct module_cfi *cfi, struct elf_image *image, uint64_t *work);
void module_cfi_release(struct module_cfi *cfi);

/*
 * The row for the frame that is in `lookup`, from .eh_frame or .debug_frame; ROW_NO_CFI if neither
 * covers it. `pc` is the next instruction to execute: signal trampolines are recognised by their
 * code.
 */
struct row module_cfi_row(struct module_cfi *cfi, const struct unwind_arch *arch, uint64_t lookup,
			  uint64_t pc);

/* Does a signal handler return to `pc`? musl's and Go's trampolines have no CFI. */
bool module_cfi_is_trampoline(const struct module_cfi *cfi, const struct unwind_arch *arch,
			      uint64_t pc);

/*
 * The possible start of code that no FDE covers: the end of the last FDE that begins before
 * `address`. False if that covers it, or none is before.
 */
bool module_cfi_gap(struct module_cfi *cfi, uint64_t address, uint64_t *start);

/* The FDE that covers `address`; false if none does, or if it is damaged. */
bool module_cfi_fde(struct module_cfi *cfi, uint64_t address, struct cfi_fde *fde);

/*
 * The entry of the function that contains `lookup`: the start of its FDE, if only the return
 * address is on the stack there. Parts that compilers split off (.cold) begin in the middle of a
 * function.
 */
bool module_cfi_entry(struct module_cfi *cfi, const struct unwind_arch *arch, uint64_t lookup,
		      uint64_t *entry);

#endif
