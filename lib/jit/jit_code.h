/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names that a program gave to its JIT-compiled code; later ranges replace earlier ones. */
#ifndef PROFC_JIT_JIT_CODE_H
#define PROFC_JIT_JIT_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* The line of the code from this byte of its range on. */
struct jit_line {
	uint32_t offset, line;
	uint64_t file_at; /* in the texts */
};

struct jit_range {
	uint64_t start, end; /* [start, end) in the target */
	uint64_t name_at;    /* in the texts */
	uint32_t first_line, nr_lines;
};

/* Zero-initialised is empty. */
struct jit_code {
	struct jit_range *ranges; /* owned */
	size_t nr, cap;
	struct jit_line *lines; /* owned; those of a range ascend */
	size_t nr_lines, cap_lines;
	struct buf texts; /* each with its NUL */
	bool is_full;	  /* a name was dropped because it is full */
};

/* Bound on the names kept per program: ten times those of a large one. */
#define JIT_CODE_MAX_BYTES ((size_t)64 << 20)

void jit_code_release(struct jit_code *code);
void jit_code_clear(struct jit_code *code);

/*
 * Add a range with a copy of its name. Empty ranges, those that wrap around and those without a
 * name are ignored. NULL if ignored, or without room. Borrowed until the next one.
 */
struct jit_range *jit_code_add(struct jit_code *code, uint64_t start, uint64_t nr_bytes,
			       const char *name, size_t nr_name_bytes);
/* Add a range with the name and the lines of the one with that index. NULL: as above. */
struct jit_range *jit_code_add_moved(struct jit_code *code, size_t index, uint64_t start,
				     uint64_t nr_bytes);
/*
 * Add a line, for the range that will be added next. `file` may be NULL: the file of the line
 * before. False if there is no room.
 */
bool jit_code_add_line(struct jit_code *code, uint32_t offset, uint32_t line, const char *file,
		       size_t nr_file_bytes);

const char *jit_code_name(const struct jit_code *code, const struct jit_range *range);
const char *jit_code_file(const struct jit_code *code, const struct jit_line *line);
/* The line of an address of a range; NULL: not known. */
const struct jit_line *jit_code_line(const struct jit_code *code, const struct jit_range *range,
				     uint64_t address);

/*
 * Find the latest range at each of nr ascending addresses: found[i] becomes its index plus one. It
 * is unchanged for ranges before `first`, and if there is none.
 */
void jit_code_find(const struct jit_code *code, size_t first, const uint64_t *addresses,
		   uint32_t *found, size_t nr);

#endif
