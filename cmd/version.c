// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/version.h"

#define NCURSES_NOMACROS
#include <curses.h>

#include "base/buf.h"
#include "symbol/library_versions.h"
#include "unwind/libunwind_version.h"

/* The Makefile says these for this file only, so that a commit compiles nothing else anew. */
#ifndef PROFC_COMMIT
#define PROFC_COMMIT "unknown"
#endif
#ifndef PROFC_FLAGS
#define PROFC_FLAGS ""
#endif

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

void version_text(bool verbose, struct buf *out)
{
	buf_append_str(out, "profc " PROFC_VERSION "\n");
	if (!verbose)
		return;
	buf_append_str(out, "commit:    " PROFC_COMMIT "\n");
	buf_printf(out, "libraries: libunwind %s, ", libunwind_version());
	library_versions(out);
	buf_printf(out, ", %s", curses_version());
	buf_append_str(out, "\ncompiler:  " COMPILER "\nflags:     " PROFC_FLAGS "\n");
}
