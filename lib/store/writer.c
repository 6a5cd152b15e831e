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

	self->nr[RECORD_STRINGS] = 1; /* the empty text */
	self->nr[RECORD_MODULES] = 1; /* [unknown] */
	self->nr[RECORD_STACKS] = 1;  /* the empty stack */
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
	free(writer->written.counts.rows);
	free(writer->written.counts.called);
	free(writer->written.command);
	free(writer);
}

uint64_t store_writer_nr_bytes(const struct store_writer *writer)
{
	return writer->frames.nr_bytes_written;
}

/* A table: with a coder of its own, or the rows that the file lacks. */
struct step {
	writer_step *write;
	enum record_type rows; /* without `write` */
};

/* Write the records that the steps gather, in one frame or more. */
static int run_steps(struct store_writer *writer, const struct profile *profile,
		     const struct step *steps, size_t nr_steps, struct err *err)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < nr_steps; i++)
		status = steps[i].write ? steps[i].write(writer, profile, err)
					: writer_write_rows(writer, profile, steps[i].rows, err);
	if (status == 0)
		status = frames_out_flush(&writer->frames, err);
	writer->failed = status < 0;
	return status;
}

int store_writer_flush(struct store_writer *writer, const struct profile *profile, struct err *err)
{
	/* Rows come before the rows that refer to them. */
	static const struct step steps[] = {
		{.write = writer_check_bounds},
		{.write = writer_write_strings},
		{.write = writer_write_meta_and_command},
		{.write = writer_write_modules},
		{.write = writer_write_processes},
		{.write = writer_write_threads},
		{.write = writer_write_frames},
		{.write = writer_write_stacks},
		{.write = writer_write_waits},
		{.rows = RECORD_LABELS},
		{.write = writer_write_samples},
		{.write = writer_write_advances},
		{.write = writer_write_counters},
		{.rows = RECORD_MARKS},
		{.rows = RECORD_JIT_NAMES},
		{.rows = RECORD_JIT_SOURCES},
		{.write = writer_write_counts},
		{.rows = RECORD_REFUSALS},
		{.rows = RECORD_SPANS},
		{.rows = RECORD_SPAN_SUMS},
		{.rows = RECORD_SPAN_LENGTHS},
		{.rows = RECORD_SLOW_CALLS},
		{.rows = RECORD_WAKES},
		{.write = writer_write_allocations},
		{.write = writer_write_moments},
		{.rows = RECORD_SEARCHES},
		{.write = writer_write_searched},
		{.write = writer_write_verdicts},
		{.write = writer_write_discards},
	};

	if (writer->failed)
		return err_set(err, ERR_INVALID, "an earlier write of the profile failed");
	return run_steps(writer, profile, steps, ARRAY_SIZE(steps), err);
}

static int write_end(struct store_writer *writer, const struct profile *profile, struct err *err)
{
	const struct schema *schema = &schemas[RECORD_END];
	struct columns_out *out = &writer->columns;

	writer_begin(writer, RECORD_END);
	for (unsigned int i = 0; i < schema->nr; i++)
		columns_out_uint(out, i,
				 i == END_COMPLETE ? profile->meta.complete
						   : writer->nr[schema->columns[i].of]);
	out->nr_rows++;
	return writer_emit(writer, RECORD_END, err);
}

int store_writer_finish(struct store_writer *writer, const struct profile *profile, struct err *err)
{
	static const struct step steps[] = {
		{.write = writer_write_meta_and_command},
		{.rows = RECORD_MODULE_SYMBOLS},
		{.rows = RECORD_FUNCTIONS},
		{.write = writer_write_locations},
		{.rows = RECORD_SOURCES},
		{.rows = RECORD_LISTINGS},
		{.rows = RECORD_RUNS},
		{.rows = RECORD_OTHERS},
		{.write = write_end},
	};
	int status;

	writer->ending = true;
	status = store_writer_flush(writer, profile, err);
	if (status < 0)
		return status;
	writer->written.wrote_meta = false; /* once more, with the duration */
	return run_steps(writer, profile, steps, ARRAY_SIZE(steps), err);
}
