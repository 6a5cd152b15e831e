/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CFI_CFI_H
#define PROFC_CFI_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "elf/elf_image.h"
#include "elf/elf_ranges.h"

/*
 * Reading call frame information (DWARF 5 section 6.4, LSB core 5.0 ch. 10): the entry that covers
 * an address, and the rules of its instructions there. All addresses are ELF virtual addresses.
 * Everything read is bounded; any contradiction makes a function return false.
 */

/* .eh_frame and .debug_frame differ in how entries point to each other. */
struct cfi_section {
	struct elf_bytes bytes;
	bool is_debug_frame;
	uint64_t hdr_vaddr; /* base of data-relative pointers */
};

/* One FDE with its CIE. */
struct cfi_fde {
	uint64_t start, end; /* covers [start, end) */
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_column;
	uint8_t pointer_encoding, lsda_encoding;
	uint64_t lsda; /* the function's table of exception handlers; 0: it has none */
	bool has_augmentation_data;
	bool is_signal_frame;		    /* 'S' in the augmentation */
	struct cursor initial_instructions; /* the CIE's */
	struct cursor instructions;
};

/* Parse the FDE at an offset of the section. False: damaged, or no FDE. */
bool cfi_fde_at(const struct cfi_section *section, uint64_t offset, struct cfi_fde *fde);

/*
 * The next FDE at or after *offset that covers any code, with its own offset as the value; *offset
 * moves past it. False at the end, or at a damaged length, after which no entry can be found.
 */
bool cfi_section_next(const struct cfi_section *section, uint64_t *offset, struct elf_range *found);

/* All FDEs of a section by address, for one without a search table. `index` is empty. */
void cfi_index_build(struct elf_ranges *index, const struct cfi_section *section);

/* Is there a search table of the stated size, in the encoding that all linkers write? */
bool cfi_hdr_is_usable(const struct elf_bytes *hdr);
/*
 * Where the entries of a usable table begin, ascending. The caller frees them; NULL: they are in
 * another order.
 */
uint64_t *cfi_hdr_starts(const struct elf_bytes *hdr, size_t *nr);
/* The offset in .eh_frame of the last FDE that begins at or before address. */
bool cfi_hdr_find(const struct elf_bytes *hdr, const struct elf_bytes *eh_frame, uint64_t address,
		  uint64_t *offset);

/* .eh_frame, with its search table. Borrowed bytes. */
struct cfi_search {
	struct elf_bytes hdr, frames;
};

/*
 * The function [start, end) that holds an address; false when no entry covers it, also where there
 * is no usable search table. Files without symbols have an entry for each function, too.
 */
bool cfi_search_function(const struct cfi_search *search, uint64_t address, uint64_t *start,
			 uint64_t *end);

/*
 * Narrow [*low, *high), around an address that no entry covers, to where the next entries on either
 * side are.
 */
void cfi_search_gap(const struct cfi_search *search, uint64_t address, uint64_t *low,
		    uint64_t *high);

/* The rule of the instructions for one register, or the CFA. */
enum cfi_rule_kind {
	CFI_RULE_SAME,	     /* never mentioned, or DW_CFA_same_value */
	CFI_RULE_UNDEFINED,  /* never mentioned, or DW_CFA_same_value */
	CFI_RULE_OFFSET,     /* saved at CFA + offset */
	CFI_RULE_VAL_OFFSET, /* is CFA + offset */
	CFI_RULE_REGISTER,   /* in register `reg`; of the CFA: reg + offset */
	CFI_RULE_EXPRESSION, /* saved at the address an expression gives */
	/* is the result of an expression; the only kind that the CFA's has */
	CFI_RULE_VAL_EXPRESSION,
};

struct cfi_rule {
	enum cfi_rule_kind kind;
	uint64_t reg;
	int64_t offset;
	struct cursor expression;
};

/* The registers that profc follows from frame to frame. */
enum cfi_tracked {
	CFI_TRACKED_SP,
	CFI_TRACKED_FP,
	CFI_TRACKED_RA,
	/*
	 * The first register that carries an exception to its handler. Only functions
	 * that leave their frame for another save it (__builtin_eh_return).
	 */
	CFI_TRACKED_EH,
	CFI_TRACKED_COUNT,
};

struct cfi_rules {
	struct cfi_rule cfa;
	struct cfi_rule tracked[CFI_TRACKED_COUNT];
};

/*
 * Bound on the instructions of each of the two executed for one address; real functions have some
 * kB.
 */
#define CFI_INSTRUCTION_BYTES_MAX (UINT64_C(1) << 20)

/*
 * Execute the CIE's and the FDE's instructions up to `address`. `columns` are
 * the DWARF numbers of the tracked registers.
 */
bool cfi_rules_at(const struct cfi_section *section, const struct cfi_fde *fde,
		  const uint64_t columns[CFI_TRACKED_COUNT], uint64_t address,
		  struct cfi_rules *rules);

/*
 * A pointer in one of the encodings of LSB 10.5 (DW_EH_PE_*), as an ELF virtual address. The cursor
 * is in the section; indirect pointers are refused.
 */
uint64_t cfi_pointer(const struct cfi_section *section, struct cursor *cursor, uint8_t encoding);

#endif
