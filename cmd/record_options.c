// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/record_options.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/err.h"

/* In the order of enum unwinder_kind. */
static const char *const unwinders[] = {"auto", "cfi", "libunwind", "fp", NULL};

#define AT(member) offsetof(struct record_options, member)

const struct option_row record_option_rows[] = {
	{.type = OPTION_SECTION, .name = "What is recorded"},
	{.type = OPTION_LIST,
	 .short_name = 'p',
	 .name = "pid",
	 .argument = "PID",
	 .offset = AT(pid_texts),
	 .commas = true,
	 .help = "attach to this process instead of running a command; repeat for more"},
	{.type = OPTION_FLAG,
	 .name = "children",
	 .offset = AT(no_children),
	 .negated = true,
	 .help = "follow fork, vfork and exec [yes]"},
	{.type = OPTION_FLAG,
	 .name = "no-children",
	 .offset = AT(no_children),
	 .help = "record only the process itself"},
	{.type = OPTION_STRING,
	 .name = "threads",
	 .argument = "REGEX",
	 .offset = AT(threads),
	 .help = "record only threads whose name this is found in"},
	{.type = OPTION_DURATION,
	 .short_name = 'd',
	 .name = "duration",
	 .argument = "TIME",
	 .offset = AT(duration_ns),
	 .help = "end the recording after TIME: 10, 10s, 500ms, 2m [when the target ends]"},
	{.type = OPTION_DURATION,
	 .name = "delay",
	 .argument = "TIME",
	 .offset = AT(delay_ns),
	 .help = "begin to record only after TIME"},
	{.type = OPTION_FLAG,
	 .name = "paused",
	 .offset = AT(paused),
	 .help = "begin to record only when told so, by --control or SIGUSR1"},
	{.type = OPTION_STRING,
	 .name = "control",
	 .argument = "fifo:PATH",
	 .offset = AT(control),
	 .help = "obey lines written to this FIFO: pause, resume, snapshot FILE, stop, mark TEXT"},
	{.type = OPTION_SECTION, .name = "How"},
	{.type = OPTION_UINT,
	 .short_name = 'F',
	 .name = "frequency",
	 .argument = "HZ",
	 .offset = AT(frequency_hz),
	 .min = 1,
	 .max = 20000,
	 .help = "looks a second at each thread, at random moments [500]"},
	{.type = OPTION_DOUBLE,
	 .name = "max-overhead",
	 .argument = "PCT",
	 .offset = AT(max_overhead_percent),
	 .min = 0,
	 .max = 100,
	 .help = "lower the frequency so that stops cost no thread more than this share of its "
		 "time; 0: never [2]"},
	{.type = OPTION_UINT,
	 .name = "max-depth",
	 .argument = "N",
	 .offset = AT(max_depth),
	 .min = 1,
	 .max = 10000000,
	 .help = "keep at most N frames of a stack, of both ends [65536]"},
	{.type = OPTION_CHOICE,
	 .name = "unwinder",
	 .argument = "WHICH",
	 .offset = AT(unwinder),
	 .choices = unwinders,
	 .help = "auto, cfi, libunwind or fp (frame pointers) [auto]"},
	{.type = OPTION_FLAG,
	 .name = "check-unwinder",
	 .offset = AT(check_unwinder),
	 .help = "unwind every stack by libunwind too, and say where they differ",
	 .hidden = true},
	{.type = OPTION_SECTION, .name = "Output"},
	{.type = OPTION_STRING,
	 .short_name = 'o',
	 .name = "output",
	 .argument = "FILE",
	 .offset = AT(output),
	 .help = "where the profile goes; - is standard output [profc.data]"},
	{.type = OPTION_FLAG,
	 .name = "no-symbols",
	 .offset = AT(no_symbols),
	 .help = "leave names to `profc symbolize`: the end of the recording comes sooner"},
	{.type = OPTION_FLAG,
	 .short_name = 'q',
	 .name = "quiet",
	 .offset = AT(quiet),
	 .help = "say nothing but errors"},
	{.type = OPTION_FLAG,
	 .short_name = 'v',
	 .name = "verbose",
	 .offset = AT(verbose),
	 .help = "say more about the recording at its end"},
	SYMBOL_OPTION_ROWS(struct record_options, symbols),
	OPTIONS_END,
};

void record_options_init(struct record_options *options)
{
	*options = (struct record_options){
		.frequency_hz = 500,
		.max_overhead_percent = 2,
		.output = "profc.data",
		.max_depth = 65536,
		.symbols = SYMBOL_OPTION_VALUES_INIT,
	};
}

static int parse_pid(const char *text, pid_t *pid, struct err *err)
{
	char *end;
	long number;

	errno = 0;
	number = strtol(text, &end, 10);
	if (errno || end == text || *end || number <= 0 || number > INT_MAX) {
		err_set(err, ERR_INVALID, "'%s' is no process id", text);
		err_hint(err, "find it with `pgrep -a NAME`");
		return ERR_INVALID;
	}
	*pid = (pid_t)number;
	return 0;
}

int record_options_pids(const struct record_options *options, pid_t **pids, size_t *nr,
			struct err *err)
{
	pid_t *parsed = xcalloc(options->pid_texts.nr, sizeof(*parsed));

	for (size_t i = 0; i < options->pid_texts.nr; i++) {
		int status = parse_pid(options->pid_texts.values[i], &parsed[i], err);

		if (status < 0) {
			free(parsed);
			return status;
		}
	}
	*pids = parsed;
	*nr = options->pid_texts.nr;
	return 0;
}

int record_options_threads(const struct record_options *options, regex_t *threads, struct err *err)
{
	int status = regcomp(threads, options->threads, REG_EXTENDED | REG_NOSUB);
	char why[128];

	if (status == 0)
		return 0;
	regerror(status, threads, why, sizeof(why));
	return err_set(err, ERR_INVALID, "--threads: bad regular expression '%s': %s",
		       options->threads, why);
}
