// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What functions are worth, as one self-contained page: the table and notes of the text, and a
 * curve for each function. There are no scripts; a content security policy keeps it from loading
 * anything.
 */
#include "export/whatif_page.h"

#include <string.h>

#include "base/buf.h"
#include "base/escape.h"
#include "base/sink.h"
#include "export/html_priv.h"
#include "export/markup_priv.h"
#include "export/whatif_chart_priv.h"
#include "view/cut.h"
#include "view/number.h"
#include "view/whatif_facts.h"
#include "view/whatif_words.h"
#include "whatif/plan.h"

/* A function with all of the time, or nearly so, that took none. */
#define MOST_PROMISED 100000.0

/* Names of templates may have thousands: a line of the table, and a few of a heading. */
#define TABLE_COLUMNS	60
#define HEADING_COLUMNS 120

static const char *class_of(const struct whatif_gain *gain)
{
	if (!gain->is_known)
		return "unsure";
	switch (whatif_gain_style(gain)) {
	case STYLE_GOOD:
		return "gain";
	case STYLE_HOT:
		return "loss";
	case STYLE_PLAIN:
	case STYLE_HEADING:
	case STYLE_DIM:
	case STYLE_WARM:
	case STYLE_SPECIAL:
		break;
	}
	return "none";
}

static void escape_percent(struct buf *out, double percent)
{
	struct buf text = {0};

	append_percent(&text, percent); /* which may begin with < */
	escape_markup(out, buf_str(&text));
	buf_append_byte(out, '%');
	buf_release(&text);
}

/* An element with the name cut to so many columns. Its tooltip has all of it, if it was cut. */
static bool append_name(struct buf *out, const char *name, size_t columns)
{
	struct buf plain = {0}, cut = {0};
	bool is_cut;

	escape_terminal(&plain, name);
	append_cut(&cut, buf_str(&plain), columns, CUT_MIDDLE);
	is_cut = strcmp(buf_str(&cut), buf_str(&plain)) != 0;
	buf_append_str(out, "<span class=\"name\"");
	if (is_cut) {
		buf_append_str(out, " title=\"");
		escape_markup(out, buf_str(&plain));
		buf_append_byte(out, '"');
	}
	buf_append_byte(out, '>');
	escape_markup(out, buf_str(&cut));
	buf_append_str(out, "</span>");
	buf_release(&plain);
	buf_release(&cut);
	return is_cut;
}

static void append_gain_cell(struct buf *out, const char *before, const struct whatif_gain *gain)
{
	buf_printf(out, "<td class=\"%s%s\">", before, class_of(gain));
	if (gain->is_known) {
		whatif_append_gain(out, gain);
		buf_append_str(out, " <span class=\"dim\">");
		whatif_append_half(out, gain);
		buf_append_str(out, "</span></td>");
	} else {
		buf_append_str(out, "not known</td>");
	}
}

static void append_verdict(struct buf *out, const struct whatif_function *function)
{
	struct whatif_verdict verdict = whatif_function_verdict(function);
	char words[40];

	whatif_verdict_text(&verdict, words, sizeof(words));
	escape_markup(out, words);
}

static void append_row(struct buf *out, const struct whatif_facts *facts, size_t i)
{
	const struct whatif_row *row = &facts->rows[i];
	const struct whatif_function *function = &facts->functions[i];

	buf_printf(out, "<tr><th scope=\"row\"><a href=\"#function-%zu\">", i + 1);
	append_name(out, row->name, TABLE_COLUMNS);
	buf_append_str(out, "</a></th><td class=\"number\">");
	escape_percent(out, row->percent);
	buf_append_str(out, "</td>");
	for (size_t k = 0; k < WHATIF_NR_SHOWN; k++) {
		struct whatif_gain gain = whatif_shown_gain(function, k);

		append_gain_cell(out, "number ", &gain);
	}
	buf_append_str(out, "<td>");
	append_verdict(out, function);
	buf_append_str(out, "</td></tr>\n");
}

static void append_table(struct buf *out, const struct whatif_facts *facts)
{
	buf_append_str(out, "<div class=\"wide\" role=\"region\" aria-label=\"all functions\" "
			    "tabindex=\"0\"><table>\n<tr><th scope=\"col\">function</th>"
			    "<th scope=\"col\" class=\"number\">CPU time</th>");
	for (size_t i = 0; i < WHATIF_NR_SHOWN; i++)
		buf_printf(out, "<th scope=\"col\" class=\"number\">%s</th>",
			   whatif_shown_headers[i]);
	buf_append_str(out, "<th scope=\"col\">verdict</th></tr>\n");
	for (size_t i = 0; i < facts->nr; i++)
		append_row(out, facts, i);
	buf_append_str(out, "</table></div>\n");
}

static void append_notes(struct buf *out, const struct whatif_facts *facts)
{
	struct buf notes = {0};

	whatif_append_notes(&notes, facts);
	buf_append_str(out, "<p class=\"notes\">");
	escape_markup(out, buf_str(&notes));
	buf_append_str(out, "</p>\n");
	buf_release(&notes);
}

static void append_legend(struct buf *out)
{
	buf_append_str(
		out,
		"<p class=\"legend\">"
		"<span><svg class=\"key\" viewBox=\"0 0 26 12\" aria-hidden=\"true\">"
		"<path class=\"band\" d=\"M0,1H26V11H0Z\"/><path class=\"curve\" d=\"M0,6H26\"/>"
		"<circle cx=\"13\" cy=\"6\" r=\"3.5\"/></svg> measured, with its 95% "
		"interval</span> "
		"<span><svg class=\"key\" viewBox=\"0 0 26 12\" aria-hidden=\"true\">"
		"<path class=\"promised\" d=\"M0,6H26\"/></svg> "
		"promised by its share of CPU time alone</span> "
		"<span>All have the same scale.</span></p>\n");
}

static void append_promised(struct buf *out, const struct whatif_facts *facts, size_t i,
			    double faster)
{
	double percent = whatif_promised_percent(facts, i, faster);

	buf_printf(out,
		   percent < MOST_PROMISED ? "<td class=\"number\">%+.1f%%</td>"
					   : "<td class=\"number\">no bound</td>",
		   percent);
}

/* With the name, if nothing above has all of it. */
static void append_numbers(struct buf *out, const struct whatif_facts *facts, size_t i,
			   bool has_name)
{
	const struct whatif_function *function = &facts->functions[i];

	buf_append_str(out, "<details><summary>numbers</summary>\n");
	if (has_name) {
		buf_append_str(out, "<p class=\"name\">");
		escape_target_markup(out, facts->rows[i].name);
		buf_append_str(out, "</p>\n");
	}
	buf_append_str(out, "<table>\n"
			    "<tr><th scope=\"col\" class=\"number\">faster</th>"
			    "<th scope=\"col\" class=\"number\">promised</th>"
			    "<th scope=\"col\" class=\"number\">trials</th>"
			    "<th scope=\"col\">");
	buf_append_str(out, facts->time_ns > 0 ? "change</th></tr>\n" : "gain</th></tr>\n");
	for (size_t k = 0; k < WHATIF_NR_SPEEDS; k++) {
		const struct whatif_point *point = &function->points[k];
		struct whatif_gain gain = whatif_point_gain(point);

		buf_printf(out, "<tr><th scope=\"row\" class=\"number\">%.0f%%</th>",
			   100 * whatif_speeds[k]);
		append_promised(out, facts, i, whatif_speeds[k]);
		buf_printf(out, "<td class=\"number\">%zu</td>", point->nr);
		if (gain.is_known)
			append_gain_cell(out, "", &gain);
		else
			buf_printf(out, "<td class=\"unsure\">not known: %s</td>",
				   whatif_why_unknown(point));
		buf_append_str(out, "</tr>\n");
	}
	buf_append_str(out, "</table></details>\n");
}

static void append_figure(struct buf *out, const struct whatif_facts *facts, size_t i,
			  const struct whatif_scale *scale)
{
	const struct whatif_row *row = &facts->rows[i];
	bool is_cut;

	buf_printf(out, "<section id=\"function-%zu\">\n<h2>", i + 1);
	is_cut = append_name(out, row->name, HEADING_COLUMNS);
	buf_append_str(out, ": ");
	append_verdict(out, &facts->functions[i]);
	buf_append_str(out, "</h2>\n<p class=\"dim\">");
	escape_percent(out, row->percent);
	buf_printf(out, " \xc2\xb1 %.1f of CPU time", row->half_percent);
	if (*row->location) {
		buf_append_str(out, ", ");
		escape_target_markup(out, row->location);
	}
	buf_append_str(out, "</p>\n");
	whatif_append_chart(out, facts, i, scale);
	append_numbers(out, facts, i, is_cut);
	buf_append_str(out, "</section>\n");
}

void whatif_write_html(const struct whatif_facts *facts, struct sink *sink)
{
	struct whatif_scale scale = whatif_scale_of(facts);
	struct buf heading = {0}, out = {0};

	whatif_append_heading(&heading, facts);
	html_write_head(buf_str(&heading), "", asset_whatif_css(), sink);
	buf_append_str(&out, "<main>\n<h1>");
	escape_target_markup(&out, buf_str(&heading));
	buf_append_str(&out, "</h1>\n");
	append_table(&out, facts);
	append_notes(&out, facts);
	append_legend(&out);
	whatif_append_chart_parts(&out);
	buf_append_str(&out, "<div class=\"charts\">\n");
	for (size_t i = 0; i < facts->nr; i++)
		append_figure(&out, facts, i, &scale);
	buf_append_str(&out, "</div>\n</main>\n</body>\n</html>\n");
	sink_write(sink, out.bytes, out.nr_bytes);
	buf_release(&heading);
	buf_release(&out);
}
