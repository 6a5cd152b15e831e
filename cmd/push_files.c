// SPDX-License-Identifier: GPL-2.0-or-later
/* Makes pprof files of a profile's metrics, for receivers. */
#include "cmd/push_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/sink.h"
#include "cmd/push_options.h"
#include "export/export.h"
#include "mapping/module.h"
#include "profile/profile.h"
#include "push/labels.h"
#include "push/request.h"
#include "push/spool.h"

/* Letters of a process name. */
#define COMM_MAX 15

/* --- labels --- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The program that was started, or attached to first. */
static const struct profile_process *program_of(const struct profile *profile)
{
	return profile->nr_processes ? &profile->processes[0] : NULL;
}

/* As reports name it, and ps(1): the file may be one that several names lead to. */
static const char *name_of(const struct profile *profile, const struct profile_process *program)
{
	const char *name = profile_str(profile, program->name);
	const char *file = base_name(profile_str(profile, program->exe));

	/* The kernel keeps no more of a name. */
	return strlen(name) == COMM_MAX && strncmp(name, file, COMM_MAX) == 0 ? file : name;
}

/* As files of a flight recorder are named: by the command, or else by the first process. */
static const char *service_of(const struct profile *profile)
{
	const struct profile_process *program = program_of(profile);
	const char *name = "";

	if (!profile->meta.attached && profile->meta.nr_command)
		name = base_name(profile_str(profile, profile->meta.command[0]));
	else if (program)
		name = name_of(profile, program);
	return *name ? name : "unknown";
}

/* shop of shop.service, also in a slice. */
static char *service_of_unit(const char *unit)
{
	const char *name = base_name(unit), *suffix = strstr(name, ".service");

	return suffix && !suffix[strlen(".service")] ? xstrndup(name, (size_t)(suffix - name))
						     : xstrdup(name);
}

static void append_version(struct buf *hex, const struct profile *profile)
{
	const struct profile_process *program = program_of(profile);
	uint32_t nr = module_table_nr(profile->modules);

	for (uint32_t id = 0; program && id < nr; id++) {
		const struct module *module =
			module_table_get(profile->modules, (struct module_id){id});

		if (strcmp(module->path, profile_str(profile, program->exe)) != 0)
			continue;
		for (size_t i = 0; i < module->nr_build_id_bytes; i++)
			buf_printf(hex, "%02x", module->build_id[i]);
		return;
	}
}

int push_files_label(const struct push_target *target, const struct profile *profile,
		     const char *unit, struct push_labels *labels, struct err *err)
{
	const struct option_list *own = &target->options->labels;
	cleanup_free char *service = unit ? service_of_unit(unit) : xstrdup(service_of(profile));
	struct buf version = {0};
	int status = 0;

	append_version(&version, profile);
	push_labels_set(labels, PUSH_LABEL_SERVICE, service, NULL);
	push_labels_set(labels, "hostname", profile_str(profile, profile->meta.hostname), NULL);
	push_labels_set(labels, "version", buf_str(&version), NULL);
	buf_release(&version);
	for (size_t i = 0; i < own->nr && !status; i++)
		status = push_labels_parse(labels, own->values[i], err);
	return status;
}

/* --- metrics --- */

/*
 * Metrics that can be added up over profiles, or which are of a moment. Wall time is the sum of
 * three; peaks and leaks are of a whole recording.
 */
static bool is_pushed(const struct profile *profile, enum metric metric)
{
	if (metric_is_counter(metric))
		return profile_has_metric(profile, metric);
	return metric == METRIC_CPU || metric == METRIC_RUNQ || metric == METRIC_BLOCKED ||
	       ((metric == METRIC_ALLOC || metric == METRIC_LIVE) &&
		profile_has_metric(profile, metric));
}

static const char *unit_of(const struct metric_info *info)
{
	return info->kind == METRIC_OF_TIME ? "nanoseconds" : "bytes";
}

static void describe(struct push_profile *pushed, const struct profile *profile, enum metric metric)
{
	const struct metric_info *info = metric_info(metric);

	pushed->metric = metric_name(metric);
	pushed->from_ns = profile->meta.start_realtime_ns;
	pushed->until_ns = pushed->from_ns + profile->meta.duration_ns;
	pushed->rate_hz = profile->meta.frequency_hz;
	if (info->pprof_count)
		pushed->types[pushed->nr_types++] = (struct push_type){info->pprof_count, "count"};
	if (info->pprof_weight)
		pushed->types[pushed->nr_types++] =
			(struct push_type){info->pprof_weight,
					   info->kind == METRIC_OF_COUNT ? "count" : unit_of(info)};
}

/* ERR_EMPTY: it has nothing of this metric. */
static int add_metric(struct push_spool *spool, enum push_kind kind, const struct profile *profile,
		      const struct export_options *options, const struct push_labels *labels,
		      struct err *err)
{
	struct push_profile pushed = {.labels = labels};
	struct push_request request;
	struct sink sink = SINK_MEMORY;
	int status = export_write(EXPORT_PPROF, profile, options, &sink, err);

	if (!status) {
		describe(&pushed, profile, options->metric);
		pushed.pprof = sink.pending.bytes;
		pushed.nr_bytes = sink.pending.nr_bytes;
		push_request_make(&request, kind, &pushed);
		status = push_spool_add(spool, &request, err);
		push_request_release(&request);
	}
	sink_release(&sink);
	return status;
}

static int add_all(struct push_spool *spool, enum push_kind kind, const struct profile *profile,
		   struct export_options options, const struct push_labels *labels, struct err *err)
{
	bool has_any = false;
	int failure = 0;

	for (int metric = 0; metric < METRIC_COUNT; metric++) {
		struct err why = ERR_INIT;
		int status;

		options.metric = (enum metric)metric;
		if (!is_pushed(profile, options.metric))
			continue;
		status = add_metric(spool, kind, profile, &options, labels, &why);
		if (status && status != ERR_EMPTY && !failure) {
			failure = status;
			*err = why;
		}
		has_any |= status == 0;
	}
	if (failure)
		return failure;
	return has_any ? 0 : err_set(err, ERR_EMPTY, "no samples match: there is nothing to push");
}

int push_files_add(struct push_spool *spool, const struct push_target *target,
		   const struct profile *profile, const struct export_options *options, bool all,
		   const struct push_labels *labels, struct err *err)
{
	struct export_options chosen = *options;

	chosen.only_metric = true;
	/* Blocks are beside their bytes. */
	if (chosen.metric == METRIC_ALLOCS)
		chosen.metric = METRIC_ALLOC;
	return all ? add_all(spool, target->receiver.kind, profile, chosen, labels, err)
		   : add_metric(spool, target->receiver.kind, profile, &chosen, labels, err);
}
