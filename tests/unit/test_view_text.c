// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/alloc.h"
#include "base/buf.h"
#include "base/sink.h"
#include "tests/unit/unit.h"
#include "view/cut.h"
#include "view/number.h"
#include "view/style.h"
#include "view/table.h"

TEST(cut, names_keep_both_ends_and_paths_their_last)
{
	static const struct {
		const char *text;
		size_t columns;
		enum cut cut;
		const char *expected;
	} cases[] = {
		{"short", 5, CUT_MIDDLE, "short"},
		{"parser::expression::evaluate", 16, CUT_MIDDLE, "parse…::evaluate"},
		{"/usr/src/prog/main.c:12", 12, CUT_START, "…g/main.c:12"},
		{"libsqlite3.so.0", 8, CUT_END, "libsqli…"},
		{"größe", 4, CUT_END, "grö…"},
		{"日本語", 5, CUT_END, "日本…"}, /* two columns each */
		{"日本語", 4, CUT_END, "日…"},
		{"x", 0, CUT_END, ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf out = {0};
		size_t used = append_cut(&out, cases[i].text, cases[i].columns, cases[i].cut);

		assert_string_equal(buf_str(&out), cases[i].expected);
		assert_true(used <= cases[i].columns);
		buf_release(&out);
	}
}

TEST(number, one_unit_for_a_column)
{
	static const struct {
		uint64_t largest_ns, value_ns;
		const char *expected; /* value and unit */
	} cases[] = {
		{36120000000, 3880000000, "3.88 s"}, {123456000000, 49000000, "0.0 s"},
		{9073000000, 1400000, "1 ms"},	     {377000000, 1440000, "1.4 ms"},
		{5000000, 12345, "12 µs"},	     {900, 900, "0.9 µs"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct unit unit = unit_for(METRIC_CPU, cases[i].largest_ns);
		struct buf out = {0};

		append_in_unit(&out, cases[i].value_ns, &unit);
		buf_printf(&out, " %s", unit.name);
		assert_string_equal(buf_str(&out), cases[i].expected);
		buf_release(&out);
	}
}

TEST(number, amounts_with_their_unit)
{
	struct buf out = {0};

	append_weight(&out, METRIC_CPU, 2412345678);
	buf_append_str(&out, ", ");
	append_weight(&out, METRIC_CPU, 12400000);
	buf_append_str(&out, ", ");
	append_weight(&out, METRIC_CPU, 999);
	buf_append_str(&out, ", ");
	append_weight(&out, METRIC_SAMPLES, 1234567);
	buf_append_str(&out, ", ");
	append_weight(&out, METRIC_SAMPLES, 1);
	buf_append_str(&out, ", ");
	append_percent(&out, 0.04);
	assert_string_equal(buf_str(&out),
			    "2.41 s, 12.4 ms, 999 ns, 1,234,567 samples, 1 sample, <0.1");
	buf_release(&out);
}

static const struct table_column columns[] = {
	{.header = "ms", .right = true},
	{.header = "name", .flexible = true, .cut = CUT_MIDDLE, .min_columns = 6, .share = 2},
	{.header = "file", .flexible = true, .cut = CUT_START, .min_columns = 4, .share = 1},
};

static void expect_table(const struct view *view, const char *expected)
{
	struct table *table = table_new(columns, 3);
	struct sink sink = SINK_MEMORY;

	table_add(table, STYLE_HOT, "1200");
	table_add(table, STYLE_PLAIN, "a_rather_long_name");
	table_add(table, STYLE_DIM, "directory/file.c");
	table_add(table, STYLE_PLAIN, "7");
	table_add(table, STYLE_SPECIAL, "evil\033[31m");
	table_add(table, STYLE_PLAIN, "");
	table_print(table, view, &sink);
	assert_string_equal(buf_str(&sink.pending), expected);
	sink_release(&sink);
	table_free(table);
}

TEST(table, fits_the_width)
{
	const struct view wide = {.columns = 80}, narrow = {.columns = 30};

	expect_table(&wide, "  ms  name                file\n"
			    "1200  a_rather_long_name  directory/file.c\n"
			    "   7  evil\\x1b[31m\n");
	expect_table(&narrow, "  ms  name             file\n"
			      "1200  a_ra…_long_name  …file.c\n"
			      "   7  evil\\x1b[31m\n");
}

/* Print one row of texts in so many columns. */
static void expect_row(const struct table_column *row, const char *const *texts, size_t nr,
		       size_t nr_columns, const char *expected)
{
	const struct view view = {.columns = nr_columns};
	struct table *table = table_new(row, nr);
	struct sink sink = SINK_MEMORY;

	for (size_t i = 0; i < nr; i++)
		table_add(table, STYLE_PLAIN, texts[i]);
	table_print(table, &view, &sink);
	assert_string_equal(buf_str(&sink.pending), expected);
	sink_release(&sink);
	table_free(table);
}

TEST(table, what_a_row_is_about_is_cut_last)
{
	static const struct table_column row[] = {
		{.header = "ms", .right = true},
		{.header = "%", .right = true, .drop = 1},
		{.header = "name",
		 .flexible = true,
		 .min_columns = 4,
		 .share = 1,
		 .kept_columns = 8},
		{.header = "file", .flexible = true, .min_columns = 6, .share = 1, .drop = 3},
		{.header = "module", .flexible = true, .min_columns = 6, .share = 1, .drop = 2},
	};
	static const char *const texts[] = {"12", "34", "a_name_too", "a_file.c", "a_module"};
	static const struct {
		size_t columns;
		const char *expected;
	} cases[] = {
		{37,
		 "ms  %  name        file      module\n12 34  a_name_too  a_file.c  a_module\n"},
		{36, "ms  %  name        file     module\n12 34  a_name_too  a_file…  a_module\n"},
		{33, "ms  %  name        file    module\n12 34  a_name_too  a_fil…  a_mod…\n"},
		{31, "ms  %  name      file    module\n12 34  a_name_…  a_fil…  a_mod…\n"},
		{30, "ms  %  name        module\n12 34  a_name_too  a_module\n"},
		{23, "ms  %  name      module\n12 34  a_name_…  a_mod…\n"},
		{22, "ms  %  name\n12 34  a_name_too\n"},
		{12, "ms  %  name\n12 34  a_na…\n"},
		{10, "ms  name\n12  a_nam…\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect_row(row, texts, ARRAY_SIZE(row), cases[i].columns, cases[i].expected);
}

TEST(table, columns_go_where_there_is_no_room)
{
	static const struct table_column spare[] = {
		{.header = "ms", .right = true},
		{.header = "%", .right = true, .drop = 1},
		{.header = "name", .flexible = true, .min_columns = 8, .share = 1},
		{.header = "file", .flexible = true, .min_columns = 6, .share = 1, .drop = 2},
	};
	static const char *const texts[] = {"12", "34", "a_name_too", "a_file.c"};
	static const struct {
		size_t columns;
		const char *expected;
	} cases[] = {
		{40, "ms  %  name        file\n12 34  a_name_too  a_file.c\n"},
		{23, "ms  %  name      file\n12 34  a_name_…  a_fil…\n"},
		{22, "ms  %  name\n12 34  a_name_too\n"},
		{14, "ms  name\n12  a_name_too\n"},
		{10, "ms  name\n12  a_nam…\n"},
		{1, "ms  name\n12  a_nam…\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect_row(spare, texts, ARRAY_SIZE(spare), cases[i].columns, cases[i].expected);
}

TEST(table, colours_are_a_choice)
{
	const struct view colour = {.columns = 80, .colour = true};

	expect_table(&colour,
		     "  \033[1mms\033[0m  \033[1mname\033[0m                \033[1mfile\033[0m\n"
		     "\033[1;31m1200\033[0m  a_rather_long_name  \033[2mdirectory/file.c\033[0m\n"
		     "   7  \033[36mevil\\x1b[31m\033[0m\n");
}
