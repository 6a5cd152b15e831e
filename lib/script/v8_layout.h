/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_V8_LAYOUT_H
#define PROFC_SCRIPT_V8_LAYOUT_H

#include <stdint.h>

/* Texts: offsets within them, and what fields of their types say. */
struct v8_text_layout {
	uint32_t length, characters;
	uint32_t thin_actual, cons_first, cons_second, sliced_parent, sliced_offset;
	uint32_t external_characters; /* a pointer to them */
	uint16_t shape_mask, sequential, cons, sliced, thin, external;
	uint16_t width_mask, one_byte;
	uint16_t end; /* the lowest type that is none of a text */
};

/* A Code, by the version of V8, and how the one of the baseline compiler is known. */
struct v8_code_layout {
	uint32_t start;	      /* a pointer to its instructions */
	uint32_t inner_start; /* or these themselves; 0: they are elsewhere */
	uint32_t size, flags;
	uint32_t kind_mask, kind_baseline;
	uint16_t type;
};

/* In versions 10.2 and 11.3. */
#define V8_NR_BYTECODES 198
/* Their operands may be as they are, twice and four times as wide. */
#define V8_NR_SCALES 3

/* Where any array has its length, and one of bytes its first byte; the map is at 0. */
#define V8_ARRAY_LENGTH 8
#define V8_BYTES_DATA	16

/* Offsets within objects, and numbers of their types, as V8 exports them. */
struct v8_layout {
	struct v8_code_layout code;
	uint8_t bytecode_sizes[V8_NR_SCALES][V8_NR_BYTECODES];
	struct v8_text_layout text;
	uint32_t map_type; /* of a map: the type of its objects */
	uint32_t script_name, script_source, script_line_ends;
	uint32_t shared_code;	 /* of a SharedFunctionInfo: what runs its function */
	uint32_t bytecodes_data; /* of a BytecodeArray: its first bytecode */
	uint16_t type_function, type_shared, type_scope, type_script, type_map;
	uint16_t type_bytecodes, type_bytes;
};

#endif
