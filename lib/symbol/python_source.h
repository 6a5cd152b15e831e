/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds functions of Python in their source: perf maps have the file of each, and not its line. */
#ifndef PROFC_SYMBOL_PYTHON_SOURCE_H
#define PROFC_SYMBOL_PYTHON_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/owner.h"

/* The file in "py::outer.<locals>.f:/srv/app.py", as Python names its functions; else NULL. */
const char *python_file_of(const char *name);

/*
 * The line of the `def` of such a function in its source; of code within, such as lambdas, that of
 * the function around it, and of a module 1. 0: it is not there.
 */
uint32_t python_find_line(const char *name, const char *source);

/* Sources that were read, so that each is read once. Zero-initialised is empty. */
struct python_source {
	char *file; /* owned */
	char *text; /* owned; NULL: it cannot be read */
};

struct python_sources {
	struct python_source *rows; /* owned */
	size_t nr, cap;
	size_t nr_bytes; /* of all texts */
};

void python_sources_release(struct python_sources *sources);
/* The text of a file that `chooser` named; NULL: it cannot be read, or is too large. Borrowed. */
const char *python_sources_get(struct python_sources *sources, const char *file,
			       struct owner chooser);

#endif
