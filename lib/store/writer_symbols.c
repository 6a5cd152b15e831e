// SPDX-License-Identifier: GPL-2.0-or-later
/* Encodes symbols, and the names that programs gave to JIT-compiled code. */
#include "store/format_runs_priv.h"
#include "store/format_sources_priv.h"
#include "store/writer_priv.h"

int writer_write_jit_names(struct store_writer *writer, const struct profile *profile,
			   struct err *err)
{
	struct columns_out *out = &writer->columns;
	int status = 0;

	columns_out_begin(out, JIT_NAMES_COLUMNS);
	for (; status == 0 && writer->nr_jit_names < profile->nr_jit_names;
	     writer->nr_jit_names++) {
		const struct jit_name *row = &profile->jit_names[writer->nr_jit_names];

		columns_out_uint(out, JIT_NAMES_FRAME, row->frame.v);
		columns_out_uint(out, JIT_NAMES_NAME, row->name.v);
		columns_out_uint(out, JIT_NAMES_FILE, row->file.v);
		columns_out_uint(out, JIT_NAMES_LINE, row->line);
		columns_out_uint(out, JIT_NAMES_FUNCTION_FILE, row->function_file.v);
		columns_out_uint(out, JIT_NAMES_FUNCTION_LINE, row->function_line);
		out->nr_rows++;
		status = writer_emit_if_full(writer, RECORD_JIT_NAMES, err);
	}
	return status ? status : writer_emit(writer, RECORD_JIT_NAMES, err);
}

int writer_write_jit_sources(struct store_writer *writer, const struct profile *profile,
			     struct err *err)
{
	struct columns_out *out = &writer->columns;
	int status = 0;

	columns_out_begin(out, JIT_SOURCES_COLUMNS);
	for (; status == 0 && writer->nr_jit_sources < profile->nr_jit_sources;
	     writer->nr_jit_sources++) {
		const struct jit_source *row = &profile->jit_sources[writer->nr_jit_sources];

		columns_out_uint(out, JIT_SOURCES_MODULE, row->module.v);
		columns_out_uint(out, JIT_SOURCES_SOURCE, row->source);
		columns_out_uint(out, JIT_SOURCES_PATH, row->path.v);
		columns_out_uint(out, JIT_SOURCES_PROBLEM, row->problem.v);
		columns_out_uint(out, JIT_SOURCES_OWNER, row->owner.v);
		out->nr_rows++;
		status = writer_emit_if_full(writer, RECORD_JIT_SOURCES, err);
	}
	return status ? status : writer_emit(writer, RECORD_JIT_SOURCES, err);
}

int writer_write_functions(struct store_writer *writer, const struct profile *profile,
			   struct err *err)
{
	struct columns_out *out = &writer->columns;
	int status = 0;

	columns_out_begin(out, FUNCTIONS_COLUMNS);
	for (size_t i = 0; status == 0 && i < profile->symbols.nr_functions; i++) {
		const struct function *function = &profile->symbols.functions[i];

		columns_out_uint(out, FUNCTIONS_NAME, function->name.v);
		columns_out_uint(out, FUNCTIONS_LINKAGE_NAME, function->linkage_name.v);
		columns_out_uint(out, FUNCTIONS_FILE, function->file.v);
		columns_out_uint(out, FUNCTIONS_LINE, function->line);
		out->nr_rows++;
		status = writer_emit_if_full(writer, RECORD_FUNCTIONS, err);
	}
	return status ? status : writer_emit(writer, RECORD_FUNCTIONS, err);
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
		columns_out_uint(out, LOCATIONS_FUNCTION, location->function.v);
		columns_out_uint(out, LOCATIONS_FILE, location->file.v);
		columns_out_uint(out, LOCATIONS_LINE, location->line);
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

	columns_out_begin(&writer->columns, LOCATIONS_COLUMNS);
	for (uint32_t i = 0; status == 0 && i < profile->symbols.nr_frames; i++)
		status = write_chain(writer, profile, i, err);
	return status ? status : writer_emit(writer, RECORD_LOCATIONS, err);
}

int writer_write_module_symbols(struct store_writer *writer, const struct profile *profile,
				struct err *err)
{
	struct columns_out *out = &writer->columns;
	int status = 0;

	columns_out_begin(out, MODULE_SYMBOLS_COLUMNS);
	for (size_t i = 0; status == 0 && i < profile->symbols.nr_modules; i++) {
		const struct module_symbols *row = &profile->symbols.modules[i];

		columns_out_uint(out, MODULE_SYMBOLS_SOURCE, row->source);
		columns_out_uint(out, MODULE_SYMBOLS_DEBUG_PATH, row->debug_path.v);
		columns_out_uint(out, MODULE_SYMBOLS_PROBLEM, row->problem.v);
		columns_out_uint(out, MODULE_SYMBOLS_MISMATCHED, row->mismatched);
		columns_out_uint(out, MODULE_SYMBOLS_OWNER, row->owner.v);
		out->nr_rows++;
		status = writer_emit_if_full(writer, RECORD_MODULE_SYMBOLS, err);
	}
	return status ? status : writer_emit(writer, RECORD_MODULE_SYMBOLS, err);
}

int writer_write_runs(struct store_writer *writer, const struct profile *profile, struct err *err)
{
	struct columns_out *out = &writer->columns;
	int status = 0;

	columns_out_begin(out, RUNS_COLUMNS);
	for (size_t i = 0; status == 0 && i < profile->runs.nr; i++) {
		const struct profile_run *row = &profile->runs.rows[i];

		columns_out_uint(out, RUNS_COMMAND, row->command.v);
		columns_out_uint(out, RUNS_HOSTNAME, row->hostname.v);
		columns_out_uint(out, RUNS_START, row->start_realtime_ns);
		columns_out_uint(out, RUNS_DURATION, row->duration_ns);
		out->nr_rows++;
		status = writer_emit_if_full(writer, RECORD_RUNS, err);
	}
	return status ? status : writer_emit(writer, RECORD_RUNS, err);
}

int writer_write_sources(struct store_writer *writer, const struct profile *profile,
			 struct err *err)
{
	struct columns_out *out = &writer->columns;
	int status = 0;

	columns_out_begin(out, SOURCES_COLUMNS);
	for (size_t i = 0; status == 0 && i < profile->symbols.nr_sources; i++) {
		const struct profile_source *row = &profile->symbols.sources[i];

		columns_out_uint(out, SOURCES_FILE, row->file.v);
		columns_out_uint(out, SOURCES_BYTES, row->nr_bytes);
		columns_out_uint(out, SOURCES_MODIFIED, row->modified_ns);
		columns_out_uint(out, SOURCES_TEXT, row->text.v);
		out->nr_rows++;
		status = writer_emit_if_full(writer, RECORD_SOURCES, err);
	}
	return status ? status : writer_emit(writer, RECORD_SOURCES, err);
}

int writer_write_listings(struct store_writer *writer, const struct profile *profile,
			  struct err *err)
{
	struct columns_out *out = &writer->columns;
	int status = 0;

	columns_out_begin(out, LISTINGS_COLUMNS);
	for (size_t i = 0; status == 0 && i < profile->symbols.nr_listings; i++) {
		const struct profile_listing *row = &profile->symbols.listings[i];

		columns_out_uint(out, LISTINGS_MODULE, row->module.v);
		columns_out_uint(out, LISTINGS_START, row->start);
		columns_out_uint(out, LISTINGS_END, row->end);
		columns_out_uint(out, LISTINGS_TEXT, row->text.v);
		out->nr_rows++;
		status = writer_emit_if_full(writer, RECORD_LISTINGS, err);
	}
	return status ? status : writer_emit(writer, RECORD_LISTINGS, err);
}
