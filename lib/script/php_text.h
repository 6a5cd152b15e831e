/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_PHP_TEXT_H
#define PROFC_SCRIPT_PHP_TEXT_H

#include <stdbool.h>
#include <stdint.h>

struct php_layout;
struct snapshot;
struct space;

/* The start of a text that is copied in the stop, and looked at again at each use. */
#define PHP_TEXT_BYTES 256

/* A text of PHP's, and what tells it from another one in the same place. */
struct php_text {
	uint64_t at;
	char *text;	   /* owned; NULL: there is none */
	uint32_t nr_bytes; /* of its beginning, which `hash` is of */
	uint64_t hash;
};

/*
 * Read the text at `at`, from the snapshot if that has it, else as it is now; `text` is empty.
 * False: there is none, or it is too long.
 */
bool php_text_read(const struct php_layout *layout, const struct snapshot *snapshot,
		   struct space *space, uint64_t at, struct php_text *text);
/* Are these bytes the beginning of that text? */
bool php_text_agrees(const struct php_text *text, const uint8_t *bytes);
void php_text_release(struct php_text *text);

#endif
