// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/run_lines.h"

#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/sink.h"
#include "profile/profile.h"
#include "profile/runs.h"
#include "view/cut.h"
#include "view/line.h"
#include "view/number.h"
#include "view/table.h"

#define GROUPS_MAX	    4
#define COMMAND_COLUMNS_MIN 12

/* A time, rounded down to the minute: "2026-11-26 01:38". */
static void append_minute(struct buf *out, uint64_t realtime_ns)
{
	time_t seconds = (time_t)(realtime_ns / NS_PER_SEC);
	char text[64];
	struct tm utc;

	if (realtime_ns && gmtime_r(&seconds, &utc) &&
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &utc))
		buf_append_str(out, text);
}

void append_date(struct buf *out, uint64_t realtime_ns)
{
	size_t before = out->nr_bytes;

	append_minute(out, realtime_ns);
	if (out->nr_bytes > before)
		buf_printf(out, ":%02u UTC", (unsigned int)(realtime_ns / NS_PER_SEC % 60));
}

/* ", 2026-11-26 01:38 to 01:52 UTC", with a single day only once. */
static void append_span(struct buf *out, const struct run_group *group)
{
	struct buf first = {0}, last = {0};
	size_t day = strlen("2026-11-26 ");

	append_minute(&first, group->first_ns);
	append_minute(&last, group->last_ns);
	if (first.nr_bytes) {
		buf_printf(out, ", %s", buf_str(&first));
		if (strcmp(buf_str(&first), buf_str(&last)) != 0)
			buf_printf(out, " to %s",
				   strncmp(buf_str(&first), buf_str(&last), day) == 0
					   ? buf_str(&last) + day
					   : buf_str(&last));
		buf_append_str(out, " UTC");
	}
	buf_release(&first);
	buf_release(&last);
}

static void print_group(const struct profile *profile, const struct run_group *group,
			const struct view *view, struct sink *sink)
{
	struct buf text = {0}, command = {0}, behind = {0};
	size_t used, room = COMMAND_COLUMNS_MIN;

	buf_append_str(&text, "  ");
	if (group->nr_runs > 1)
		buf_printf(&text, "%zu runs of ", group->nr_runs);
	escape_terminal(&command, profile_str(profile, group->command));
	if (group->hostname.v != STR_EMPTY.v) {
		buf_append_str(&behind, " on ");
		escape_terminal(&behind, profile_str(profile, group->hostname));
	}
	append_span(&behind, group);
	used = text_columns(buf_str(&text)) + text_columns(buf_str(&behind));
	if (view->columns > used + room)
		room = view->columns - used;
	append_cut(&text, buf_str(&command), room, CUT_END);
	buf_append_str(&text, buf_str(&behind));
	buf_clear(&command);
	append_cut(&command, buf_str(&text), view->columns, CUT_END);
	line_print(sink, view, STYLE_PLAIN, buf_str(&command));
	buf_release(&text);
	buf_release(&command);
	buf_release(&behind);
}

void print_run_groups(const struct profile *profile, const struct view *view, struct sink *sink)
{
	size_t nr;
	cleanup_free struct run_group *groups = profile_group_runs(profile, &nr);
	struct buf text = {0};

	for (size_t i = 0; i < nr && i < GROUPS_MAX; i++)
		print_group(profile, &groups[i], view, sink);
	if (nr > GROUPS_MAX) {
		buf_printf(&text, "  and %zu other%s: 'profc info' has all runs", nr - GROUPS_MAX,
			   nr == GROUPS_MAX + 1 ? "" : "s");
		line_print(sink, view, STYLE_DIM, buf_str(&text));
	}
	buf_release(&text);
}

static void add_run(struct table *table, const struct profile *profile,
		    const struct profile_run *run)
{
	struct buf text = {0};

	append_date(&text, run->start_realtime_ns);
	table_add(table, STYLE_PLAIN, buf_str(&text));
	buf_clear(&text);
	append_weight(&text, METRIC_WALL, run->duration_ns);
	table_add(table, STYLE_PLAIN, buf_str(&text));
	table_add(table, STYLE_PLAIN, profile_str(profile, run->hostname));
	table_add(table, STYLE_PLAIN, profile_str(profile, run->command));
	buf_release(&text);
}

void print_runs(const struct profile *profile, const struct view *view, struct sink *sink)
{
	static const struct table_column columns[] = {
		{.header = "began"},
		{.header = "for", .right = true},
		{.header = "on", .flexible = true, .min_columns = 8, .share = 1},
		{.header = "command", .flexible = true, .min_columns = 12, .share = 3},
	};
	struct table *table = table_new(columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < profile->runs.nr; i++)
		add_run(table, profile, &profile->runs.rows[i]);
	table_print(table, view, sink);
	table_free(table);
}
