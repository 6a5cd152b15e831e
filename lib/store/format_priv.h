/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_STORE_FORMAT_PRIV_H
#define PROFC_STORE_FORMAT_PRIV_H

#include <stdint.h>

#include "profile/profile.h"

/*
 * The numbers of the file format. man/profc-data.5 says what they mean; a change
 * here is a change there, and anything but a new record type or a new last
 * column raises FORMAT_VERSION.
 */
#define FORMAT_VERSION UINT32_C(1)

/* One of the 16 magic numbers of a skippable zstd frame (RFC 8878, 3.1.2). */
#define FORMAT_SKIPPABLE_MAGIC	UINT32_C(0x184d2a5c)
#define FORMAT_MAGIC		"profc\0\0" /* with its final NUL: 8 bytes */
#define FORMAT_MAGIC_BYTES	8
#define FORMAT_HEADER_BYTES	24 /* magic, content size, FORMAT_MAGIC, version, reserved */
#define FORMAT_HEADER_CONTENT	16
#define FORMAT_ZSTD_FRAME_MAGIC UINT32_C(0xfd2fb528)

/* Bounds that readers enforce, so that no small file can ask for much memory. */
#define FRAME_CONTENT_MAX_BYTES	  ((size_t)64 << 20)
#define FRAME_WINDOW_LOG_MAX	  26
#define CONTENT_ALLOWANCE_BYTES	  ((uint64_t)64 << 20)
#define CONTENT_MAX_PER_FILE_BYTE 128
#define ROWS_ALLOWANCE		  ((uint64_t)4 << 20)
#define ROWS_MAX_PER_FILE_BYTE	  16
#define RECORD_ROWS_MAX		  16384
#define STRING_MAX_BYTES	  ((size_t)16 << 20)
#define TABLE_ROWS_MAX		  (UINT32_C(1) << 30)

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
	/* 16 to 19 are kept for allocations and counts. */
	RECORD_JIT_NAMES = 20,
	RECORD_JIT_SOURCES = 21,
	RECORD_SOURCES = 22,
	RECORD_TYPE_COUNT,
};

/* The columns of each record, in the order of the file. */
enum meta_column {
	META_VERSION,
	META_HOSTNAME,
	META_KERNEL,
	META_CPU_MODEL,
	META_ARCH,
	META_UNWINDER,
	META_NR_CPUS,
	META_FREQUENCY,
	META_START,
	META_DURATION,
	META_MAX_OVERHEAD,
	META_ATTACHED,
	META_EXIT_STATUS,
	META_OLD_COLUMNS, /* all that every file has */
	META_KNOWS_CALLS = META_OLD_COLUMNS,
	META_COLUMNS,
};

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
	MODULES_OLD_COLUMNS, /* the first versions wrote no more */
	MODULES_MODIFIED = MODULES_OLD_COLUMNS,
	MODULES_IMAGE_OFFSET,
	MODULES_FINGERPRINT,
	MODULES_COLUMNS,
};

enum processes_column {
	PROCESSES_ROW,
	PROCESSES_PID,
	PROCESSES_PARENT,
	PROCESSES_NAME,
	PROCESSES_EXE,
	PROCESSES_COMMAND,
	PROCESSES_START,
	PROCESSES_END,
	PROCESSES_OLD_COLUMNS, /* all that every file has */
	PROCESSES_USER = PROCESSES_OLD_COLUMNS,
	PROCESSES_SYSTEM,
	PROCESSES_COLUMNS,
};

enum threads_column {
	THREADS_ROW,
	THREADS_PROCESS,
	THREADS_TID,
	THREADS_NAME,
	THREADS_START,
	THREADS_END,
	THREADS_OLD_COLUMNS, /* all that every file has */
	THREADS_USER = THREADS_OLD_COLUMNS,
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
	SAMPLES_COLUMNS,
};

enum counters_column {
	COUNTERS_NAME,
	COUNTERS_VALUE,
	COUNTERS_COLUMNS,
};

enum marks_column {
	MARKS_TIME,
	MARKS_TEXT,
	MARKS_COLUMNS,
};

enum functions_column {
	FUNCTIONS_NAME,
	FUNCTIONS_LINKAGE_NAME,
	FUNCTIONS_FILE,
	FUNCTIONS_LINE,
	FUNCTIONS_COLUMNS,
};

enum locations_column {
	LOCATIONS_FRAME,
	LOCATIONS_FUNCTION,
	LOCATIONS_FILE,
	LOCATIONS_LINE,
	LOCATIONS_COLUMNS,
};

enum module_symbols_column {
	MODULE_SYMBOLS_SOURCE,
	MODULE_SYMBOLS_DEBUG_PATH,
	MODULE_SYMBOLS_PROBLEM,
	MODULE_SYMBOLS_MISMATCHED,
	MODULE_SYMBOLS_COLUMNS,
};

enum jit_names_column {
	JIT_NAMES_FRAME,
	JIT_NAMES_NAME,
	JIT_NAMES_FILE,
	JIT_NAMES_LINE,
	JIT_NAMES_FUNCTION_FILE,
	JIT_NAMES_FUNCTION_LINE,
	JIT_NAMES_COLUMNS,
};

enum jit_sources_column {
	JIT_SOURCES_MODULE,
	JIT_SOURCES_SOURCE,
	JIT_SOURCES_PATH,
	JIT_SOURCES_PROBLEM,
	JIT_SOURCES_COLUMNS,
};

enum sources_column {
	SOURCES_FILE,
	SOURCES_BYTES,
	SOURCES_MODIFIED,
	SOURCES_COLUMNS,
};

/* How many rows of each kind the file holds, for the reader to compare; and if it is complete. */
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
	END_COLUMNS,
};

#define COLUMNS_MAX 16

/*
 * What the coding of samples remembers from row to row, over the whole file: a
 * thread's time since its previous sample is the sum of its weights but for
 * small differences, so one of the three weights need not be written.
 */
struct sample_coder {
	uint64_t *last_ns; /* by thread; owned */
	size_t nr_threads, cap_threads;
	uint64_t previous_ns; /* of the row before, whatever its thread */
};

void sample_coder_release(struct sample_coder *coder);
void sample_coder_grow(struct sample_coder *coder, size_t nr_threads);
/* What the larger weight of a sample at time_ns would be if wall were exact; may be "negative". */
uint64_t sample_coder_expect(const struct sample_coder *coder, uint32_t thread, uint64_t time_ns,
			     uint64_t smaller_weights_ns);
void sample_coder_step(struct sample_coder *coder, uint32_t thread, uint64_t time_ns);

#endif
