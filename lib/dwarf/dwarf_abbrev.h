/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_DWARF_DWARF_ABBREV_H
#define PROFC_DWARF_DWARF_ABBREV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dwarf/dwarf_bytes.h"

/*
 * Abbreviation tables (DWARF 5 section 7.5.3), compiled so that an unwanted entry is skipped in as
 * few steps as its forms allow: a run of forms of fixed sizes is one addition.
 */

/* The size of a form may depend on these; one table is compiled for each. */
struct dwarf_encoding {
	uint16_t version;
	uint8_t address_bytes;
	uint8_t offset_bytes; /* 4, or 8 in 64-bit DWARF */
};

enum skip_kind {
	SKIP_FIXED,
	SKIP_LEB,
	SKIP_TEXT,
	SKIP_BLOCK1,
	SKIP_BLOCK2,
	SKIP_BLOCK4,
	SKIP_BLOCK_LEB,
	SKIP_INDIRECT, /* the form stands in the entry itself */
	SKIP_UNKNOWN,  /* a form of no standard we know: the unit cannot be read on */
};

/* Small, as a file may have a million. */
struct skip_step {
	enum skip_kind kind : 8;
	uint32_t nr_bytes : 24; /* SKIP_FIXED */
};

#define SKIP_BYTES_MAX ((UINT32_C(1) << 24) - 1)

struct abbrev_attribute {
	uint16_t name, form;
	struct skip_step step; /* of the form */
	int64_t implicit_const;
};

/* The ways to pass an entry with all that is below it, of which most entries need one. */
enum hop_kind {
	HOP_SLOW,    /* attribute by attribute and child by child */
	HOP_FIXED,   /* no children, and a size that does not change */
	HOP_SIBLING, /* DW_AT_sibling stands at a known place, in 4 bytes */
};

struct abbrev {
	uint64_t code;
	uint16_t tag;
	bool has_children;
	bool has_pcs; /* low_pc or ranges */
	bool is_declaration;
	bool has_sibling;
	enum hop_kind hop;
	uint32_t hop_bytes; /* HOP_FIXED: the entry's size; HOP_SIBLING: where the offset stands */
	uint32_t first_attribute, nr_attributes;
	uint32_t first_step, nr_steps;
};

struct abbrev_table {
	struct abbrev *rows;
	size_t nr_rows, cap_rows;
	struct abbrev_attribute *attributes;
	size_t nr_attributes, cap_attributes;
	struct skip_step *steps;
	size_t nr_steps, cap_steps;
	bool is_dense; /* rows[code - 1] */
};

/* Compile the table at `offset` of .debug_abbrev. What is damaged is left out. */
struct abbrev_table *abbrev_table_new(struct dwarf_bytes section, uint64_t offset,
				      struct dwarf_encoding encoding);
/* The same, but only as far as the row of one code: roots have the first, mostly. */
struct abbrev_table *abbrev_table_new_until(struct dwarf_bytes section, uint64_t offset,
					    struct dwarf_encoding encoding, uint64_t code);
void abbrev_table_free(struct abbrev_table *table);

const struct abbrev *abbrev_table_search(const struct abbrev_table *table, uint64_t code);

/* NULL when the table has no such code. */
static inline const struct abbrev *abbrev_table_find(const struct abbrev_table *table,
						     uint64_t code)
{
	if (table->is_dense)
		return code - 1 < table->nr_rows ? &table->rows[code - 1] : NULL;
	return abbrev_table_search(table, code);
}

struct skip_step abbrev_skip_step(uint64_t form, struct dwarf_encoding encoding);

/* Move over a value of any kind. */
void abbrev_skip_value(struct skip_step step, struct dwarf_encoding encoding,
		       struct cursor *cursor);

/* The same where it is done often: the common kinds without a call. */
static inline void abbrev_skip_inline(struct skip_step step, struct dwarf_encoding encoding,
				      struct cursor *cursor)
{
	struct cursor rest;

	switch (step.kind) {
	case SKIP_FIXED:
		cursor_skip(cursor, step.nr_bytes);
		break;
	case SKIP_LEB:
		cursor_skip_leb(cursor);
		break;
	case SKIP_BLOCK_LEB:
		cursor_skip(cursor, cursor_padded_uleb(cursor));
		break;
	case SKIP_TEXT:
	case SKIP_BLOCK1:
	case SKIP_BLOCK2:
	case SKIP_BLOCK4:
	case SKIP_INDIRECT:
	case SKIP_UNKNOWN:
		rest = *cursor; /* so that the cursor itself can stay in registers */
		abbrev_skip_value(step, encoding, &rest);
		*cursor = rest;
		break;
	}
}

/* Move over all attributes of an entry. */
static inline void abbrev_skip(const struct abbrev_table *table, const struct abbrev *abbrev,
			       struct dwarf_encoding encoding, struct cursor *cursor)
{
	const struct skip_step *step = table->steps + abbrev->first_step;

	for (uint32_t i = 0; i < abbrev->nr_steps; i++, step++)
		abbrev_skip_inline(*step, encoding, cursor);
}

#endif
