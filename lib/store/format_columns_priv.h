/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_STORE_FORMAT_COLUMNS_PRIV_H
#define PROFC_STORE_FORMAT_COLUMNS_PRIV_H

/* Numbers of the file format, like those of format_priv.h. */

/* The columns of each record, in the order of the file. */
enum command_column {
	COMMAND_WORD,
	COMMAND_COLUMNS,
};

enum strings_column {
	STRINGS_LENGTH,
	STRINGS_BYTES,
	STRINGS_COLUMNS,
};

enum modules_column {
	MODULES_KIND,
	MODULES_OWNER,
	MODULES_DELETED,
	MODULES_DEV,
	MODULES_INODE,
	MODULES_FILE_BYTES,
	MODULES_PATH_LENGTH,
	MODULES_PATH,
	MODULES_BUILD_ID_LENGTH,
	MODULES_BUILD_ID,
	MODULES_OLD_COLUMNS, /* the first versions have only these */
	MODULES_MODIFIED = MODULES_OLD_COLUMNS,
	MODULES_IMAGE_OFFSET,
	MODULES_FINGERPRINT,
	MODULES_COLUMNS,
};

/* Members of processes and threads, from column 1 on, are in schema.c, as are other tables. */
enum processes_column {
	PROCESSES_ROW,
	PROCESSES_USER = 8,
	PROCESSES_SYSTEM,
	PROCESSES_COLUMNS,
};

enum threads_column {
	THREADS_ROW,
	THREADS_USER = 6,
	THREADS_SYSTEM,
	THREADS_COLUMNS,
};

enum frames_column {
	FRAMES_MODULE,
	FRAMES_ADDRESS,
	FRAMES_COLUMNS,
};

enum stacks_column {
	STACKS_PARENT,
	STACKS_FRAME,
	STACKS_COLUMNS,
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
	SAMPLES_OLD_COLUMNS, /* every file has at least these */
	SAMPLES_WAIT = SAMPLES_OLD_COLUMNS,
	SAMPLES_COLUMNS,
};

enum locations_column {
	LOCATIONS_FRAME,
	LOCATIONS_FUNCTION,
	LOCATIONS_FILE,
	LOCATIONS_LINE,
	LOCATIONS_COLUMNS,
};

/* The number of rows of each kind, for the reader to compare; and whether the file is complete. */
enum end_column {
	END_STRINGS,
	END_MODULES,
	END_PROCESSES,
	END_THREADS,
	END_FRAMES,
	END_STACKS,
	END_SAMPLES,
	END_FUNCTIONS,
	END_LOCATIONS,
	END_COMPLETE,
	END_OLD_COLUMNS, /* every file has at least these */
	END_COUNTS = END_OLD_COLUMNS,
	END_REFUSALS,
	END_ALLOCATIONS,
	END_MOMENTS,
	END_COLUMNS,
};

#define COLUMNS_MAX 24

#endif
