// SPDX-License-Identifier: GPL-2.0-or-later
/* profc stat: the numbers of a whole run on one screen. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/end_listener.h"
#include "base/err.h"
#include "base/minmax.h"
#include "base/output_file.h"
#include "base/sink.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/flat.h"
#include "calltree/long_waits.h"
#include "calltree/weights.h"
#include "cmd/command.h"
#include "cmd/live.h"
#include "cmd/record_metrics.h"
#include "cmd/record_options.h"
#include "cmd/recording_child.h"
#include "cmd/search_path.h"
#include "cmd/signal_pipe.h"
#include "cmd/suspend.h"
#include "cmd/view_options.h"
#include "proc/memory.h"
#include "proc/read.h"
#include "profile/charge_advances.h"
#include "profile/fold_scripts.h"
#include "profile/profile.h"
#include "roster/attached.h"
#include "sampler/sampler.h"
#include "symbol/resolve.h"
#include "tracee/launch.h"
#include "view/stat_text.h"

#define LIMIT_DEFAULT 3
/* The sampler sees the end of a command by itself within a tick, unless others live on. */
#define END_MS 50

struct stat_args {
	struct record_options record;
	uint64_t limit;
	bool json;
	const char *output;
	struct view_options view;
};

#define AT(member)	  offsetof(struct stat_args, member)
#define RECORD_AT(member) offsetof(struct stat_args, record.member)

static const struct option_row rows[] = {
	{.type = OPTION_SECTION, .name = "Target"},
	{.type = OPTION_LIST,
	 .short_name = 'p',
	 .name = "pid",
	 .argument = "PID",
	 .offset = RECORD_AT(pid_texts),
	 .commas = true,
	 .help = "attach to this running process; repeatable, or a list with commas or blanks"},
	{.type = OPTION_DURATION,
	 .short_name = 'd',
	 .name = "duration",
	 .argument = "TIME",
	 .offset = RECORD_AT(duration_ns),
	 .help = "with -p: end after TIME: 10, 10s, 500ms, 2m (default: when the process ends)"},
	RECORD_HOW_OPTION_ROWS(RECORD_AT),
	{.type = OPTION_SECTION, .name = "Display"},
	{.type = OPTION_UINT,
	 .short_name = 'n',
	 .name = "limit",
	 .argument = "N",
	 .offset = AT(limit),
	 .help = "functions and waits to show, 0 for all (default: 3)"},
	JSON_OPTION_ROW(struct stat_args, json),
	{.type = OPTION_FILE,
	 .short_name = 'o',
	 .name = "output",
	 .argument = "FILE",
	 .offset = AT(output),
	 .help = "write to FILE, not to standard error"},
	COLOR_OPTION_ROW(struct stat_args, view.color),
	WIDTH_OPTION_ROW(struct stat_args, view),
	NAMES_OPTION_ROW(struct stat_args, view),
	SYMBOL_OPTION_ROWS(struct stat_args, record.symbols),
	OPTIONS_END,
};

struct stat {
	const struct stat_args *args;
	char **argv; /* NULL: attached */
	struct attached attached;
	struct live *live;
	struct child_signals former_signals;
	struct signal_pipe signals;
	struct end_listener listener; /* while signals are not read */
	unsigned int nr_asked;	      /* how often the user asked for the end */
	int asked_by;		      /* the signal */
	uint64_t elapsed_ns;	      /* 0: of the whole recording */
	struct stat_usage usage;
	int status; /* of the command */
};

static void take_over_signals(struct stat *stat)
{
	sigset_t handled, ours;

	sigemptyset(&handled);
	sigaddset(&handled, SIGINT);
	sigaddset(&handled, SIGTERM);
	sigaddset(&handled, SIGHUP);
	sigaddset(&handled, SIGQUIT);
	sigaddset(&handled, SIGTSTP);
	ours = handled;
	/* A closed pipe or a full disk is an error of write(2), not the end of profc. */
	sigaddset(&ours, SIGPIPE);
	sigaddset(&ours, SIGXFSZ);
	child_signals_take_over(&ours, &stat->former_signals);
	signal_pipe_open(&stat->signals, &handled);
}

/* From the terminal the command has got the signal as well. */
static void asked_to_end(struct stat *stat, const struct signalfd_siginfo *info)
{
	stat->nr_asked++;
	stat->asked_by = (int)info->ssi_signo;
	if (stat->argv && stat->nr_asked == 1 && info->ssi_code != SI_KERNEL)
		kill(live_command(stat->live), (int)info->ssi_signo);
}

static void read_signals(struct stat *stat)
{
	struct signalfd_siginfo info;

	while (read(stat->signals.fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGTSTP)
			stop_by_job_control(live_sampler(stat->live));
		else
			asked_to_end(stat, &info);
	}
}

/* Does the user want the end at once? A command is given the time to end by its signal. */
static bool must_end(const struct stat *stat)
{
	return stat->nr_asked > (stat->argv ? 1u : 0u);
}

/* The largest of the attached processes; those that are gone had been read before. */
static void note_peaks(struct stat *stat)
{
	for (size_t i = 0; i < stat->attached.nr; i++) {
		struct buf text = {0};
		struct proc_memory memory;

		if (proc_read_process_file(stat->attached.pids[i], "status", &text) &&
		    proc_memory_parse((const char *)text.bytes, text.nr_bytes, &memory))
			stat->usage.peak_rss_bytes =
				max_u64(stat->usage.peak_rss_bytes, memory.peak_rss_bytes);
		buf_release(&text);
	}
}

/* The processes that a command leaves behind are not waited for. */
static void watch(struct stat *stat, int command_fd)
{
	struct sampler *sampler = live_sampler(stat->live);
	struct pollfd fds[] = {
		{.fd = stat->signals.fd, .events = POLLIN},
		{.fd = sampler_done_fd(sampler), .events = POLLIN},
		{.fd = command_fd, .events = POLLIN},
	};
	int timeout_ms = -1;

	while (!must_end(stat)) {
		int nr = poll(fds, ARRAY_SIZE(fds), timeout_ms);

		if ((nr < 0 && errno != EINTR) || nr == 0)
			return;
		if (fds[0].revents & POLLIN)
			read_signals(stat);
		if (fds[2].revents & POLLIN) {
			stat->elapsed_ns = sampler_progress(sampler).elapsed_ns;
			fds[2].fd = -1; /* it stays readable */
			timeout_ms = END_MS;
		}
		if (fds[1].revents & POLLIN)
			return;
	}
}

/* Before it is reaped, which also a visit may do. */
static void note_usage(struct stat *stat)
{
	struct child_usage usage;

	if (!child_usage(live_command(stat->live), &usage))
		return;
	stat->usage = (struct stat_usage){
		.is_known = true,
		.peak_rss_bytes = usage.peak_rss_bytes,
		.nr_minor_faults = usage.nr_minor_faults,
		.nr_major_faults = usage.nr_major_faults,
		.nr_voluntary_switches = usage.nr_voluntary_switches,
		.nr_involuntary_switches = usage.nr_involuntary_switches,
	};
}

/* --- the result --- */

static void print_to(const struct stat *stat, const struct stat_facts *facts, struct sink *sink,
		     int fd)
{
	struct view view = view_options_resolve_for(&stat->args->view, fd);

	if (stat->args->json)
		stat_print_json(facts, sink);
	else
		stat_print_text(facts, &view, sink);
}

static int print(const struct stat *stat, const struct stat_facts *facts, struct err *err)
{
	struct output_file file;
	struct sink sink;
	int failed;

	if (stat->args->output) {
		if (output_file_open(&file, stat->args->output, err) < 0)
			return err->code;
		print_to(stat, facts, &file.sink, -1);
		return output_file_finish(&file, err);
	}
	sink_init_fd(&sink, STDERR_FILENO);
	print_to(stat, facts, &sink, STDERR_FILENO);
	failed = sink_flush(&sink);
	sink_release(&sink);
	errno = failed;
	return failed ? err_sys(err, "cannot write standard error") : 0;
}

static int sum_up(const struct stat *stat, const struct profile *profile, uint64_t cpu_ns,
		  struct err *err)
{
	static const struct filter everything = {.to_ns = 0};
	struct expansion *expansion = expansion_new_of_samples(profile);
	struct selection *selection;
	int status = selection_new(expansion, &everything, &selection, err);

	if (status == 0) {
		struct weights *cpu = weights_new(selection, METRIC_CPU);
		struct flat *functions = flat_new(cpu, BY_FUNCTION);
		struct long_waits *waits = long_waits_new(selection);
		const struct stat_facts facts = {
			.profile = profile,
			.functions = functions,
			.waits = waits,
			.elapsed_ns =
				stat->elapsed_ns ? stat->elapsed_ns : profile->meta.duration_ns,
			.cpu_ns = cpu_ns,
			.usage = stat->usage,
			.status = stat->status,
			.limit = stat->args->limit,
		};

		status = print(stat, &facts, err);
		long_waits_free(waits);
		flat_free(functions);
		weights_free(cpu);
		selection_free(selection);
	}
	expansion_free(expansion);
	return status;
}

/* Names are looked up until a signal asks for the end. */
static int show(struct stat *stat, const struct sampler_result *result, struct err *err)
{
	struct symbol_options symbols =
		symbol_options_of(&stat->args->record.symbols, &stat->listener.asked);
	struct profile *profile;
	int status = live_profile(stat->live, &profile, err);

	if (status < 0)
		return status;
	end_listener_start(&stat->listener, NULL);
	resolve_profile(profile, &symbols, NULL);
	end_listener_stop(&stat->listener);
	profile_charge_advances(profile);
	profile_fold_scripts(profile);
	status = sum_up(stat, profile, result->cpu_ns, err);
	profile_free(profile);
	return status;
}

static int finish(struct stat *stat, struct err *err)
{
	const struct sampler_result *result;

	if (stat->argv)
		note_usage(stat);
	else
		note_peaks(stat);
	result = live_stop(stat->live);
	if (stat->argv && must_end(stat))
		return 0;
	if (stat->argv && result->command_reaped)
		stat->status = result->command_status;
	else if (stat->argv)
		recording_child_wait(live_command(stat->live), stat->signals.fd, &stat->status);
	return show(stat, result, err);
}

/* --- the run --- */

static int start(struct stat *stat, int *exec_errno, struct err *err)
{
	const struct live_request request = {.options = &stat->args->record,
					     .argv = stat->argv,
					     .attached = &stat->attached,
					     .command_signals = &stat->former_signals,
					     .ended = &stat->listener.asked,
					     .exec_errno = exec_errno};

	end_listener_start(&stat->listener, NULL);
	stat->live = live_start(&request, err);
	if (end_listener_stop(&stat->listener) && stat->live) {
		stat->listener.asked = false;
		asked_to_end(stat, &stat->listener.info);
	}
	return stat->live ? 0 : err->code;
}

static int say_not_executable(const struct stat *stat, int reason)
{
	struct err err = ERR_INIT;
	int status = program_explain_failure(stat->argv[0], reason, &err);

	print_err(&err);
	return status == ERR_NOT_FOUND ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* As a shell has it; where profc can, it dies of the signal that the command died of. */
static int status_of_command(const struct stat *stat)
{
	int signal = 0;

	if (must_end(stat))
		signal = stat->asked_by;
	else if (WIFSIGNALED(stat->status))
		signal = WTERMSIG(stat->status);
	if (!signal)
		return WEXITSTATUS(stat->status);
	recording_child_die_alike(signal);
	return 128 + signal;
}

static int run(struct stat *stat)
{
	struct err err = ERR_INIT;
	int own_failure = stat->argv ? EXIT_PROFC_FAILED : EXIT_CANNOT;
	int reason = stat->argv ? program_foresee_failure(stat->argv[0]) : 0;
	int command_fd, status;

	if (reason)
		return say_not_executable(stat, reason);
	sampler_reserve_descriptors();
	take_over_signals(stat);
	note_peaks(stat);
	if (start(stat, &reason, &err) < 0) {
		if (reason)
			return say_not_executable(stat, reason);
		print_err(&err);
		return own_failure;
	}
	command_fd = stat->argv ? recording_child_open(live_command(stat->live)) : -1;
	watch(stat, command_fd);
	if (command_fd >= 0)
		close(command_fd);
	status = finish(stat, &err);
	live_free(stat->live);
	signal_pipe_close(&stat->signals);
	if (status < 0) {
		print_err(&err);
		return own_failure;
	}
	return stat->argv ? status_of_command(stat) : EXIT_DONE;
}

static int check(const struct stat_args *args, bool has_command, struct err *err)
{
	if (has_command && args->record.pid_texts.nr)
		return err_set(err, ERR_INVALID, "-p cannot be combined with a command");
	if (!has_command && !args->record.pid_texts.nr) {
		err_set(err, ERR_INVALID, "which command? None was given");
		err_hint(err, "profc stat -- CMD [ARG...], or profc stat -p PID");
		return ERR_INVALID;
	}
	if (has_command && args->record.duration_ns)
		return err_set(err, ERR_INVALID, "--duration needs -p: a command runs to its end");
	return 0;
}

static int run_stat(const struct command *self, int argc, char **argv)
{
	struct stat_args args = {.limit = LIMIT_DEFAULT, .view = VIEW_OPTIONS_INIT};
	struct stat stat = {.args = &args,
			    .signals = SIGNAL_PIPE_NONE,
			    .status = STAT_STATUS_NONE,
			    .listener = {.asked_fd = -1}};
	struct err err = ERR_INIT;
	int first = 0, status;

	record_options_init(&args.record);
	if (options_parse(rows, &args, argc, argv, true, &first, &err) < 0) {
		status = usage_error(self, &err);
	} else if (record_metrics_help(&args.record)) {
		status = EXIT_DONE;
	} else if (check(&args, first < argc, &err) < 0 ||
		   record_metrics_parse(&args.record, &err) < 0 ||
		   (first == argc &&
		    record_options_attached(&args.record, &stat.attached, &err) < 0)) {
		status = fail_or_usage_error(self, &err);
	} else {
		record_options_settle(&args.record);
		stat.argv = first < argc ? argv + first : NULL;
		status = run(&stat);
	}
	attached_release(&stat.attached);
	options_release(rows, &args);
	return status;
}

const struct command command_stat = {
	.name = "stat",
	.synopsis = "[OPTIONS] [--] CMD [ARG...] | -p PID [OPTIONS]",
	.summary = "run a command, show the numbers of its run on one screen",
	.help = "As `perf stat`, without its counters of the CPU unless --metrics asks for them: "
		"elapsed and CPU time, waits for a CPU and for other things, context switches, "
		"page faults, peak memory, processes, the exit status, the hottest functions and "
		"the longest waits. Standard output and error of CMD are left alone; the numbers "
		"come after its end, on standard error. No file is written.\n\n"
		"Examples:\n"
		"  profc stat -- make -j8\n"
		"  profc stat -p 1234 -d 10s\n"
		"  profc stat --metrics instructions,cycles -- ./program\n"
		"  profc stat --json -o run.json -- ./program",
	.options = rows,
	.runs_command = true,
	.run = run_stat,
};
