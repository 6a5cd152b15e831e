// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/recording.h"

#include <errno.h>
#include <poll.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/end_timer.h"
#include "base/err.h"
#include "base/process_clock.h"
#include "cmd/command.h"
#include "cmd/counting.h"
#include "cmd/export_values.h"
#include "cmd/html_page.h"
#include "cmd/record_options.h"
#include "cmd/recording_child.h"
#include "cmd/recording_meta.h"
#include "cmd/recording_priv.h"
#include "cmd/resolve_progress.h"
#include "cmd/search_path.h"
#include "cmd/service_notify.h"
#include "cmd/suspend.h"
#include "export/export_file.h"
#include "mapping/code_filter.h"
#include "probe/prober.h"
#include "profile/heap_discard.h"
#include "profile/profile.h"
#include "store/store.h"
#include "symbol/named_code.h"
#include "view/number.h"
#include "view/reach_text.h"

#define PROGRESS_MS 200

/* How often it is looked whether processes have joined, and may be traced. */
#define JOINED_MS 1000

/* Others may outlive the command for a moment, as a shell's background jobs do. */
#define LEFT_BEHIND_MS 1000

/* Signals become readable events. All threads inherit the mask. */
static void take_over_signals(struct recording *recording)
{
	sigset_t ours;
	sigset_t handled;

	sigemptyset(&handled);
	sigaddset(&handled, SIGINT);
	sigaddset(&handled, SIGTERM);
	sigaddset(&handled, SIGHUP);
	sigaddset(&handled, SIGQUIT);
	sigaddset(&handled, SIGUSR1);
	sigaddset(&handled, SIGUSR2);
	sigaddset(&handled, SIGTSTP);
	ours = handled;
	/* A full disk or a closed pipe is an error of write(2), not our end. */
	sigaddset(&ours, SIGPIPE);
	sigaddset(&ours, SIGXFSZ);
	sigaddset(&ours, clock_alarms_signal());
	child_signals_take_over(&ours, &recording->former_signals);
	signal_pipe_open(&recording->signals, &handled);
}

static void pass_on(struct recording *recording, int signal)
{
	if (recording->is_over)
		recording->ending.late_signal = signal;
	else
		kill(recording->command.launch.pid, signal);
}

/* Processes that a command leaves are still recorded; a daemon gets no Ctrl-C. */
static bool is_command_gone(const struct recording *recording)
{
	return recording_child_has_ended(recording->command.fd);
}

/*
 * The user asks for the end. From the terminal the command has got the signal too and most
 * likely ends; from elsewhere it has not, and gets it now. Whoever asks twice means us.
 */
static void asked_to_end(struct recording *recording, struct sampler *sampler,
			 const struct signalfd_siginfo *info)
{
	recording->ending.nr_asked++;
	recording->ending.asked_by = (int)info->ssi_signo;
	if (!recording->argv || recording->ending.nr_asked > 1 || is_command_gone(recording))
		sampler_stop(sampler);
	else if (info->ssi_code != SI_KERNEL)
		pass_on(recording, (int)info->ssi_signo);
}

/* After end_listener_stop() has said that it was asked for. */
static void heed_listener(struct recording *recording, struct sampler *sampler)
{
	recording->ending.listener.asked = false;
	asked_to_end(recording, sampler, &recording->ending.listener.info);
}

static struct symbol_options how_to_resolve(const struct recording *recording)
{
	struct symbol_options symbol_options =
		symbol_options_of(&recording->options->symbols, &recording->ending.listener.asked);

	symbol_options.notes_sources = true;
	return symbol_options;
}

/* It is the command's for as long as that runs. */
static bool is_terminal_ours(const struct recording *recording)
{
	return !recording->argv || recording->command.is_reaped;
}

/* After a request for the end, debug information is read for this long. */
#define NAMES_NS (NS_PER_SEC / 2)

/* At the end. A further request ends the search at once: the file keeps the names found so far. */
static void resolve_at_end(const struct recording *recording, const struct recorded *recorded,
			   struct counting *counting)
{
	const struct end_listener *listener = &recording->ending.listener;
	struct symbol_options options = how_to_resolve(recording);
	struct end_timer timer;

	if (recording->options->no_symbols)
		return;
	end_timer_start(&timer, listener->asked_fd,
			recording->ending.nr_asked || atomic_load(&listener->asked), NAMES_NS);
	options.ended = &timer.ended;
	options.hurried = &timer.hurried;
	options.kept = counting_kept_files(counting);
	resolve_with_progress(recorded->profile, &options,
			      is_terminal_ours(recording) && !recording->options->quiet);
	end_timer_stop(&timer);
	counting_show_asked(counting, recorded->profile);
	if (!atomic_load(&timer.hurried))
		return;
	print_warning(atomic_load(&timer.ended)
			      ? "the search for names was ended: some may be missing"
			      : "debug information was not read to its end, as it takes long: some "
				"lines and inlined functions may be missing");
	if (recorded->file.path)
		print_hint("profc symbolize %s", recorded->file.path);
}

static int take_snapshot(struct recording *recording, struct sampler *sampler, const char *path,
			 struct err *err)
{
	if (keep_has_triggers(recording->keep)) {
		err_set(err, ERR_UNSUPPORTED, "no snapshot of a flight recorder");
		err_hint(err, "'dump LABEL' writes the time that it keeps");
		return ERR_UNSUPPORTED;
	}
	if (recording->keep)
		return err_set(err, ERR_UNSUPPORTED, "no snapshot of a recording that is pushed");
	if (!recording->snapshots.file->created)
		return err_set(err, ERR_UNSUPPORTED, "no snapshot of a recording that goes to %s",
			       recording_file_name(recording->snapshots.file));
	snapshots_take(&recording->snapshots, sampler, path);
	return 0;
}

static void toggle_pause(struct sampler *sampler)
{
	if (sampler_is_paused(sampler))
		sampler_resume(sampler);
	else
		sampler_pause(sampler);
}

/* A request failed; the recording continues. */
static void say_refused(const struct recording *recording, const struct err *err)
{
	recording_clear_progress(recording);
	print_err(err);
}

/* SIGUSR2: FILE.snapshot beside the recording's FILE. */
static void snapshot_by_signal(struct recording *recording, struct sampler *sampler)
{
	struct err err = ERR_INIT;
	const char *output = recording->snapshots.file->path;
	cleanup_free char *path =
		xasprintf("%s.snapshot", output ? output : RECORDING_FILE_DEFAULT);

	if (take_snapshot(recording, sampler, path, &err) < 0)
		say_refused(recording, &err);
}

static void stop(const struct recording *recording, struct sampler *sampler)
{
	recording_clear_progress(recording);
	if (recording->is_over)
		stop_this_process();
	else
		stop_by_job_control(sampler);
}

static void read_signals(struct recording *recording, struct sampler *sampler)
{
	struct signalfd_siginfo info;

	while (read(recording->signals.fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGTSTP)
			stop(recording, sampler);
		else if (info.ssi_signo == SIGUSR1)
			toggle_pause(sampler);
		else if (info.ssi_signo == SIGUSR2 && keep_has_triggers(recording->keep))
			keep_signal(recording->keep, sampler);
		else if (info.ssi_signo == SIGUSR2)
			snapshot_by_signal(recording, sampler);
		else
			asked_to_end(recording, sampler, &info);
	}
}

static void say_search(const struct sampler_search *sum, const char *mark)
{
	struct buf text = {0};

	if (sum->nr_processes) {
		reach_append_stop(&text, sum->nr_processes, sum->nr_bytes, sum->stop_ns_max);
		buf_printf(&text, "; nothing points to %llu of the recorded blocks",
			   (unsigned long long)sum->nr_lost);
	} else {
		buf_append_str(&text, sum->nr_failed ? "nothing" : "no recorded block is alive");
	}
	if (sum->nr_failed)
		buf_printf(&text, "; not %zu more: 'profc info' says why", sum->nr_failed);
	print_note("searched at mark:%s: %s", mark, buf_str(&text));
	buf_release(&text);
}

static int search_memory(struct recording *recording, struct sampler *sampler, const char *text,
			 struct err *err)
{
	struct sampler_search sum;
	bool is_done;

	if (!recording->options->count.reachable)
		return err_set(err, ERR_INVALID, "control: 'mem search' needs --reachable");
	/* Without SIGTSTP: it would leave the process stopped. */
	end_listener_start(&recording->ending.listener, NULL);
	is_done = sampler_search_memory(sampler, text, &sum);
	if (end_listener_stop(&recording->ending.listener))
		heed_listener(recording, sampler);
	if (!is_done)
		return err_set(err, ERR_GONE, "control: 'mem search' came after the end");
	if (recording->options->quiet)
		return 0;
	recording_clear_progress(recording);
	say_search(&sum, text);
	return 0;
}

static int control_memory(struct recording *recording, struct sampler *sampler,
			  enum control_word word, const char *argument, struct err *err)
{
	if (!count_options_have_memory(&recording->options->count))
		return err_set(err, ERR_INVALID, "control: 'mem' needs a recording with --mem");
	if (word == CONTROL_MEM_SEARCH)
		return search_memory(recording, sampler, argument, err);
	if (word == CONTROL_MEM_DISCARD && recording->keep)
		return err_set(err, ERR_INVALID,
			       "control: a flight recorder has no 'mem discard': each profile has "
			       "the memory of its time");
	if (word == CONTROL_MEM_DISCARD)
		sampler_discard_memory(sampler);
	else
		sampler_set_memory(sampler, word == CONTROL_MEM_START);
	return 0;
}

static int obey(struct recording *recording, struct sampler *sampler, enum control_word word,
		const char *argument, struct err *err)
{
	switch (word) {
	case CONTROL_PAUSE:
		sampler_pause(sampler);
		break;
	case CONTROL_RESUME:
		sampler_resume(sampler);
		break;
	case CONTROL_SNAPSHOT:
		return take_snapshot(recording, sampler, argument, err);
	case CONTROL_DUMP:
		if (!keep_has_triggers(recording->keep))
			return err_set(err, ERR_INVALID, "control: 'dump' needs --keep");
		keep_control(recording->keep, sampler, argument);
		break;
	case CONTROL_STOP:
		sampler_stop(sampler);
		break;
	case CONTROL_MARK:
		sampler_mark(sampler, argument);
		if (recording->keep)
			keep_mark(recording->keep, sampler, argument);
		break;
	case CONTROL_MEM_START:
	case CONTROL_MEM_STOP:
	case CONTROL_MEM_DISCARD:
	case CONTROL_MEM_SEARCH:
		return control_memory(recording, sampler, word, argument, err);
	}
	return 0;
}

static void read_control(struct recording *recording, struct sampler *sampler)
{
	enum control_word word;
	const char *argument;
	struct err err = ERR_INIT;
	int status;

	while ((status = control_read(&recording->control, &word, &argument, &err)) != 0) {
		if (status > 0)
			status = obey(recording, sampler, word, argument, &err);
		if (status < 0) {
			say_refused(recording, &err);
			recording->nr_control_refused++;
		}
	}
}

/* ", 12 threads, 9 asleep" */
static void append_threads(struct buf *text, const struct sampler_progress *progress)
{
	size_t nr = progress->nr_threads;

	if (!nr)
		return; /* no thread was found yet */
	buf_printf(text, ", %zu thread%s", nr, nr == 1 ? "" : "s");
	if (progress->nr_blocked >= nr)
		buf_append_str(text, nr == 1 ? ", asleep" : ", all asleep");
	else if (progress->nr_blocked)
		buf_printf(text, ", %zu asleep", progress->nr_blocked);
}

static void show_progress(const struct recording *recording, const struct sampler *sampler)
{
	struct sampler_progress progress = sampler_progress(sampler);
	uint64_t elapsed_ns = progress.elapsed_ns;
	struct buf text = {0};

	if (!recording->shows_progress || !may_show_progress())
		return;
	if (recording->keep)
		elapsed_ns += keep_base_ns(recording->keep);
	buf_printf(&text, "profc: recording: %.1f s, ", (double)elapsed_ns / (double)NS_PER_SEC);
	append_weight(&text, METRIC_SAMPLES, recording->nr_former_samples + progress.nr_samples);
	if (sampler_is_paused(sampler))
		buf_append_str(&text, ", paused");
	else
		append_threads(&text, &progress);
	print_progress("%s", buf_str(&text));
	buf_release(&text);
}

/* A shell would be back by now. */
static void tell_of_left_behind(struct recording *recording)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (!recording->command_ended_ns)
		recording->command_ended_ns = now_ns;
	if (recording->has_told_of_left_behind ||
	    now_ns - recording->command_ended_ns < LEFT_BEHIND_MS * NS_PER_MS)
		return;
	recording->has_told_of_left_behind = true;
	if (recording->options->quiet)
		return;
	recording_clear_progress(recording);
	print_note("the command has ended; what it left running is recorded on");
	print_hint("Ctrl-C ends the recording");
}

/* -1: for ever. */
static int sooner_ms(int a, int b)
{
	if (a < 0 || b < 0)
		return a < 0 ? b : a;
	return a < b ? a : b;
}

static int poll_timeout_ms(const struct recording *recording)
{
	int timeout_ms = recording->keep ? keep_timeout_ms(recording->keep) : -1;

	if (recording->shows_progress)
		return sooner_ms(timeout_ms, PROGRESS_MS);
	if (recording_joiners(recording))
		timeout_ms = sooner_ms(timeout_ms, JOINED_MS);
	if (recording->command_ended_ns && !recording->has_told_of_left_behind)
		return sooner_ms(timeout_ms, LEFT_BEHIND_MS);
	return timeout_ms;
}

/* The sampler that has recorded to the end; NULL: it could not begin again, and has finished. */
static struct sampler *wait_for_end(struct recording *recording, struct recorded *recorded,
				    struct sampler *sampler)
{
	struct pollfd fds[] = {
		{.fd = recording->signals.fd, .events = POLLIN},
		{.fd = sampler_done_fd(sampler), .events = POLLIN},
		{.fd = recording->control.fd, .events = POLLIN},
		{.fd = recording->command.fd, .events = POLLIN},
		{.fd = recording_agent_fd(recording), .events = POLLIN},
		{.fd = recording->keep ? keep_fd(recording->keep) : -1, .events = POLLIN},
		{.fd = keep_awaits_core(recording->keep) ? sampler_core_fd(sampler) : -1,
		 .events = POLLIN},
	};

	while (!recording->is_over) {
		if (poll(fds, ARRAY_SIZE(fds), poll_timeout_ms(recording)) < 0 && errno != EINTR)
			break;
		recording->is_over = fds[1].revents & POLLIN;
		if (fds[0].revents & POLLIN)
			read_signals(recording, sampler);
		if (fds[2].revents & (POLLIN | POLLHUP))
			read_control(recording, sampler);
		if (fds[3].revents & POLLIN)
			fds[3].fd = -1; /* it stays readable */
		if ((fds[4].revents & POLLIN) && !recording->is_over) {
			fds[4].fd = -1;
			recording_clear_progress(recording);
			recording_agent_say_ended(recording);
		}
		if (recording->argv && fds[3].fd < 0 && !recording->is_over)
			tell_of_left_behind(recording);
		if ((fds[5].revents & POLLIN) && !recording->is_over &&
		    !keep_serve(recording->keep, sampler))
			sampler_stop(sampler);
		if (fds[6].revents & POLLIN)
			keep_core(recording->keep, sampler);
		if (!recording->is_over)
			recording_say_joined(recording, sampler);
		if (recording->keep && !recording->is_over)
			keep_look(recording->keep, sampler);
		if (recording->keep && !recording->is_over &&
		    keep_is_full(recording->keep, sampler) && !sampler_is_asked_to_stop(sampler)) {
			sampler = recording_begin_again(recording, recorded, sampler);
			if (!sampler)
				break;
			fds[1].fd = sampler_done_fd(sampler);
			if (fds[6].fd >= 0)
				fds[6].fd = sampler_core_fd(sampler);
		}
		if (!recording->is_over)
			show_progress(recording, sampler);
	}
	recording->is_over = true;
	/* Ctrl-C may have ended the command, and must not be taken for a second one later. */
	if (sampler)
		read_signals(recording, sampler);
	return sampler;
}

static void prepare_snapshots(struct recording *recording, const struct recording_file *file)
{
	struct symbol_options symbols = how_to_resolve(recording);

	snapshots_init(&recording->snapshots, file,
		       recording->options->no_symbols ? NULL : &symbols);
	recording->snapshots.clears_line = recording->shows_progress;
}

static void prepare_keep(struct recording *recording, const struct counting *counting)
{
	struct symbol_options symbols = how_to_resolve(recording);

	if (recording->keep)
		keep_begin(recording->keep, &symbols, counting, recording->shows_progress,
			   !recording->argv);
}

struct command_start {
	struct recorded_command *command;
	const char *program;
	struct counting *counting; /* NULL: nothing is counted */
};

/* sampler_options.run: what came of its exec is kept. */
static int run_command(void *context)
{
	const struct command_start *start = context;
	struct launch *launch = &start->command->launch;

	start->command->exec_errno =
		start->counting ? counting_launch(start->counting, launch, start->program)
				: launch_run(launch);
	counting_say_trouble(start->counting);
	return start->command->exec_errno;
}

static int start_command(struct recording *recording, struct err *err)
{
	int status = launch_start(&recording->command.launch, recording->argv,
				  &recording->former_signals, err);

	if (status == 0)
		recording->command.fd = recording_child_open(recording->command.launch.pid);
	return status;
}

static void reap_command(struct recording *recording)
{
	recording->command.is_reaped =
		child_reap(recording->command.launch.pid, &recording->command.status) == 0;
}

static int start_sampler(struct recording *recording, struct recorded *recorded,
			 struct counting *counting, struct sampler **sampler, struct err *err)
{
	const struct code_filter_options within = {named_code_in, recorded->within};
	struct command_start start = {&recording->command, NULL, counting};
	struct sampler_options sampler_options =
		recording_sampler_options(recording, recorded, &within);

	sampler_options.prober = counting_prober(counting);
	if (recording->argv && start_command(recording, err) < 0)
		return err->code;
	if (recording->argv) {
		sampler_options.targets.command = recording->command.launch.pid;
		sampler_options.run = run_command;
		sampler_options.run_context = &start;
	}
	start.program = recording->argv ? recording->argv[0] : NULL;
	if (recorded->within && recording->attached.nr &&
	    named_code_attach(recorded->within, recording->attached.pids, recording->attached.nr,
			      err) < 0)
		return err->code;
	if (counting && recording->attached.nr &&
	    counting_attach(counting, &recording->attached, err) < 0)
		return err->code;
	*sampler = sampler_start(&sampler_options, recorded->profile, recorded->writer, err);
	if (*sampler)
		return 0;
	/* It has failed to execute its program, or waits to be let go and ends now. */
	if (recording->argv) {
		launch_release(&recording->command.launch);
		if (!recording->command.exec_errno)
			kill(recording->command.launch.pid, SIGKILL);
		reap_command(recording);
	}
	return err->code;
}

/* Killed at any moment from now on, profc leaves a file that can be read. */
static int begin_file(struct recorded *recorded, struct err *err)
{
	int status = store_writer_new(recorded->file.fd, &recorded->writer, err);

	if (status == 0)
		status = store_writer_flush(recorded->writer, recorded->profile, err);
	if (status < 0)
		err_prefix(err, "%s", recording_file_name(&recorded->file));
	return status;
}

static int begin(struct recording *recording, struct recorded *recorded, struct counting *counting,
		 struct sampler **sampler, struct err *err)
{
	const struct record_options *options = recording->options;
	int status = recording->argv ? program_refuse_32_bit(recording->argv[0], err) : 0;

	if (status == 0 && options->control)
		status =
			control_open(&recording->control, control_path(options->control, err), err);
	if (status == 0)
		status = recording->keep
				 ? keep_open(recording->keep, err)
				 : recording_file_open(&recorded->file, options->output, err);
	if (status < 0)
		return status;
	if (!options->output && !recording->keep &&
	    strcmp(recording_file_name(&recorded->file), RECORDING_FILE_DEFAULT) != 0)
		print_warning("%s is being written by another profc: this recording goes to %s",
			      RECORDING_FILE_DEFAULT, recorded->file.path);
	recorded->profile = profile_new();
	recording_meta_fill(recorded->profile, options, recording->argv);
	sampler_reserve_descriptors();
	take_over_signals(recording);
	end_listener_start(&recording->ending.listener, stop_this_process);
	status = recording->keep ? 0 : begin_file(recorded, err);
	if (status == 0)
		status = recording_agent_start(recording, !recording->keep && !recorded->file.path,
					       err);
	if (status == 0)
		status = start_sampler(recording, recorded, counting, sampler, err);
	if (end_listener_stop(&recording->ending.listener) && status == 0)
		heed_listener(recording, *sampler); /* the command may go on */
	if (status < 0 && !recording->keep) {
		recording_file_discard(&recorded->file);
	} else if (status == 0) {
		recording_say_descendants(recording, *sampler);
		prepare_snapshots(recording, &recorded->file);
		prepare_keep(recording, counting);
		/* What is recorded as a command is the service, and says this itself. */
		if (!recording->argv)
			service_notify_ready();
		recording_say_joined(recording, *sampler);
	}
	return status;
}

/* An empty one leaves its name to what had it. */
static int close_file(const struct record_options *options, struct recorded *recorded,
		      struct err *err)
{
	struct recording_file *file = &recorded->file;

	if (!recording_is_empty(options, recorded) || !file->old_path)
		return recording_file_close(file, err);
	if (!options->quiet)
		print_note("%s is left as it was", file->path);
	recording_file_discard(file);
	return 0;
}

static int finish_file(const struct recording *recording, struct recorded *recorded)
{
	const struct record_options *options = recording->options;
	struct err err = ERR_INIT;
	int failed_status = recording_failed_status(recording);
	int status;

	if (options->check_unwinder)
		recording_say_check(recorded);
	if (store_writer_finish(recorded->writer, recorded->profile, &err) < 0) {
		recording_say_unwritten(options, recorded, &err);
		close_file(options, recorded, NULL);
		return failed_status;
	}
	heap_discard_apply(recorded->profile);
	status = recording_is_empty(options, recorded) ? recording_say_empty(recording, recorded)
						       : EXIT_DONE;
	if (recording_file_check(&recorded->file, &err) < 0)
		print_err(&err);
	else if (!recording_is_empty(options, recorded))
		recording_say_done(recording, recorded);
	if (close_file(options, recorded, err.code ? NULL : &err) < 0)
		print_err(&err);
	return err.code ? failed_status : status;
}

/* A shell reports the death by a signal as this status. */
static int end_by(struct recording *recording, int signal)
{
	recording->ending.dies_of = signal;
	return 128 + signal;
}

/* The command's own status, once it has one; profc's when it has failed. */
static int command_status(struct recording *recording, int own_status)
{
	if (recording->ending.nr_asked > 1)
		return end_by(recording, recording->ending.asked_by);
	if (!recording->command.is_reaped)
		recording_child_wait(recording->command.launch.pid, recording->signals.fd,
				     &recording->command.status);
	if (own_status != EXIT_DONE)
		return own_status;
	return WIFSIGNALED(recording->command.status)
		       ? end_by(recording, WTERMSIG(recording->command.status))
		       : WEXITSTATUS(recording->command.status);
}

static int finish(const struct recording *recording, struct recorded *recorded)
{
	cleanup_free char *path = recorded->file.path ? xstrdup(recorded->file.path) : NULL;
	const struct use_options *use = &recording->options->use;
	bool can_be_read = recorded->file.created;
	cleanup_close int fd = recording_file_reopen(&recorded->file);
	int status = finish_file(recording, recorded);

	if (status != EXIT_DONE || !path || recording_is_empty(recording->options, recorded))
		return status;
	if (!recording->options->quiet)
		recording_explain(recording, recorded, path, fd);
	if (!recording_has_uses(use))
		return status;
	if (can_be_read)
		return recording_use(recording, path,
				     !recording->options->quiet && is_terminal_ours(recording));
	if (use->with_source)
		print_note("no source is kept in a recording that goes to %s", path);
	if (use->html || use->open)
		print_note("there is no page of a recording that goes to %s", path);
	return recording_failed_status(recording);
}

static int end(struct recording *recording, struct recorded *recorded, struct counting *counting,
	       struct sampler *sampler)
{
	const struct record_options *options = recording->options;
	const struct sampler_result *result = &recorded->result;
	bool has_failed = !sampler && result->end == SAMPLER_END_ASKED; /* to begin again */
	struct err failure = ERR_INIT;
	int status;

	if (!recording->argv)
		service_notify_stopping();
	end_listener_start(&recording->ending.listener, stop_this_process);
	recorded->ended_paused = sampler && sampler_is_paused(sampler);
	if (sampler) {
		recording_end_joined(recording, sampler);
		recording_finish_sampler(recording, recorded, sampler, &failure);
	}
	counting_end(counting);
	if (counting)
		prober_publish_removal(counting_prober(counting), recorded->profile);
	counting_forget_probes(counting);
	recording_agent_finish(recording, recorded->profile);
	if (recording->nr_control_refused)
		profile_set_counter(recorded->profile, "control_refused",
				    recording->nr_control_refused);
	if (recording->argv && !recording->command.is_reaped && is_command_gone(recording))
		reap_command(recording);
	if (recording->ending.late_signal && recording->argv && !recording->command.is_reaped)
		kill(recording->command.launch.pid, recording->ending.late_signal);
	recording_clear_progress(recording);
	snapshots_finish(&recording->snapshots, recording->ending.listener.asked_fd,
			 options->quiet);
	if (!options->quiet)
		recording_say_refused(&recorded->refusal);
	if (recording->command.is_reaped)
		recorded->profile->meta.exit_status = recording->command.status;
	if (recording->keep) {
		status = keep_finish(recording->keep, recorded->profile) && !has_failed
				 ? EXIT_DONE
				 : recording_failed_status(recording);
		end_listener_stop(&recording->ending.listener);
	} else if (result->end == SAMPLER_END_WRITE_FAILED) {
		recording_say_unwritten(options, recorded, &failure);
		status = recording_failed_status(recording);
		close_file(options, recorded, NULL);
		end_listener_stop(&recording->ending.listener);
	} else {
		resolve_at_end(recording, recorded, counting);
		end_listener_stop(&recording->ending.listener);
		status = finish(recording, recorded);
	}
	return recording->argv ? command_status(recording, status) : status;
}

static int record(struct recording *recording, struct recorded *recorded, struct counting *counting)
{
	struct sampler *sampler = NULL;
	struct err err = ERR_INIT;
	int status;

	recording->signals = (struct signal_pipe)SIGNAL_PIPE_NONE;
	recording->control = (struct control)CONTROL_NONE;
	recording->command.fd = -1;
	recording->ending.listener.asked_fd = -1;
	recording->shows_progress =
		!recording->options->quiet && !recording->argv && isatty(STDERR_FILENO);
	/* Before anything is done to the file of the former recording. */
	if (recording->argv)
		recording->command.exec_errno = program_foresee_failure(recording->argv[0]);
	if (recording->command.exec_errno) {
		status = recording_say_exec_failed(recording);
	} else if (begin(recording, recorded, counting, &sampler, &err) < 0) {
		status = recording->command.exec_errno ? recording_say_exec_failed(recording)
						       : recording_failed_status(recording);
		if (!recording->command.exec_errno)
			print_err(&err);
		if (recording->ending.listener.asked)
			status = end_by(recording, (int)recording->ending.listener.info.ssi_signo);
	} else {
		sampler = wait_for_end(recording, recorded, sampler);
		status = end(recording, recorded, counting, sampler);
	}
	agent_free(recording->agent);
	control_close(&recording->control);
	store_writer_free(recorded->writer);
	profile_free(recorded->profile);
	signal_pipe_close(&recording->signals);
	if (recording->command.fd >= 0)
		close(recording->command.fd);
	return status;
}

/* record() for options that may still be wrong. */
static int check_and_record(const struct command *self, struct recording *recording)
{
	const struct record_options *options = recording->options;
	struct recorded recorded = {.profile = NULL};
	struct counting *counting = NULL;
	struct err err = ERR_INIT;
	int status;

	if (options->control && !control_path(options->control, &err))
		return usage_error(self, &err);
	if (recording_has_uses(&options->use) && options->output &&
	    strcmp(options->output, "-") == 0)
		err_set(&err, ERR_INVALID, "%s a profile in a file, not -o -",
			options->use.with_source ? "--with-source needs"
						 : "--html and --open need");
	if (options->use.with_source && options->no_symbols)
		err_set(&err, ERR_INVALID,
			"--with-source finds sources by symbols: not with --no-symbols");
	if (options->threads && options->count.no_cpu)
		err_set(&err, ERR_INVALID, "--threads cannot be combined with --no-cpu");
	if (options->count.memory_paused &&
	    !(count_options_have_memory(&options->count) && options->control))
		err_set(&err, ERR_INVALID,
			"--mem-paused needs --mem, and --control with its 'mem start'");
	if (err.code ||
	    (options->threads && record_options_threads(options, &recording->threads, &err) < 0))
		return usage_error(self, &err);
	if (options->count.within)
		recorded.within = named_code_new(
			options->count.within,
			symbol_options_of(&options->symbols, &recording->ending.listener.asked));
	if (keep_new(options, recording->argv ? recording->argv[0] : recording_unit(recording),
		     &recording->keep, &err) < 0 ||
	    counting_new(&options->count,
			 symbol_options_of(&options->symbols, &recording->ending.listener.asked),
			 !options->no_symbols, &counting, &err) < 0 ||
	    keep_await_calls(recording->keep, counting, &err) < 0)
		status = usage_error(self, &err);
	else
		status = record(recording, &recorded, counting);
	counting_end(counting);
	counting_free(counting);
	named_code_free(recorded.within);
	keep_free(recording->keep);
	recording->keep = NULL;
	if (options->threads)
		regfree(&recording->threads);
	return status;
}

int recording_run(const struct command *self, const struct record_options *options, char **argv)
{
	struct recording recording = {.options = options, .argv = argv};
	int status = check_and_record(self, &recording);

	if (recording.ending.dies_of)
		recording_child_die_alike(recording.ending.dies_of);
	return status;
}

int recording_attach(const struct command *self, const struct record_options *options)
{
	struct recording recording = {.options = options};
	struct err err = ERR_INIT;
	int status;

	if (record_options_joiners(options, &recording.joining.joiners, &err) < 0 ||
	    record_options_attached(options, &recording.attached, &err) < 0) {
		joiners_release(&recording.joining.joiners);
		return usage_error(self, &err);
	}
	recording_warn_of_waiting(&recording);
	status = check_and_record(self, &recording);
	attached_release(&recording.attached);
	joiners_release(&recording.joining.joiners);
	return status;
}
