// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"
#include "export/extract_priv.h"
#include "export/page_data_priv.h"
#include "tests/unit/export_text.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"

/* The data of a page as it is before it is packed; sink_release() it. */
static struct sink data_of(const struct profile *profile, const struct export_options *options)
{
	const struct filter everything = {.from_ns = 0};
	struct export_options chosen = options ? *options : (struct export_options){0};
	struct sink sink = SINK_MEMORY;
	struct extract *extract;
	struct page_data data;

	if (!chosen.filter)
		chosen.filter = &everything;
	if (chosen.names == EXPORT_NAMES_DEFAULT)
		chosen.names = EXPORT_NAMES_SHORT;
	assert_int_equal(extract_new(profile, &chosen, PATH_FRAMES, &extract, NULL), 0);
	page_data_init(&data, extract);
	page_data_write(&data, &sink);
	page_data_release(&data);
	extract_free(extract);
	return sink;
}

/* Of a line of JSON: from its key to the next one of the same object. */
static void assert_member(struct sink *sink, const char *expected)
{
	const char *json = buf_str(&sink->pending);
	const char *end = strchr(json, '\n');

	if (!memmem(json, (size_t)(end - json), expected, strlen(expected)))
		fail_msg("no %s in %.*s", expected, (int)(end - json), json);
}

struct column {
	const uint8_t *bytes; /* plane after plane */
	size_t nr, nr_bytes;
	uint64_t least;
};

static struct column find_column(struct sink *sink, const char *name)
{
	const char *json = buf_str(&sink->pending);
	const char *end = strchr(json, '\n');
	const char *at = strstr(json, "\"columns\":[");
	unsigned long long least;
	struct column column = {.bytes = (const uint8_t *)end + 1};
	char found[64];

	assert_non_null(at);
	at += strlen("\"columns\":[");
	while (sscanf(at, "[\"%63[^\"]\",%zu,%zu,%llu]", found, &column.nr, &column.nr_bytes,
		      &least) == 4) {
		column.least = least;
		if (strcmp(found, name) == 0)
			return column;
		column.bytes += column.nr * column.nr_bytes;
		at = strchr(at, ']') + 2;
	}
	fail_msg("no column %s", name);
	return column;
}

static uint64_t column_number(const struct column *column, size_t i)
{
	uint64_t value = 0;

	for (size_t plane = column->nr_bytes; plane-- > 0;)
		value = value << 8 | column->bytes[plane * column->nr + i];
	return value + column->least;
}

static void assert_column(struct sink *sink, const char *name, const char *expected)
{
	struct column column = find_column(sink, name);
	struct buf text = {0};

	for (size_t i = 0; i < column.nr; i++)
		buf_printf(&text, i ? " %llu" : "%llu",
			   (unsigned long long)column_number(&column, i));
	assert_string_equal(buf_str(&text), expected);
	buf_release(&text);
}

TEST(html, stacks_and_samples_are_columns)
{
	struct made made = made_begin();
	struct profile *profile;
	struct sink sink;

	made_sample(&made, "main@m.c:7;light@l.c:3", 1);
	made_sample(&made, "main@m.c:7;libm.so!heavy+light@l.c:4", 3);
	made_sample(&made, "main@m.c:9", 2)->nr = 4;
	profile = made_end(&made);
	sink = data_of(profile, NULL);
	assert_member(&sink, "\"functions\":[[\"main\",0,1,0,1],[\"heavy\",-1,0,1,1],"
			     "[\"light\",1,1,1,1],[\"light\",1,1,0,1]]");
	assert_member(&sink, "\"files\":[\"m.c\",\"l.c\"]");
	assert_member(&sink,
		      "\"modules\":[[\"prog\",\"/bin/prog\"],[\"libm.so\",\"/bin/libm.so\"]]");
	/*
	 * Rows: main at line 7 and at 9, which is one function; below the former heavy with light
	 * in it, which is heaviest, and then light.
	 */
	assert_column(&sink, "frameFunction", "0 0 1 2 3");
	assert_column(&sink, "frameLine", "7 9 0 4 3");
	assert_column(&sink, "frameInlined", "0 0 0 1 0");
	assert_column(&sink, "nodeUp", "0 0 0 2");
	assert_column(&sink, "nodeRows", "2 1 1 1");
	assert_column(&sink, "stackPrefix", "0 0 0 0 0");
	/* Of roots come 0 and 1; after 0 come 2 and 4, after 2 comes 3. */
	assert_column(&sink, "frameNext", "2 0 1 0 0 2");
	assert_column(&sink, "nextFrame", "2 4 3 0 1");
	assert_column(&sink, "stackNext", "0 1 0 0 1");
	/* Leaves are numbered by how often they are met. */
	assert_column(&sink, "leafStack", "4 3 1");
	assert_column(&sink, "threadSamples", "3");
	assert_column(&sink, "sampleLeaf", "0 1 2");
	assert_column(&sink, "sampleGap", "0 0 0");
	assert_column(&sink, "sampleEnd", "1000000 3000000 2000000");
	assert_column(&sink, "sampleCpu", "1000000 3000000 2000000");
	assert_column(&sink, "sampleRunq", "0 0 0");
	assert_column(&sink, "sampleNr", "1 1 4");
	sink_release(&sink);
	profile_free(profile);
}

/* Whatever the metric that the page begins with. */
TEST(html, has_all_metrics_of_time)
{
	struct export_options blocked = {.metric = METRIC_BLOCKED};
	struct made made = made_begin();
	struct profile *profile;
	struct sample *sample;
	struct sink sink;

	made_sample(&made, "main", 1);
	sample = made_sample(&made, "main;read", 0);
	sample->kind = SAMPLE_BLOCKED;
	sample->blocked_ns = 5000;
	sample->runq_ns = 20;
	sample->time_ns += 5020;
	profile = made_end(&made);
	sink = data_of(profile, &blocked);
	assert_member(&sink, "\"metric\":\"blocked\"");
	assert_column(&sink, "sampleCpu", "1000000 0");
	assert_column(&sink, "sampleRunq", "0 20");
	assert_column(&sink, "sampleBlocked", "0 5000");
	sink_release(&sink);
	profile_free(profile);
}

/* Processes without a sample have no ids, as any thread of a made file. */
TEST(html, threads_without_an_id_are_split)
{
	const struct export_options split = {.metric = METRIC_CPU, .threads = EXPORT_THREADS_SPLIT};
	struct made made = made_begin();
	struct profile *profile;
	struct sink sink;

	made_sample(&made, "main", 10);
	made_thread(&made, 100, 0, "short");
	made_sample(&made, "start", 10);
	made_thread(&made, 100, -1, "odd");
	made_sample(&made, "start", 10);
	profile = made_end(&made);
	sink = data_of(profile, &split);
	assert_member(&sink, "[0,\"short\",0]");
	sink_release(&sink);
	profile_free(profile);
}

TEST(html, threads_follow_each_other)
{
	struct export_options split = {.threads = EXPORT_THREADS_SPLIT};
	struct made made = made_begin();
	struct thread_id first = made.thread;
	struct profile *profile;
	struct sink sink;

	made_sample(&made, "main", 1);
	made_thread(&made, 100, 101, "worker");
	made_sample(&made, "work", 1);
	made.thread = first;
	made_sample(&made, "main", 2);
	profile = made_end(&made);
	sink = data_of(profile, &split);
	assert_member(&sink, "\"group\":\"thread\"");
	assert_member(&sink, "\"threads\":[[0,\"prog\",100],[0,\"worker\",101]]");
	assert_member(&sink, "\"processes\":[[\"prog\",100,0,0]]");
	assert_column(&sink, "sampleThread", "0 1");
	assert_column(&sink, "threadSamples", "2 1");
	/* The last is that of elapsed time in which neither ran. */
	assert_column(&sink, "leafStack", "0 1 2");
	assert_column(&sink, "sampleLeaf", "0 0 1");
	/* The second thread is first seen when it ran for 1 ms. */
	assert_column(&sink, "sampleGap", "0 0 1000000");
	assert_column(&sink, "sampleEnd", "1000000 3000000 2000000");
	sink_release(&sink);
	profile_free(profile);
}

/* Filters leave gaps, in which the thread did something else. */
TEST(html, what_filters_leave_out_is_a_gap)
{
	static const char *const wanted[] = {"work"};
	struct filter filter = {.functions = {.texts = wanted, .nr = 1}};
	struct export_options options = {.filter = &filter};
	struct made made = made_begin();
	struct profile *profile;
	struct sink sink;

	made_sample(&made, "main;work", 1);
	made_sample(&made, "main;rest", 2);
	made_sample(&made, "main;work", 4);
	profile = made_end(&made);
	sink = data_of(profile, &options);
	assert_member(&sink, "\"filtered\":true");
	assert_column(&sink, "sampleGap", "0 2000000");
	assert_column(&sink, "sampleEnd", "1000000 6000000");
	sink_release(&sink);
	profile_free(profile);
}

/* Of many samples times are rounded, and sums are still right. */
TEST(html, rounds_times_of_many_samples)
{
	struct made made = made_begin();
	struct profile *profile;
	struct column column;
	struct sink sink;
	uint64_t sum = 0;

	for (int i = 0; i <= PAGE_SAMPLES_EXACT; i++)
		made_sample(&made, "main", 1);
	profile = made_end(&made);
	sink = data_of(profile, NULL);
	assert_member(&sink, "\"grainNs\":4096");
	column = find_column(&sink, "sampleCpu");
	assert_int_equal(column.nr, PAGE_SAMPLES_EXACT + 1);
	for (size_t i = 0; i < column.nr; i++)
		sum += column_number(&column, i);
	assert_int_equal(sum, (PAGE_SAMPLES_EXACT + 1) * UINT64_C(1000000) / PAGE_GRAIN_NS);
	sink_release(&sink);
	profile_free(profile);
}

TEST(html, names_are_short_and_full)
{
	struct export_options full = {.names = EXPORT_NAMES_FULL};
	struct made made = made_begin();
	struct profile *profile;
	struct sink sink;

	made_sample(&made, "std::vector<int>::push(int)", 1);
	profile = made_end(&made);
	sink = data_of(profile, NULL);
	assert_member(&sink, "[\"std::vector::push\",-1,0,0,1,"
			     "\"std::vector\\u003cint>::push(int)\"]");
	sink_release(&sink);
	sink = data_of(profile, &full);
	assert_member(&sink, "[[\"std::vector\\u003cint>::push(int)\",-1,0,0,1]]");
	sink_release(&sink);
	profile_free(profile);
}

TEST(html, blocks_have_their_metrics)
{
	struct made made = made_begin();
	struct profile *profile;
	struct sink sink;

	made_sample(&made, "main", 1);
	made.time_ns = 0;
	made_block(&made, "main;keep", 100, 0, 1);
	made_block(&made, "main;use", 50, 0, 1);
	made_block(&made, "main;use", 50, 0, 1);
	profile = made.profile;
	profile_free_allocation(profile, 1, 5 * SAMPLE_TIME_GRAIN_NS, made.thread);
	profile_free_allocation(profile, 2, 6 * SAMPLE_TIME_GRAIN_NS, made.thread);
	profile->meta.duration_ns = 1000000;
	profile = made_end(&made);
	sink = data_of(profile, NULL);
	assert_member(&sink, "\"recordedBlocks\":3");
	assert_column(&sink, "blockTime", "2 2 2"); /* zigzag */
	/* What is met more often comes first. */
	assert_column(&sink, "kindBytes", "50 100");
	assert_column(&sink, "kindBlocks", "1 1");
	assert_column(&sink, "kindEstimated", "0 0");
	assert_column(&sink, "kindError", "0 0");
	assert_column(&sink, "blockKind", "1 0 0");
	assert_member(&sink, "\"lifeGrainNs\":1024");
	assert_column(&sink, "blockLife", "0 4 4");
	/* Live 1, leaked 2, temporary 4, peak 8, allocated 16, freed 32, with an age 64. */
	assert_column(&sink, "blockFlags", "91 28 28");
	assert_column(&sink, "kindSize", "50 100");
	assert_column(&sink, "blockLifetime", "9 1 1"); /* alive at the end, 1 us to 10 us */
	assert_column(&sink, "leftAge", "975");
	assert_column(&sink, "leftLate", "0");
	assert_column(&sink, "leftSearch", "0");
	assert_member(&sink, "\"lateNs\":500000");
	assert_member(&sink, "\"sharesRows\":false");
	sink_release(&sink);
	profile_free(profile);
}

/* Where, when it is known; of a freeing that is selected the allocation need not be. */
TEST(html, blocks_are_freed_somewhere)
{
	static const char *const wanted[] = {"drop"};
	struct filter filter = {.functions = {.texts = wanted, .nr = 1}};
	struct export_options options = {.filter = &filter};
	struct made made = made_begin();
	struct profile *profile;
	struct sample *freeing;
	struct sink sink;

	freeing = made_sample(&made, "main;drop", 1);
	made_block(&made, "main;use", 50, 0, 1);
	made_block(&made, "main;use", 70, 0, 1);
	profile = made.profile;
	profile->meta.knows_freeing = true;
	for (uint32_t row = 0; row < 2; row++)
		profile_free_allocation(profile, row, 9000 * SAMPLE_TIME_GRAIN_NS, made.thread);
	profile_note_freeing(profile, 1, freeing->stack, STACK_END_ROOT);
	profile->meta.duration_ns = 20000000;
	profile = made_end(&made);
	sink = data_of(profile, NULL);
	assert_column(&sink, "blockFlags", "28 60");
	assert_column(&sink, "freedThread", "0");
	/* drop is met twice, and use as well. */
	assert_column(&sink, "freedLeaf", "0");
	assert_column(&sink, "blockLeaf", "1 1");
	sink_release(&sink);
	sink = data_of(profile, &options);
	assert_member(&sink, "\"recordedBlocks\":0");
	assert_column(&sink, "blockFlags", "32");
	assert_column(&sink, "kindBytes", "70");
	assert_column(&sink, "freedLeaf", "0");
	sink_release(&sink);
	profile_free(profile);
}

/* Of many blocks the time of freeing is rounded, and stays behind that of the allocation. */
TEST(html, rounds_lives_of_many_blocks)
{
	struct made made = made_begin();
	struct profile *profile;
	struct column column;
	struct sink sink;
	uint64_t begin_ns;

	made_sample(&made, "main", 1);
	for (int i = 0; i <= PAGE_BLOCKS_EXACT; i++)
		made_block(&made, "main", 50, 0, 1);
	profile = made.profile;
	begin_ns = profile->heap.allocations[1].time_ns;
	profile_free_allocation(profile, 1, begin_ns + 1, made.thread);
	profile_free_allocation(profile, 2, begin_ns * 3, made.thread);
	profile = made_end(&made);
	profile->meta.duration_ns = begin_ns * PAGE_LIFE_PARTS;
	sink = data_of(profile, NULL);
	column = find_column(&sink, "blockLife");
	assert_int_equal(column_number(&column, 0), 0);
	assert_int_equal(column_number(&column, 1), 1);
	assert_int_equal(column_number(&column, 2), 1 + 2);
	sink_release(&sink);
	profile_free(profile);
}

TEST(html, exact_calls)
{
	struct profile *profile = made_counted();
	struct sink sink = data_of(profile, NULL);

	assert_member(&sink, "\"functions\":[[\"main\",0,1,0,1],[\"work\",1,1,0,1],"
			     "[\"rare\",2,1,0,1]]");
	assert_member(&sink, "\"calls\":[null,10,2]");
	assert_member(&sink, "\"callEdges\":[[0,1,6],[0,-1,3]]");
	assert_member(&sink, "\"perCall\":{\"cpu\":[null,[500000,");
	sink_release(&sink);
	profile->probes.nr_counts = 0;
	sink = data_of(profile, NULL);
	assert_null(strstr(buf_str(&sink.pending), "\"calls\":"));
	sink_release(&sink);
	profile_free(profile);
}

TEST(html, bytes_are_packed)
{
	struct sink one = SINK_MEMORY, other = SINK_MEMORY;

	page_write_packed(&one, "aaaaaaaa", 8);
	page_write_packed(&other, "aaaaaaab", 8);
	/* The header of gzip in base64, and whole groups of four. */
	assert_memory_equal(buf_str(&one.pending), "H4sI", 4);
	assert_int_equal(one.pending.nr_bytes % 4, 0);
	assert_string_not_equal(buf_str(&one.pending), buf_str(&other.pending));
	sink_release(&one);
	sink_release(&other);
}

/* What stands between two texts of the page; the copy is the caller's. */
static char *between(struct sink *sink, const char *from, const char *to)
{
	const char *start = strstr(buf_str(&sink->pending), from);
	const char *end;

	assert_non_null(start);
	start += strlen(from);
	end = strstr(start, to);
	assert_non_null(end);
	return strndup(start, (size_t)(end - start));
}

TEST(html, hostile_names_stay_text)
{
	struct made made = made_begin();
	struct profile *profile;
	struct sink sink;
	char *title;

	profile_add_command_word(made.profile, "</title><script>alert(1)</script>\x1b[31m");
	made_sample(&made, "</script><img src=x onerror=alert(2)>", 1);
	profile = made_end(&made);
	sink = export_made(EXPORT_HTML, profile, NULL);
	title = between(&sink, "<title>", "</title>");
	assert_string_equal(title, "&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;\\x1b[31m");
	assert_null(strstr(buf_str(&sink.pending), "<img"));
	assert_null(strstr(buf_str(&sink.pending), "<script>alert"));
	free(title);
	sink_release(&sink);
	profile_free(profile);
}

static uint32_t made_wait(struct made *made, enum wait_kind kind, uint64_t number, const char *name,
			  struct thread_id owner)
{
	const struct profile_wait row = {.process = made->profile->threads[made->thread.v].process,
					 .kind = (uint8_t)kind,
					 .number = number,
					 .place = WAIT_NO_PLACE,
					 .name = profile_intern(made->profile, name),
					 .owner = owner};

	return profile_waits_intern(profile_waits(made->profile), &row);
}

static void made_sleep(struct made *made, const char *stack, uint32_t wait, uint64_t ms)
{
	struct sample *sample = made_sample(made, stack, 0);

	sample->kind = SAMPLE_BLOCKED;
	sample->wait = wait;
	sample->blocked_ns = ms * 1000000;
}

/* Sleeps have the number of what they are for, whoever has it; names are those of reports. */
TEST(html, sleeps_are_for_locks_and_descriptors)
{
	struct made made = made_begin();
	uint32_t lock = made_wait(&made, WAIT_MUTEX, 0x4040, "[heap]", made.thread);
	uint32_t free_lock = made_wait(&made, WAIT_MUTEX, 0x4040, "[heap]", THREAD_NONE);
	uint32_t file = made_wait(&made, WAIT_FILE, 7, "</script>\x1b[0m", THREAD_NONE);
	struct profile *profile;
	struct sink sink;

	made.profile->meta.knows_waits = true;
	made_sample(&made, "main;work", 5);
	made_sleep(&made, "main;read", file, 9);
	made_sleep(&made, "main;lock", lock, 5);
	made_sleep(&made, "main;lock", free_lock, 2);
	made_sleep(&made, "main;lock", 0, 1);
	profile = made_end(&made);
	sink = data_of(profile, NULL);
	assert_column(&sink, "sampleWait", "0 1 2 3 0");
	assert_member(&sink, "\"knowsWaits\":true,\"waitObjects\":["
			     "[\"\\u003c/script>\\u001b[0m (fd 7)\",\"\\u003c/script>\\u001b[0m "
			     "(fd 7)\",0,\"\",0,0],"
			     "[\"0x4040 [heap]\",\"futex 0x4040 [heap]\",1,\"futex\",0,1]],"
			     "\"waits\":[[0,-1],[1,0],[1,-1]]");
	sink_release(&sink);
	profile_free(profile);
}

TEST(html, recordings_without_waits_have_no_column_of_them)
{
	struct made made = made_begin();
	struct profile *profile;
	struct sink sink;

	made_sample(&made, "main", 1);
	made_sleep(&made, "main;lock", 0, 1);
	profile = made_end(&made);
	sink = data_of(profile, NULL);
	assert_member(&sink, "\"knowsWaits\":false,\"threads\"");
	assert_null(memmem(sink.pending.bytes, sink.pending.nr_bytes, "sampleWait", 10));
	sink_release(&sink);
	profile_free(profile);
}

TEST(html, loads_nothing)
{
	struct made made = made_begin();
	struct profile *profile;
	struct sink sink;

	made_sample(&made, "main", 1);
	profile = made_end(&made);
	sink = export_made(EXPORT_HTML, profile, NULL);
	assert_non_null(strstr(buf_str(&sink.pending), "default-src 'none'"));
	assert_null(strstr(buf_str(&sink.pending), "http:"));
	assert_null(strstr(buf_str(&sink.pending), "https:"));
	assert_null(strstr(buf_str(&sink.pending), " src="));
	sink_release(&sink);
	profile_free(profile);
}
