// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/recording_push.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/minmax.h"
#include "calltree/filter.h"
#include "cmd/command.h"
#include "cmd/push_files.h"
#include "cmd/push_way.h"
#include "cmd/record_options.h"
#include "cmd/recording_writer.h"
#include "cmd/resolve_progress.h"
#include "export/export_options.h"
#include "profile/profile.h"
#include "push/labels.h"
#include "push/pusher.h"
#include "push/spool.h"
#include "recorder/history.h"
#include "recorder/window.h"
#include "sampler/sampler.h"

/* Samples of one time; with half of them it ends early. */
#define WINDOW_BYTES	   (UINT64_C(64) << 20)
#define SPOOL_MEMORY_BYTES (UINT64_C(16) << 20)
#define SPOOL_DISK_BYTES   (UINT64_C(256) << 20)
/* At the end the delivery is waited for so long. */
#define PATIENCE_NS (10 * NS_PER_SEC)
/* Blocks that were freed before the excerpt was made may be missing in it. */
#define MEMORY_MISSING "memory_missing_ns"
/* How often is looked whether there are too many samples, or whether files are made. */
#define LOOK_NS NS_PER_SEC
/* On a busy machine so many times may wait until their files are made. */
#define WAITING_MAX 4
/* A time may end so much later than twice that it should. */
#define LATE_NS (10 * NS_PER_SEC)
/* A trouble is told no sooner after another one. */
#define SILENT_NS (60 * NS_PER_SEC)

/* A time that is made into files. */
struct push_part {
	struct recording_part part;
	struct recording_push *push; /* borrowed */
	struct history_span span;
	uint64_t from_realtime_ns; /* 0: as the span says */
	struct profile *profile;   /* from the cut on, until files are made; owned */
};

struct recording_push {
	const struct record_options *options;
	struct push_target target;
	struct push_way way;
	struct push_spool *spool; /* owned, as are the next two */
	struct pusher *pusher;
	struct window *window;
	uint32_t metrics; /* to be pushed, as a set; 0: all that were recorded */
	struct push_labels
		labels; /* those of the first profile, as receivers know series by them */
	bool has_labels;
	struct symbol_options symbols;
	bool clears_line;
	uint64_t due_ns;		      /* CLOCK_MONOTONIC */
	uint64_t until_ns, until_realtime_ns; /* the end of the time that was pushed last */
	struct recording_writer *writer;      /* borrowed */
	uint64_t empty_since_ns;  /* the writer's: of times without files, since the epoch; or 0 */
	atomic_uint nr_waiting;	  /* parts that are not files yet */
	struct push_answer said;  /* the trouble that was told */
	uint64_t silent_until_ns; /* CLOCK_MONOTONIC */
	atomic_bool gives_up;
	atomic_uint nr_failed; /* times of which not all files could be made, */
	atomic_uint nr_short;  /* or some memory was forgotten before */
};

/* --- options --- */

static int check_unwanted(const struct every_options *every, struct err *err)
{
	if (every->push.receiver)
		return err_set(err, ERR_INVALID, "--push needs --every TIME");
	if (every->metrics.nr)
		return err_set(err, ERR_INVALID, "--push-metrics needs --every TIME");
	return every->spool ? err_set(err, ERR_INVALID, "--push-spool needs --every TIME") : 0;
}

static bool is_recorded(const struct record_options *options, enum metric metric)
{
	if (metric_is_counter(metric))
		return options->metrics.counters & KERNEL_COUNTER_BIT(metric_counter(metric));
	if (metric == METRIC_ALLOC || metric == METRIC_ALLOCS || metric == METRIC_LIVE)
		return count_options_have_memory(&options->count);
	return metric_is_of_samples(metric);
}

static int parse_metrics(const struct record_options *options, uint32_t *set, struct err *err)
{
	const struct option_list *texts = &options->keep.every.metrics;

	*set = 0;
	for (size_t i = 0; i < texts->nr; i++) {
		enum metric metric;

		if (!metric_parse(texts->values[i], &metric))
			return err_set(err, ERR_INVALID, "--push-metrics has no '%s'",
				       texts->values[i]);
		if (!is_recorded(options, metric))
			return err_set(err, ERR_INVALID, "--push-metrics %s: that is not recorded",
				       texts->values[i]);
		/* Blocks are beside their bytes. */
		*set |= UINT32_C(1) << (metric == METRIC_ALLOCS ? METRIC_ALLOC : metric);
	}
	return 0;
}

static int check_output(const struct record_options *options, struct err *err)
{
	const struct every_options *every = &options->keep.every;

	if (!every->push.receiver) {
		err_set(err, ERR_INVALID, "--every needs --push URL or --push DIR/");
		err_hint(err, "--push %s writes pprof files to a directory",
			 options->output ? options->output : "DIR/");
		return ERR_INVALID;
	}
	if (!options->output || options->keep.span_ns)
		return 0;
	err_set(err, ERR_INVALID, "--every writes no profile: -o is not for it");
	err_hint(err, "--keep TIME with -o DIR/ has profiles of what happened, too");
	return ERR_INVALID;
}

static int check_options(const struct record_options *options, struct err *err)
{
	const struct count_options *count = &options->count;

	if (record_options_check_lasting(options, "--every", err) < 0)
		return ERR_INVALID;
	if (count->functions.nr || count->calls_in.nr || count->lines.nr || count->syscalls) {
		err_set(err, ERR_INVALID, "--every cannot be combined with --count and its like");
		err_hint(err, "--keep TIME has exact counts, in the profiles that it writes");
		return ERR_INVALID;
	}
	return check_output(options, err);
}

int recording_push_new(const struct record_options *options, struct recording_push **push,
		       struct err *err)
{
	const struct every_options *every = &options->keep.every;
	struct push_target target = {.is_wanted = false};
	uint32_t metrics = 0;
	int status = every->span_ns ? check_options(options, err) : check_unwanted(every, err);

	*push = NULL;
	if (status == 0)
		status = parse_metrics(options, &metrics, err);
	if (status == 0)
		status = push_options_apply(&every->push, &target, err);
	if (status == 0 && every->spool && target.receiver.kind == PUSH_DIRECTORY)
		status = err_set(err, ERR_INVALID, "--push-spool needs the URL of a server");
	if (status < 0 || !every->span_ns) {
		push_target_release(&target);
		return status;
	}
	*push = xcalloc(1, sizeof(**push));
	(*push)->options = options;
	(*push)->target = target;
	(*push)->metrics = metrics;
	return 0;
}

void recording_push_free(struct recording_push *push)
{
	if (!push)
		return;
	pusher_end(push->pusher);
	push_spool_free(push->spool);
	push_way_close(&push->way);
	push_target_release(&push->target);
	push_labels_release(&push->labels);
	window_free(push->window);
	free(push);
}

int recording_push_open(struct recording_push *push, size_t max_blocks, struct err *err)
{
	struct push_spool_options options = {
		.seed = clock_realtime_ns() ^ (uint64_t)getpid(),
		.max_bytes = SPOOL_MEMORY_BYTES,
	};
	int status = push ? push_way_open(&push->way, &push->target, &push->gives_up, err) : 0;

	if (status < 0 || !push)
		return status;
	options.transport = push->way.transport;
	options.directory = push->options->keep.every.spool;
	if (options.directory)
		options.max_bytes = SPOOL_DISK_BYTES;
	push->window = window_new(WINDOW_BYTES, max_blocks);
	return push_spool_open(&push->spool, &options, err);
}

/* --- making files --- */

static void clear_line(const struct recording_push *push)
{
	if (push->clears_line && may_show_progress())
		print_progress("%s", "");
}

/* ERR_EMPTY: no thread has done anything in that time. */
static int add_metrics(struct recording_push *push, const struct profile *profile, struct err *err)
{
	static const struct filter everything = {.from_ns = 0};
	struct export_options options = {.metric = METRIC_CPU, .filter = &everything};
	int status = ERR_EMPTY;

	if (!push->metrics)
		return push_files_add(push->spool, &push->target, profile, &options, true,
				      &push->labels, err);
	for (int metric = 0; metric < METRIC_COUNT; metric++) {
		struct err why = ERR_INIT;
		int added;

		options.metric = (enum metric)metric;
		if (!(push->metrics & UINT32_C(1) << metric))
			continue;
		added = push_files_add(push->spool, &push->target, profile, &options, false,
				       &push->labels, &why);
		if (added && added != ERR_EMPTY)
			*err = why;
		if (status == ERR_EMPTY || (added && added != ERR_EMPTY))
			status = added;
	}
	return status;
}

static int add_files(struct recording_push *push, const struct profile *profile, struct err *err)
{
	const struct option_list *units = &push->options->select.units;
	int status = 0;

	if (!push->has_labels)
		status = push_files_label(&push->target, profile,
					  units->nr ? units->values[0] : NULL, &push->labels, err);
	push->has_labels |= status == 0;
	return status == 0 ? add_metrics(push, profile, err) : status;
}

static void make_files(struct push_part *part)
{
	struct recording_push *push = part->push;
	struct profile *profile = part->profile;
	struct err err = ERR_INIT;
	int status;

	/* By the clock of the machine, too, it begins where the last one with files ended. */
	if (part->from_realtime_ns && push->empty_since_ns)
		part->from_realtime_ns = push->empty_since_ns;
	if (part->from_realtime_ns) {
		profile->meta.start_realtime_ns = part->from_realtime_ns;
		profile->meta.duration_ns = part->span.to_realtime_ns - part->from_realtime_ns;
	}
	if (!push->options->no_symbols)
		resolve_with_progress(profile, &push->symbols, false);
	prepare_profile(profile, NULL, false, false);
	if (profile_counter(profile, MEMORY_MISSING))
		atomic_fetch_add(&push->nr_short, 1);
	status = add_files(push, profile, &err);
	push->empty_since_ns = status == ERR_EMPTY ? profile->meta.start_realtime_ns : 0;
	if (status < 0 && status != ERR_EMPTY) {
		atomic_fetch_add(&push->nr_failed, 1);
		clear_line(push);
		print_err(&err);
	}
	if (push->pusher)
		pusher_wake(push->pusher);
	profile_free(profile);
	free(part);
}

static void take_samples(void *context, const struct profile *profile)
{
	struct push_part *part = context;

	part->profile = window_take(part->push->window, profile, &part->span);
}

/* The time ends here, and the next one begins, unless the clock of the machine was set. */
static struct push_part *end_part(struct recording_push *push, uint64_t now_ns,
				  uint64_t realtime_ns)
{
	struct push_part *part = xcalloc(1, sizeof(*part));
	uint64_t expected_ns = push->until_realtime_ns + (now_ns - push->until_ns);
	bool joins = push->until_realtime_ns && realtime_ns + NS_PER_SEC > expected_ns &&
		     realtime_ns < expected_ns + NS_PER_SEC;

	part->push = push;
	part->span = (struct history_span){push->until_ns, now_ns, realtime_ns};
	part->from_realtime_ns = joins ? min_u64(push->until_realtime_ns, realtime_ns) : 0;
	push->until_ns = now_ns;
	push->until_realtime_ns = realtime_ns;
	return part;
}

static void write_part(void *context)
{
	struct push_part *part = context;
	struct recording_push *push = part->push;

	make_files(part);
	atomic_fetch_sub(&push->nr_waiting, 1);
}

static void begin_writing(struct recording_push *push, struct sampler *sampler)
{
	struct push_part *part =
		end_part(push, max_u64(sampler_progress(sampler).elapsed_ns, push->until_ns),
			 clock_realtime_ns());

	part->part = (struct recording_part){
		.cut = {.look = take_samples, .context = part},
		.write = write_part,
		.context = part,
	};
	atomic_fetch_add(&push->nr_waiting, 1);
	recording_writer_add(push->writer, sampler, &part->part);
}

/* --- while it goes --- */

void recording_push_begin(struct recording_push *push, struct recording_writer *writer,
			  const struct symbol_options *symbols, bool clears_line)
{
	struct err err = ERR_INIT;

	if (!push)
		return;
	push->writer = writer;
	push->symbols = *symbols;
	push->symbols.notes_sources = false; /* no file of these has them */
	push->clears_line = clears_line;
	push->due_ns = clock_monotonic_ns() + push->options->keep.every.span_ns;
	if (pusher_start(&push->pusher, push->spool, &push->gives_up, &err) == 0)
		return;
	push->pusher = NULL;
	print_err(&err);
}

void recording_push_collect(struct recording_push *push, const struct profile *profile)
{
	if (push)
		window_look(push->window, profile);
}

uint64_t recording_push_memory_ns(const struct recording_push *push)
{
	return push ? 2 * push->options->keep.every.span_ns + LATE_NS : 0;
}

static bool is_behind(const struct recording_push *push)
{
	return atomic_load(&push->nr_waiting) >= WAITING_MAX;
}

uint64_t recording_push_due_ns(const struct recording_push *push)
{
	uint64_t next_ns = clock_monotonic_ns() + LOOK_NS;

	if (!push)
		return UINT64_MAX;
	return is_behind(push) ? next_ns : min_u64(push->due_ns, next_ns);
}

/* Not what is repeated for hours, nor two troubles by turns. */
static void say_trouble(struct recording_push *push, uint64_t now_ns)
{
	struct push_answer answer;

	if (now_ns < push->silent_until_ns || !push->pusher ||
	    !pusher_trouble(push->pusher, &answer) || strcmp(answer.words, push->said.words) == 0)
		return;
	push->said = answer;
	push->silent_until_ns = now_ns + SILENT_NS;
	clear_line(push);
	print_warning("a profile was not delivered to %s: %s", push->target.options->receiver,
		      answer.words);
}

void recording_push_look(struct recording_push *push, struct sampler *sampler)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (!push)
		return;
	say_trouble(push, now_ns);
	if (is_behind(push) || (now_ns < push->due_ns && !window_is_filling(push->window)))
		return;
	begin_writing(push, sampler);
	push->due_ns += push->options->keep.every.span_ns;
	if (push->due_ns <= now_ns)
		push->due_ns = now_ns + push->options->keep.every.span_ns;
}

void recording_push_note(struct recording_push *push, struct profile *profile)
{
	struct push_counts counts;

	if (!push)
		return;
	counts = push_spool_counts(push->spool);
	profile_set_counter(profile, "pushed_profiles", counts.nr_delivered);
	profile_set_counter(profile, "push_lost",
			    counts.nr_refused + counts.nr_dropped + counts.nr_unkept);
	profile_set_counter(profile, "push_failures", counts.nr_failures);
}

/* --- the end --- */

static void append_number(struct buf *out, uint64_t nr, const char *words)
{
	if (nr)
		buf_printf(out, ", %lu %s", (unsigned long)nr, words);
}

static void say_sum(struct recording_push *push, const struct push_counts *counts)
{
	uint64_t nr_all = counts->nr_added + counts->nr_found;
	const char *spool = push->options->keep.every.spool;
	struct buf text = {0};

	buf_printf(&text, "pushed %lu of %lu profile%s to %s", (unsigned long)counts->nr_delivered,
		   (unsigned long)nr_all, nr_all == 1 ? "" : "s", push->target.options->receiver);
	append_number(&text, counts->nr_refused, "refused");
	append_number(&text, counts->nr_dropped, "dropped for want of room");
	append_number(&text, counts->nr_unkept, "not kept");
	append_number(&text, counts->nr_left, spool ? "left in " : "not delivered");
	if (counts->nr_left && spool)
		buf_append_str(&text, spool);
	append_number(&text, counts->nr_failures,
		      counts->nr_failures == 1 ? "attempt failed" : "attempts failed");
	append_number(&text, window_nr_left_out(push->window), "samples left out");
	append_number(&text, atomic_load(&push->nr_short),
		      "times with too many blocks of memory to be complete");
	clear_line(push);
	if (counts->nr_delivered < nr_all)
		print_warning("%s", buf_str(&text));
	else if (!push->options->quiet)
		print_note("%s", buf_str(&text));
	buf_release(&text);
}

/* It ended some time ago: files of the times before were waited for. */
static struct push_part *last_part(struct recording_push *push, const struct profile *profile)
{
	uint64_t now_ns = max_u64(profile->meta.duration_ns, push->until_ns);
	uint64_t since_ns =
		push->until_realtime_ns ? push->until_realtime_ns : profile->meta.start_realtime_ns;

	return end_part(push, now_ns, since_ns + (now_ns - push->until_ns));
}

bool recording_push_finish(struct recording_push *push, const struct profile *profile)
{
	struct push_counts counts;
	struct push_part *part;

	if (!push)
		return true;
	part = last_part(push, profile);
	take_samples(part, profile);
	make_files(part);
	if (push->pusher)
		pusher_wait(push->pusher, clock_monotonic_ns() + PATIENCE_NS, push->symbols.ended);
	say_trouble(push, UINT64_MAX - SILENT_NS);
	pusher_end(push->pusher);
	push->pusher = NULL;
	counts = push_spool_counts(push->spool);
	say_sum(push, &counts);
	if (!push->options->keep.every.spool && counts.nr_left)
		return false;
	return !counts.nr_refused && !counts.nr_dropped && !counts.nr_unkept &&
	       !atomic_load(&push->nr_failed);
}
