// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <zstd.h>

#include "base/alloc.h"
#include "store/frames_priv.h"
#include "tests/unit/store_fixture.h"
#include "tests/unit/unit.h"

/*
 * Whatever the bytes: an error, or a profile that says it is less than whole, or
 * (a flip in a byte without meaning) the very profile.
 */
static void check_damaged(const uint8_t *bytes, size_t nr_bytes)
{
	struct store_salvage salvage = {0};
	struct profile *profile = NULL;
	struct err err = ERR_INIT;
	int status = read_bytes(bytes, nr_bytes, &profile, &salvage, &err);

	if (status < 0) {
		assert_null(profile);
		assert_int_equal(err.code, status);
		assert_true(err.what[0] != '\0');
		return;
	}
	if (salvage.salvaged) {
		assert_true(salvage.why[0] != '\0');
		assert_true(salvage.nr_bytes_lost <= nr_bytes);
		assert_true(profile->nr_samples <= 20);
	} else {
		assert_true(profile->meta.complete);
		assert_int_equal(profile->nr_samples, 20);
		assert_int_equal(profile_total(profile, METRIC_CPU), 20 * 1900000);
	}
	profile_free(profile);
}

TEST(store, truncation_at_every_byte)
{
	struct buf bytes = small_file();

	for (size_t length = 0; length < bytes.nr_bytes; length++) {
		struct store_salvage salvage = {0};
		struct profile *profile = NULL;

		check_damaged(bytes.bytes, length);
		if (read_bytes(bytes.bytes, length, &profile, &salvage, NULL) == 0) {
			assert_true(salvage.salvaged);
			assert_false(profile->meta.complete);
			assert_true(profile->meta.duration_ns >= 20000000);
		}
		profile_free(profile);
	}
	buf_release(&bytes);
}

TEST(store, salvages_whole_frames)
{
	struct buf bytes = small_file();
	struct store_salvage salvage = {0};
	struct profile *profile = NULL;

	assert_int_equal(read_bytes(bytes.bytes, bytes.nr_bytes - 1, &profile, &salvage, NULL), 0);
	assert_true(salvage.salvaged);
	assert_string_equal(salvage.why, "the file ends inside a frame");
	assert_true(salvage.nr_bytes_lost > 0);
	assert_int_equal(profile->nr_samples, 20);
	assert_int_equal(profile->symbols.nr_frames, 0); /* they stood in the last frame */
	assert_int_equal(profile->probes.nr_counts, 2);
	assert_int_equal(profile->probes.counts[1].calls, 1000000);
	assert_int_equal(profile->probes.nr_refusals, 1);
	assert_int_equal(profile->heap.nr_allocations, 4);
	assert_int_equal(profile->heap.allocations[0].freed_ns, 8000 * SAMPLE_TIME_GRAIN_NS);
	assert_int_equal(profile->heap.nr_moments, 2);
	profile_free(profile);
	buf_release(&bytes);
}

/* profc was killed before its first look. */
TEST(store, a_recording_that_had_only_begun_says_of_what)
{
	int fd = memory_file();
	struct profile *written = profile_new(), *profile = NULL;
	struct store_writer *writer = NULL;
	struct store_salvage salvage = {0};
	struct buf bytes;

	written->meta.start_realtime_ns = 1764000000000000000;
	profile_add_command_word(written, "./prog");
	assert_int_equal(store_writer_new(fd, &writer, NULL), 0);
	assert_int_equal(store_writer_flush(writer, written, NULL), 0);
	bytes = file_bytes(fd);
	assert_int_equal(read_bytes(bytes.bytes, bytes.nr_bytes, &profile, &salvage, NULL), 0);
	assert_true(salvage.salvaged);
	assert_string_equal(salvage.why, "the recording did not finish");
	assert_int_equal(profile->meta.start_realtime_ns, 1764000000000000000);
	assert_string_equal(profile_str(profile, profile->meta.command[0]), "./prog");
	assert_int_equal(profile->nr_samples, 0);
	profile_free(profile);
	profile_free(written);
	store_writer_free(writer);
	buf_release(&bytes);
	close(fd);
}

TEST(store, every_bit_flipped)
{
	struct buf bytes = small_file();

	for (size_t bit = 0; bit < bytes.nr_bytes * 8 && bit < 4096 * 8; bit++) {
		bytes.bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
		check_damaged(bytes.bytes, bytes.nr_bytes);
		bytes.bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
	}
	buf_release(&bytes);
}

TEST(store, many_random_bits_flipped)
{
	struct buf good = small_file();
	uint64_t random = 42;

	for (int round = 0; round < 200; round++) {
		struct buf bytes = {0};

		buf_append(&bytes, good.bytes, good.nr_bytes);
		for (int i = 0; i < 5; i++) {
			size_t bit;

			random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
			bit = (random >> 33) % (good.nr_bytes * 8);
			bytes.bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
		}
		check_damaged(bytes.bytes, bytes.nr_bytes);
		buf_release(&bytes);
	}
	buf_release(&good);
}

TEST(store, bytes_behind_the_end_are_told)
{
	struct buf bytes = small_file();
	struct store_salvage salvage = {0};
	struct profile *profile = NULL;

	buf_append_str(&bytes, "more");
	assert_int_equal(read_bytes(bytes.bytes, bytes.nr_bytes, &profile, &salvage, NULL), 0);
	assert_true(profile->meta.complete);
	assert_true(salvage.salvaged);
	assert_int_equal(salvage.nr_bytes_lost, 4);
	assert_string_equal(salvage.why, "there is data after the end of the profile");
	profile_free(profile);
	buf_release(&bytes);
}

static enum err_code error_of(const void *bytes, size_t nr_bytes)
{
	struct profile *profile = NULL;
	struct err err = ERR_INIT;

	assert_true(read_bytes(bytes, nr_bytes, &profile, NULL, &err) < 0);
	assert_null(profile);
	return err.code;
}

TEST(store, refuses_what_is_no_profile)
{
	struct buf bytes = small_file();

	assert_int_equal(error_of("", 0), ERR_EMPTY);
	assert_int_equal(error_of("#!/bin/sh\necho this is a script\n", 32), ERR_CORRUPT);
	assert_int_equal(error_of("PERFILE2h\0\0\0\0\0\0\0", 16), ERR_CORRUPT);
	assert_int_equal(error_of(bytes.bytes, 20), ERR_CORRUPT);
	assert_int_equal(error_of(bytes.bytes, 24), ERR_TRUNCATED);
	bytes.bytes[16] = 4; /* version */
	assert_int_equal(error_of(bytes.bytes, bytes.nr_bytes), ERR_VERSION);
	memcpy(bytes.bytes, "\x18\x4d\x2a\x5c\0\0\0\x10", 8); /* the wrong way round */
	assert_int_equal(error_of(bytes.bytes, bytes.nr_bytes), ERR_CORRUPT);
	buf_release(&bytes);
}

static void check_path(const char *path, enum err_code code, const char *what)
{
	struct profile *profile = NULL;
	struct err err = ERR_INIT;

	assert_int_equal(store_read_path(path, &profile, NULL, &err), code);
	assert_int_equal(err.code, code);
	assert_string_equal(err.what, what);
	assert_null(profile);
}

TEST(store, refuses_odd_files)
{
	char fifo[] = "/tmp/profc-test-XXXXXX";
	char expected[96];

	check_path("/nowhere/profc.data", ERR_NOT_FOUND,
		   "/nowhere/profc.data: cannot open the profile: No such file or directory");
	check_path("/usr", ERR_INVALID, "/usr: is a directory, not a profile");
	check_path("/dev/zero", ERR_INVALID, "/dev/zero: is neither a file nor a pipe");
	assert_non_null(mkdtemp(fifo));
	assert_int_equal(rmdir(fifo), 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	snprintf(expected, sizeof(expected), "%s: the file is empty", fifo);
	check_path(fifo, ERR_EMPTY, expected);
	unlink(fifo);
}

/* A file of one frame with this content, its checksum right. */
static struct buf file_of_content(const struct buf *content)
{
	size_t bound = ZSTD_compressBound(content->nr_bytes);
	struct buf bytes = small_file();
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	uint8_t *start;

	bytes.nr_bytes = 24;
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	start = buf_extend(&bytes, bound);
	bytes.nr_bytes = 24 + ZSTD_compress2(zstd, start, bound, content->bytes, content->nr_bytes);
	ZSTD_freeCCtx(zstd);
	return bytes;
}

static enum err_code error_of_content(const struct buf *content)
{
	struct buf bytes = file_of_content(content);
	enum err_code code = error_of(bytes.bytes, bytes.nr_bytes);

	buf_release(&bytes);
	return code;
}

TEST(store, lying_lengths)
{
	static const uint64_t lies[] = {
		0, 1, 127, UINT32_C(1) << 31, UINT32_MAX, UINT64_C(1) << 62, UINT64_MAX};

	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		struct buf record_length = {0}, nr_rows = {0}, nr_columns = {0}, column = {0};

		buf_append_uleb(&record_length, RECORD_STRINGS);
		buf_append_uleb(&record_length, lies[i]);
		/* A record of 16 bytes: rows, columns, their lengths, text lengths, texts. */
		buf_append(&nr_rows, "\x03\x0e", 2);
		buf_append_uleb(&nr_rows, lies[i]);
		buf_append(&nr_rows, "\x02\x01\x02\x02hi", 6);
		buf_append(&nr_columns, "\x03\x0e\x01", 3);
		buf_append_uleb(&nr_columns, lies[i]);
		buf_append(&nr_columns, "\x01\x02\x02hi", 5);
		buf_append(&column, "\x03\x0e\x01\x02\x01", 5);
		buf_append_uleb(&column, lies[i]);
		buf_append(&column, "\x02hi", 3);
		assert_true(error_of_content(&record_length) < 0);
		assert_true(error_of_content(&nr_rows) < 0);
		assert_true(error_of_content(&nr_columns) < 0);
		assert_true(error_of_content(&column) < 0);
		buf_release(&record_length);
		buf_release(&nr_rows);
		buf_release(&nr_columns);
		buf_release(&column);
	}
}

TEST(store, frames_that_claim_or_hold_too_much)
{
	struct store_salvage salvage = {0};
	struct profile *profile = NULL;
	struct buf zeroes = {0};
	struct buf file, bombs = {0};

	memset(buf_extend(&zeroes, FRAME_CONTENT_MAX_BYTES + 1), 0, FRAME_CONTENT_MAX_BYTES + 1);
	assert_int_equal(error_of_content(&zeroes), ERR_CORRUPT);
	/* Empty records of type 0 are skipped, but eight frames of them are too many. */
	zeroes.nr_bytes = FRAME_CONTENT_MAX_BYTES;
	file = file_of_content(&zeroes);
	buf_append(&bombs, file.bytes, file.nr_bytes);
	for (int i = 0; i < 7; i++)
		buf_append(&bombs, file.bytes + 24, file.nr_bytes - 24);
	assert_int_equal(read_bytes(bombs.bytes, bombs.nr_bytes, &profile, &salvage, NULL),
			 ERR_CORRUPT);
	buf_release(&zeroes);
	buf_release(&file);
	buf_release(&bombs);
}

/* One row of a record in which every number is 0 but one. */
struct bad_number {
	const char *what;
	enum record_type type;
	const char *column; /* its name in profc-data(5) */
	uint64_t value;
};

static const struct bad_number bad_numbers[] = {
	{"a text beyond the last", RECORD_META, "hostname", 1000},
	{"a count above 32 bits", RECORD_META, "CPUs", UINT64_C(1) << 32},
	{"a beginning that would overflow", RECORD_META, "start", UINT64_MAX},
	{"a word beyond the last text", RECORD_COMMAND, "argument", 1000},
	{"the empty text again", RECORD_STRINGS, "length", 0},
	{"a module kind from nowhere", RECORD_MODULES, "kind", 99},
	{"a build-id too long", RECORD_MODULES, "build-id length", 65},
	{"a process ahead of the table", RECORD_PROCESSES, "number", 2},
	{"a process its own parent", RECORD_PROCESSES, "parent", 1},
	{"a pid above 31 bits", RECORD_PROCESSES, "pid", UINT64_C(1) << 31},
	{"a thread of no process", RECORD_THREADS, "process", 1},
	{"a time that would overflow", RECORD_THREADS, "end", UINT64_MAX},
	{"a frame in no module", RECORD_FRAMES, "module", 2},
	{"a stack below itself", RECORD_STACKS, "caller", 3},
	{"a stack of no frame", RECORD_STACKS, "frame", 2},
	{"a sample of no thread", RECORD_SAMPLES, "thread", 1},
	{"a sample of no stack", RECORD_SAMPLES, "stack", 3},
	{"a sample of no kernel stack", RECORD_SAMPLES, "kernel", 3},
	{"a sample kind from nowhere", RECORD_SAMPLES, "kind", 3},
	{"a stack end from nowhere", RECORD_SAMPLES, "end", 250},
	{"a weight that overflows sums", RECORD_SAMPLES, "runq", UINT64_C(1) << 63},
	{"a time before the beginning", RECORD_SAMPLES, "time", UINT64_MAX},
	{"a counter without a name", RECORD_COUNTERS, "name", 1000},
	{"a function without a name", RECORD_FUNCTIONS, "name", 1000},
	{"a location in no function", RECORD_LOCATIONS, "function", 9},
	{"a location of no frame", RECORD_LOCATIONS, "frame", 9},
	{"a symbol source from nowhere", RECORD_MODULE_SYMBOLS, "source", 99},
	{"a count ahead of the table", RECORD_COUNTS, "number", 2},
	{"a count before the table", RECORD_COUNTS, "number", 1},
	{"a count kind from nowhere", RECORD_COUNTS, "kind", 2},
	{"a count of no process", RECORD_COUNTS, "process", 2},
	{"a count at no frame", RECORD_COUNTS, "place", 4},
	{"a call of no frame", RECORD_COUNTS, "callee", 6},
	{"fewer calls than none", RECORD_COUNTS, "calls", 1},
	{"calls that overflow sums", RECORD_COUNTS, "calls", (UINT64_C(1) << 62) + 2},
	{"counted from before the beginning", RECORD_COUNTS, "from", 1},
	{"counted to a time that would overflow", RECORD_COUNTS, "to", UINT64_MAX},
	{"a refusal in no process", RECORD_REFUSALS, "process", 1},
	{"a refusal without a name", RECORD_REFUSALS, "function", 1000},
	{"a refusal in a nameless module", RECORD_REFUSALS, "module", 1000},
	{"a refusal without a reason", RECORD_REFUSALS, "reason", 1000},
	{"a timed function in no process", RECORD_SPANS, "process", 1},
	{"a timed function at no frame", RECORD_SPANS, "place", 2},
	{"timed calls of no function", RECORD_SPAN_SUMS, "function", 1},
	{"timed calls that overflow sums", RECORD_SPAN_SUMS, "begun", (UINT64_C(1) << 62) + 1},
	{"times of calls that overflow sums", RECORD_SPAN_SUMS, "total", UINT64_C(1) << 61},
	{"a timed call in no thread", RECORD_SPAN_SUMS, "thread", 2},
	{"lengths that end before they begin", RECORD_SPAN_LENGTHS, "least", 1},
	{"a slow call of no function", RECORD_SLOW_CALLS, "function", 1},
	{"a slow call in no thread", RECORD_SLOW_CALLS, "thread", 2},
	{"lengths of too many calls", RECORD_SPAN_LENGTHS, "calls", (UINT64_C(1) << 62) + 1},
	{"a block ahead of the table", RECORD_ALLOCATIONS, "number", 2},
	{"a block before the table", RECORD_ALLOCATIONS, "number", 1},
	{"a block of a late time", RECORD_ALLOCATIONS, "time", (UINT64_C(1) << 52) + 1},
	{"a block that lives too long", RECORD_ALLOCATIONS, "life", UINT64_MAX},
	{"a block freed by no thread", RECORD_ALLOCATIONS, "freed by", 2},
	{"a block that overflows sums", RECORD_ALLOCATIONS, "size", (UINT64_C(1) << 61) + 1},
	{"a mean that overflows sums", RECORD_ALLOCATIONS, "mean", 1},
	{"a block of no thread", RECORD_ALLOCATIONS, "thread", 1},
	{"a block of no stack", RECORD_ALLOCATIONS, "stack", 3},
	{"a block kind from nowhere", RECORD_ALLOCATIONS, "kind", ALLOCATION_KIND_COUNT},
	{"a block end from nowhere", RECORD_ALLOCATIONS, "end", 250},
	{"a moment of no process", RECORD_MOMENTS, "process", 1},
	{"a moment of a late time", RECORD_MOMENTS, "time", UINT64_MAX},
	{"a moment with less than nothing", RECORD_MOMENTS, "swap", 1},
	{"a moment that overflows sums", RECORD_MOMENTS, "allocated", (UINT64_C(1) << 62) + 2},
	{"more samples lost than there may be", RECORD_MOMENTS, "dropped", (UINT64_C(1) << 62) + 2},
	{"a discard of a late time", RECORD_DISCARDS, "time", UINT64_MAX},
	{"a discard of blocks to come", RECORD_DISCARDS, "allocations", 1},
	{"a discard of moments to come", RECORD_DISCARDS, "moments", 1},
	{"an end with other counts", RECORD_END, "samples", 77},
};

/* A row in which every number is 0 but that of the column, if any. */
static void put_row(struct columns_out *columns, enum record_type type, const char *name,
		    uint64_t value)
{
	const struct schema *schema = &schemas[type];
	unsigned int nr_named = 0;

	columns_out_begin(columns, schema->nr);
	for (unsigned int i = 0; i < schema->nr; i++) {
		bool is_named = name && !strcmp(schema->columns[i].name, name);

		columns_out_uint(columns, i, is_named ? value : 0);
		nr_named += is_named;
	}
	assert_int_equal(nr_named, name != NULL);
	columns->nr_rows = 1;
}

/* Does a reader take a record of that row, after a small profile? */
static bool is_accepted(enum record_type type, const char *name, uint64_t value)
{
	struct profile *written = small_profile();
	struct store_salvage salvage = {0};
	struct store_writer *writer = NULL;
	struct profile *profile = NULL;
	struct columns_out columns = {0};
	struct frames_out frames;
	int fd = memory_file();
	bool is_bad;

	assert_int_equal(store_writer_new(fd, &writer, NULL), 0);
	assert_int_equal(store_writer_flush(writer, written, NULL), 0);
	assert_int_equal(frames_out_init(&frames, fd, NULL), 0);
	put_row(&columns, type, name, value);
	assert_int_equal(frames_out_record(&frames, type, &columns, NULL), 0);
	assert_int_equal(frames_out_flush(&frames, NULL), 0);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(store_read(fd, &profile, &salvage, NULL), 0);
	is_bad = strstr(salvage.why, "bad record at 0") != NULL;
	profile_free(profile);
	profile_free(written);
	columns_out_release(&columns);
	frames_out_release(&frames);
	store_writer_free(writer);
	close(fd);
	return !is_bad;
}

TEST(store, references_and_numbers_out_of_bounds)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad_numbers); i++) {
		const struct bad_number *bad = &bad_numbers[i];

		if (is_accepted(bad->type, bad->column, bad->value))
			fail_msg("%s: accepted", bad->what);
	}
}

/* A number that no file may have there; 0: there is none. */
static uint64_t beyond(const struct schema_column *column)
{
	switch ((enum schema_type)column->type) {
	case SCHEMA_SPAN:
	case SCHEMA_TIME:
	case SCHEMA_END:
		return (UINT64_C(1) << 62) + 1;
	case SCHEMA_CHOICE:
		return column->of;
	case SCHEMA_PID:
		return UINT64_C(1) << 31;
	case SCHEMA_ROW:
	case SCHEMA_ROW_OR_NONE:
	case SCHEMA_ROW_PLUS_ONE:
		return 1000;
	case SCHEMA_NUMBER:
		return column->nr_bytes == sizeof(uint32_t) ? UINT64_C(1) << 32 : 0;
	case SCHEMA_SIGNED:
	case SCHEMA_NS:
	case SCHEMA_FLAGS:
		break;
	}
	return 0;
}

/* Those of every column, where a row of zeroes would do. */
TEST(store, columns_have_the_bounds_of_the_schema)
{
	unsigned int nr = 0;

	for (enum record_type type = RECORD_META; type < RECORD_TYPE_COUNT; type++) {
		const struct schema *schema = &schemas[type];

		if (!schema->title || !is_accepted(type, NULL, 0))
			continue;
		for (unsigned int i = 0; i < schema->nr; i++) {
			const struct schema_column *column = &schema->columns[i];
			uint64_t value = beyond(column);

			if (!value || column->form > SCHEMA_CODED)
				continue;
			value <<= column->form == SCHEMA_DIFFERENCE;
			if (is_accepted(type, column->name, value))
				fail_msg("%s, %s: accepted", schema->title, column->name);
			nr++;
		}
	}
	assert_true(nr >= 80);
}

/* A later version may add record types and columns; this reader leaves them out. */
TEST(store, unknown_records_and_columns_are_left_out)
{
	struct profile *written = small_profile();
	struct store_salvage salvage = {0};
	struct store_writer *writer = NULL;
	struct profile *profile = NULL;
	struct columns_out columns = {0};
	struct frames_out frames;
	int fd = memory_file();

	assert_int_equal(store_writer_new(fd, &writer, NULL), 0);
	assert_int_equal(store_writer_flush(writer, written, NULL), 0);
	assert_int_equal(frames_out_init(&frames, fd, NULL), 0);
	put_row(&columns, RECORD_MARKS, "time", 17);
	columns.nr_columns++;
	columns_out_bytes(&columns, schemas[RECORD_MARKS].nr, "colour", 6);
	assert_int_equal(frames_out_record(&frames, RECORD_MARKS, &columns, NULL), 0);
	assert_int_equal(frames_out_record(&frames, (enum record_type)24, &columns, NULL), 0);
	assert_int_equal(frames_out_record(&frames, (enum record_type)100, &columns, NULL), 0);
	assert_int_equal(frames_out_flush(&frames, NULL), 0);
	assert_int_equal(store_writer_finish(writer, written, NULL), 0);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(store_read(fd, &profile, &salvage, NULL), 0);
	assert_false(salvage.salvaged);
	assert_int_equal(profile->nr_marks, 1);
	assert_int_equal(profile->marks[0].time_ns, 17);
	profile_free(profile);
	profile_free(written);
	columns_out_release(&columns);
	frames_out_release(&frames);
	store_writer_free(writer);
	close(fd);
}

/* Columns of profc-data(5). */
#define THREADS_TID	    2
#define THREADS_OLD_COLUMNS 6

/* The thread 0 of before there was a split: its row has fewer columns, and one too few has none. */
static int read_with_old_thread(unsigned int nr_columns, struct profile **profile)
{
	struct profile *written = small_profile();
	struct store_salvage salvage = {0};
	struct store_writer *writer = NULL;
	struct columns_out columns = {0};
	struct frames_out frames;
	int fd = memory_file(), status;

	written->threads[0].split = (struct cpu_split){.user_ns = 7, .system_ns = 8, .known = true};
	assert_int_equal(store_writer_new(fd, &writer, NULL), 0);
	assert_int_equal(store_writer_flush(writer, written, NULL), 0);
	assert_int_equal(frames_out_init(&frames, fd, NULL), 0);
	columns_out_begin(&columns, nr_columns);
	for (unsigned int i = 0; i < nr_columns; i++)
		columns_out_uint(&columns, i, i == THREADS_TID ? 4712 : 0);
	columns.nr_rows = 1;
	assert_int_equal(frames_out_record(&frames, RECORD_THREADS, &columns, NULL), 0);
	assert_int_equal(frames_out_flush(&frames, NULL), 0);
	assert_int_equal(store_writer_finish(writer, written, NULL), 0);
	lseek(fd, 0, SEEK_SET);
	status = store_read(fd, profile, &salvage, NULL);
	assert_int_equal(salvage.salvaged, nr_columns < THREADS_OLD_COLUMNS);
	profile_free(written);
	columns_out_release(&columns);
	frames_out_release(&frames);
	store_writer_free(writer);
	close(fd);
	return status;
}

TEST(store, flags_of_later_versions_are_left_out)
{
	struct profile *written = small_profile(), *profile = NULL;
	struct store_salvage salvage = {0};
	struct store_writer *writer = NULL;
	int fd = memory_file();

	add_counts(written);
	written->probes.counts[0].flags = 0x81;
	assert_int_equal(store_writer_new(fd, &writer, NULL), 0);
	assert_int_equal(store_writer_finish(writer, written, NULL), 0);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(store_read(fd, &profile, &salvage, NULL), 0);
	assert_false(salvage.salvaged);
	assert_int_equal(profile->probes.counts[0].flags, COUNT_FROM_START);
	assert_int_equal(profile->probes.counts[1].calls, 500000);
	profile_free(profile);
	profile_free(written);
	store_writer_free(writer);
	close(fd);
}

TEST(store, columns_that_old_files_lack_are_not_known)
{
	struct profile *profile = NULL;

	assert_int_equal(read_with_old_thread(THREADS_OLD_COLUMNS, &profile), 0);
	assert_int_equal(profile->threads[0].tid, 4712);
	assert_false(profile->threads[0].split.known);
	profile_free(profile);
	assert_int_equal(read_with_old_thread(THREADS_OLD_COLUMNS - 1, &profile), 0);
	assert_int_equal(profile->threads[0].tid, 4711);
	assert_true(profile->threads[0].split.known);
	profile_free(profile);
}

/* The first versions wrote fewer columns of modules than are read now. */
TEST(store, modules_of_old_files_lack_the_later_columns)
{
	struct profile *written = small_profile();
	struct store_writer *writer = NULL;
	struct profile *profile = NULL;
	struct columns_out columns = {0};
	const struct module *module;
	struct frames_out frames;
	int fd = memory_file();

	assert_int_equal(store_writer_new(fd, &writer, NULL), 0);
	assert_int_equal(store_writer_flush(writer, written, NULL), 0);
	assert_int_equal(frames_out_init(&frames, fd, NULL), 0);
	columns_out_begin(&columns, schemas[RECORD_MODULES].nr_old);
	for (unsigned int column = 0; column < schemas[RECORD_MODULES].nr_old; column++) {
		if (column == MODULES_PATH)
			columns_out_bytes(&columns, column, "/old", 4);
		else if (column != MODULES_BUILD_ID)
			columns_out_uint(&columns, column, column == MODULES_PATH_LENGTH ? 4 : 0);
	}
	columns.nr_rows = 1;
	assert_int_equal(frames_out_record(&frames, RECORD_MODULES, &columns, NULL), 0);
	assert_int_equal(frames_out_flush(&frames, NULL), 0);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(store_read(fd, &profile, NULL, NULL), 0);
	assert_int_equal(module_table_nr(profile->modules), 3);
	module = module_table_get(profile->modules, (struct module_id){2});
	assert_string_equal(module->path, "/old");
	assert_int_equal(module->modified_ns, 0);
	assert_int_equal(module->image_offset, 0);
	assert_int_equal(module->fingerprint, 0);
	profile_free(profile);
	profile_free(written);
	columns_out_release(&columns);
	frames_out_release(&frames);
	store_writer_free(writer);
	close(fd);
}
