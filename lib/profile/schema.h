/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of a profile, column by column, as files have them. */
#ifndef PROFC_PROFILE_SCHEMA_H
#define PROFC_PROFILE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;

/*
 * The tables, each of which is a type of record of the file format (man/profc-data.5): append only.
 */
enum record_type {
	RECORD_META = 1,
	RECORD_COMMAND = 2,
	RECORD_STRINGS = 3,
	RECORD_MODULES = 4,
	RECORD_PROCESSES = 5,
	RECORD_THREADS = 6,
	RECORD_FRAMES = 7,
	RECORD_STACKS = 8,
	RECORD_SAMPLES = 9,
	RECORD_COUNTERS = 10,
	RECORD_MARKS = 11,
	RECORD_FUNCTIONS = 12,
	RECORD_LOCATIONS = 13,
	RECORD_MODULE_SYMBOLS = 14,
	RECORD_END = 15,
	RECORD_ALLOCATIONS = 16,
	RECORD_MOMENTS = 17,
	RECORD_COUNTS = 18,
	RECORD_REFUSALS = 19,
	RECORD_JIT_NAMES = 20,
	RECORD_JIT_SOURCES = 21,
	RECORD_SOURCES = 22,
	RECORD_DISCARDS = 23,
	RECORD_SEARCHES = 26,
	RECORD_SEARCHED = 27,
	RECORD_WAITS = 28,
	RECORD_VERDICTS = 29,
	RECORD_RUNS = 32,
	RECORD_LISTINGS = 33,
	RECORD_ADVANCES = 34,
	RECORD_OTHERS = 35,
	RECORD_SPANS = 36,
	RECORD_SPAN_SUMS = 37,
	RECORD_SPAN_LENGTHS = 38,
	RECORD_SLOW_CALLS = 39,
	RECORD_LABELS = 40,
	RECORD_WAKES = 41,
	RECORD_TYPE_COUNT,
};

/* The meaning of a value, and so its bound. */
enum schema_type {
	SCHEMA_NUMBER, /* any number of its width */
	SCHEMA_SIGNED, /* an int32_t, zigzag */
	SCHEMA_NS,     /* nanoseconds: any number */
	SCHEMA_SPAN,   /* nanoseconds, no more than a time may have */
	SCHEMA_CHOICE, /* less than `of`; 2 for a bool */
	SCHEMA_FLAGS,  /* the bits of `of`; others are ignored */
	SCHEMA_PID,    /* an id of the kernel, from 0 on */
	/* A uint64_t that is another in another recording: */
	SCHEMA_TIME, /* since the recording began */
	SCHEMA_END,  /* the same, or 0: it goes on */
	/* A uint32_t, likewise: */
	SCHEMA_ROW, /* a row of the table `of`; a text is one of RECORD_STRINGS */
	/* A row of the table `of` or, for none, UINT32_MAX. Files have one more, which is 0. */
	SCHEMA_ROW_OR_NONE,
	SCHEMA_ROW_PLUS_ONE, /* one more than a row of the table `of`, or 0: none */
};

/* How files have it. */
enum schema_form {
	SCHEMA_PLAIN,
	SCHEMA_DIFFERENCE, /* from the member of another row, which the table determines */
	/* The table has a coder for it, which makes of it: */
	SCHEMA_CODED,	     /* a value of the same type */
	SCHEMA_CODED_NUMBER, /* another number */
	SCHEMA_CODED_SIGNED, /* a zigzag number */
	SCHEMA_CODED_BYTES,  /* bytes, with their lengths in the column before */
};

struct schema_column {
	const char *name; /* in man/profc-data.5 */
	uint16_t offset;
	uint8_t nr_bytes; /* 0: it is not a member of rows */
	uint8_t type;	  /* enum schema_type */
	uint8_t of;
	uint8_t form; /* enum schema_form */
};

struct schema {
	const char *title;   /* in man/profc-data.5; NULL: there is no such table */
	unsigned int nr_old; /* columns that every file has; the others read as 0 where they lack */
	unsigned int nr;
	const struct schema_column *columns; /* in the order of the file */
	size_t row_bytes;
	/* Where struct profile has the array of rows and their number; 0: it has none. */
	size_t rows_offset, nr_offset;
};

extern const struct schema schemas[RECORD_TYPE_COUNT];

static inline bool schema_is_text(const struct schema_column *column)
{
	return column->type == SCHEMA_ROW && column->of == RECORD_STRINGS;
}

/* The value of a member; 0 without one. */
uint64_t schema_load(const struct schema_column *column, const void *row);
/* Set a member, if the column is one. */
void schema_save(const struct schema_column *column, void *row, uint64_t value);
/* Are all members of two rows equal? */
bool schema_equal(enum record_type type, const void *a, const void *b);

/* The rows of a table that is an array, borrowed. */
const void *schema_rows(const struct profile *profile, enum record_type type);
/* About how much memory the tables take, with their texts. */
uint64_t schema_nr_bytes(const struct profile *profile);
/* The number of rows of a table, with those that no file has; 0 where rows have no numbers. */
size_t schema_nr_rows(const struct profile *profile, enum record_type type);

#endif
