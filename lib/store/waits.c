// SPDX-License-Identifier: GPL-2.0-or-later
/* The objects that blocked threads waited for, as records and back. */
#include "store/reader_priv.h"
#include "store/writer_priv.h"

static void put_wait(struct columns_out *out, uint32_t number, const struct profile_wait *row)
{
	columns_out_uint(out, WAITS_ROW, number);
	schema_put(RECORD_WAITS, out, row, NULL);
	out->nr_rows++;
}

int writer_write_waits(struct store_writer *writer, const struct profile *profile, struct err *err)
{
	const struct profile_waits *waits = profile_waits(profile);
	struct columns_out *out = &writer->columns;
	size_t nr_before = writer->nr[RECORD_WAITS];
	int status = 0;

	writer_begin(writer, RECORD_WAITS);
	for (; status == 0 && writer->nr[RECORD_WAITS] < waits->nr; writer->nr[RECORD_WAITS]++) {
		put_wait(out, (uint32_t)writer->nr[RECORD_WAITS],
			 &waits->rows[writer->nr[RECORD_WAITS]]);
		status = writer_emit_if_full(writer, RECORD_WAITS, err);
	}
	for (; status == 0 && writer->nr_updated_waits < waits->nr_updated;
	     writer->nr_updated_waits++) {
		uint32_t row = waits->updated[writer->nr_updated_waits];

		if (row >= nr_before)
			continue;
		put_wait(out, row, &waits->rows[row]);
		status = writer_emit_if_full(writer, RECORD_WAITS, err);
	}
	return status ? status : writer_emit(writer, RECORD_WAITS, err);
}

bool reader_take_wait(struct reader *reader, struct columns_in *in)
{
	struct profile *profile = reader->profile;
	size_t nr = profile_waits(profile)->nr;
	uint64_t number = columns_in_bounded(in, WAITS_ROW, nr);
	struct profile_wait row = {0};

	if (!schema_take(RECORD_WAITS, in, profile, &row, NULL))
		return false;
	/*
	 * One row per distinct wait, in the order samples refer to; a known row may gain its peer.
	 */
	if (in->failed || profile_waits_intern(profile_waits(profile), &row) != number + 1)
		return false;
	if (number < nr)
		profile_waits_set_peer(profile_waits(profile), (uint32_t)number, row.peer);
	return true;
}
