// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/err.h"
#include "cmd/command.h"
#include "cmd/record_metrics.h"
#include "cmd/record_options.h"
#include "cmd/recording.h"

static int run_record(const struct command *self, int argc, char **argv)
{
	struct record_options options;
	struct err err = ERR_INIT;
	int first = 0;
	int status;

	record_options_init(&options);
	if (options_parse(self->options, &options, argc, argv, true, &first, &err) < 0) {
		status = usage_error(self, &err);
		goto out;
	}
	record_options_settle(&options);
	if (record_metrics_help(&options)) {
		status = EXIT_DONE;
		goto out;
	}
	if (record_metrics_parse(&options, &err) < 0) {
		status = fail_or_usage_error(self, &err);
		goto out;
	}
	if (record_options_attach(&options) && first < argc) {
		record_options_refuse_command(&options, &err);
		status = usage_error(self, &err);
	} else if (record_options_attach(&options)) {
		status = recording_attach(self, &options);
	} else if (first < argc) {
		status = recording_run(self, &options, argv + first);
	} else {
		err_set(&err, ERR_INVALID, "which command is to be recorded? None was given");
		err_hint(&err, "profc record -- CMD [ARG...], or profc attach -p PID");
		status = usage_error(self, &err);
	}
out:
	options_release(self->options, &options);
	return status;
}

static int run_attach(const struct command *self, int argc, char **argv)
{
	struct record_options options;
	struct err err = ERR_INIT;
	int first = 0;
	int status;

	record_options_init(&options);
	if (options_parse(self->options, &options, argc, argv, false, &first, &err) < 0)
		status = usage_error(self, &err);
	else if (record_metrics_help(&options))
		status = EXIT_DONE;
	else if (record_options_check_words(&options, argv + first, &err) < 0 ||
		 record_metrics_parse(&options, &err) < 0)
		status = fail_or_usage_error(self, &err);
	else {
		record_options_settle(&options);
		status = recording_attach(self, &options);
	}
	options_release(self->options, &options);
	return status;
}

const struct command command_record = {
	.name = "record",
	.synopsis = "[OPTIONS] [--] CMD [ARG...]",
	.summary = "run a command under the profiler, write a profile",
	.help = "Runs CMD and samples each of its threads at random moments, FREQUENCY times a "
		"second: where it runs, where it sleeps, for how long. All of its children are "
		"recorded too, under their own names. The profile is written as it goes; at the "
		"end its symbols are resolved, and `profc report` shows it. The exit status is "
		"CMD's own, and a signal that ends CMD then ends profc, too.\n\n"
		"Examples:\n"
		"  profc record -- python3 script.py\n"
		"  profc record -F 1000 -o build.profc -- make -j8\n"
		"  profc record --count '^parse_' -- ./program\n"
		"  profc record --mem -- ./program\n"
		"  profc record -p 1234 -d 10s",
	.options = record_option_rows,
	.runs_command = true,
	.run = run_record,
};

const struct command command_attach = {
	.name = "attach",
	.synopsis = "-p PID | --unit NAME | --comm REGEX [OPTIONS]",
	.summary = "profile running processes",
	.help = "Records all threads of running processes and of their descendants, until they "
		"end, the duration is over, or Ctrl-C. The processes run on as if nothing had "
		"happened. Those of a unit, or of a name, are recorded whenever they appear, as "
		"of a service that restarts, until the duration is over or Ctrl-C.\n\n"
		"Examples:\n"
		"  profc attach -p 1234 -d 10s\n"
		"  profc attach -p 1234 --count '^handle_'\n"
		"  profc attach -p 1234 -d 60s --mem\n"
		"  profc attach -p 1234,1240 -o server.profc\n"
		"  profc attach --unit nginx.service -d 60s\n"
		"  profc attach --comm '^postgres$' --keep 60s",
	.options = record_option_rows,
	.run = run_attach,
};
