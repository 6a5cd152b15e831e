/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_RECORDING_SNAPSHOTS_H
#define PROFC_CMD_RECORDING_SNAPSHOTS_H

#include <stdbool.h>

#include "base/patient_copy.h"
#include "symbol/symbol.h"

struct recording_file;
struct recording_writer;
struct sampler;

/*
 * Snapshots of a recording: what there is at a moment, as a profile of its own. They are written
 * one after the other by a thread beside the recording, as names take long to be found.
 */
struct snapshots {
	const struct recording_file *file; /* borrowed; where the recording is written */
	bool has_names;			   /* shall be looked for */
	struct symbol_options symbols;	   /* how */
	bool clears_line;		   /* of progress, before a message */
	struct patience patience;	   /* with the readers of FIFOs */
	struct recording_writer *writer;   /* owned */
};

/* The options borrow as they do elsewhere; NULL: no names. */
void snapshots_init(struct snapshots *snapshots, const struct recording_file *file,
		    const struct symbol_options *symbols);
/*
 * Write a snapshot of this moment into a file. Returns at once; a failure is reported on standard
 * error. Only one thread may call this and snapshots_finish().
 */
void snapshots_take(struct snapshots *snapshots, struct sampler *sampler, const char *path);
/*
 * Wait until all snapshots are written, but for those that no reader takes for some seconds; the
 * sampler has finished before. Once `asked_fd` is readable this waits for no reader. It says that
 * it waits, unless `quiet`.
 */
void snapshots_finish(struct snapshots *snapshots, int asked_fd, bool quiet);

#endif
