/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Visits the entries of a unit with what is known of those above them. */
#ifndef PROFC_DWARF_DWARF_VISIT_H
#define PROFC_DWARF_DWARF_VISIT_H

#include "dwarf/dwarf_walk.h"

/* Real programs nest some 30 deep; a file that goes deeper than this is damaged. */
#define DWARF_MAX_DEPTH 1024

struct dwarf_visit {
	struct dwarf_walk at;
	uint32_t depth;
	uint32_t levels[DWARF_MAX_DEPTH]; /* the visitor's word on the entries of each level */
};

/* The word of the visitor for the entry at hand and its siblings. */
static inline uint32_t dwarf_visit_level(const struct dwarf_visit *visit)
{
	return visit->levels[visit->depth];
}

/* The attributes were read: below the entry, if there is anything, `level` holds. */
static inline void dwarf_visit_enter(struct dwarf_visit *visit, const struct abbrev *abbrev,
				     uint32_t level)
{
	if (!abbrev->has_children)
		return;
	if (visit->depth + 1 == DWARF_MAX_DEPTH) {
		dwarf_walk_give_up(&visit->at);
		return;
	}
	visit->levels[++visit->depth] = level;
}

/* Over the attributes, to what is below the entry. */
static inline void dwarf_visit_pass(struct dwarf_visit *visit, const struct abbrev *abbrev,
				    uint32_t level)
{
	dwarf_walk_skip_attributes(&visit->at, abbrev);
	dwarf_visit_enter(visit, abbrev, level);
}

/* Is given the cursor behind the code of the entry, and leaves it behind what it has seen of it. */
typedef void dwarf_visitor(struct dwarf_visit *visit, const struct abbrev *abbrev, uint64_t offset);

/* All entries of a unit; marks its file if it is damaged. Inline, with the visitor. */
static inline void dwarf_visit_unit(struct dwarf_visit *visit, struct dwarf_unit *unit,
				    uint32_t level, dwarf_visitor *visitor)
{
	visit->at = dwarf_walk_at(unit, unit->first_entry);
	visit->depth = 0;
	visit->levels[0] = level;
	while (visit->at.cursor.at < visit->at.cursor.end) {
		uint64_t offset = dwarf_unit_offset(unit, visit->at.cursor.at);
		const struct abbrev *abbrev = dwarf_walk_next(&visit->at);

		if (abbrev)
			visitor(visit, abbrev, offset);
		else if (visit->depth <= 1) /* padding may follow */
			break;
		else
			visit->depth--;
	}
	if (visit->at.cursor.failed)
		unit->file->damaged = true;
}

#endif
