/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BROWSE_KEY_H
#define PROFC_BROWSE_KEY_H

#include <stdbool.h>

/* Keys of a terminal. A typed byte is itself; keys that send several bytes are listed here. */
enum browse_key {
	BROWSE_KEY_CTRL_C = 0x03,
	BROWSE_KEY_BACKSPACE = 0x08,
	BROWSE_KEY_TAB = 0x09,
	BROWSE_KEY_RETURN = 0x0a,
	BROWSE_KEY_CTRL_L = 0x0c,
	BROWSE_KEY_ENTER = 0x0d,
	BROWSE_KEY_CTRL_Z = 0x1a,
	BROWSE_KEY_ESCAPE = 0x1b,
	BROWSE_KEY_DELETE = 0x7f,
	BROWSE_KEY_UP = 0x100,
	BROWSE_KEY_DOWN,
	BROWSE_KEY_LEFT,
	BROWSE_KEY_RIGHT,
	BROWSE_KEY_PAGE_UP,
	BROWSE_KEY_PAGE_DOWN,
	BROWSE_KEY_HOME,
	BROWSE_KEY_END,
	BROWSE_KEY_OTHER, /* a key without any use */
};

/* Keys, padded to equal width, and the words that explain them. */
struct browse_key_words {
	const char *keys, *words;
	bool is_live; /* in a live recording only */
};

/* All keys; the last row has NULL. */
const struct browse_key_words *browse_keys(void);

/*
 * Decode the key at the start of `bytes`, in the sequences of xterm and similar terminals; *nr_used
 * is set to its length. There is at least one byte. An escape without a sequence is itself a key.
 */
int browse_key_decode(const char *bytes, unsigned int nr_bytes, unsigned int *nr_used);

#endif
