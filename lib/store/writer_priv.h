/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_STORE_WRITER_PRIV_H
#define PROFC_STORE_WRITER_PRIV_H

#include "store/frames_priv.h"

/* What the file holds so far: how much of each table, and the updatable rows as last written. */
struct store_writer {
	struct frames_out frames;
	struct columns_out columns; /* of the record that is being made */
	struct sample_coder coder;
	uint32_t nr_strings, nr_modules, nr_frames, nr_stacks;
	size_t nr_marks;
	uint64_t nr_samples, nr_locations;
	uint64_t last_address;
	uint32_t last_location_frame;
	struct profile_process *processes; /* copies */
	size_t nr_processes, cap_processes;
	struct profile_thread *threads;
	size_t nr_threads, cap_threads;
	struct profile_counter *counters;
	size_t nr_counters, cap_counters;
	struct str_id *command;
	size_t nr_command;
	struct profile_meta meta; /* without its command */
	bool wrote_meta;
	bool failed; /* once a write has failed, what follows could not be read */
};

#endif
