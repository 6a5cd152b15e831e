// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/recording_keep.h"

#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/minmax.h"
#include "cmd/command.h"
#include "cmd/counting.h"
#include "cmd/keep_directory.h"
#include "cmd/keep_socket.h"
#include "cmd/record_options.h"
#include "cmd/recording_push.h"
#include "cmd/recording_writer.h"
#include "cmd/resolve_progress.h"
#include "cmd/save_profile.h"
#include "cmd/service_notify.h"
#include "patch/span.h"
#include "profile/profile.h"
#include "recorder/history.h"
#include "recorder/kept_spans.h"
#include "recorder/observe.h"
#include "recorder/trigger.h"
#include "sampler/sampler.h"
#include "symbol/kept_files.h"
#include "view/number.h"

/* A file has this much of the time after its trigger. */
#define AFTER_NS (2 * NS_PER_SEC)
/* So long before its end all sleeps are published, which else wait for a part of their length. */
#define SLEEPS_NS (NS_PER_SEC / 4)
/* By then a profile has been made: the history reaches back from there. */
#define LATE_NS (AFTER_NS + 2 * NS_PER_SEC)
/* The niceness of the thread that finds names: it is in no hurry. */
#define NICENESS 10
/* Files in which names were found stay open with their tables, up to so much memory. */
#define FILES_BYTES   (UINT64_C(16) << 20)
#define BYTES_DEFAULT (UINT64_C(64) << 20)
#define LIMIT_DEFAULT 10
/* The profile's tables may take this part of what samples may: then it is left for a new one. */
#define TABLES_PART	2
#define TABLE_BYTES_MIN (UINT64_C(1) << 20)
/* With so many times of that, it is left before it has lasted as long as is kept. */
#define TABLES_HARD 4
#define YOUNG_NS    NS_PER_SEC
/* How often the size of the tables is looked at. */
#define LOOK_MS 1000

/* A profile that is to be written. */
struct keep_dump {
	char *text;	      /* the trigger; owned; NULL: there is none to be written */
	char *word;	      /* of its file name; owned */
	uint64_t at_ns;	      /* of the trigger, on the recording's clock */
	uint64_t realtime_ns; /* likewise, since the epoch */
	uint64_t due_ns;      /* CLOCK_MONOTONIC; first for its sleeps, then for its end */
	bool has_sleeps;      /* they were asked for */
	bool has_client;
	int client; /* of 'profc ctl', which waits for it */
	struct history_span span;
	struct recording_part part;
	struct profile *profile; /* the excerpt, from the cut on; owned */
};

/* The trigger `crash`. */
struct keep_crash {
	pid_t pid;  /* of the last one of sampler_core(); 0: there was none */
	char *text; /* was suppressed, and is due at the end; owned; or NULL */
};

/* No trigger is obeyed for some time after the last one. */
struct keep_gap {
	uint64_t end_ns;  /* CLOCK_MONOTONIC */
	uint64_t said_ns; /* the end of the last gap in which one was said to be suppressed */
};

/* CLOCK_REALTIME */
struct keep_realtime {
	uint64_t epoch_ns; /* when CLOCK_BOOTTIME was 0, as last seen */
	uint64_t ended_ns; /* when the recording has ended */
};

/* Where the recorder says what happens, and what it has said. */
struct keep_saying {
	bool clears_line, tells_manager;
	bool has_said_cost;
};

struct keep {
	const struct record_options *options;
	struct keep_directory directory;
	struct keep_socket socket;
	struct history *history;     /* owned; NULL without --keep */
	struct recording_push *push; /* owned; NULL without --every */
	struct triggers triggers;
	struct symbol_options symbols;
	bool has_names;			 /* shall be looked for */
	const struct counting *counting; /* borrowed; NULL: nothing is counted */
	struct keep_saying saying;
	struct recording_writer *writer; /* owned, as are the files */
	struct kept_files *files;	 /* in which names were found */
	struct keep_dump pending, writing;
	atomic_bool is_writing;
	uint64_t reading_due_ns; /* CLOCK_MONOTONIC */
	struct keep_gap gap;
	struct keep_crash crash;
	struct keep_realtime realtime;
	atomic_bool is_waiting; /* for a process of --unit or --comm */
	atomic_uint nr_begun_again, nr_suppressed, nr_written, nr_failed;
};

static void dump_release(struct keep_dump *dump)
{
	free(dump->text);
	free(dump->word);
	if (dump->has_client)
		keep_socket_answer(dump->client, "failed it was not written");
	profile_free(dump->profile);
	*dump = (struct keep_dump){0};
}

/* --- options --- */

static int check_options(const struct record_options *options, struct err *err)
{
	const struct keep_options *keep = &options->keep;

	if (!keep->span_ns) {
		if (!keep->triggers.nr && !keep->limit && !keep->max_bytes)
			return 0;
		err_set(err, ERR_INVALID, "%s needs --keep TIME",
			keep->triggers.nr ? "--trigger"
			: keep->limit	  ? "--limit"
					  : "--keep-size");
		err_hint(err, "for example --keep 60s: the minute before each trigger is written");
		return ERR_INVALID;
	}
	if (record_options_check_lasting(options, "--keep", err) < 0)
		return ERR_INVALID;
	if (options->output && strcmp(options->output, "-") == 0)
		return err_set(err, ERR_INVALID, "--keep needs a directory, not -o -");
	return 0;
}

static int add_triggers(struct keep *keep, const struct option_list *texts, struct err *err)
{
	for (size_t i = 0; i < texts->nr; i++) {
		int status = triggers_add(&keep->triggers, texts->values[i], err);

		if (status < 0)
			return status;
	}
	return 0;
}

/* Blocks of memory have one half, if they are recorded, and samples and counts the other. */
static uint64_t max_bytes_of(const struct record_options *options)
{
	uint64_t max_bytes = options->keep.max_bytes ? options->keep.max_bytes : BYTES_DEFAULT;

	return count_options_have_memory(&options->count) ? max_bytes / 2 : max_bytes;
}

/* Without a process. */
static bool may_go_on(const struct record_options *options)
{
	return options->select.units.nr || options->select.names.nr;
}

int keep_new(const struct record_options *options, const char *command, struct keep **keep,
	     struct err *err)
{
	const struct keep_options *asked = &options->keep;
	struct recording_push *push = NULL;
	struct keep *made;
	int status = check_options(options, err);

	*keep = NULL;
	if (status == 0)
		status = recording_push_new(options, &push, err);
	if (status < 0 || (!asked->span_ns && !push))
		return status;
	made = xcalloc(1, sizeof(*made));
	made->options = options;
	made->push = push;
	made->writer = recording_writer_new(NICENESS);
	made->files = kept_files_new(FILES_BYTES);
	made->socket = (struct keep_socket)KEEP_SOCKET_NONE;
	if (!asked->span_ns) {
		*keep = made;
		return 0;
	}
	status = add_triggers(made, &asked->triggers, err);
	if (status == 0 && triggers_find(&made->triggers, TRIGGER_CONTROL) && !options->control)
		status = err_set(err, ERR_INVALID, "--trigger control needs --control");
	if (status == 0 && triggers_find(&made->triggers, TRIGGER_MARK) && !options->control)
		status = err_set(err, ERR_INVALID,
				 "--trigger mark needs --control, by which "
				 "marks come");
	if (status == 0 && triggers_find(&made->triggers, TRIGGER_GONE) && !may_go_on(options))
		status = err_set(err, ERR_INVALID,
				 "--trigger gone needs --unit or --comm: else 'exit' is it");
	if (status < 0) {
		keep_free(made);
		return status;
	}
	made->history = history_new(asked->span_ns + LATE_NS, max_bytes_of(options));
	keep_directory_init(&made->directory, options->output, command,
			    asked->limit ? (size_t)asked->limit : LIMIT_DEFAULT);
	*keep = made;
	return 0;
}

void keep_free(struct keep *keep)
{
	if (!keep)
		return;
	recording_writer_free(keep->writer);
	kept_files_free(keep->files);
	dump_release(&keep->pending);
	free(keep->crash.text);
	triggers_release(&keep->triggers);
	recording_push_free(keep->push);
	history_free(keep->history);
	keep_socket_close(&keep->socket);
	keep_directory_release(&keep->directory);
	free(keep);
}

int keep_await_calls(struct keep *keep, struct counting *counting, struct err *err)
{
	for (size_t i = 0; keep && i < keep->triggers.nr; i++) {
		struct trigger *trigger = &keep->triggers.rows[i];
		int status = 0;

		if (trigger->kind == TRIGGER_SPAN)
			status = counting_await_slow(counting, trigger->name, trigger->span_ns,
						     &trigger->number, err);
		if (status < 0) {
			err_prefix(err, "--trigger");
			return status;
		}
	}
	return 0;
}

/* A block takes its row, a place in a table that is 5/8 full or less, and some room to grow. */
#define BYTES_OF_BLOCK (2 * sizeof(struct profile_allocation) + 64)

static size_t max_blocks(const struct keep *keep)
{
	return max_bytes_of(keep->options) / BYTES_OF_BLOCK;
}

int keep_open(struct keep *keep, struct err *err)
{
	int status = keep->history ? keep_directory_make(&keep->directory, err) : 0;
	struct err failure = ERR_INIT;

	if (status == 0 && keep->history &&
	    keep_socket_open(&keep->socket, keep->directory.path, &failure) < 0 &&
	    !keep->options->quiet)
		print_note("'profc ctl %s' does not reach this recorder: %s", keep->directory.path,
			   failure.what);
	return status ? status : recording_push_open(keep->push, max_blocks(keep), err);
}

static uint64_t epoch_ns(void)
{
	return clock_realtime_ns() - clock_boot_ns();
}

/* On a terminal: a service has its log for what happens. */
static void say_how_to_ask(const struct keep *keep)
{
	struct buf span = {0};

	if (!keep->history || keep->socket.listener < 0 || !keep->saying.clears_line ||
	    !may_show_progress())
		return;
	append_weight(&span, METRIC_WALL, keep->options->keep.span_ns);
	print_note("the last %s are kept: 'profc ctl %s dump' writes them", buf_str(&span),
		   keep->directory.path);
	buf_release(&span);
}

void keep_begin(struct keep *keep, const struct symbol_options *symbols,
		const struct counting *counting, bool clears_line, bool tells_manager)
{
	keep->has_names = !keep->options->no_symbols;
	keep->symbols = *symbols;
	keep->symbols.kept = keep->files;
	keep->counting = counting;
	keep->saying.clears_line = clears_line;
	keep->saying.tells_manager = tells_manager;
	recording_push_begin(keep->push, keep->writer, &keep->symbols, clears_line);
	keep->realtime.epoch_ns = epoch_ns();
	say_how_to_ask(keep);
}

void keep_collect(void *context, const struct profile *profile)
{
	struct keep *keep = context;

	if (keep->history)
		history_look(keep->history, profile);
	recording_push_collect(keep->push, profile);
}

bool keep_has_triggers(const struct keep *keep)
{
	return keep && keep->history;
}

struct heap_keep keep_heap(const struct keep *keep)
{
	return (struct heap_keep){.span_ns = max_u64(keep->options->keep.span_ns + LATE_NS,
						     recording_push_memory_ns(keep->push)),
				  .max_rows = max_blocks(keep)};
}

/* --- the next profile --- */

static uint64_t most_table_bytes(const struct keep *keep)
{
	return max_u64(max_bytes_of(keep->options) / TABLES_PART, TABLE_BYTES_MIN);
}

/* On the recording's clock; the sampler's begins with each profile. */
static uint64_t elapsed_ns(const struct keep *keep, const struct sampler *sampler)
{
	return history_base_ns(keep->history) + sampler_progress(sampler).elapsed_ns;
}

/* Probes are of one sampler, with their counts and blocks; a push and an agent refer to rows. */
static bool must_remain(const struct keep *keep)
{
	return !keep->history || keep->counting || keep->push || keep->options->agent;
}

/* A file that is due has all of its time in one profile, or in it and the one before. */
bool keep_is_full(const struct keep *keep, const struct sampler *sampler)
{
	uint64_t most = most_table_bytes(keep);
	uint64_t age_ns, nr_bytes;

	if (must_remain(keep) || keep->pending.text)
		return false;
	nr_bytes = history_table_bytes(keep->history);
	age_ns = sampler_progress(sampler).elapsed_ns;
	if (nr_bytes <= most)
		return false;
	return age_ns >= keep->options->keep.span_ns ||
	       (nr_bytes / TABLES_HARD > most && age_ns >= YOUNG_NS);
}

void keep_continue(struct keep *keep, struct profile *profile, uint64_t nr_elapsed_ns)
{
	history_look(keep->history, profile); /* the samples since the last flush */
	profile_drop_samples(profile);
	profile_drop_calls(profile);
	history_continue(keep->history, profile, nr_elapsed_ns,
			 most_table_bytes(keep) + max_bytes_of(keep->options));
	atomic_fetch_add(&keep->nr_begun_again, 1);
}

uint64_t keep_base_ns(const struct keep *keep)
{
	return keep->history ? history_base_ns(keep->history) : 0;
}

/* --- writing --- */

static void clear_line(const struct keep *keep)
{
	if (keep->saying.clears_line && may_show_progress())
		print_progress("%s", "");
}

/* A mark is at the moment of the trigger, which the file names. */
static void note_trigger(const struct keep *keep, struct keep_dump *dump)
{
	struct profile *profile = dump->profile;
	cleanup_free char *text = xasprintf(PROFILE_TRIGGER_MARK "%s", dump->text);

	for (size_t i = 0; i < profile->nr_marks; i++) {
		if (strcmp(profile_str(profile, profile->marks[i].text), text) == 0)
			profile_set_counter(profile, "trigger_ns", profile->marks[i].time_ns);
	}
	profile_set_counter(profile, "recorder_ns", dump->span.to_ns);
	if (atomic_load(&keep->nr_begun_again))
		profile_set_counter(profile, "recorder_restarts",
				    atomic_load(&keep->nr_begun_again));
	profile_set_counter(profile, "suppressed_triggers", atomic_load(&keep->nr_suppressed));
	recording_push_note(keep->push, profile);
}

static void answer(struct keep_dump *dump, const char *what, const char *text)
{
	if (dump->has_client)
		keep_socket_answer(dump->client, "%s %s", what, text);
	dump->has_client = false;
}

static void write_dump(struct keep *keep, struct keep_dump *dump)
{
	struct err err = ERR_INIT;
	char *path;

	if (keep->has_names)
		resolve_with_progress(dump->profile, &keep->symbols, false);
	counting_show_asked(keep->counting, dump->profile);
	keep_directory_name(&keep->directory, dump->profile);
	path = keep_directory_path(&keep->directory, dump->realtime_ns, dump->word);
	if (save_profile(dump->profile, path, &err) < 0) {
		atomic_fetch_add(&keep->nr_failed, 1);
		clear_line(keep);
		print_err(&err);
		answer(dump, "failed", err.what);
	} else {
		atomic_fetch_add(&keep->nr_written, 1);
		if (keep->saying.tells_manager)
			service_notify_state(atomic_load(&keep->is_waiting),
					     "; %u written, the last by %s: %s",
					     atomic_load(&keep->nr_written), dump->text, path);
		keep_directory_limit(&keep->directory, path);
		answer(dump, "wrote", strrchr(path, '/') + 1);
		clear_line(keep);
		if (!keep->options->quiet)
			print_note("wrote %s: %s", path, dump->text);
	}
	free(path);
}

static void take_excerpt(void *context, const struct profile *profile)
{
	struct keep *keep = context;
	struct keep_dump *dump = &keep->writing;

	dump->profile = history_excerpt(keep->history, profile, &dump->span);
}

static void write_part(void *context)
{
	struct keep *keep = context;
	struct keep_dump *dump = &keep->writing;

	note_trigger(keep, dump);
	write_dump(keep, dump);
	dump_release(dump);
	atomic_store(&keep->is_writing, false);
}

/* The pending one is due: the excerpt ends now. */
static void span_of(const struct keep *keep, struct keep_dump *dump, uint64_t now_ns,
		    uint64_t realtime_ns)
{
	uint64_t keep_ns = keep->options->keep.span_ns;

	dump->span = (struct history_span){
		.from_ns = dump->at_ns > keep_ns ? dump->at_ns - keep_ns : 0,
		.to_ns = now_ns,
		.to_realtime_ns = realtime_ns,
	};
}

static void begin_writing(struct keep *keep, struct sampler *sampler)
{
	struct keep_dump *dump = &keep->writing;

	*dump = keep->pending;
	keep->pending = (struct keep_dump){0};
	span_of(keep, dump, elapsed_ns(keep, sampler), clock_realtime_ns());
	dump->part = (struct recording_part){
		.cut = {.look = take_excerpt, .context = keep},
		.write = write_part,
		.context = keep,
	};
	atomic_store(&keep->is_writing, true);
	recording_writer_add(keep->writer, sampler, &dump->part);
}

/* --- triggers --- */

/* Once after each that was obeyed: a program may have them come a thousand times a second. */
static void say_suppressed(struct keep *keep, const char *text)
{
	if (keep->options->quiet || keep->gap.said_ns == keep->gap.end_ns)
		return;
	keep->gap.said_ns = keep->gap.end_ns;
	clear_line(keep);
	print_note("trigger %s is suppressed: a profile was written just now, or is being "
		   "written",
		   text);
}

static void prepare(struct keep *keep, const char *text, const char *word, uint64_t at_ns)
{
	keep->pending = (struct keep_dump){
		.text = xstrdup(text),
		.word = xstrdup(word),
		.at_ns = at_ns,
		.realtime_ns = clock_realtime_ns(),
		.due_ns = clock_monotonic_ns() + AFTER_NS - SLEEPS_NS,
	};
}

/* False: it is suppressed. at_ns is as in struct keep_dump. */
static bool fire_at(struct keep *keep, struct sampler *sampler, const char *text, const char *word,
		    uint64_t at_ns)
{
	cleanup_free char *mark = xasprintf(PROFILE_TRIGGER_MARK "%s", text);
	uint64_t now_ns = clock_monotonic_ns();

	if (keep->pending.text || atomic_load(&keep->is_writing) || now_ns < keep->gap.end_ns) {
		atomic_fetch_add(&keep->nr_suppressed, 1);
		say_suppressed(keep, text);
		return false;
	}
	sampler_mark(sampler, mark);
	prepare(keep, text, word, at_ns);
	keep->gap.end_ns = now_ns + max_u64(keep->options->keep.span_ns / 2, AFTER_NS);
	return true;
}

static bool fire(struct keep *keep, struct sampler *sampler, const char *text, const char *word)
{
	return fire_at(keep, sampler, text, word, elapsed_ns(keep, sampler));
}

bool keep_awaits_core(const struct keep *keep)
{
	return keep && triggers_find(&keep->triggers, TRIGGER_CRASH);
}

/* The sampler that begins a new profile meanwhile sees the same core again. */
void keep_core(struct keep *keep, struct sampler *sampler)
{
	const char *word = trigger_name(TRIGGER_CRASH);
	cleanup_free char *text = NULL;
	struct sampler_core core = sampler_core(sampler);

	if (!core.pid || core.pid == keep->crash.pid)
		return;
	keep->crash.pid = core.pid;
	text = xasprintf("crash of process %d, %s", core.pid,
			 core.is_over ? "with the last samples before it"
				      : "while its core was written");
	free(keep->crash.text);
	keep->crash.text = fire(keep, sampler, text, word) ? NULL : xstrdup(text);
}

/* Several triggers may be of one function. */
static void note_calls(struct keep *keep, uint32_t number)
{
	struct long_call call;

	if (!history_take_longest(keep->history, number, &call))
		return;
	for (size_t i = 0; i < keep->triggers.nr; i++) {
		struct trigger *trigger = &keep->triggers.rows[i];

		if (trigger->kind == TRIGGER_SPAN && trigger->number == number)
			trigger_note_call(trigger, call.length_ns, call.end_ns);
	}
}

static void take_reading(struct keep *keep)
{
	struct trigger_reading reading;
	struct history_state state;

	history_read(keep->history, &state);
	reading = observe_processes(&state, triggers_find(&keep->triggers, TRIGGER_RSS) != NULL);
	history_state_release(&state);
	triggers_note_reading(&keep->triggers, &reading);
}

/* Times of a recording are by a clock that never jumps; only names of files change. */
static void note_jump(struct keep *keep, struct sampler *sampler)
{
	uint64_t now_ns = epoch_ns();
	double jump_s = ((double)now_ns - (double)keep->realtime.epoch_ns) / (double)NS_PER_SEC;
	cleanup_free char *text = NULL;

	if (jump_s > -1 && jump_s < 1) /* its rate was corrected */
		return;
	keep->realtime.epoch_ns = now_ns;
	text = xasprintf("the clock was set by %+.1f s", jump_s);
	sampler_mark(sampler, text);
	if (keep->options->quiet)
		return;
	clear_line(keep);
	print_note("%s: names of profiles have the new time", text);
}

/* Once. */
static void note_cost(struct keep *keep, struct sampler *sampler)
{
	if (keep->saying.has_said_cost || !sampler_progress(sampler).lacks_budget)
		return;
	keep->saying.has_said_cost = true;
	clear_line(keep);
	print_warning("sampling takes more than %g%% of a CPU here even at the lowest rate, 5 Hz; "
		      "-F HZ keeps a higher one, whatever it takes",
		      keep->options->keep.max_cost_percent);
}

void keep_look(struct keep *keep, struct sampler *sampler)
{
	uint64_t now_ns = clock_monotonic_ns();
	const struct trigger *trigger;

	recording_push_look(keep->push, sampler);
	note_cost(keep, sampler);
	if (!keep->history)
		return;
	keep_socket_look(&keep->socket);
	note_jump(keep, sampler);
	if (triggers_need_readings(&keep->triggers) && now_ns >= keep->reading_due_ns) {
		take_reading(keep);
		keep->reading_due_ns = now_ns + triggers_period_ns(&keep->triggers);
	}
	for (uint32_t i = 0; i < PATCH_SPANS_MAX; i++)
		note_calls(keep, i);
	while ((trigger = triggers_next(&keep->triggers, now_ns)))
		fire_at(keep, sampler, trigger->text, trigger_name(trigger->kind),
			trigger->kind == TRIGGER_SPAN ? trigger->at_ns : elapsed_ns(keep, sampler));
	if (!keep->pending.text || now_ns < keep->pending.due_ns)
		return;
	if (keep->pending.has_sleeps) {
		begin_writing(keep, sampler);
	} else {
		sampler_publish_sleeps(sampler);
		keep->pending.has_sleeps = true;
		keep->pending.due_ns += SLEEPS_NS;
	}
}

int keep_timeout_ms(const struct keep *keep)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t due_ns =
		min_u64(triggers_due_ns(&keep->triggers), recording_push_due_ns(keep->push));

	if (triggers_need_readings(&keep->triggers))
		due_ns = min_u64(due_ns, keep->reading_due_ns);
	if (keep->pending.text)
		due_ns = min_u64(due_ns, keep->pending.due_ns);
	return due_ns <= now_ns ? 0 : (int)min_u64((due_ns - now_ns) / NS_PER_MS + 1, LOOK_MS);
}

void keep_signal(struct keep *keep, struct sampler *sampler)
{
	fire(keep, sampler, trigger_name(TRIGGER_SIGNAL), trigger_name(TRIGGER_SIGNAL));
}

void keep_gone(struct keep *keep, struct sampler *sampler)
{
	if (triggers_find(&keep->triggers, TRIGGER_GONE))
		fire(keep, sampler, trigger_name(TRIGGER_GONE), trigger_name(TRIGGER_GONE));
}

void keep_set_waiting(struct keep *keep, bool is_waiting)
{
	unsigned int nr = atomic_load(&keep->nr_written);

	atomic_store(&keep->is_waiting, is_waiting);
	if (nr)
		service_notify_state(is_waiting, "; %u written", nr);
	else
		service_notify_state(is_waiting, "%s", "");
}

void keep_control(struct keep *keep, struct sampler *sampler, const char *label)
{
	const char *name = trigger_name(TRIGGER_CONTROL);
	cleanup_free char *text = xasprintf("%s %s", name, label);
	cleanup_free char *word = xasprintf("%s-%s", name, label);

	fire(keep, sampler, text, word);
}

int keep_fd(const struct keep *keep)
{
	return keep->socket.events;
}

static void dump_for_client(struct keep *keep, struct sampler *sampler, const char *label,
			    int client)
{
	const char *name = trigger_name(TRIGGER_CONTROL);
	cleanup_free char *text = xasprintf("%s%s%s", name, *label ? " " : "", label);
	cleanup_free char *word = xasprintf("%s%s%s", name, *label ? "-" : "", label);
	uint64_t now_ns;

	if (fire(keep, sampler, text, word)) {
		keep_socket_begin(client);
		keep->pending.has_client = true;
		keep->pending.client = client;
		return;
	}
	now_ns = clock_monotonic_ns();
	if (now_ns < keep->gap.end_ns)
		keep_socket_answer(client, "failed one was triggered just now: again in %.0f s",
				   ceil((double)(keep->gap.end_ns - now_ns) / (double)NS_PER_SEC));
	else
		keep_socket_answer(client, "failed another one is being written");
}

bool keep_serve(struct keep *keep, struct sampler *sampler)
{
	enum keep_request request;
	unsigned int nr_pauses = keep->socket.nr_pauses;
	bool goes_on = true;
	char label[256];
	int client;

	while ((request = keep_socket_next(&keep->socket, label, sizeof(label), &client))) {
		if (request == KEEP_REQUEST_STOP)
			goes_on = false;
		else
			dump_for_client(keep, sampler, label, client);
	}
	if (!nr_pauses && keep->socket.nr_pauses) {
		clear_line(keep);
		print_warning("'profc ctl' has to wait: there are too many open files, or no "
			      "memory");
	}
	return goes_on;
}

void keep_mark(struct keep *keep, struct sampler *sampler, const char *text)
{
	keep_look(keep, sampler); /* the phase that ends now may have taken too long */
	triggers_note_mark(&keep->triggers, text, clock_monotonic_ns());
}

/* --- the end --- */

static uint64_t end_ns(const struct keep *keep, const struct profile *profile)
{
	return history_base_ns(keep->history) + profile->meta.duration_ns;
}

static void write_at_end(struct keep *keep, const struct profile *profile)
{
	struct keep_dump *dump = &keep->pending;

	span_of(keep, dump, end_ns(keep, profile), keep->realtime.ended_ns);
	dump->profile = history_excerpt(keep->history, profile, &dump->span);
	note_trigger(keep, dump);
	write_dump(keep, dump);
	dump_release(dump);
}

/* By a trigger of the end, which is never suppressed. */
static void trigger_at_end(struct keep *keep, struct profile *profile, const char *text,
			   enum trigger_kind kind)
{
	cleanup_free char *mark = xasprintf(PROFILE_TRIGGER_MARK "%s", text);

	profile_add_mark(profile, profile->meta.duration_ns, mark);
	prepare(keep, text, trigger_name(kind), end_ns(keep, profile));
	write_at_end(keep, profile);
}

/* Signals upon which the kernel writes a core, but for those that users send. */
static bool is_of_crash(int signal)
{
	static const int signals[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		if (signals[i] == signal)
			return true;
	}
	return false;
}

static void crash_at_end(struct keep *keep, struct profile *profile)
{
	int status = profile->meta.exit_status;
	bool has_crashed = status != -1 && WIFSIGNALED(status) && is_of_crash(WTERMSIG(status));

	if (keep->crash.text) {
		trigger_at_end(keep, profile, keep->crash.text, TRIGGER_CRASH);
	} else if (has_crashed && !keep->crash.pid) {
		cleanup_free char *text = xasprintf(
			"crash by signal %d, with the last samples before it", WTERMSIG(status));

		trigger_at_end(keep, profile, text, TRIGGER_CRASH);
	}
}

/* Those that ended after the last look. */
static void calls_at_end(struct keep *keep, struct profile *profile)
{
	const struct trigger *trigger;
	uint64_t now_ns = clock_monotonic_ns();

	for (uint32_t i = 0; i < PATCH_SPANS_MAX; i++)
		note_calls(keep, i);
	while ((trigger = triggers_next(&keep->triggers, now_ns))) {
		if (trigger->kind != TRIGGER_SPAN)
			continue;
		if (now_ns < keep->gap.end_ns) {
			atomic_fetch_add(&keep->nr_suppressed, 1);
			continue;
		}
		trigger_at_end(keep, profile, trigger->text, TRIGGER_SPAN);
		keep->gap.end_ns = UINT64_MAX;
	}
}

static void say_sum(const struct keep *keep)
{
	unsigned int nr = atomic_load(&keep->nr_written);
	unsigned int nr_suppressed = atomic_load(&keep->nr_suppressed);
	struct buf text = {0};

	if (keep->options->quiet)
		return;
	buf_printf(&text, "%u profile%s written to %s", nr, nr == 1 ? "" : "s",
		   keep->directory.path);
	if (nr_suppressed)
		buf_printf(&text, ", %u trigger%s suppressed", nr_suppressed,
			   nr_suppressed == 1 ? "" : "s");
	if (keep->socket.nr_pauses)
		buf_printf(&text, ", 'profc ctl' put off %u times", keep->socket.nr_pauses);
	print_note("%s", buf_str(&text));
	buf_release(&text);
}

bool keep_finish(struct keep *keep, struct profile *profile)
{
	keep->realtime.ended_ns = clock_realtime_ns();
	recording_writer_wait(keep->writer);
	keep_collect(keep, profile); /* the samples since the last flush */
	profile_drop_samples(profile);
	profile_drop_calls(profile);
	if (keep->pending.text)
		write_at_end(keep, profile);
	if (triggers_find(&keep->triggers, TRIGGER_SPAN))
		calls_at_end(keep, profile);
	if (triggers_find(&keep->triggers, TRIGGER_CRASH))
		crash_at_end(keep, profile);
	if (triggers_find(&keep->triggers, TRIGGER_EXIT))
		trigger_at_end(keep, profile, trigger_name(TRIGGER_EXIT), TRIGGER_EXIT);
	if (keep->history)
		say_sum(keep);
	keep_socket_close(&keep->socket);
	return recording_push_finish(keep->push, profile) && !atomic_load(&keep->nr_failed);
}
