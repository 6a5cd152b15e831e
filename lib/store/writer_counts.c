// SPDX-License-Identifier: GPL-2.0-or-later
/* Encodes the counts of probes. */
#include "base/alloc.h"
#include "store/writer_priv.h"

/*
 * Rows written again hardly cost bytes if all of them change alike, but readers limit the number of
 * rows for each byte of a file (ROWS_MAX_PER_FILE_BYTE): use half of that. Rows above it wait for a
 * later flush, or for the end.
 */
#define ROWS_AGAIN_ALLOWANCE	 (UINT64_C(1) << 20)
#define ROWS_AGAIN_PER_FILE_BYTE 8

static void put_count(struct store_writer *writer, uint32_t row, const struct profile_count *count,
		      const struct profile_count *before)
{
	struct columns_out *out = &writer->columns;

	columns_out_delta(out, COUNTS_ROW, row, writer->next_count);
	schema_put(RECORD_COUNTS, out, count, before);
	writer->next_count = row + 1;
	out->nr_rows++;
}

/* A new row is relative to the one before it: places of a function are close. */
static struct profile_count new_row_reference(const struct profile_probes *probes, size_t row)
{
	struct profile_count before =
		row ? probes->counts[row - 1] : (struct profile_count){.callee = COUNT_NO_CALLEE};

	before.calls = 0;
	return before;
}

static struct written_count written_of(const struct store_writer *writer, size_t row)
{
	const struct written_counts *written = &writer->written.counts;
	uint64_t value = written->rows[row];

	return value & WRITTEN_CALLED ? written->called[value & ~WRITTEN_CALLED]
				      : (struct written_count){.to_ns = value};
}

static void note_written(struct store_writer *writer, const struct profile_count *count, size_t row)
{
	struct written_counts *written = &writer->written.counts;
	bool is_called = row < writer->nr[RECORD_COUNTS] && written->rows[row] & WRITTEN_CALLED;

	if (!is_called && !count->calls && !(count->to_ns & WRITTEN_CALLED)) {
		written->rows[row] = count->to_ns;
		return;
	}
	if (!is_called) {
		ARRAY_GROW(written->called, written->nr_called, written->cap_called);
		written->rows[row] = WRITTEN_CALLED | written->nr_called++;
	}
	written->called[written->rows[row] & ~WRITTEN_CALLED] =
		(struct written_count){.calls = count->calls, .to_ns = count->to_ns};
}

static int write_count(struct store_writer *writer, const struct profile_probes *probes, size_t row,
		       struct err *err)
{
	const struct profile_count *count = &probes->counts[row];
	bool is_new = row >= writer->nr[RECORD_COUNTS];
	struct profile_count before = *count;

	if (is_new)
		before = new_row_reference(probes, row);
	else
		before.calls = written_of(writer, row).calls;
	put_count(writer, (uint32_t)row, count, &before);
	note_written(writer, count, row);
	return writer_emit_if_full(writer, RECORD_COUNTS, err);
}

/*
 * Unchanged counts are not worth a row each second. They get one only at the end, and often enough
 * that a recording without an end has at least four fifths of the counted time.
 */
static bool count_changed(const struct store_writer *writer, const struct profile_probes *probes,
			  size_t row)
{
	const struct written_count written = written_of(writer, row);
	const struct profile_count *count = &probes->counts[row];
	uint64_t late_ns = count->to_ns - written.to_ns;

	return written.calls != count->calls || (writer->ending && late_ns) ||
	       late_ns > (written.to_ns - count->from_ns) / 4;
}

static bool may_write_again(const struct store_writer *writer)
{
	return writer->ending ||
	       writer->nr_counts_again <=
		       ROWS_AGAIN_ALLOWANCE +
			       ROWS_AGAIN_PER_FILE_BYTE * writer->frames.nr_bytes_written;
}

int writer_write_counts(struct store_writer *writer, const struct profile *profile, struct err *err)
{
	const struct profile_probes *probes = &profile->probes;
	size_t nr_known = writer->nr[RECORD_COUNTS];
	bool again = may_write_again(writer);
	int status = 0;

	writer_begin(writer, RECORD_COUNTS);
	ARRAY_RESERVE(writer->written.counts.rows, probes->nr_counts,
		      writer->written.counts.cap_rows);
	for (size_t i = again ? 0 : nr_known; status == 0 && i < probes->nr_counts; i++) {
		if (i < nr_known && !count_changed(writer, probes, i))
			continue;
		writer->nr_counts_again += i < nr_known;
		status = write_count(writer, probes, i, err);
	}
	writer->nr[RECORD_COUNTS] = probes->nr_counts;
	return status ? status : writer_emit(writer, RECORD_COUNTS, err);
}
