// SPDX-License-Identifier: GPL-2.0-or-later
/* Encodes the chains of symbols. */
#include "store/writer_priv.h"

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
		writer->nr[RECORD_LOCATIONS]++;
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
