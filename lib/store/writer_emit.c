// SPDX-License-Identifier: GPL-2.0-or-later
/* Turns gathered columns into a record, for the writers of all tables. */
#include "store/frames_priv.h"
#include "store/writer_priv.h"

int writer_emit(struct store_writer *writer, enum record_type type, struct err *err)
{
	struct columns_out *columns = &writer->columns;
	unsigned int nr_columns = columns->nr_columns;
	int status = 0;

	if (columns->nr_rows)
		status = frames_out_record(&writer->frames, type, columns, err);
	columns_out_begin(columns, nr_columns);
	return status;
}

int writer_emit_if_full(struct store_writer *writer, enum record_type type, struct err *err)
{
	return writer->columns.nr_rows < RECORD_ROWS_MAX ? 0 : writer_emit(writer, type, err);
}

int writer_write_rows(struct store_writer *writer, const struct writer_rows *rows,
		      size_t *nr_written, struct err *err)
{
	struct columns_out *out = &writer->columns;
	int status = 0;

	columns_out_begin(out, schema_nr_columns(rows->schema));
	for (; status == 0 && *nr_written < rows->nr; (*nr_written)++) {
		schema_put(rows->schema, out,
			   (const uint8_t *)rows->rows + *nr_written * rows->row_bytes);
		out->nr_rows++;
		status = writer_emit_if_full(writer, rows->type, err);
	}
	return status ? status : writer_emit(writer, rows->type, err);
}
