// SPDX-License-Identifier: GPL-2.0-or-later
#include <zlib.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "export/protobuf_priv.h"
#include "tests/unit/export_text.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"

/* The message as text, fields in order: "5{1=2 2=9} 6'main'"; see append_message(). */
struct schema {
	unsigned int field;
	const struct schema *message; /* NULL: packed numbers */
};

static const struct schema value_type[] = {{0, NULL}};
static const struct schema label[] = {{0, NULL}};
static const struct schema line[] = {{0, NULL}};
static const struct schema sample[] = {{3, label}, {0, NULL}};
static const struct schema location[] = {{4, line}, {0, NULL}};
static const struct schema table[] = {{0, NULL}};
static const struct schema root[] = {{1, value_type}, {2, sample},	{3, table}, {4, location},
				     {5, table},      {11, value_type}, {0, NULL}};

static const struct schema *submessage(const struct schema *schema, unsigned int field)
{
	while (schema->field && schema->field != field)
		schema++;
	return schema->message;
}

static void append_packed(struct buf *out, struct cursor in)
{
	buf_append_byte(out, '[');
	while (cursor_left(&in))
		buf_printf(out, "%s%lu", out->bytes[out->nr_bytes - 1] == '[' ? "" : " ",
			   (unsigned long)cursor_uleb(&in));
	buf_append_byte(out, ']');
}

static void append_message(struct buf *out, const struct schema *schema, struct cursor in)
{
	while (cursor_left(&in)) {
		uint64_t tag = cursor_uleb(&in);
		unsigned int field = (unsigned int)(tag >> 3);
		const struct schema *message = submessage(schema, field);
		uint64_t value = cursor_uleb(&in);

		if ((tag & 7) == 0) {
			buf_printf(out, "%u=%lu ", field, (unsigned long)value);
			continue;
		}
		assert_int_equal(tag & 7, 2);
		buf_printf(out, "%u", field);
		if (schema == root && field == 6) {
			buf_printf(out, "'%.*s'", (int)value, (const char *)in.at);
		} else if (message) {
			buf_append_str(out, "{");
			append_message(out, message, cursor_over(in.at, value));
			buf_append_str(out, "}");
		} else {
			append_packed(out, cursor_over(in.at, value));
		}
		cursor_bytes(&in, value);
		buf_append_str(out, schema == root ? "\n" : " ");
	}
	assert_false(in.failed);
}

static struct buf inflated(const struct sink *sink)
{
	struct buf out = {0};
	z_stream stream = {.next_in = sink->pending.bytes,
			   .avail_in = (uInt)sink->pending.nr_bytes};

	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	stream.next_out = buf_extend(&out, 65536);
	stream.avail_out = 65536;
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	out.nr_bytes = stream.total_out;
	inflateEnd(&stream);
	return out;
}

static void assert_pprof(const struct profile *profile, const struct export_options *options,
			 const char *expected)
{
	struct sink sink = export_made(EXPORT_PPROF, profile, options);
	struct buf bytes = inflated(&sink);
	struct buf text = {0};

	append_message(&text, root, cursor_over(bytes.bytes, bytes.nr_bytes));
	assert_string_equal(buf_str(&text), expected);
	buf_release(&text);
	buf_release(&bytes);
	sink_release(&sink);
}

TEST(protobuf, wire_format)
{
	static const uint8_t expected[] = {0x08, 0x96, 0x01, /* field 1, varint 150 */
					   0x12, 0x02, 'o',  'k', 0x82, 0x01, 0x00};
	struct buf out = {0};
	struct buf empty = {0};

	protobuf_uint(&out, 1, 150);
	protobuf_uint(&out, 3, 0); /* left out */
	protobuf_bytes(&out, 2, "ok", 2);
	protobuf_bytes(&out, 2, "", 0); /* left out */
	protobuf_message(&out, 16, &empty);
	assert_int_equal(out.nr_bytes, sizeof(expected));
	assert_memory_equal(out.bytes, expected, sizeof(expected));
	buf_release(&out);
}

TEST(pprof, merged_counts)
{
	struct export_options counts = {.weights = EXPORT_WEIGHTS_SAMPLES,
					.threads = EXPORT_THREADS_MERGE};
	struct made made = made_begin();
	struct profile *profile;

	made_sample(&made, "main@m.c:7;work@w.c:20+square@v.h:3", 1);
	made_sample(&made, "main@m.c:7;work@w.c:20+square@v.h:3", 1)->nr = 4;
	profile = made_end(&made);
	assert_pprof(profile, &counts,
		     "1{1=1 2=2 }\n"		     /* samples, count */
		     "10=2000000 11{1=3 2=4 }\n"     /* duration; period: wall, nanoseconds … */
		     "12=1000000 13=5 14=1 "	     /* … 1 ms; comment: the command */
		     "2{1[2 1] 2[5] 3{1=6 2=5 } }\n" /* leaf first; process prog */
		     "4{1=1 3=2 2=1 4{1=1 2=7 } }\n" /* main at line 7 */
		     "4{1=2 3=3 2=1 4{1=2 2=3 } 4{1=3 2=20 } }\n" /* square in work */
		     "5{1=1 2=7 3=7 4=8 5=1 }\n"
		     "5{1=2 2=9 3=9 4=10 5=1 }\n"
		     "5{1=3 2=11 3=11 4=12 5=1 }\n"
		     "3{1=1 3=4 5=13 7=1 8=1 9=1 10=1 }\n"
		     "6''\n6'samples'\n6'count'\n6'wall'\n6'nanoseconds'\n6'prog'\n"
		     "6'process'\n6'main'\n6'm.c'\n6'square'\n6'v.h'\n6'work'\n"
		     "6'w.c'\n6'/bin/prog'\n");
	profile_free(profile);
}

TEST(pprof, all_metrics_without_labels)
{
	struct made made = made_begin();
	struct profile *profile;
	struct sample *other;

	made_sample(&made, "f", 1);
	made_sample(&made, "f", 2)->runq_ns = 7;
	other = made_sample(&made, "f", 4);
	other->thread = made_thread(&made, 200, 201, "other"); /* of another process */
	other->blocked_ns = 9;
	made_sample(&made, "g", 0)->blocked_ns = 5;
	profile = made_end(&made);
	assert_pprof(profile, NULL,
		     "1{1=1 2=2 }\n1{1=3 2=4 }\n1{1=5 2=4 }\n1{1=6 2=4 }\n1{1=7 2=4 }\n"
		     "10=7000000 11{1=5 2=4 }\n12=1000000 13=8 14=3 "
		     "2{1[1] 2[3 7000000 7000016 7 9] }\n" /* samples, cpu, wall, runq, blocked */
		     "2{1[2] 2[1 0 5 0 5] }\n"
		     "4{1=1 3=2 2=1 4{1=1 } }\n4{1=2 3=4 2=1 4{1=2 } }\n"
		     "5{1=1 2=9 3=9 }\n5{1=2 2=10 3=10 }\n"
		     "3{1=1 3=5 5=11 7=1 8=1 9=1 10=1 }\n"
		     "6''\n6'samples'\n6'count'\n6'cpu'\n6'nanoseconds'\n6'wall'\n6'runq'\n"
		     "6'blocked'\n6'prog'\n6'f'\n6'g'\n6'/bin/prog'\n");
	profile_free(profile);
}

/* Memory of a recording without samples: blocks and bytes of each metric that it has. */
TEST(pprof, memory)
{
	struct export_options live = {.metric = METRIC_LIVE};
	struct made made = made_begin();
	struct profile *profile;

	made_block(&made, "f", 100, 1, 1)->freed_ns = 4096;
	made_block(&made, "f", 50, 1, 1);
	made_block(&made, "g", 30, 10, 3); /* after that; the only one seen of several */
	made.profile->meta.duration_ns = 8192;
	profile = made_end(&made);
	assert_int_equal(metric_of_profile(profile), METRIC_ALLOC);
	assert_pprof(profile, &live,
		     "1{1=1 2=2 }\n1{1=3 2=4 }\n1{1=5 2=2 }\n1{1=6 2=4 }\n1{1=7 2=2 }\n"
		     "1{1=8 2=4 }\n1{1=9 2=2 }\n1{1=10 2=4 }\n1{1=11 2=2 }\n1{1=12 2=4 }\n"
		     "10=8192 11{1=13 2=4 }\n12=1 13=14 14=6 " /* inuse_space first */
		     "2{1[1] 2[2 150 1 50 2 150 1 50 1 100] }\n"
		     "2{1[2] 2[1 31 1 31 0 0 1 31 0 0] }\n" /* as large a part of 10 is a sample */
		     "4{1=1 3=2 2=1 4{1=1 } }\n4{1=2 3=3 2=1 4{1=2 } }\n"
		     "5{1=1 2=15 3=15 }\n5{1=2 2=16 3=16 }\n"
		     "3{1=1 3=4 5=17 7=1 8=1 9=1 10=1 }\n"
		     "6''\n6'alloc_objects'\n6'count'\n6'alloc_space'\n6'bytes'\n"
		     "6'inuse_objects'\n6'inuse_space'\n6'peak_objects'\n6'peak_space'\n"
		     "6'leaked_objects'\n6'leaked_space'\n6'temporary_objects'\n"
		     "6'temporary_space'\n6'space'\n6'prog'\n6'f'\n6'g'\n6'/bin/prog'\n");
	profile_free(profile);
}

/* Nothing of other metrics, stacks and modules neither; and the type of the period is its own. */
TEST(pprof, one_metric_alone)
{
	struct export_options blocked = {.metric = METRIC_BLOCKED, .only_metric = true};
	struct export_options live = {.metric = METRIC_LIVE, .only_metric = true};
	struct made made = made_begin();
	struct profile *profile;

	made_sample(&made, "libc.so!other;f", 1);
	made_sample(&made, "g", 0)->blocked_ns = 5;
	made_block(&made, "h", 50, 1, 1);
	profile = made_end(&made);
	assert_pprof(profile, &blocked,
		     "1{1=1 2=2 }\n10=1001024 11{1=1 2=2 }\n12=1000000 13=3 14=1 "
		     "2{1[1] 2[5] }\n4{1=1 3=4 2=1 4{1=1 } }\n5{1=1 2=4 3=4 }\n"
		     "3{1=1 3=5 5=5 7=1 8=1 9=1 10=1 }\n"
		     "6''\n6'blocked'\n6'nanoseconds'\n6'prog'\n6'g'\n6'/bin/prog'\n");
	assert_pprof(profile, &live,
		     "1{1=1 2=2 }\n1{1=3 2=4 }\n10=1001024 11{1=5 2=4 }\n12=1 13=6 14=3 "
		     "2{1[1] 2[1 50] }\n4{1=1 3=5 2=1 4{1=1 } }\n5{1=1 2=7 3=7 }\n"
		     "3{1=1 3=6 5=8 7=1 8=1 9=1 10=1 }\n"
		     "6''\n6'inuse_objects'\n6'count'\n6'inuse_space'\n6'bytes'\n6'space'\n"
		     "6'prog'\n6'h'\n6'/bin/prog'\n");
	profile_free(profile);
}

TEST(pprof, time_of_threads)
{
	struct export_options split = {.threads = EXPORT_THREADS_SPLIT, .metric = METRIC_WALL};
	struct made made = made_begin();
	struct profile *profile;
	struct sample *lost;

	made.profile->meta.frequency_hz = 0;
	made_sample(&made, "f", 1);
	lost = made_sample(&made, "", 2);
	lost->kind = SAMPLE_UNATTRIBUTED;
	lost->nr = 0;
	profile_add_mark(made.profile, 1500, "half");
	profile = made_end(&made);
	assert_pprof(profile, &split,
		     "1{1=1 2=2 }\n1{1=3 2=4 }\n1{1=5 2=4 }\n1{1=6 2=4 }\n1{1=7 2=4 }\n"
		     "10=3000000 11{1=5 2=4 }\n13=8 13=9 14=5 " /* comments: command, mark; wall */
		     "2{1[1] 2[1 1000000 1000000 0 0] 3{1=10 2=8 } 3{1=11 2=8 } 3{1=12 3=100 } "
		     "3{1=13 3=100 } }\n"
		     "2{1[2] 2[0 2000000 2000000 0 0] 3{1=10 2=8 } 3{1=11 2=8 } 3{1=12 3=100 } "
		     "3{1=13 3=100 } }\n"
		     "4{1=1 3=2 2=1 4{1=1 } }\n"
		     "4{1=2 4{1=2 } }\n" /* unattributed: no address, no mapping */
		     "5{1=1 2=14 3=14 }\n5{1=2 2=15 3=15 }\n"
		     "3{1=1 3=3 5=16 7=1 8=1 9=1 10=1 }\n"
		     "6''\n6'samples'\n6'count'\n6'cpu'\n6'nanoseconds'\n6'wall'\n6'runq'\n"
		     "6'blocked'\n6'prog'\n6'mark at 0.000001s: half'\n6'process'\n6'thread'\n"
		     "6'pid'\n6'tid'\n6'f'\n6'[unattributed]'\n6'/bin/prog'\n");
	profile_free(profile);
}

/* The name is for people, and what is left out of it stands in the other. */
TEST(pprof, names_and_system_names)
{
	struct export_options counts = {.weights = EXPORT_WEIGHTS_SAMPLES,
					.threads = EXPORT_THREADS_MERGE};
	struct made made = made_begin();
	struct profile *profile;

	made_sample(&made, "max<int>(int, int)", 1);
	made_sample(&made, "min<int>(int)", 1);
	profile = made_end(&made);
	profile->symbols.functions[0].linkage_name = profile_intern(profile, "_Z3maxIiET_S0_S0_");
	assert_pprof(profile, &counts,
		     "1{1=1 2=2 }\n10=2000000 11{1=3 2=4 }\n12=1000000 13=5 14=1 "
		     "2{1[1] 2[1] 3{1=6 2=5 } }\n2{1[2] 2[1] 3{1=6 2=5 } }\n"
		     "4{1=1 3=2 2=1 4{1=1 } }\n4{1=2 3=3 2=1 4{1=2 } }\n"
		     "5{1=1 2=7 3=8 }\n5{1=2 2=9 3=10 }\n"
		     "3{1=1 3=4 5=11 7=1 8=1 9=1 10=1 }\n"
		     "6''\n6'samples'\n6'count'\n6'wall'\n6'nanoseconds'\n6'prog'\n"
		     "6'process'\n6'max'\n6'_Z3maxIiET_S0_S0_'\n6'min'\n6'min<int>(int)'\n"
		     "6'/bin/prog'\n");
	profile_free(profile);
}

/* Nim includes tableimpl.nim into functions of tables.nim: a line is one of its function's file. */
/* pprof shows names that are the object file's as short ones of C++: <module> as nothing. */
TEST(pprof, functions_of_scripts_have_no_system_name)
{
	struct export_options counts = {.weights = EXPORT_WEIGHTS_SAMPLES,
					.threads = EXPORT_THREADS_MERGE};
	struct made made = made_begin();
	struct profile *profile;

	made_sample(&made, "app.py!<module>@/srv/app.py:3", 1);
	profile = made_end(&made);
	assert_pprof(profile, &counts,
		     "1{1=1 2=2 }\n10=1000000 11{1=3 2=4 }\n12=1000000 13=5 14=1 "
		     "2{1[1] 2[1] 3{1=6 2=5 } }\n4{1=1 3=2 2=1 4{1=1 2=3 } }\n"
		     "5{1=1 2=7 4=8 5=1 }\n3{1=1 3=3 5=9 7=1 8=1 9=1 10=1 }\n"
		     "6''\n6'samples'\n6'count'\n6'wall'\n6'nanoseconds'\n6'prog'\n"
		     "6'process'\n6'<module>'\n6'/srv/app.py'\n6'/bin/app.py'\n");
	profile_free(profile);
}

TEST(pprof, lines_in_another_file_are_of_a_function_there)
{
	struct export_options counts = {.weights = EXPORT_WEIGHTS_SAMPLES,
					.threads = EXPORT_THREADS_MERGE};
	struct made made = made_begin();
	struct profile *profile;

	made_sample(&made, "get@tables.nim:10", 1);
	made_sample(&made, "get@tables.nim:65", 1);
	profile = made_end(&made);
	profile->symbols.locations[1].file = profile_intern(profile, "tableimpl.nim");
	assert_pprof(profile, &counts,
		     "1{1=1 2=2 }\n10=2000000 11{1=3 2=4 }\n12=1000000 13=5 14=1 "
		     "2{1[1] 2[1] 3{1=6 2=5 } }\n2{1[2] 2[1] 3{1=6 2=5 } }\n"
		     "4{1=1 3=2 2=1 4{1=1 2=10 } }\n4{1=2 3=3 2=1 4{1=2 2=65 } }\n"
		     "5{1=1 2=7 3=7 4=8 5=1 }\n5{1=2 2=7 3=7 4=9 }\n"
		     "3{1=1 3=4 5=10 7=1 8=1 9=1 10=1 }\n"
		     "6''\n6'samples'\n6'count'\n6'wall'\n6'nanoseconds'\n6'prog'\n"
		     "6'process'\n6'get'\n6'tables.nim'\n6'tableimpl.nim'\n6'/bin/prog'\n");
	profile_free(profile);
}

/* Readers take the first mapping for the main program, and frames left out are nowhere. */
TEST(pprof, the_program_comes_first)
{
	struct export_options counts = {.weights = EXPORT_WEIGHTS_SAMPLES,
					.threads = EXPORT_THREADS_MERGE};
	struct made made = made_begin();
	struct profile *profile;

	made_sample(&made, "libc.so!start;main;..9", 1);
	made.profile->processes[0].exe = profile_intern(made.profile, "/bin/prog");
	profile = made_end(&made);
	assert_pprof(profile, &counts,
		     "1{1=1 2=2 }\n10=1000000 11{1=3 2=4 }\n12=1000000 13=5 14=1 "
		     "2{1[3 2 1] 2[1] 3{1=6 2=5 } }\n"
		     "4{1=1 3=2 2=2 4{1=1 } }\n"
		     "4{1=2 3=3 2=1 4{1=2 } }\n"
		     "4{1=3 4{1=3 } }\n" /* no address, no mapping */
		     "5{1=1 2=7 3=7 }\n5{1=2 2=8 3=8 }\n5{1=3 2=9 3=9 }\n"
		     "3{1=1 3=4 5=10 7=1 8=1 9=1 10=1 }\n"
		     "3{1=2 3=3 5=11 7=1 8=1 9=1 10=1 }\n"
		     "6''\n6'samples'\n6'count'\n6'wall'\n6'nanoseconds'\n6'prog'\n"
		     "6'process'\n6'start'\n6'main'\n6'[9 frames left out]'\n"
		     "6'/bin/prog'\n6'/bin/libc.so'\n");
	profile_free(profile);
}

/* Calls are a value of their own: each of a function once, whether or not its caller is known. */
TEST(pprof, exact_calls)
{
	struct export_options merged = {.threads = EXPORT_THREADS_MERGE};
	struct profile *profile = made_counted();

	assert_pprof(profile, &merged,
		     "1{1=1 2=2 }\n1{1=3 2=4 }\n1{1=5 2=4 }\n1{1=6 2=4 }\n1{1=7 2=4 }\n"
		     "1{1=8 2=2 }\n" /* … and calls, count */
		     "10=5000000 11{1=5 2=4 }\n"
		     "12=1000000 13=9 14=3 " /* the default is still cpu */
		     "2{1[2 1] 2[1 5000000 5000000 0 0 0] 3{1=10 2=9 } }\n"
		     "2{1[3] 2[0 0 0 0 0 4] 3{1=10 2=9 } }\n"	/* work: 10 … */
		     "2{1[3 1] 2[0 0 0 0 0 6] 3{1=10 2=9 } }\n" /* … 6 of which are main's */
		     "2{1[4 5] 2[0 0 0 0 0 3] 3{1=10 2=9 } }\n" /* main calls what is not known */
		     "2{1[6] 2[0 0 0 0 0 2] 3{1=10 2=9 } }\n"	/* rare */
		     "4{1=1 3=2 2=1 4{1=1 2=7 } }\n"
		     "4{1=2 3=3 2=1 4{1=2 2=20 } }\n"
		     "4{1=3 3=4 2=1 4{1=2 2=1 } }\n" /* work, not what is inlined there */
		     "4{1=4 4{1=3 } }\n"
		     "4{1=5 3=5 2=1 4{1=1 2=8 } }\n" /* a call that is in no sample */
		     "4{1=6 3=6 2=1 4{1=4 2=1 } }\n"
		     "5{1=1 2=11 3=11 4=12 5=1 }\n5{1=2 2=13 3=13 4=14 5=1 }\n"
		     "5{1=3 2=15 3=15 }\n5{1=4 2=16 3=16 4=17 5=1 }\n"
		     "3{1=1 3=7 5=18 7=1 8=1 9=1 10=1 }\n"
		     "6''\n6'samples'\n6'count'\n6'cpu'\n6'nanoseconds'\n6'wall'\n6'runq'\n"
		     "6'blocked'\n6'calls'\n6'prog'\n6'process'\n6'main'\n6'm.c'\n"
		     "6'work'\n6'w.c'\n6'[unknown callee]'\n6'rare'\n6'r.c'\n6'/bin/prog'\n");
	profile_free(profile);
}
