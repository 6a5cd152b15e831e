// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"
#include "export/asset_priv.h"
#include "export/markup_priv.h"
#include "tests/unit/export_text.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"

/* The frames of the picture, depth first and heaviest first: "title x y width text". */
static void append_frames(struct buf *out, const char *svg)
{
	const char *at = svg;

	while ((at = strstr(at, "<g class=\"f\"><title>"))) {
		char title[200], x[20], y[20], width[20], text[200] = "";
		const char *end;

		assert_in_range(
			sscanf(at,
			       "<g class=\"f\"><title>%199[^\n<]</title><rect x=\"%19[^\"]\" "
			       "y=\"%19[^\"]\" width=\"%19[^\"]\"",
			       title, x, y, width),
			4, 4);
		end = strstr(at, "</text>");
		assert_non_null(end);
		while (end[-1] != '>')
			end--;
		(void)sscanf(end, "%199[^<]", text);
		buf_printf(out, "%s | %s %s %s %s\n", title, x, y, width, text);
		at++;
	}
}

static void assert_frames(const struct profile *profile, const struct export_options *options,
			  const char *expected)
{
	struct sink sink = export_made(EXPORT_FLAMEGRAPH, profile, options);
	struct buf frames = {0};

	append_frames(&frames, buf_str(&sink.pending));
	assert_string_equal(buf_str(&frames), expected);
	buf_release(&frames);
	sink_release(&sink);
}

TEST(flamegraph, boxes_are_weights)
{
	struct export_options full = {.names = EXPORT_NAMES_FULL};
	struct made made = made_begin();
	struct profile *profile;

	made_sample(&made, "main;light", 25);
	made_sample(&made, "main;heavy;leaf", 50);
	made_sample(&made, "main", 20);
	made_sample(&made, "other<&>", 5);
	profile = made_end(&made);
	assert_frames(profile, &full,
		      "prog, 100 ms, 100.00% | 10.00 56 1180.00 prog\n"
		      "main, 95 ms, 95.00% | 10.00 72 1121.00 main\n"
		      "heavy, 50 ms, 50.00% | 10.00 88 590.00 heavy\n"
		      "leaf, 50 ms, 50.00% | 10.00 104 590.00 leaf\n"
		      "light, 25 ms, 25.00% | 600.00 88 295.00 light\n"
		      "other&lt;&amp;&gt;, 5 ms, 5.00% | 1131.00 72 59.00 other..\n");
	assert_frames(profile, NULL,
		      "prog, 100 ms, 100.00% | 10.00 56 1180.00 prog\n"
		      "main, 95 ms, 95.00% | 10.00 72 1121.00 main\n"
		      "heavy, 50 ms, 50.00% | 10.00 88 590.00 heavy\n"
		      "leaf, 50 ms, 50.00% | 10.00 104 590.00 leaf\n"
		      "light, 25 ms, 25.00% | 600.00 88 295.00 light\n"
		      "other&lt;&amp;&gt;, 5 ms, 5.00% | 1131.00 72 59.00 other\n");
	profile_free(profile);
}

TEST(flamegraph, lanes_stand_on_one_root)
{
	struct export_options split = {.threads = EXPORT_THREADS_SPLIT, .metric = METRIC_SAMPLES};
	struct made made = made_begin();
	struct profile *profile;

	made_sample(&made, "main", 1);
	made_thread(&made, 100, 101, "worker");
	made_sample(&made, "run", 1)->nr = 3;
	profile = made_end(&made);
	assert_frames(profile, &split,
		      "all, 4 samples, 100.00% | 10.00 56 1180.00 all\n"
		      "prog/worker (pid 100, tid 101), 3 samples, 75.00% | 10.00 72 885.00 "
		      "prog/worker (pid 100, tid 101)\n"
		      "run, 3 samples, 75.00% | 10.00 88 885.00 run\n"
		      "prog (pid 100, tid 100), 1 sample, 25.00% | 895.00 72 295.00 "
		      "prog (pid 100, tid 100)\n"
		      "main, 1 sample, 25.00% | 895.00 88 295.00 main\n");
	profile_free(profile);
}

/* The colour of the last frame of the picture; the caller frees it. */
static char *last_color(const struct profile *profile)
{
	struct sink sink = export_made(EXPORT_FLAMEGRAPH, profile, NULL);
	const char *svg = buf_str(&sink.pending);
	const char *last = NULL;
	char *color;

	for (const char *at = svg; (at = strstr(at, " fill=\"hsl(")); at++)
		last = at + strlen(" fill=\"");
	assert_non_null(last);
	color = strndup(last, strcspn(last, "\""));
	sink_release(&sink);
	return color;
}

/* Two recordings meet modules in another order: their pictures can be compared all the same. */
TEST(flamegraph, colors_are_those_of_names)
{
	struct made first = made_begin(), second = made_begin();
	struct profile *profile;
	char *color, *other;

	made_sample(&first, "libz!inflate", 1);
	profile = made_end(&first);
	color = last_color(profile);
	profile_free(profile);
	made_sample(&second, "main;libc!read", 2);
	made_sample(&second, "libz!inflate", 1);
	profile = made_end(&second);
	other = last_color(profile);
	profile_free(profile);
	assert_string_equal(color, other);
	free(color);
	free(other);
}

TEST(flamegraph, what_cannot_be_seen_is_left_out)
{
	struct made made = made_begin();
	struct profile *profile;

	made_sample(&made, "main", 10000000);
	made_sample(&made, "main;rare;deep;deeper", 1);
	profile = made_end(&made);
	assert_frames(profile, NULL,
		      "prog, 10000.001 s, 100.00% | 10.00 56 1180.00 prog\n"
		      "main, 10000.001 s, 100.00% | 10.00 72 1180.00 main\n");
	profile_free(profile);
}

/* Zooming gives a frame room: what it is called then stands there where it was cut. */
TEST(flamegraph, keeps_short_names_of_cut_frames)
{
	struct made made = made_begin();
	struct profile *profile;
	struct sink sink;
	const char *svg;

	made_sample(&made, "wide<int>(int)", 100);
	made_sample(&made, "narrow<int>(int)", 1);
	made_sample(&made, "plain", 1);
	profile = made_end(&made);
	sink = export_made(EXPORT_FLAMEGRAPH, profile, NULL);
	svg = buf_str(&sink.pending);
	assert_non_null(strstr(svg, "<title>narrow&lt;int&gt;(int), "));
	assert_non_null(strstr(svg, " data-name=\"narrow\"></text>"));
	assert_non_null(strstr(svg, ">wide</text>"));
	assert_null(strstr(svg, "data-name=\"wide\""));
	assert_null(strstr(svg, "data-name=\"plain\""));
	sink_release(&sink);
	profile_free(profile);
}

TEST(flamegraph, needs_no_other_file)
{
	struct asset script = asset_flamegraph_js();
	struct made made = made_begin();
	struct profile *profile;
	struct sink sink;
	const char *svg;

	made_sample(&made, "main]]>", 1);
	made_sample(&made, "\"'", 1);
	profile = made_end(&made);
	sink = export_made(EXPORT_FLAMEGRAPH, profile, NULL);
	svg = buf_str(&sink.pending);
	assert_non_null(memmem(svg, strlen(svg), script.bytes, script.nr_bytes));
	assert_null(memmem(script.bytes, script.nr_bytes, "]]>", 3));
	assert_null(strstr(svg, "href"));
	assert_null(strstr(svg, "main]]>"));
	assert_non_null(strstr(svg, "<title>&quot;&#39;, 1 ms"));
	sink_release(&sink);
	profile_free(profile);
}
