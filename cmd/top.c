// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/end_listener.h"
#include "base/err.h"
#include "base/minmax.h"
#include "base/output_file.h"
#include "base/sink.h"
#include "browse/browse.h"
#include "browse/screen.h"
#include "browse/top.h"
#include "calltree/count_history.h"
#include "calltree/filter.h"
#include "cmd/command.h"
#include "cmd/filter_options.h"
#include "cmd/live.h"
#include "cmd/profile_options.h"
#include "cmd/record_metrics.h"
#include "cmd/record_options.h"
#include "cmd/recording_child.h"
#include "cmd/save_profile.h"
#include "cmd/signal_pipe.h"
#include "cmd/suspend.h"
#include "cmd/terminal.h"
#include "cmd/view_options.h"
#include "profile/adopt_symbols.h"
#include "profile/charge_advances.h"
#include "profile/fold_scripts.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "profile/show_kernel.h"
#include "roster/attached.h"
#include "roster/joiners.h"
#include "sampler/sampler.h"
#include "symbol/resolve.h"
#include "tracee/launch.h"
#include "view/known_names.h"

/* Names are looked up so rarely that this part of a CPU is enough for it, but at least so often. */
#define RESOLVE_SHARE	     10
#define RESOLVE_PAUSE_MAX_NS (2 * NS_PER_SEC)
/* How often a screen in the background looks whether it has come to the front. */
#define HIDDEN_MS	 500
#define METRIC_NOT_GIVEN (-1)
/* Smaller nodes of trees are shown together, as report does it. */
#define MIN_PERCENT 0.5

struct top_args {
	struct record_options record;
	uint64_t interval_ns, window_ns, times;
	uint64_t limit; /* or TOP_LIMIT_FITTING */
	int metric, by; /* indexes of the choices; or METRIC_NOT_GIVEN */
	bool by_total, kernel, native;
	struct option_list source_paths;
	struct view_options view;
};

#define AT(member)	  offsetof(struct top_args, member)
#define RECORD_AT(member) offsetof(struct top_args, record.member)

static const struct option_row rows[] = {
	RECORD_WHAT_OPTION_ROWS(RECORD_AT),
	RECORD_HOW_OPTION_ROWS(RECORD_AT),
	COUNT_OPTION_ROWS(RECORD_AT),
	MEM_OPTION_ROWS(RECORD_AT),
	{.type = OPTION_SECTION, .name = "What is shown"},
	{.type = OPTION_CHOICE,
	 .short_name = 'm',
	 .name = "metric",
	 .argument = "METRIC",
	 .offset = offsetof(struct top_args, metric),
	 .choices = metric_names,
	 .help = METRIC_HELP " (default: cpu, with --mem live)"},
	DIMENSION_OPTION_ROW(struct top_args, by),
	{.type = OPTION_UINT,
	 .short_name = 'n',
	 .name = "limit",
	 .argument = "N",
	 .offset = AT(limit),
	 .help = "rows to show, 0 for all (default: all on a screen; without one 20)"},
	{.type = OPTION_FLAG,
	 .name = "total",
	 .offset = AT(by_total),
	 .help = "sort by total, not by self"},
	KERNEL_OPTION_ROW(struct top_args, kernel),
	NATIVE_OPTION_ROW(struct top_args, native),
	{.type = OPTION_DURATION,
	 .name = "window",
	 .argument = "TIME",
	 .offset = AT(window_ns),
	 .help = "show the last TIME; 0: all since the beginning (default: 5s)"},
	{.type = OPTION_DURATION,
	 .name = "interval",
	 .argument = "TIME",
	 .offset = AT(interval_ns),
	 .min = 1e7,
	 .max = 1e12,
	 .help = "show it anew every TIME (default: 1s)"},
	{.type = OPTION_UINT,
	 .name = "times",
	 .argument = "N",
	 .offset = AT(times),
	 .help = "end after showing it N times"},
	VIEW_OPTION_ROWS(struct top_args, view),
	SOURCE_PATH_OPTION_ROW(struct top_args, source_paths,
			       "look for sources recorded under OLD under NEW; repeatable"),
	{.type = OPTION_SECTION, .name = "Output"},
	{.type = OPTION_FILE,
	 .short_name = 'o',
	 .name = "output",
	 .argument = "FILE",
	 .offset = RECORD_AT(output),
	 .help = "at the end, write all of it as a profile"},
	SYMBOL_OPTION_ROWS(struct top_args, record.symbols),
	OPTIONS_END,
};

struct top {
	const struct top_args *args;
	char **argv;		   /* NULL: attached */
	struct joiners joiners;	   /* empty: none */
	char *joined_words;	   /* which these are; owned; NULL: none */
	struct counting *counting; /* or NULL */
	struct live *live;
	struct profile *profile; /* what was recorded so far; NULL: nothing yet */
	struct count_history counts;
	struct top_state state;
	struct browse *browse;
	struct terminal terminal;
	bool has_screen;
	bool is_hidden; /* the screen, by a shell that has the terminal */
	struct child_signals former_signals;
	struct signal_pipe signals;
	struct end_listener listener; /* while that is not looked at */
	bool ended;		      /* the processes have */
	bool quit;
	uint64_t nr_shown;
	uint64_t resolve_cpu_ns; /* of the last look-up of names */
	uint64_t resolved_ns;	 /* the end of that look-up */
	/* The requests of that look-up. */
	size_t nr_resolved, nr_resolved_jit_names;
};

/* On a busy machine a look-up takes longer, but not more CPU time. */
static void resolve(struct top *top, struct profile *profile)
{
	struct symbol_options options =
		symbol_options_of(&top->args->record.symbols, &top->listener.asked);
	uint64_t begin_ns = 0, end_ns = 0;

	options.kept = counting_kept_files(top->counting);
	clock_process_cpu_ns(getpid(), &begin_ns);
	if (top->ended || !top->nr_resolved)
		resolve_profile(profile, &options, NULL);
	else
		resolve_new_frames(profile, &options, top->nr_resolved);
	clock_process_cpu_ns(getpid(), &end_ns);
	top->nr_resolved = profile->nr_frames;
	top->nr_resolved_jit_names = profile->jit.nr_names;
	top->resolved_ns = clock_monotonic_ns();
	top->resolve_cpu_ns = end_ns - begin_ns;
}

/* Look up the names of new code if that is due. */
static void name(struct top *top, struct profile *profile)
{
	const struct profile *known = top->profile;
	uint64_t pause_ns = min_u64(top->resolve_cpu_ns * RESOLVE_SHARE, RESOLVE_PAUSE_MAX_NS);

	if (known)
		profile_adopt_symbols(profile, known);
	if (known && top->nr_resolved == profile->nr_frames &&
	    top->nr_resolved_jit_names == profile->jit.nr_names && !top->ended)
		return; /* nothing new */
	if (top->ended || !known || clock_monotonic_ns() - top->resolved_ns >= pause_ns)
		resolve(top, profile);
}

/* Weigh a profile that is shown from now on. */
static int weigh(struct top *top, const struct profile *profile, struct err *err)
{
	const struct browse_input input = {
		.profile = profile,
		.window_ns = top->state.all_time ? 0 : top->args->window_ns,
		.counts = &top->counts,
	};

	return browse_show(top->browse, &input, err);
}

/* A profile of the recording so far, with names. The caller owns it. */
static int read_profile(struct top *top, struct profile **profile, struct err *err)
{
	int status = live_profile(top->live, profile, err);

	if (status == 0)
		name(top, *profile);
	return status;
}

/* Make it the profile that is shown; takes it. */
static int replace_profile(struct top *top, struct profile *profile, struct err *err)
{
	int status;

	profile_charge_advances(profile);
	if (!top->args->native)
		profile_fold_scripts(profile);
	if (top->args->kernel)
		profile_show_kernel(profile);
	if (top->profile)
		count_history_note(&top->counts, top->profile, top->args->window_ns);
	status = weigh(top, profile, err);
	profile_free(top->profile);
	top->profile = profile;
	return status;
}

static int refresh(struct top *top, struct err *err)
{
	struct profile *profile;
	int status = read_profile(top, &profile, err);

	return status < 0 ? status : replace_profile(top, profile, err);
}

static void draw(struct top *top, const struct view *view)
{
	struct browse_screen screen = {.selected = BROWSE_NO_LINE};
	struct buf text = {0};

	browse_draw(top->browse, view, terminal_rows(&top->terminal), &screen);
	browse_screen_append_ansi(&text, &screen, view->columns);
	terminal_draw(&top->terminal, &text);
	buf_release(&screen.text);
	buf_release(&text);
}

static const struct joiners *top_joiners(const struct top *top)
{
	return top->joined_words ? &top->joiners : NULL;
}

/* The first line says which processes are waited for. */
static void note_waiting(struct top *top)
{
	struct sampler *sampler = live_sampler(top->live);

	if (top->joined_words && sampler)
		top->state.awaited =
			sampler_joined(sampler).nr_processes ? NULL : top->joined_words;
}

static void show(struct top *top)
{
	struct view view = view_options_resolve(&top->args->view);
	struct sink out;

	note_waiting(top);
	if (top->has_screen) {
		draw(top, &view);
		return;
	}
	sink_init_fd(&out, STDOUT_FILENO);
	if (top->nr_shown > 0)
		sink_str(&out, "\n");
	top_print(top->browse, &top->state, &view, top->args->limit, &out);
	if (flush_stdout(&out) != EXIT_DONE)
		top->quit = true;
}

static void pause_if_asked(struct top *top, bool was_paused)
{
	if (was_paused == top->state.paused)
		return;
	if (top->state.paused)
		live_pause(top->live);
	else
		live_resume(top->live);
}

/* As the terminal does where it is asked itself: a command is of the same process group. */
static void stop_by_key(struct top *top)
{
	top->state.stop = false;
	if (top->argv)
		kill(0, SIGTSTP);
	else
		raise(SIGTSTP);
}

static void take_keys(struct top *top)
{
	bool was_paused = top->state.paused, is_changed = false;
	int key;

	while ((key = terminal_key(&top->terminal)))
		is_changed |= top_key(&top->state, top->browse, key);
	top->quit |= browse_is_over(top->browse);
	pause_if_asked(top, was_paused);
	/* The same filters have been fine before. */
	if (is_changed && top->profile)
		weigh(top, top->profile, NULL);
	if (top->state.stop)
		stop_by_key(top);
	else if (top->profile)
		show(top);
}

/* In the background nothing is drawn, and no key taken; what comes back is drawn at once. */
static void look_for_screen(struct top *top)
{
	bool is_new;

	if (!top->has_screen)
		return;
	top->is_hidden = !terminal_hold(&top->terminal, &is_new);
	if (is_new && top->profile)
		show(top);
}

static void read_signals(struct top *top)
{
	struct signalfd_siginfo info;

	while (read(top->signals.fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGWINCH) {
			if (top->has_screen && !top->is_hidden && top->profile)
				show(top);
			continue;
		}
		if (info.ssi_signo != SIGTSTP) {
			top->quit = true;
			continue;
		}
		if (top->has_screen)
			terminal_leave(&top->terminal);
		stop_by_job_control(live_sampler(top->live));
	}
}

static int poll_timeout_ms(const struct top *top, uint64_t left_ns)
{
	if (top->is_hidden && left_ns > HIDDEN_MS * NS_PER_MS)
		return HIDDEN_MS;
	return (int)(left_ns / NS_PER_MS) + 1;
}

/* Wait for a key, the end, or the time to show it anew. */
static void wait_until(struct top *top, uint64_t until_ns)
{
	struct sampler *sampler = live_sampler(top->live);
	struct pollfd fds[] = {
		{.fd = top->signals.fd, .events = POLLIN},
		{.fd = sampler_done_fd(sampler), .events = POLLIN},
		{.events = POLLIN},
	};

	while (!top->quit && !top->ended) {
		uint64_t now_ns = clock_monotonic_ns();

		if (now_ns >= until_ns)
			return;
		look_for_screen(top);
		fds[2].fd = top->has_screen && !top->is_hidden ? top->terminal.fd : -1;
		if (poll(fds, ARRAY_SIZE(fds), poll_timeout_ms(top, until_ns - now_ns)) < 0 &&
		    errno != EINTR)
			return;
		if (fds[0].revents & POLLIN)
			read_signals(top);
		top->ended = (fds[1].revents & POLLIN) != 0;
		if (fds[2].revents & (POLLHUP | POLLERR))
			top->quit = true;
		else if (fds[2].revents & POLLIN)
			take_keys(top);
	}
}

/* A command must not write over the screen, nor take its keys: what is a terminal is shut. */
static void shut_terminal(int *kept)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		kept[fd] = -1;
		if (null_fd < 0 || !isatty(fd))
			continue;
		kept[fd] = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		dup2(null_fd, fd);
	}
	if (null_fd >= 0)
		close(null_fd);
}

static void reopen_terminal(const int *kept)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		if (kept[fd] < 0)
			continue;
		dup2(kept[fd], fd);
		close(kept[fd]);
	}
}

static struct live *start(struct top *top, const struct attached *attached, struct err *err)
{
	const struct live_request request = {.options = &top->args->record,
					     .counting = top->counting,
					     .argv = top->argv,
					     .attached = attached,
					     .joiners = top_joiners(top),
					     .command_signals = &top->former_signals,
					     .ended = &top->listener.asked};
	int kept[STDERR_FILENO + 1] = {-1, -1, -1};
	struct live *live;

	if (top->argv && top->has_screen)
		shut_terminal(kept);
	end_listener_start(&top->listener, NULL);
	live = live_start(&request, err);
	top->quit |= end_listener_stop(&top->listener);
	reopen_terminal(kept);
	if (!top->has_screen)
		counting_say_trouble(top->counting);
	return live;
}

static int watch(struct top *top, struct err *err)
{
	int status = 0;

	while (status == 0 && !top->quit && !top->ended) {
		wait_until(top, clock_monotonic_ns() + top->args->interval_ns);
		if (top->quit || top->ended || top->state.paused)
			continue;
		end_listener_start(&top->listener, NULL);
		status = refresh(top, err);
		top->quit |= end_listener_stop(&top->listener);
		if (status < 0)
			break;
		look_for_screen(top); /* profc may have been stopped just now */
		if (!top->is_hidden)
			show(top);
		top->nr_shown++;
		top->quit |= top->args->times && top->nr_shown >= top->args->times;
	}
	return status;
}

/* Signals that end us, once; the terminal has to be put right before. */
static void take_over_signals(struct top *top)
{
	sigset_t ours;

	sigemptyset(&ours);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGHUP);
	sigaddset(&ours, SIGTSTP);
	sigaddset(&ours, SIGWINCH);
	child_signals_take_over(&ours, &top->former_signals);
	signal_pipe_open(&top->signals, &ours);
}

/* As Ctrl-C would have done, which the screen takes as a key: what the command has started, too. */
static void interrupt_command(const struct top *top, pid_t command)
{
	if (top->has_screen)
		kill(0, SIGINT);
	else
		kill(command, SIGINT);
}

static int say_empty(const struct top *top, struct err *err)
{
	const char *threads = top->args->record.threads;
	struct profile *profile;

	if (top->joined_words)
		err_set(err, ERR_EMPTY, "no process of %s was seen running", top->joined_words);
	else
		err_set(err, ERR_EMPTY, "no samples were taken");
	if (threads && live_profile(top->live, &profile, NULL) == 0) {
		known_threads_hint(err, profile);
		profile_free(profile);
	}
	return ERR_EMPTY;
}

/* The file has what was recorded, and so is written before views change the profile. */
static int save(const struct top *top, struct profile *profile, struct err *err)
{
	if (!top->args->record.output)
		return 0;
	profile->meta.complete = true;
	return save_profile(profile, top->args->record.output, err);
}

/* The last picture, where it stays: all of it, nothing being typed. */
static int finish(struct top *top, struct err *err)
{
	const struct sampler_result *result;
	struct profile *profile;
	bool is_last;
	pid_t pid = live_command(top->live);
	int status, shown;

	result = live_stop(top->live);
	if (pid && !top->ended)
		interrupt_command(top, pid);
	terminal_close(&top->terminal);
	counting_end(top->counting);
	if (!result->nr_samples)
		return say_empty(top, err);
	is_last = top->has_screen || top->ended || top->nr_shown == 0;
	top->ended = true;
	top->state.paused = false;
	top->state.all_time |= is_last;
	status = read_profile(top, &profile, err);
	if (status < 0)
		return status;
	status = save(top, profile, err);
	shown = replace_profile(top, profile, status < 0 ? NULL : err);
	if (shown == 0 && is_last) {
		top->has_screen = false;
		show(top);
	}
	return status < 0 ? status : shown;
}

/* Not only once all was recorded. A FIFO would wait for its reader. */
static int check_output(const struct top *top, struct err *err)
{
	const char *path = top->args->record.output;
	struct output_file file;
	struct stat there;

	if (!path || (stat(path, &there) == 0 && S_ISFIFO(there.st_mode)))
		return 0;
	if (strcmp(path, "-") == 0)
		return err_set(err, ERR_INVALID,
			       "standard output is for the tables: -o wants a file");
	if (output_file_open(&file, path, err) < 0)
		return err->code;
	output_file_discard(&file);
	return 0;
}

static int run_top_of(struct top *top, const struct attached *attached)
{
	struct err err = ERR_INIT;
	int status;

	if (check_output(top, &err) < 0)
		return fail_with(&err);
	sampler_reserve_descriptors();
	take_over_signals(top);
	top->terminal.fd = -1;
	top->has_screen = isatty(STDOUT_FILENO) && terminal_open(&top->terminal, &err) == 0;
	err = (struct err)ERR_INIT;
	top->live = start(top, attached, &err);
	status = top->live ? watch(top, &err) : err.code;
	end_listener_start(&top->listener, NULL);
	if (status == 0)
		status = finish(top, &err);
	end_listener_stop(&top->listener);
	terminal_close(&top->terminal);
	counting_say_trouble(top->counting);
	live_free(top->live);
	count_history_release(&top->counts);
	browse_free(top->browse);
	profile_free(top->profile);
	signal_pipe_close(&top->signals);
	return status == 0 ? EXIT_DONE : fail_with(&err);
}

/* `--count 3` once ended after three tables. */
static int refuse_number(const struct count_options *options, struct err *err)
{
	for (size_t i = 0; i < options->functions.nr; i++) {
		const char *text = options->functions.values[i];

		if (text[strspn(text, "0123456789")])
			continue;
		err_set(err, ERR_INVALID, "--count wants names of functions, not '%s'", text);
		err_hint(err, "--times N ends after N tables");
		return ERR_INVALID;
	}
	return 0;
}

/* A counter that is shown is recorded. */
static void record_metric(struct top_args *args)
{
	if (args->metric != METRIC_NOT_GIVEN && metric_is_counter((enum metric)args->metric))
		args->record.metrics.counters |=
			KERNEL_COUNTER_BIT(metric_counter((enum metric)args->metric));
}

static int choose_metric(struct top_args *args, struct browse_wishes *wishes, struct err *err)
{
	const struct count_options *count = &args->record.count;
	const bool has_memory = count_options_have_memory(count);

	wishes->metrics = 0;
	for (int metric = 0; metric < METRIC_COUNT; metric++) {
		const struct metric_info *info = metric_info((enum metric)metric);

		if (metric == METRIC_ELAPSED)
			continue;
		if (metric_is_counter((enum metric)metric) &&
		    !(args->record.metrics.counters &
		      KERNEL_COUNTER_BIT(metric_counter((enum metric)metric))))
			continue;
		if ((has_memory || !info->is_memory) &&
		    (count->free_stacks || !info->needs_freeing))
			wishes->metrics |= UINT32_C(1) << metric;
	}
	if (args->metric != METRIC_NOT_GIVEN)
		wishes->metric = (enum metric)args->metric;
	else if (has_memory)
		wishes->metric = METRIC_LIVE;
	if (wishes->metric == METRIC_ELAPSED)
		return err_set(err, ERR_INVALID,
			       "--metric elapsed is of a recording, as 'profc report' shows it");
	if (!(wishes->metrics & UINT32_C(1) << wishes->metric))
		return err_set(err, ERR_INVALID, "--metric %s needs --mem%s",
			       metric_name(wishes->metric), has_memory ? "-free-stacks" : "");
	if (!dimension_divides(wishes->by, wishes->metric))
		return err_set(err, ERR_INVALID, "%s cannot be divided by %s",
			       metric_is_memory(wishes->metric) ? "memory" : "time",
			       dimension_names[args->by]);
	return 0;
}

static int read_joiners(struct top *top, struct err *err)
{
	int status = record_options_joiners(&top->args->record, &top->joiners, err);
	struct buf words = {0};

	if (status < 0 || joiners_is_empty(&top->joiners))
		return status;
	joiners_append_words(&top->joiners, &words);
	top->joined_words = xstrdup(buf_str(&words));
	buf_release(&words);
	return 0;
}

static int check_and_run(const struct command *self, struct top_args *args, char **argv)
{
	struct top top = {.args = args, .signals = SIGNAL_PIPE_NONE, .argv = argv};
	static const struct filter everything = {.to_ns = 0};
	struct browse_options options = {
		.wishes = {.by = (enum dimension)args->by,
			   .sort = args->by_total ? "total" : "self"},
		.filter = &everything,
		.sources = {.texts = args->source_paths.values, .nr = args->source_paths.nr},
		.is_live = true,
		.limit = args->limit == TOP_LIMIT_FITTING ? 0 : args->limit,
		.min_percent = MIN_PERCENT,
		.head = top_print_head,
		.context = &top.state,
	};
	struct err err = ERR_INIT;
	struct attached attached = {.pids = NULL};
	int status;

	if (read_joiners(&top, &err) < 0 ||
	    (!argv && record_options_attached(&args->record, &attached, &err) < 0)) {
		joiners_release(&top.joiners);
		return usage_error(self, &err);
	}
	record_metric(args);
	if (refuse_number(&args->record.count, &err) < 0 ||
	    source_paths_check(&args->source_paths, &err) < 0 ||
	    record_metrics_parse(&args->record, &err) < 0 ||
	    choose_metric(args, &options.wishes, &err) < 0 ||
	    counting_new(&args->record.count,
			 symbol_options_of(&args->record.symbols, &top.listener.asked), true,
			 &top.counting, &err) < 0) {
		status = fail_or_usage_error(self, &err);
	} else {
		top.browse = browse_new(&options);
		status = run_top_of(&top, &attached);
	}
	counting_end(top.counting);
	counting_free(top.counting);
	attached_release(&attached);
	joiners_release(&top.joiners);
	free(top.joined_words);
	return status;
}

static int run_top(const struct command *self, int argc, char **argv)
{
	struct top_args args = {.limit = TOP_LIMIT_FITTING,
				.metric = METRIC_NOT_GIVEN,
				.view = VIEW_OPTIONS_INIT,
				.interval_ns = NS_PER_SEC,
				.window_ns = 5 * NS_PER_SEC};
	struct err err = ERR_INIT;
	int first = 0, status;

	record_options_init(&args.record);
	if (options_parse(rows, &args, argc, argv, true, &first, &err) < 0) {
		status = usage_error(self, &err);
	} else if (record_metrics_help(&args.record)) {
		status = EXIT_DONE;
	} else if (record_options_attach(&args.record) && first < argc) {
		record_options_refuse_command(&args.record, &err);
		status = usage_error(self, &err);
	} else if (!record_options_attach(&args.record) && first == argc) {
		err_set(&err, ERR_INVALID,
			"which process? Neither -p PID nor --unit NAME nor --comm REGEX nor a "
			"command was given");
		status = usage_error(self, &err);
	} else {
		record_options_settle(&args.record);
		status = check_and_run(self, &args, first < argc ? argv + first : NULL);
	}
	options_release(rows, &args);
	return status;
}

const struct command command_top = {
	.name = "top",
	.synopsis = "-p PID | --unit NAME [OPTIONS] | [OPTIONS] [--] CMD [ARG...]",
	.summary = "watch where time and memory go, live",
	.help = "Shows the functions that use most time right now, anew every second, as `report` "
		"does of a recording. Keys: arrows select, Enter shows callers and callees, t the "
		"tree, S source, s sorts, b chooses what a row is, m the metric, / and T filter by "
		"function and thread, a shows all time, space pauses, h helps, q quits. Without a "
		"terminal it prints table after table.\n\n"
		"Examples:\n"
		"  profc top -p 1234\n"
		"  profc top --unit nginx\n"
		"  profc top -p 1234 -m wall --by thread\n"
		"  profc top -p 1234 --count '^parse_'\n"
		"  profc top -p 1234 --mem\n"
		"  profc top -- ./program",
	.options = rows,
	.runs_command = true,
	.run = run_top,
};
