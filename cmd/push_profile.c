// SPDX-License-Identifier: GPL-2.0-or-later
/* Makes pprof files of a profile's metrics, and delivers them. */
#include "cmd/push_profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/sink.h"
#include "cmd/command.h"
#include "cmd/push_options.h"
#include "export/export.h"
#include "mapping/module.h"
#include "profile/profile.h"
#include "push/directory.h"
#include "push/http.h"
#include "push/labels.h"
#include "push/request.h"
#include "push/spool.h"

#define FAILURES_MAX 5
/* Longer than that is not waited for a receiver that asks for it. */
#define WAIT_MAX_NS (60 * NS_PER_SEC)

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

static const char *service_of(const struct profile *profile)
{
	const struct profile_process *program = program_of(profile);
	const char *exe = program ? profile_str(profile, program->exe) : "";

	if (*exe)
		return base_name(exe);
	if (profile->meta.nr_command)
		return base_name(profile_str(profile, profile->meta.command[0]));
	return "unknown";
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

/* The profile's labels, then the user's, which can remove them. */
static int make_labels(const struct push_target *target, const struct profile *profile,
		       struct push_labels *labels, struct err *err)
{
	const struct option_list *own = &target->options->labels;
	struct buf version = {0};
	int status = 0;

	append_version(&version, profile);
	push_labels_set(labels, PUSH_LABEL_SERVICE, service_of(profile), NULL);
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

	for (int metric = 0; metric < METRIC_COUNT; metric++) {
		int status;

		options.metric = (enum metric)metric;
		if (!is_pushed(profile, options.metric))
			continue;
		status = add_metric(spool, kind, profile, &options, labels, err);
		if (status && status != ERR_EMPTY)
			return status;
		has_any |= status == 0;
	}
	return has_any ? 0 : err_set(err, ERR_EMPTY, "no samples match: there is nothing to push");
}

static int add_profile(struct push_spool *spool, const struct push_target *target,
		       const struct profile *profile, const struct export_options *options,
		       bool all, struct err *err)
{
	struct export_options chosen = *options;
	struct push_labels labels = {.labels = NULL};
	int status = make_labels(target, profile, &labels, err);

	chosen.only_metric = true;
	/* Blocks are beside their bytes. */
	if (chosen.metric == METRIC_ALLOCS)
		chosen.metric = METRIC_ALLOC;
	if (status == 0)
		status = all ? add_all(spool, target->receiver.kind, profile, chosen, &labels, err)
			     : add_metric(spool, target->receiver.kind, profile, &chosen, &labels,
					  err);
	push_labels_release(&labels);
	return status;
}

/* --- delivering --- */

/* libcurl itself reads the variables of proxies alone. */
static const char *certificates(void)
{
	const char *path = getenv("CURL_CA_BUNDLE");

	return path && *path ? path : getenv("SSL_CERT_FILE");
}

static int open_transport(const struct push_target *target, struct push_http **http,
			  struct push_transport *transport, struct err *err)
{
	const struct push_http_options options = {.url = target->receiver.where,
						  .header_path = target->options->header_path,
						  .ca_path = certificates(),
						  .agent = "profc/" PROFC_VERSION};
	int status;

	*http = NULL;
	if (target->receiver.kind == PUSH_DIRECTORY) {
		*transport = push_directory_transport(target->receiver.where);
		return push_directory_make(target->receiver.where, err);
	}
	status = push_http_new(http, &options, err);
	if (status == 0)
		*transport = push_http_transport(*http);
	return status;
}

static uint64_t now_ns(void *context)
{
	(void)context;
	return clock_monotonic_ns();
}

static void sleep_until(uint64_t due_ns)
{
	const struct timespec due = {.tv_sec = (time_t)(due_ns / NS_PER_SEC),
				     .tv_nsec = (long)(due_ns % NS_PER_SEC)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
		;
}

/* Is another attempt worth it? */
static bool goes_on(const struct push_answer *answer, unsigned int *nr_failures)
{
	switch (answer->outcome) {
	case PUSH_DELIVERED:
		*nr_failures = 0;
		return true;
	case PUSH_REFUSED:
		return true;
	case PUSH_FAILED:
		return ++*nr_failures < FAILURES_MAX && answer->wait_ns <= WAIT_MAX_NS;
	case PUSH_DENIED:
		break;
	}
	return false;
}

/* The words of the last answer that was none of a delivery. */
static void deliver(struct push_spool *spool, struct push_answer *last)
{
	unsigned int nr_failures = 0;
	bool is_going_on = true;
	uint64_t due_ns;

	while (is_going_on && push_spool_due(spool, &due_ns)) {
		struct push_answer answer = {.outcome = PUSH_DELIVERED};

		sleep_until(due_ns);
		if (push_spool_step(spool, &answer) != PUSH_STEP_SENT)
			continue;
		if (answer.outcome != PUSH_DELIVERED)
			*last = answer;
		is_going_on = goes_on(&answer, &nr_failures);
	}
}

static int report(const struct push_counts *counts, const struct push_target *target,
		  const struct push_answer *last)
{
	uint64_t nr_missing = counts->nr_added - counts->nr_delivered;
	struct err err = ERR_INIT;

	if (!nr_missing) {
		if (!target->options->quiet)
			print_note("pushed %lu profile%s to %s", (unsigned long)counts->nr_added,
				   counts->nr_added == 1 ? "" : "s", target->options->receiver);
		return EXIT_DONE;
	}
	err_set(&err, ERR_SYS, "%lu of %lu profiles not delivered to %s: %s",
		(unsigned long)nr_missing, (unsigned long)counts->nr_added,
		target->options->receiver, last->words);
	if (counts->nr_failures >= FAILURES_MAX)
		err_hint(&err, "after %lu attempts; is the receiver there?",
			 (unsigned long)counts->nr_failures);
	else if (last->outcome == PUSH_DENIED && target->receiver.kind != PUSH_DIRECTORY)
		err_hint(&err,
			 "check the URL, the headers of --push-header-file, and certificates");
	return fail_with(&err);
}

/* The requests are in memory: this process waits for their delivery. */
static int push_through(const struct push_transport *transport, const struct push_target *target,
			const struct profile *profile, const struct export_options *options,
			bool all)
{
	const struct push_spool_options spool_options = {
		.transport = *transport,
		.now_ns = now_ns,
		.seed = clock_realtime_ns() ^ (uint64_t)getpid(),
	};
	struct push_answer last = {.outcome = PUSH_FAILED};
	struct push_spool *spool;
	struct push_counts counts;
	struct err err = ERR_INIT;
	int status = push_spool_open(&spool, &spool_options, &err);

	if (status)
		return fail_with(&err);
	if (add_profile(spool, target, profile, options, all, &err)) {
		push_spool_free(spool);
		return fail_with(&err);
	}
	deliver(spool, &last);
	counts = push_spool_counts(spool);
	push_spool_free(spool);
	return report(&counts, target, &last);
}

int push_profile(const struct push_target *target, const struct profile *profile,
		 const struct export_options *options, bool all)
{
	struct push_transport transport;
	struct push_http *http;
	struct err err = ERR_INIT;
	int status;

	if (open_transport(target, &http, &transport, &err))
		return fail_with(&err);
	status = push_through(&transport, target, profile, options, all);
	push_http_free(http);
	return status;
}
