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

/* Offsets within objects, and numbers of their types, as V8 exports them. */
struct v8_layout {
	struct v8_text_layout text;
	uint32_t map_type; /* of a map: the type of its objects */
	uint32_t script_name, script_source, script_line_ends;
	uint32_t shared_code;	 /* of a SharedFunctionInfo: what runs its function */
	uint32_t bytecodes_data; /* of a BytecodeArray: its first bytecode */
	uint16_t type_function, type_shared, type_scope, type_script, type_map;
	uint16_t type_bytecodes, type_bytes;
};

#endif
