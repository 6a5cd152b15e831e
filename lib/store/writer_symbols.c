// SPDX-License-Identifier: GPL-2.0-or-later
/* Encodes symbols, and the names that programs gave to JIT-compiled code. */
#include "store/writer_priv.h"

int writer_write_jit_names(struct store_writer *writer, const struct profile *profile,
			   struct err *err)
{
	const struct writer_rows rows = {RECORD_JIT_NAMES, profile->jit.names,
					 profile->jit.nr_names};

	return writer_write_rows(writer, &rows, &writer->nr_jit_names, err);
}

int writer_write_jit_sources(struct store_writer *writer, const struct profile *profile,
			     struct err *err)
{
	const struct writer_rows rows = {RECORD_JIT_SOURCES, profile->jit.sources,
					 profile->jit.nr_sources};

	return writer_write_rows(writer, &rows, &writer->nr_jit_sources, err);
}

int writer_write_functions(struct store_writer *writer, const struct profile *profile,
			   struct err *err)
{
	const struct writer_rows rows = {RECORD_FUNCTIONS, profile->symbols.functions,
					 profile->symbols.nr_functions};
	size_t nr_written = 0;

	return writer_write_rows(writer, &rows, &nr_written, err);
}

static int write_chain(struct store_writer *writer, const struct profile *profile, uint32_t frame,
		       struct err *err)
{
	struct frame_symbols chain = profile->symbols.frames[frame];
	struct columns_out *out = &writer->columns;
	int status = 0;

	for (uint32_t i = 0; status == 0 && i < chain.nr; i++) {
		const struct location *location = &profile->symbols.locations[chain.first + i];

		columns_out_uint(out, LOCATIONS_FRAME, frame - writer->last_location_frame);
		schema_put(RECORD_LOCATIONS, out, location, NULL);
		out->nr_rows++;
		writer->last_location_frame = frame;
		writer->nr_locations++;
		status = writer_emit_if_full(writer, RECORD_LOCATIONS, err);
	}
	return status;
}

int writer_write_locations(struct store_writer *writer, const struct profile *profile,
			   struct err *err)
{
	int status = 0;

	writer_begin(writer, RECORD_LOCATIONS);
	for (uint32_t i = 0; status == 0 && i < profile->symbols.nr_frames; i++)
		status = write_chain(writer, profile, i, err);
	return status ? status : writer_emit(writer, RECORD_LOCATIONS, err);
}

int writer_write_module_symbols(struct store_writer *writer, const struct profile *profile,
				struct err *err)
{
	const struct writer_rows rows = {RECORD_MODULE_SYMBOLS, profile->symbols.modules,
					 profile->symbols.nr_modules};
	size_t nr_written = 0;

	return writer_write_rows(writer, &rows, &nr_written, err);
}

int writer_write_runs(struct store_writer *writer, const struct profile *profile, struct err *err)
{
	const struct writer_rows rows = {RECORD_RUNS, profile->runs.rows, profile->runs.nr};
	size_t nr_written = 0;

	return writer_write_rows(writer, &rows, &nr_written, err);
}

int writer_write_sources(struct store_writer *writer, const struct profile *profile,
			 struct err *err)
{
	const struct writer_rows rows = {RECORD_SOURCES, profile->symbols.sources,
					 profile->symbols.nr_sources};
	size_t nr_written = 0;

	return writer_write_rows(writer, &rows, &nr_written, err);
}

int writer_write_listings(struct store_writer *writer, const struct profile *profile,
			  struct err *err)
{
	const struct writer_rows rows = {RECORD_LISTINGS, profile->symbols.listings,
					 profile->symbols.nr_listings};
	size_t nr_written = 0;

	return writer_write_rows(writer, &rows, &nr_written, err);
}
