// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of export formats. */
#include "export/export.h"

#include <assert.h>

#include "base/err.h"
#include "base/sink.h"
#include "export/extract_priv.h"

struct format_row {
	struct export_format format;
	enum export_threads threads; /* the default, as for names */
	enum export_names names;
	enum path_kind paths;
	void (*write)(const struct extract *extract, struct sink *sink);
};

/* clang-format off */
static const struct format_row rows[EXPORT_KIND_COUNT] = {
	[EXPORT_SPEEDSCOPE] = {
		{"speedscope", ".speedscope.json", false, false},
		EXPORT_THREADS_SPLIT, EXPORT_NAMES_FULL, PATH_LABELS, write_speedscope},
	[EXPORT_FOLDED] = {
		{"folded", ".folded", false, false},
		EXPORT_THREADS_MERGE, EXPORT_NAMES_FULL, PATH_LABELS, write_folded},
	[EXPORT_PPROF] = {
		{"pprof", ".pb.gz", true, true},
		EXPORT_THREADS_DEFAULT, EXPORT_NAMES_SHORT, PATH_FRAMES, write_pprof},
	[EXPORT_CHROME] = {
		{"chrome", ".trace.json", false, false},
		EXPORT_THREADS_SPLIT, EXPORT_NAMES_FULL, PATH_LABELS, write_chrome},
	[EXPORT_FIREFOX] = {
		{"firefox", ".firefox.json", false, false},
		EXPORT_THREADS_SPLIT, EXPORT_NAMES_FULL, PATH_FRAMES, write_firefox},
	[EXPORT_CALLGRIND] = {
		{"callgrind", ".callgrind", false, false},
		EXPORT_THREADS_MERGE, EXPORT_NAMES_FULL, PATH_PLACES, write_callgrind},
	[EXPORT_PERF_SCRIPT] = {
		{"perf-script", ".perf.txt", false, false},
		EXPORT_THREADS_SPLIT, EXPORT_NAMES_FULL, PATH_FRAMES, write_perf_script},
	[EXPORT_JSON] = {
		{"json", ".json", false, false},
		EXPORT_THREADS_SPLIT, EXPORT_NAMES_FULL, PATH_FRAMES, write_json},
	[EXPORT_FLAMEGRAPH] = {
		{"flamegraph", ".svg", false, false},
		EXPORT_THREADS_MERGE, EXPORT_NAMES_SHORT, PATH_LABELS, write_flamegraph},
	[EXPORT_HTML] = {
		{"html", ".html", false, true},
		EXPORT_THREADS_MERGE, EXPORT_NAMES_SHORT, PATH_FRAMES, write_html},
};
/* clang-format on */

const struct export_format *export_format(enum export_kind kind)
{
	assert(kind < EXPORT_KIND_COUNT);
	return &rows[kind].format;
}

int export_write(enum export_kind kind, const struct profile *profile,
		 const struct export_options *options, struct sink *sink, struct err *err)
{
	const struct format_row *row = &rows[kind];
	struct export_options chosen = *options;
	struct extract *extract;
	int status;

	assert(kind < EXPORT_KIND_COUNT);
	if (kind == EXPORT_CHROME && !metric_is_of_samples(options->metric))
		return err_set(err, ERR_INVALID, "--chrome shows what took time, not the metric %s",
			       metric_name(options->metric));
	if (chosen.threads == EXPORT_THREADS_DEFAULT)
		chosen.threads = row->threads;
	if (chosen.names == EXPORT_NAMES_DEFAULT)
		chosen.names = row->names;
	status = extract_new(profile, &chosen, row->paths, &extract, err);
	if (status)
		return status;
	sink->progress = options->progress;
	row->write(extract, sink);
	extract_free(extract);
	return 0;
}
