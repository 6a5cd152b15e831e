/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The columns of tables with rows of plain members. */
#ifndef PROFC_STORE_SCHEMA_PRIV_H
#define PROFC_STORE_SCHEMA_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct columns_in;
struct columns_out;
struct profile;

/* How a member is stored, and its bound. */
enum schema_type {
	SCHEMA_NUMBER, /* any number of its width */
	SCHEMA_SIGNED, /* an int32_t, zigzag */
	SCHEMA_TIME,   /* at most TIME_MAX_NS */
	SCHEMA_CHOICE, /* less than `nr_choices`; 2 for a bool */
	SCHEMA_PID,    /* an id of the kernel, from 0 on */
	SCHEMA_TEXT,   /* ids of rows of the profile */
	SCHEMA_MODULE,
	SCHEMA_PROCESS,
	SCHEMA_THREAD,
	SCHEMA_STACK,
	SCHEMA_FRAME,
	SCHEMA_NO_FRAME, /* the same plus one, and 0 for UINT32_MAX: none */
	SCHEMA_NO_THREAD,
	SCHEMA_NO_PROCESS,
};

struct schema_column {
	uint16_t offset;
	uint8_t nr_bytes;
	uint8_t type; /* enum schema_type */
	uint32_t nr_choices;
};

/*
 * The columns of one record, in the order of the file. Columns before `first` are not members of
 * rows, such as the number of a row that is written again.
 */
struct schema {
	unsigned int first;
	unsigned int nr_old; /* columns that every file has, the first ones included; 0: all */
	unsigned int nr;     /* columns of members */
	struct schema_column columns[20];
};

extern const struct schema schema_meta, schema_processes, schema_threads, schema_counters,
	schema_marks, schema_jit_names, schema_jit_sources, schema_functions, schema_module_symbols,
	schema_runs, schema_sources, schema_listings, schema_refusals, schema_searches,
	schema_waits, schema_advances;

/* All columns, the first ones included. */
static inline unsigned int schema_nr_columns(const struct schema *schema)
{
	return schema->first + schema->nr;
}

/* Write the members of a row. */
void schema_put(const struct schema *schema, struct columns_out *out, const void *row);
/*
 * Read the members of a row, which is zeroed before; false when one of them is out of its bounds.
 */
bool schema_take(const struct schema *schema, struct columns_in *in, const struct profile *profile,
		 void *row);
/* Are all members equal that the file has? */
bool schema_equal(const struct schema *schema, const void *a, const void *b);

#endif
