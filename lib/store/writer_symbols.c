// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/writer_priv.h"

int writer_write_functions(struct store_writer *writer, const struct profile *profile,
			   struct err *err)
{
	struct columns_out *out = &writer->columns;
	int status = 0;

	columns_out_begin(out, FUNCTIONS_COLUMNS);
	for (size_t i = 0; status == 0 && i < profile->nr_functions; i++) {
		const struct function *function = &profile->functions[i];

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
	struct frame_symbols chain = profile->frame_symbols[frame];
	struct columns_out *out = &writer->columns;
	int status = 0;

	for (uint32_t i = 0; status == 0 && i < chain.nr; i++) {
		const struct location *location = &profile->locations[chain.first + i];

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
	for (uint32_t i = 0; status == 0 && i < profile->nr_frame_symbols; i++)
		status = write_chain(writer, profile, i, err);
	return status ? status : writer_emit(writer, RECORD_LOCATIONS, err);
}

int writer_write_module_symbols(struct store_writer *writer, const struct profile *profile,
				struct err *err)
{
	struct columns_out *out = &writer->columns;
	int status = 0;

	columns_out_begin(out, MODULE_SYMBOLS_COLUMNS);
	for (size_t i = 0; status == 0 && i < profile->nr_module_symbols; i++) {
		const struct module_symbols *row = &profile->module_symbols[i];

		columns_out_uint(out, MODULE_SYMBOLS_SOURCE, row->source);
		columns_out_uint(out, MODULE_SYMBOLS_DEBUG_PATH, row->debug_path.v);
		columns_out_uint(out, MODULE_SYMBOLS_PROBLEM, row->problem.v);
		columns_out_uint(out, MODULE_SYMBOLS_MISMATCHED, row->mismatched);
		out->nr_rows++;
		status = writer_emit_if_full(writer, RECORD_MODULE_SYMBOLS, err);
	}
	return status ? status : writer_emit(writer, RECORD_MODULE_SYMBOLS, err);
}
