/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_PHP_FUNCTIONS_H
#define PROFC_SCRIPT_PHP_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "script/php_layout.h"

struct snapshot;
struct space;

enum php_function_type {
	PHP_FUNCTION_NATIVE = 1, /* of an extension, or PHP's own */
	PHP_FUNCTION_SCRIPT = 2,
	PHP_FUNCTION_EVAL = 4, /* the text that eval() runs */
};

/* Read from the object of a function; equal for all closures of a kind. */
struct php_identity {
	uint64_t name, scope, file, oplines;
	uint32_t nr_oplines, first_line, last_line;
	uint8_t type;
};

/* Is it an object of a function that begins so? */
static inline bool php_is_function(const uint8_t *head)
{
	return head[0] == PHP_FUNCTION_NATIVE || head[0] == PHP_FUNCTION_SCRIPT ||
	       head[0] == PHP_FUNCTION_EVAL;
}

struct php_identity php_identity_of(const struct php_function_layout *layout, const uint8_t *head);
bool php_identity_is_same(const struct php_identity *a, const struct php_identity *b);

/*
 * The objects of functions in one process, by their address. One that stays the same for long is
 * copied right after a stop, and no longer in it.
 */
struct php_functions;

/* Memory as it was in a stop, and right after it; and as it is now. */
struct php_source {
	const struct php_layout *layout;
	const struct snapshot *snapshot;
	struct space *space;
};

struct php_functions *php_functions_new(void);
void php_functions_free(struct php_functions *functions);

/* Before the first function of a snapshot. */
void php_functions_begin(struct php_functions *functions, const struct snapshot *snapshot);

/*
 * Copy the beginning of a function from a snapshot. One that was to be copied after the stop is as
 * it was then, or as it is known, if `functions` are given; php_functions_prove() has to find it
 * the same. False: the snapshot lacks it.
 */
bool php_functions_read(const struct php_functions *functions, const struct php_layout *layout,
			const struct snapshot *snapshot, uint64_t at, uint8_t *bytes);

/*
 * The same of a function that was copied in the stop, or was the same before and after that. False:
 * it is none, or may have been another one.
 */
bool php_functions_prove(struct php_functions *functions, const struct php_source *source,
			 uint64_t at, uint8_t *bytes);

/* May the object that is there be copied after the stop? */
bool php_functions_is_steady(const struct php_functions *functions, uint64_t at);

#endif
