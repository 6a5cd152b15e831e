/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_CPYTHON_TEXT_H
#define PROFC_SCRIPT_CPYTHON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpython_layout;
struct snapshot;
struct space;

/* Memory as it was in a stop, as far as the snapshot has it, else as it is now. */
struct cpython_source {
	const struct snapshot *snapshot; /* NULL: all is as it is now */
	struct space *space;		 /* NULL: only what the snapshot has */
	bool is_late;			 /* some of what was read so far was not in the snapshot */
};

/* The texts of a code object. */
enum cpython_text { CPYTHON_NAME, CPYTHON_FILE, CPYTHON_LINE_TABLE, NR_CPYTHON_TEXTS };

/* Tells a text from another one that stands in the same place. */
struct cpython_mark {
	uint64_t hash;
	uint32_t nr_bytes; /* of its object, from the start on, that the hash stands for; 0: none */
};

/* False: there is no text at `at`. */
bool cpython_mark_read(const struct cpython_layout *layout, struct cpython_source *source,
		       enum cpython_text which, uint64_t at, struct cpython_mark *mark);
/* How much of the text at `at` a snapshot should have for that, and lacks; 0: nothing. */
uint32_t cpython_mark_misses(const struct cpython_layout *layout, const struct snapshot *snapshot,
			     enum cpython_text which, uint64_t at);
/* Has this object the mark? `bytes` are as many as that has. */
bool cpython_mark_agrees(const struct cpython_layout *layout, enum cpython_text which,
			 const uint8_t *bytes, const struct cpython_mark *mark);

/* A name as UTF-8; a long one is cut. NULL: this is none. The caller owns it. */
char *cpython_text_read(const struct cpython_layout *layout, struct cpython_source *source,
			uint64_t at);
/* The bytes of a line table, which the caller owns. NULL: it has none, or it cannot be read. */
uint8_t *cpython_table_read(struct cpython_source *source, uint64_t at, size_t *nr_bytes);

#endif
