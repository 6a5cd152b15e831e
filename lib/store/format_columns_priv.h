/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_STORE_FORMAT_COLUMNS_PRIV_H
#define PROFC_STORE_FORMAT_COLUMNS_PRIV_H

/*
 * The numbers of columns that tables have coders for, in the order of the schema, which has all
 * columns (profile/schema.h).
 */
enum strings_column {
	STRINGS_LENGTH,
	STRINGS_BYTES,
};

enum modules_column {
	MODULES_PATH_LENGTH = 6,
	MODULES_PATH,
	MODULES_BUILD_ID_LENGTH,
	MODULES_BUILD_ID,
};

enum processes_column {
	PROCESSES_ROW,
	PROCESSES_USER = 8,
	PROCESSES_SYSTEM,
};

enum threads_column {
	THREADS_ROW,
	THREADS_USER = 6,
	THREADS_SYSTEM,
};

enum stacks_column {
	STACKS_PARENT,
	STACKS_FRAME,
};

enum samples_column {
	SAMPLES_THREAD,
	SAMPLES_KIND,
	SAMPLES_END,
	SAMPLES_NR,
	SAMPLES_SYSCALL,
	SAMPLES_RUNQ,
	SAMPLES_MINOR,
	SAMPLES_MAJOR,
	SAMPLES_TIME,
	SAMPLES_STACK,
	SAMPLES_WAIT,
	SAMPLES_KERNEL,
	SAMPLES_LABELS,
};

enum locations_column {
	LOCATIONS_FRAME,
};

enum end_column {
	END_COMPLETE = 9, /* the others are the numbers of rows of tables */
};

enum counts_column {
	COUNTS_ROW,
};

enum waits_column {
	WAITS_ROW,
};

#define COLUMNS_MAX 24

#endif
