// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes a profile as it grows. */
#include "store/store.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/err.h"
#include "store/frames_priv.h"
#include "store/writer_priv.h"

int store_writer_new(int fd, struct store_writer **writer, struct err *err)
{
	struct store_writer *self = xcalloc(1, sizeof(*self));
	int status = frames_out_init(&self->frames, fd, err);

	self->nr_strings = 1; /* the empty text */
	self->nr_modules = 1; /* [unknown] */
	self->nr_stacks = 1;  /* the empty stack */
	if (status == 0)
		status = frames_out_header(&self->frames, err);
	if (status < 0) {
		store_writer_free(self);
		return status;
	}
	*writer = self;
	return 0;
}

void store_writer_free(struct store_writer *writer)
{
	if (!writer)
		return;
	frames_out_release(&writer->frames);
	columns_out_release(&writer->columns);
	sample_coder_release(&writer->coder);
	moment_coder_release(&writer->heap.coder);
	moment_coder_release(&writer->heap.summed);
	free(writer->written.processes);
	free(writer->written.threads);
	free(writer->written.counters);
	free(writer->written.counts);
	free(writer->written.command);
	free(writer);
}

uint64_t store_writer_nr_bytes(const struct store_writer *writer)
{
	return writer->frames.nr_bytes_written;
}

/* Write the records that the steps gather, in one frame or more. */
static int run_steps(struct store_writer *writer, const struct profile *profile,
		     writer_step *const *steps, size_t nr_steps, struct err *err)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < nr_steps; i++)
		status = steps[i](writer, profile, err);
	if (status == 0)
		status = frames_out_flush(&writer->frames, err);
	writer->failed = status < 0;
	return status;
}

int store_writer_flush(struct store_writer *writer, const struct profile *profile, struct err *err)
{
	/* Rows come before the rows that refer to them. */
	static writer_step *const steps[] = {
		writer_check_bounds,   writer_write_strings,   writer_write_meta_and_command,
		writer_write_modules,  writer_write_processes, writer_write_threads,
		writer_write_frames,   writer_write_stacks,    writer_write_waits,
		writer_write_samples,  writer_write_advances,  writer_write_counters,
		writer_write_marks,    writer_write_jit_names, writer_write_jit_sources,
		writer_write_counts,   writer_write_refusals,  writer_write_allocations,
		writer_write_moments,  writer_write_searches,  writer_write_searched,
		writer_write_verdicts, writer_write_discards,
	};

	if (writer->failed)
		return err_set(err, ERR_INVALID, "an earlier write of the profile failed");
	return run_steps(writer, profile, steps, ARRAY_SIZE(steps), err);
}

static int write_end(struct store_writer *writer, const struct profile *profile, struct err *err)
{
	struct columns_out *out = &writer->columns;

	writer_begin(writer, RECORD_END);
	columns_out_uint(out, END_STRINGS, writer->nr_strings);
	columns_out_uint(out, END_MODULES, writer->nr_modules);
	columns_out_uint(out, END_PROCESSES, writer->written.nr_processes);
	columns_out_uint(out, END_THREADS, writer->written.nr_threads);
	columns_out_uint(out, END_FRAMES, writer->nr_frames);
	columns_out_uint(out, END_STACKS, writer->nr_stacks);
	columns_out_uint(out, END_SAMPLES, writer->nr_samples);
	columns_out_uint(out, END_FUNCTIONS, profile->symbols.nr_functions);
	columns_out_uint(out, END_LOCATIONS, writer->nr_locations);
	columns_out_uint(out, END_COMPLETE, profile->meta.complete);
	columns_out_uint(out, END_COUNTS, writer->written.nr_counts);
	columns_out_uint(out, END_REFUSALS, writer->nr_refusals);
	columns_out_uint(out, END_ALLOCATIONS, writer->heap.nr_allocations);
	columns_out_uint(out, END_MOMENTS, writer->heap.nr_moments);
	out->nr_rows++;
	return writer_emit(writer, RECORD_END, err);
}

int store_writer_finish(struct store_writer *writer, const struct profile *profile, struct err *err)
{
	static writer_step *const steps[] = {
		writer_write_meta_and_command,
		writer_write_module_symbols,
		writer_write_functions,
		writer_write_locations,
		writer_write_sources,
		writer_write_listings,
		writer_write_runs,
		write_end,
	};
	int status;

	writer->ending = true;
	status = store_writer_flush(writer, profile, err);
	if (status < 0)
		return status;
	writer->written.wrote_meta = false; /* once more, with the duration */
	return run_steps(writer, profile, steps, ARRAY_SIZE(steps), err);
}
