// SPDX-License-Identifier: GPL-2.0-or-later
/* Keys, and the words that explain them. */
#include "browse/key.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"

/* clang-format off */
#define KEY(keys_, words_)	{.keys = (keys_), .words = (words_)}
#define LIVE_KEY(keys_, words_) {.keys = (keys_), .words = (words_), .is_live = true}
/* clang-format on */

const struct browse_key_words *browse_keys(void)
{
	static const struct browse_key_words keys[] = {
		KEY("q, Ctrl-C   ", "quit"),
		LIVE_KEY("Ctrl-Z      ",
			 "suspend, together with a command; the shell's fg resumes"),
		LIVE_KEY("space, p    ", "pause: the processes are left alone"),
		LIVE_KEY("a           ", "all time since the beginning, or the last seconds"),
		KEY("arrows j k  ", "one line up or down; also PgUp, PgDn, Home, End, g, G"),
		KEY("Enter       ", "of a function: its callers and callees; in trees open "
				    "or close; of a line or file: its source; of a module, thread "
				    "or process: its functions"),
		KEY("Esc         ", "back; in the table, take filters away"),
		KEY("left, right ", "in trees: close, or go to the caller; open"),
		KEY("t           ", "the call tree, and back"),
		KEY("f           ", "callers and callees of the selected function"),
		KEY("S           ", "its source, with the cost of each line"),
		KEY("s           ", "sort by self, by total, by name or, where they are counted, "
				    "by calls"),
		KEY("b           ", "rows by function, line, file, module, thread, and so on"),
		KEY("m           ", "metric: on to the next of those recorded"),
		KEY("/           ", "only samples with a function that matches a regular "
				    "expression; nothing: all"),
		KEY("n, N        ", "to the next, or previous function that matches"),
		KEY("T           ", "choose a thread"),
		KEY("i           ", "notes: what is missing, and why"),
		KEY("h, ?        ", "this help"),
		{.keys = NULL},
	};

	return keys;
}

struct sequence {
	const char *bytes;
	int key;
};

/* After the escape; xterm's sequences, with an O in place of the [ in its application mode. */
static const struct sequence sequences[] = {
	{"[A", BROWSE_KEY_UP},	  {"[B", BROWSE_KEY_DOWN},     {"[C", BROWSE_KEY_RIGHT},
	{"[D", BROWSE_KEY_LEFT},  {"[H", BROWSE_KEY_HOME},     {"[F", BROWSE_KEY_END},
	{"[1~", BROWSE_KEY_HOME}, {"[4~", BROWSE_KEY_END},     {"[7~", BROWSE_KEY_HOME},
	{"[8~", BROWSE_KEY_END},  {"[5~", BROWSE_KEY_PAGE_UP}, {"[6~", BROWSE_KEY_PAGE_DOWN},
	{"OA", BROWSE_KEY_UP},	  {"OB", BROWSE_KEY_DOWN},     {"OC", BROWSE_KEY_RIGHT},
	{"OD", BROWSE_KEY_LEFT},  {"OH", BROWSE_KEY_HOME},     {"OF", BROWSE_KEY_END},
	{"OM", BROWSE_KEY_ENTER},
};

/* ECMA-48: parameters and a final byte; or one byte after an O, as for function keys. */
static unsigned int sequence_bytes(const char *bytes, unsigned int nr_bytes)
{
	unsigned int at = 2;

	if (bytes[1] == 'O')
		return nr_bytes < 3 ? nr_bytes : 3;
	if (bytes[1] != '[')
		return 2; /* with Alt */
	while (at < nr_bytes && !(bytes[at] >= 0x40 && bytes[at] <= 0x7e))
		at++;
	return at < nr_bytes ? at + 1 : at;
}

int browse_key_decode(const char *bytes, unsigned int nr_bytes, unsigned int *nr_used)
{
	*nr_used = 1;
	if (bytes[0] != BROWSE_KEY_ESCAPE || nr_bytes == 1 || bytes[1] == BROWSE_KEY_ESCAPE)
		return (unsigned char)bytes[0];
	*nr_used = sequence_bytes(bytes, nr_bytes);
	for (size_t i = 0; i < ARRAY_SIZE(sequences); i++) {
		size_t length = strlen(sequences[i].bytes);

		if (length + 1 == *nr_used && memcmp(bytes + 1, sequences[i].bytes, length) == 0)
			return sequences[i].key;
	}
	return BROWSE_KEY_OTHER;
}
