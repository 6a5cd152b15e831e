/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_JIT_JITDUMP_H
#define PROFC_JIT_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct jit_code;

/*
 * A jitdump (tools/perf/Documentation/jitdump-specification.txt of Linux): records
 * of code, with its name and its bytes, and of the lines that the code of the next
 * such record is of. What moves code is left out: no runtime is known to write it.
 */
struct jitdump {
	bool has_header;
	bool is_v8;		       /* its line tables are 64 bytes off: see jitdump.c */
	uint64_t lines_of;	       /* the code that the lines read last are of */
	uint32_t first_line, nr_lines; /* of jit_code; nr 0: none */
};

/* No record of lines is larger than that. */
#define JITDUMP_RECORD_MAX_BYTES ((size_t)16 << 20)

/*
 * Take what is whole of the bytes that come next in a dump, of which the file has
 * nr_left from there on. Says how many that took, which may be more than there
 * were: the bytes of code are not needed. 0 bytes: it takes more of them to go on.
 * ERR_CORRUPT when they are none of a dump, ERR_UNSUPPORTED when it is one of
 * another byte order or version.
 */
int jitdump_parse(struct jitdump *dump, const uint8_t *bytes, size_t nr_bytes, uint64_t nr_left,
		  struct jit_code *code, uint64_t *nr_taken, struct err *err);

#endif
