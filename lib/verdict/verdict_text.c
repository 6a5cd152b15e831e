// SPDX-License-Identifier: GPL-2.0-or-later
/* A verdict as text and as JSON. */
#include "base/buf.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/sink.h"
#include "verdict/verdict.h"
#include "view/line.h"
#include "view/number.h"
#include "view/paragraph.h"
#include "view/style.h"

/* The version of the JSON form: raised when a member changes its meaning. */
#define JSON_VERSION 1

void verdict_append_line(struct buf *out, const struct verdict *verdict)
{
	const struct verdict_finding *first = verdict_first(verdict);

	buf_printf(out, "%s: %s", verdict->state, first ? first->text : "nothing stands out");
}

void verdict_append_other_command(struct buf *out, const char *words, const char *file)
{
	buf_printf(out, "profc %s", words);
	if (file) {
		buf_append_str(out, " -i ");
		escape_shell(out, file);
	}
}

void verdict_append_command(struct buf *out, const struct verdict *verdict, const char *file)
{
	const struct verdict_finding *first = verdict_first(verdict);

	verdict_append_other_command(out, first ? first->words : "report", file);
}

static void print_line(const struct verdict *verdict, const struct view *view, struct sink *sink)
{
	struct buf text = {0};

	verdict_append_line(&text, verdict);
	paragraph_print_styled(view, STYLE_HEADING, "", buf_str(&text), sink);
	buf_release(&text);
}

static void print_command(const struct verdict *verdict, const struct view *view, const char *file,
			  struct sink *sink)
{
	struct buf text = {0}, escaped = {0};

	verdict_append_command(&text, verdict, file);
	escape_terminal(&escaped, buf_str(&text));
	paragraph_print(view, "hint: ", buf_str(&escaped), sink);
	buf_release(&text);
	buf_release(&escaped);
}

void verdict_print_head(const struct verdict *verdict, const struct view *view, const char *file,
			struct sink *sink)
{
	print_line(verdict, view, sink);
	/* Else it is the plain report. */
	if (verdict_first(verdict))
		print_command(verdict, view, file, sink);
}

/* "87.2% ± 0.5  " */
static void append_share(struct buf *out, double percent, double interval)
{
	struct buf share = {0};

	append_percent(&share, percent);
	buf_printf(out, "%5s%%", buf_str(&share));
	if (interval > 0)
		buf_printf(out, " \xc2\xb1 %4.1f", interval);
	else
		buf_printf(out, "%7s", "");
	buf_append_str(out, "  ");
	buf_release(&share);
}

static void print_row(const struct view *view, double percent, double interval, const char *text,
		      struct sink *sink)
{
	struct buf lead = {0};

	buf_append_str(&lead, "  ");
	append_share(&lead, percent, interval);
	paragraph_print(view, buf_str(&lead), text, sink);
	buf_release(&lead);
}

static void print_evidence(const struct verdict *verdict, const struct view *view,
			   struct sink *sink)
{
	if (!verdict->nr_evidence)
		return;
	sink_str(sink, "\nevidence, in shares of the work (CPU time, and blocked in it):\n");
	for (size_t i = 0; i < verdict->nr_evidence; i++)
		print_row(view, verdict->evidence[i].percent, verdict->evidence[i].interval,
			  verdict->evidence[i].text, sink);
}

/* Rules that fired beside the verdict. */
static void print_others(const struct verdict *verdict, const struct view *view, struct sink *sink)
{
	bool any = false;

	for (int i = 0; i < VERDICT_RULE_COUNT; i++) {
		const struct verdict_finding *finding = &verdict->findings[i];

		if (finding->state != VERDICT_FIRED || i == (int)verdict->rule)
			continue;
		if (!any)
			sink_str(sink, "\nalso:\n");
		any = true;
		print_row(view, finding->percent, finding->interval, finding->text, sink);
	}
}

static void print_below(const struct verdict *verdict, const struct view *view, struct sink *sink)
{
	bool any = false;

	for (int i = 0; i < VERDICT_RULE_COUNT; i++) {
		const struct verdict_finding *finding = &verdict->findings[i];
		struct buf text = {0};

		if (finding->state == VERDICT_FIRED)
			continue;
		if (!any)
			sink_str(sink, "\nlooked at, and not it:\n");
		any = true;
		buf_append_str(&text, finding->subject);
		if (finding->missing)
			buf_printf(&text, ": %s", finding->missing);
		else
			buf_printf(&text, " (%.0f%% would be)", finding->threshold);
		if (finding->missing)
			paragraph_print(view, "       ?         ", buf_str(&text), sink);
		else
			print_row(view, finding->percent, finding->interval, buf_str(&text), sink);
		buf_release(&text);
	}
}

void verdict_print_text(const struct verdict *verdict, const struct view *view, const char *file,
			struct sink *sink)
{
	print_line(verdict, view, sink);
	print_command(verdict, view, file, sink);
	print_evidence(verdict, view, sink);
	print_others(verdict, view, sink);
	print_below(verdict, view, sink);
}

/* --- JSON --- */

static void put_share(struct json *json, double percent, double interval)
{
	json_key(json, "pct");
	json_double(json, percent, 2);
	json_key(json, "ci_pct");
	json_double(json, interval, 2);
}

static void put_finding(struct json *json, const struct verdict_finding *finding, const char *file)
{
	struct buf command = {0};

	json_key_str(json, "rule", finding->name);
	json_key_str(json, "about", finding->subject);
	if (finding->missing) {
		json_key_str(json, "missing", finding->missing);
		return;
	}
	put_share(json, finding->percent, finding->interval);
	json_key(json, "threshold_pct");
	json_double(json, finding->threshold, 2);
	if (!finding->text)
		return;
	verdict_append_other_command(&command, finding->words, file);
	json_key_str(json, "text", finding->text);
	json_key_str(json, "metric", metric_name(finding->metric));
	json_key_str(json, "command", buf_str(&command));
	buf_release(&command);
}

static void put_findings(struct json *json, const struct verdict *verdict, const char *key,
			 bool have_fired, const char *file)
{
	json_key_array_begin(json, key);
	for (int i = 0; i < VERDICT_RULE_COUNT; i++) {
		const struct verdict_finding *finding = &verdict->findings[i];

		if ((finding->state == VERDICT_FIRED) != have_fired || i == (int)verdict->rule)
			continue;
		json_object_begin(json);
		put_finding(json, finding, file);
		json_object_end(json);
	}
	json_array_end(json);
}

void verdict_print_json(const struct verdict *verdict, const char *file, struct sink *sink)
{
	const struct verdict_finding *first = verdict_first(verdict);
	struct buf text = {0};
	struct json json;

	json_init(&json, sink);
	json_object_begin(&json);
	json_key_u64(&json, "version", JSON_VERSION);
	verdict_append_line(&text, verdict);
	json_key_str(&json, "line", buf_str(&text));
	buf_clear(&text);
	verdict_append_command(&text, verdict, file);
	json_key_str(&json, "next", buf_str(&text));
	buf_release(&text);
	json_key(&json, "verdict");
	if (first) {
		json_object_begin(&json);
		put_finding(&json, first, file);
		json_object_end(&json);
	} else {
		json_null(&json);
	}
	json_key_array_begin(&json, "evidence");
	for (size_t i = 0; i < verdict->nr_evidence; i++) {
		json_object_begin(&json);
		put_share(&json, verdict->evidence[i].percent, verdict->evidence[i].interval);
		json_key_str(&json, "text", verdict->evidence[i].text);
		json_object_end(&json);
	}
	json_array_end(&json);
	put_findings(&json, verdict, "also", true, file);
	put_findings(&json, verdict, "not_it", false, file);
	json_object_end(&json);
	json_finish(&json);
}
