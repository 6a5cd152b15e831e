/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_JIT_JITDUMP_H
#define PROFC_JIT_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/key_map.h"

struct err;
struct jit_code;

/*
 * A jitdump (tools/perf/Documentation/jitdump-specification.txt of Linux): records of code, with
 * its name and its bytes, records of the lines of the next code, and records that move code. Begins
 * as all 0.
 */
struct jitdump {
	bool has_header;
	bool is_v8;		       /* its line tables are 64 bytes off: see jitdump.c */
	uint64_t lines_of;	       /* the code of the last lines read */
	uint32_t first_line, nr_lines; /* of jit_code; nr 0: none */
	struct key_map latest;	       /* by the start of code: its last range */
};

void jitdump_release(struct jitdump *dump);

/* The largest record of lines that is accepted. */
#define JITDUMP_RECORD_MAX_BYTES ((size_t)16 << 20)

/*
 * Parse the complete records in the next bytes of a dump; the file has nr_left bytes from there on.
 * *nr_taken is set to the bytes consumed, which may be more than were given, as the bytes of code
 * are skipped; 0: more are needed. ERR_CORRUPT if they are not of a dump, ERR_UNSUPPORTED for
 * another byte order or version.
 */
int jitdump_parse(struct jitdump *dump, const uint8_t *bytes, size_t nr_bytes, uint64_t nr_left,
		  struct jit_code *code, uint64_t *nr_taken, struct err *err);

#endif
