/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_DWARF_DWARF_FILE_H
#define PROFC_DWARF_DWARF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ended.h"
#include "base/index_set.h"
#include "dwarf/dwarf_abbrev.h"
#include "dwarf/dwarf_bytes.h"

/*
 * The debug information of one file: its sections, the list of its units, and
 * the values of attributes. Nothing here trusts the file: offsets are checked
 * where they are used, and `work_left` bounds what a file that refers to
 * itself in circles can cost.
 */
enum dwarf_section {
	DWARF_INFO,
	DWARF_ABBREV,
	DWARF_LINE,
	DWARF_STR,
	DWARF_LINE_STR,
	DWARF_RANGES,
	DWARF_RNGLISTS,
	DWARF_ADDR,
	DWARF_STR_OFFSETS,
	DWARF_SECTION_COUNT,
};

struct line_header;
struct dwarf_file;

/* The value of an attribute, as its form gives it. form 0: absent. */
struct dwarf_value {
	uint16_t form;
	uint64_t number;  /* constants, offsets, indexes, addresses, flags */
	const char *text; /* DW_FORM_string */
};

/* The attributes of an entry that say where its code is. */
struct dwarf_pcs {
	struct dwarf_value low_pc, high_pc, ranges;
};

/* A unit of .debug_info and what its root entry says. */
struct dwarf_unit {
	struct dwarf_file *file;
	const uint8_t *at;    /* its bytes, from `offset` on: of the section, or a copy */
	uint64_t offset;      /* of its header */
	uint64_t first_entry; /* offset of its root entry */
	uint64_t end;
	struct dwarf_encoding encoding;
	uint64_t abbrev_offset;
	uint16_t root_tag; /* 0: the root could not be read */
	bool root_has_children;
	struct dwarf_pcs pcs;
	uint16_t language; /* DW_LANG_…, or 0 */
	bool has_line_table;
	uint64_t line_offset; /* in .debug_line */
	uint64_t low_pc;      /* the base of its range lists */
	uint64_t str_offsets_base, addr_base, rnglists_base, ranges_base;
	const char *directory, *name; /* borrowed from the sections; may be NULL */
	const char *dwo_name;	      /* split DWARF: where the rest of it is */
	uint64_t dwo_id;
	struct line_header *lines; /* owned; NULL until asked for */
	/* The skeleton of a split unit, in the main file. It has addresses and lines. */
	struct dwarf_unit *skeleton;
};

struct dwarf_file {
	struct dwarf_bytes sections[DWARF_SECTION_COUNT];
	struct dwarf_unit *units; /* by offset */
	size_t nr_units, cap_units;
	struct dwarf_file *supplement; /* dwz' common file; borrowed, may be NULL */
	bool relocatable;	       /* an object file: address 0 is as good as any */
	bool damaged;		       /* something contradicted itself and was left out */
	uint64_t work_left;	       /* entries and ranges that may still be read */
	const atomic_bool *ended;      /* symbol_options.ended: nothing more is read */
	struct abbrev_slot *abbrevs;   /* compiled tables, owned */
	size_t nr_abbrevs, cap_abbrevs;
	struct index_set abbrev_index;
	/*
	 * The file that the sections are mapped from, or -1: whole units are
	 * better read from there. Borrowed.
	 */
	int fd;
	uint8_t *scratch; /* what was read last */
	size_t nr_scratch_bytes;
};

/* The sections are borrowed and must outlive the file. Reads the headers of all units. */
void dwarf_file_init(struct dwarf_file *file,
		     const struct dwarf_bytes sections[DWARF_SECTION_COUNT]);
/* Another reader of the same sections, after the roots have been read. No supplement yet. */
void dwarf_file_init_like(struct dwarf_file *file, const struct dwarf_file *other);
void dwarf_file_release(struct dwarf_file *file);

/* Read the root entries: needs `supplement` in place. */
void dwarf_file_read_roots(struct dwarf_file *file);

/*
 * The bytes of a section, to be used up before the next such call: read from
 * the file where that is possible and worth while. Memory used again and again
 * stays in the caches, and costs no page faults as a mapping does; and a file
 * that is being written to cannot change under the reader.
 */
struct dwarf_bytes dwarf_file_read(struct dwarf_file *file, enum dwarf_section section,
				   uint64_t offset, uint64_t nr);

/*
 * Have the entries of a unit in such bytes until dwarf_unit_unload(). No text
 * of DW_FORM_string may be kept longer.
 */
void dwarf_unit_load(struct dwarf_unit *unit);
void dwarf_unit_unload(struct dwarf_unit *unit);

/* The offset in .debug_info of what a cursor over a unit's entries is at. */
static inline uint64_t dwarf_unit_offset(const struct dwarf_unit *unit, const uint8_t *at)
{
	return unit->offset + (uint64_t)(at - unit->at);
}

/* Over the entries of a unit from an offset of .debug_info on; failed when that is outside. */
struct cursor dwarf_unit_cursor(const struct dwarf_unit *unit, uint64_t offset);

/* The unit that holds an offset of .debug_info, or NULL. */
struct dwarf_unit *dwarf_file_unit_at(struct dwarf_file *file, uint64_t offset);

/* Compiled on first use and shared by the units that name the same table. */
const struct abbrev_table *dwarf_unit_abbrevs(const struct dwarf_unit *unit);
/*
 * Free all of these tables: they take some twenty times their bytes in the file, and few of them
 * are needed again after all units were read. No walk may be under way.
 */
void dwarf_file_forget_abbrevs(struct dwarf_file *file);

/* What one round of questions may cost; called before each. */
void dwarf_file_renew_work(struct dwarf_file *file);

/* Count work done; false when the file has had its share, or all is to end. */
static inline bool dwarf_file_work(struct dwarf_file *file, uint64_t nr)
{
	if (has_ended(file->ended)) {
		file->work_left = 0;
		return false;
	}
	if (file->work_left < nr) {
		file->work_left = 0;
		file->damaged = true;
		return false;
	}
	file->work_left -= nr;
	return true;
}

/* Read one value and move behind it. */
void dwarf_read_value(const struct dwarf_unit *unit, struct cursor *cursor,
		      const struct abbrev_attribute *attribute, struct dwarf_value *value);

/* NULL when it is no text or damaged. */
const char *dwarf_value_text(const struct dwarf_unit *unit, const struct dwarf_value *value);
/* False when it is no address or damaged. */
bool dwarf_value_address(const struct dwarf_unit *unit, const struct dwarf_value *value,
			 uint64_t *address);
/*
 * The entry that a reference names: which file, which offset of its .debug_info. False, with
 * both left alone, when it is no reference, damaged, or into a supplement that is missing.
 */
bool dwarf_value_reference(const struct dwarf_unit *unit, const struct dwarf_value *value,
			   struct dwarf_file **file, uint64_t *offset);

#endif
