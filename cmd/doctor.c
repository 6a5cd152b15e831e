// SPDX-License-Identifier: GPL-2.0-or-later
/* profc doctor: checks whether profiling works on this machine. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "cmd/command.h"
#include "cmd/record_options.h"
#include "cmd/view_options.h"
#include "doctor/doctor.h"
#include "roster/attached.h"

struct doctor_args {
	struct option_list pid_texts;
	int color; /* index of view_color_choices */
};

static const struct option_row rows[] = {
	{.type = OPTION_LIST,
	 .short_name = 'p',
	 .name = "pid",
	 .argument = "PID",
	 .offset = offsetof(struct doctor_args, pid_texts),
	 .commas = true,
	 .help = "also attach to this process, and detach at once (repeatable)"},
	COLOR_OPTION_ROW(struct doctor_args, color),
	OPTIONS_END,
};

static void say(struct doctor *doctor, enum finding finding, const char *what, const char *hint)
{
	struct buf text = {0};

	finding_append(&text, doctor->context, finding, what, hint);
	fputs(buf_str(&text), stdout);
	fflush(stdout);
	buf_release(&text);
}

static void say_sum(const struct doctor *doctor)
{
	struct buf text = {0};

	findings_append_sum(&text, doctor->context, doctor->nr);
	fputs(buf_str(&text), stdout);
	buf_release(&text);
}

/* Programs get one line of each, however long. */
static struct view view_of(const struct doctor_args *args)
{
	struct view_options options = VIEW_OPTIONS_INIT;
	struct view view;

	options.color = args->color;
	view = view_options_resolve(&options);
	if (!isatty(STDOUT_FILENO))
		view.columns = SIZE_MAX;
	return view;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct doctor_args args = {0};
	struct record_options pid_options = {.no_children = true};
	struct err err = ERR_INIT;
	struct attached attached = {.pids = NULL};
	int first = 0;
	int status = EXIT_DONE;
	struct doctor doctor;
	struct view view;

	if (options_parse(rows, &args, argc, argv, false, &first, &err) < 0) {
		status = usage_error(self, &err);
	} else if (first < argc) {
		err_set(&err, ERR_INVALID, "unexpected argument '%s'", argv[first]);
		status = usage_error(self, &err);
	} else {
		pid_options.pid_texts = args.pid_texts;
		if (record_options_attached(&pid_options, &attached, &err) < 0)
			status = usage_error(self, &err);
	}
	if (status == EXIT_DONE) {
		view = view_of(&args);
		doctor = (struct doctor){.say = say, .context = &view};
		if (!doctor_examine(&doctor, attached.pids, attached.nr))
			status = EXIT_CANNOT;
		say_sum(&doctor);
	}
	attached_release(&attached);
	options_release(rows, &args);
	return status;
}

const struct command command_doctor = {
	.name = "doctor",
	.synopsis = "[-p PID]",
	.summary = "check whether profiling works here, and if not why",
	.help = "Tries what a recording needs on a child of its own and on the processes given "
		"with -p. Each line is ok, warn (works, but could be better) or FAIL, with a "
		"hint what to do about it. The exit status is 1 if anything that profiling "
		"needs is FAIL.\n\n"
		"Examples:\n"
		"  profc doctor\n"
		"  profc doctor -p 1234",
	.options = rows,
	.run = run,
};
