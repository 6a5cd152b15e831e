/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_PHP_LAYOUT_H
#define PROFC_SCRIPT_PHP_LAYOUT_H

#include <stdint.h>

/* Offsets of members in bytes, and sizes, of builds that are not thread-safe. */

/* zend_executor_globals; what walks need is in [start, end). */
struct php_globals_layout {
	uint32_t start, end;
	uint32_t stack_top, stack; /* the newest page of the stack, and the end of its used part */
	uint32_t current;	   /* the innermost frame */
	/* Three instructions that frames are at while an exception is handled, and the place of the
	 * one that was left for them. */
	uint32_t before_exception, exception, nr_exception_bytes;
	uint32_t fiber; /* the one that runs; 0: none does */
};

/* A page of PHP's stack, from its beginning on. */
struct php_page_layout {
	uint32_t top; /* the end of its used part, once there is a newer page */
	uint32_t end, previous;
};

/* zend_execute_data; nr_bytes of it are needed. */
struct php_frame_layout {
	uint32_t nr_bytes;
	uint32_t opline, return_value, function, info, previous;
};

/* zend_op_array and zend_internal_function, which begin alike; nr_bytes of it are needed. */
struct php_function_layout {
	uint32_t nr_bytes, nr_native_bytes;
	uint32_t name, scope, nr_oplines, oplines, file, first_line, last_line;
	uint32_t handler; /* the code of one that is no script's */
};

/* zend_generator; nr_bytes of it are needed. */
struct php_generator_layout {
	uint32_t nr_bytes;
	uint32_t class_entry, frame, delegate, placeholder;
};

struct php_layout {
	struct php_globals_layout globals;
	struct php_page_layout page;
	struct php_frame_layout frame;
	struct php_function_layout function;
	struct php_generator_layout generator;
	uint32_t nr_opline_bytes, opline_line;
	uint32_t class_name;
	uint32_t text_type, text_hash, text_length,
		text_head; /* zend_string; its head is that long */
};

/* That of a version, such as "8.2"; NULL: it is not known. Static. */
const struct php_layout *php_layout_of(const char *version);

#define PHP_FUNCTION_BYTES_MAX	256
#define PHP_FRAME_BYTES_MAX	128
#define PHP_GENERATOR_BYTES_MAX 512
#define PHP_OPLINE_BYTES_MAX	64

#endif
