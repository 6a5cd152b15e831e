// SPDX-License-Identifier: GPL-2.0-or-later
/* Turns gathered columns into a record, for the writers of all tables. */
#include "store/frames_priv.h"
#include "store/writer_priv.h"

void writer_begin(struct store_writer *writer, enum record_type type)
{
	columns_out_begin(&writer->columns, schemas[type].nr);
}

int writer_emit(struct store_writer *writer, enum record_type type, struct err *err)
{
	struct columns_out *columns = &writer->columns;
	int status = 0;

	if (columns->nr_rows)
		status = frames_out_record(&writer->frames, type, columns, err);
	writer_begin(writer, type);
	return status;
}

int writer_emit_if_full(struct store_writer *writer, enum record_type type, struct err *err)
{
	return writer->columns.nr_rows < RECORD_ROWS_MAX ? 0 : writer_emit(writer, type, err);
}

int writer_write_rows(struct store_writer *writer, const struct profile *profile,
		      enum record_type type, struct err *err)
{
	size_t row_bytes = schemas[type].row_bytes, nr = schema_nr_rows(profile, type);
	const uint8_t *rows = schema_rows(profile, type);
	int status = 0;

	writer_begin(writer, type);
	for (; status == 0 && writer->nr[type] < nr; writer->nr[type]++) {
		schema_put(type, &writer->columns, rows + writer->nr[type] * row_bytes, NULL);
		writer->columns.nr_rows++;
		status = writer_emit_if_full(writer, type, err);
	}
	return status ? status : writer_emit(writer, type, err);
}
