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

static const struct format_row rows[EXPORT_KIND_COUNT] = {
#define ROW(kind, name, option, extension, compressed, all_metrics, only_time, threads, names,     \
	    paths, help)                                                                           \
	[EXPORT_##kind] = {{option, extension, compressed, all_metrics, only_time},                \
			   EXPORT_THREADS_##threads,                                               \
			   EXPORT_NAMES_##names,                                                   \
			   PATH_##paths,                                                           \
			   write_##name},
	EXPORT_FORMATS(ROW)
#undef ROW
};

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
	if (row->format.only_time && !metric_is_of_samples(options->metric))
		return err_set(err, ERR_INVALID, "--%s shows what took time, not the metric %s",
			       row->format.name, metric_name(options->metric));
	if (chosen.threads == EXPORT_THREADS_DEFAULT)
		chosen.threads = row->threads;
	if (chosen.names == EXPORT_NAMES_DEFAULT)
		chosen.names = row->names;
	chosen.with_verdict = kind == EXPORT_HTML;
	status = extract_new(profile, &chosen, row->paths, &extract, err);
	if (status)
		return status;
	sink->progress = options->progress;
	row->write(extract, sink);
	extract_free(extract);
	return 0;
}
