/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_FLAT_VALUES_H
#define PROFC_VIEW_FLAT_VALUES_H

#include <stdint.h>

#include "calltree/expand.h"

struct buf;
struct flat;
struct flat_row;

/* The values of a row, for text, JSON and CSV alike. */
enum flat_value {
	FLAT_NAME,
	FLAT_FUNCTION,
	FLAT_THREAD,
	FLAT_FIRST_KEY, /* names in one of two keys */
	FLAT_SECOND_KEY,
	FLAT_MARK,
	FLAT_FILE,
	FLAT_LINE,
	FLAT_MODULE,
	FLAT_INLINED,
	FLAT_PID,
	FLAT_TID,
	FLAT_PROCESS_NAME,
	FLAT_COMMAND,
	FLAT_PROCESSES,
	FLAT_SYSCALL_NR,
	FLAT_FROM,
	FLAT_TO,
	FLAT_BEGIN,
	FLAT_END,
	FLAT_SELF,
	FLAT_TOTAL,
	FLAT_ERROR,
	FLAT_TOTAL_ERROR,
	FLAT_SELF_BLOCKS,
	FLAT_TOTAL_BLOCKS,
	FLAT_SELF_SAMPLES,
	FLAT_TOTAL_SAMPLES,
	FLAT_SELF_PERCENT,
	FLAT_TOTAL_PERCENT,
	FLAT_INTERVAL,
	FLAT_TOTAL_INTERVAL,
	FLAT_CPU,
	FLAT_RUNQ,
	FLAT_BLOCKED,
	FLAT_USER,
	FLAT_SYSTEM,
	FLAT_SYSTEM_ERROR,
	FLAT_CALLS,
	FLAT_CALL_RATE, /* per second of the recording */
	FLAT_PER_CALL,
	FLAT_PER_CALL_OF, /* the metric of the time per call that tables show */
	FLAT_WALL_PER_CALL,
	FLAT_WALL_PER_CALL_INTERVAL,
	FLAT_PER_CALL_INTERVAL,
	FLAT_PER_CYCLE,
	FLAT_WAIT_FUNCTION,
	FLAT_WAIT_FUNCTIONS,
	FLAT_KIND,
	FLAT_ADDRESS,
	FLAT_FD,
	FLAT_OBJECT,
	FLAT_NR_THREADS,
	FLAT_WAITING_IN,
	FLAT_START,
	FLAT_OWNER_TID,
	FLAT_OWNER_IN,
	FLAT_OWNER_LEAF,
	FLAT_HELD_IN,
	FLAT_LENGTH,
	FLAT_LOCATION,	   /* without directories */
	FLAT_SHORT_MODULE, /* nothing where the name is that of the module */
	FLAT_WAIT,	   /* the wait function, and how many others there are */
	FLAT_OWNERS,
	FLAT_VALUE_COUNT,
};

enum value_type {
	VALUE_TEXT, /* NULL: unknown */
	VALUE_INTEGER,
	VALUE_ABSENT, /* a number that is not known */
	VALUE_REAL,
	VALUE_BOOL,
};

struct value {
	enum value_type type;
	const char *text; /* borrowed from the profile or from the scratch buffer */
	int64_t integer;
	double real;
};

/*
 * A value of a row, which must be one of its table's dimensions; times in ns, sizes in bytes. The
 * scratch buffer is empty before, and may have the text of the value after.
 */
struct value flat_value(const struct flat *flat, const struct flat_row *row, enum flat_value value,
			enum name_style style, struct buf *scratch);

#endif
