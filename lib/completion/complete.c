// SPDX-License-Identifier: GPL-2.0-or-later
/* Answers the questions of shells' completions. */
#include "completion/complete.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/escape.h"
#include "calltree/flat.h"
#include "completion/profile_files.h"
#include "completion/program_names.h"
#include "proc/read.h"
#include "proc/search_path.h"
#include "proc/task.h"
#include "profile/profile.h"
#include "store/store.h"
#include "view/name_words.h"

#define DEFAULT_PROFILE "profc.data"

/* A command line up to the word to complete. */
struct line {
	const struct completion_command *command;
	const struct completion_line *given;
	const char *input; /* the profile, if it is named */
	const char *pid;   /* the first process of -p, or NULL */
	/* the option that the last word is a value of, or NULL */
	const struct completion_option *row;
	size_t nr_words; /* that are no options and no values of these */
	int command_at;	 /* where CMD begins; 0: it has not begun */
	bool words_only; /* after -- */
};

static bool takes_next(const struct completion_option *option)
{
	return option && option->argument && !option->is_optional;
}

/* The option with this name, or the only one with this prefix. */
static const struct completion_option *find_long(const struct completion_command *command,
						 const char *name, size_t length)
{
	const struct completion_option *found = NULL;
	size_t nr = 0;

	for (size_t i = 0; i < command->nr_options; i++) {
		const struct completion_option *option = &command->options[i];

		if (strncmp(option->name, name, length) != 0)
			continue;
		if (option->name[length] == '\0')
			return option;
		found = option;
		nr++;
	}
	return nr == 1 ? found : NULL;
}

static const struct completion_option *find_short(const struct completion_command *command,
						  char letter)
{
	for (size_t i = 0; i < command->nr_options; i++) {
		if (command->options[i].letter == letter)
			return &command->options[i];
	}
	return NULL;
}

static void take_value(struct line *line, const struct completion_option *row, const char *value)
{
	if (row && strcmp(row->name, "input") == 0)
		line->input = value;
	if (row && strcmp(row->name, "pid") == 0 && !line->pid)
		line->pid = value;
}

/* Letters after one dash: an option with a value takes the rest, or the next word. */
static void take_cluster(struct line *line, const char *letters)
{
	for (; *letters; letters++) {
		const struct completion_option *row = find_short(line->command, *letters);

		if (!row || !row->argument)
			continue;
		if (letters[1])
			take_value(line, row, letters + 1);
		else if (takes_next(row))
			line->row = row;
		return;
	}
}

static void take_option(struct line *line, const char *word)
{
	size_t length = strcspn(word, "=");

	if (word[1] != '-') {
		take_cluster(line, word + 1);
		return;
	}
	line->row = find_long(line->command, word + 2, length - 2);
	if (word[length])
		take_value(line, line->row, word + length + 1);
	if (word[length] || !takes_next(line->row))
		line->row = NULL;
}

static void take_word(struct line *line, char **words, int at)
{
	const char *word = words[at];

	if (line->row) {
		take_value(line, line->row, word);
		line->row = NULL;
	} else if (!line->words_only && strcmp(word, "--") == 0) {
		line->words_only = true;
		if (line->command->runs_command)
			line->command_at = at + 1;
	} else if (!line->words_only && word[0] == '-' && word[1]) {
		take_option(line, word);
	} else if (line->command->runs_command) {
		line->command_at = at;
	} else {
		line->nr_words++;
		if (!line->input && store_is_profile(word))
			line->input = word;
	}
}

/* The first part of a description: the rest is for --help. */
static size_t gist(const char *what)
{
	const char *more = strstr(what, "; ");
	const char *usual = strstr(what, " (default");
	size_t nr_bytes = more ? (size_t)(more - what) : strlen(what);

	return usual && (size_t)(usual - what) < nr_bytes ? (size_t)(usual - what) : nr_bytes;
}

static void add(struct buf *out, const char *word, const char *what)
{
	cleanup_free char *told = what ? xstrndup(what, gist(what)) : NULL;

	buf_printf(out, "%s\t", word);
	escape_terminal(out, told ? told : "");
	buf_append_byte(out, '\n');
}

static void add_names(const struct line *line, enum name_kind kind, const char *beginning,
		      struct buf *out)
{
	const char *path = line->input ? line->input : DEFAULT_PROFILE;
	struct profile *profile;

	if (!store_is_profile(path) || store_read_names(path, &profile, NULL) < 0)
		return;
	name_words_append(out, profile, kind, beginning);
	profile_free(profile);
}

static void add_pids(struct buf *out)
{
	DIR *processes = opendir("/proc");
	struct proc_stat stat;
	pid_t pid;

	while (processes && (pid = proc_next_id(processes))) {
		char number[16];

		/* Threads of the kernel and what has ended cannot be recorded. */
		if (!proc_read_task_stat(pid, pid, &stat) || stat.flags & PROC_FLAG_KTHREAD ||
		    stat.state == 'Z')
			continue;
		snprintf(number, sizeof(number), "%d", (int)pid);
		add(out, number, stat.comm);
	}
	if (processes)
		closedir(processes);
}

/* The program that has the named functions: that of -p, or the command, which may follow. */
static bool find_program(const struct line *line, struct buf *path)
{
	const struct completion_line *given = line->given;
	struct line rest = *line;

	rest.row = NULL;
	for (int i = given->nr; i < given->nr + given->nr_after && !rest.command_at; i++)
		take_word(&rest, given->words, i);
	if (rest.pid) {
		buf_printf(path, "/proc/%.*s/exe", (int)strspn(rest.pid, "0123456789"), rest.pid);
		return true;
	}
	if (!rest.command_at || rest.command_at >= given->nr + given->nr_after)
		return false;
	if (strchr(given->words[rest.command_at], '/')) {
		buf_append_str(path, given->words[rest.command_at]);
		return true;
	}
	return search_path_find(given->directories, given->words[rest.command_at], path);
}

/* A name is a regular expression, too, which may be anchored. */
static void add_program_names(const struct line *line, const char *beginning, struct buf *out)
{
	struct buf path = {0}, names = {0};
	bool is_anchored = *beginning == '^';

	if (find_program(line, &path))
		program_names_append(&names, buf_str(&path), beginning + is_anchored);
	for (const char *at = buf_str(&names); *at;) {
		size_t nr_bytes = strcspn(at, "\n") + 1;

		if (is_anchored)
			buf_append_byte(out, '^');
		buf_append(out, at, nr_bytes);
		at += nr_bytes;
	}
	buf_release(&path);
	buf_release(&names);
}

static void add_texts(struct buf *out, const char *const *texts)
{
	for (; *texts; texts++)
		add(out, *texts, NULL);
}

static void add_dimensions(struct buf *out)
{
	for (size_t i = 0; dimension_names[i]; i++) {
		struct buf name = {0};

		/* The key follows. */
		buf_printf(&name, "%s%s", dimension_names[i],
			   dimension_needs_key((enum dimension)i) ? ":" : "");
		add(out, buf_str(&name), NULL);
		buf_release(&name);
	}
}

/* Typical values of options with many possible ones, by the placeholder or the name. */
static bool add_usual(const struct completion_option *row, struct buf *out)
{
	static const struct {
		const char *what;
		const char *values[12];
	} usual[] = {
		{"HZ", {"100", "500", "1000", "5000"}},
		{"TIME", {"100ms", "1s", "10s", "1m"}},
		{"RATE", {"64K", "512K", "all"}},
		{"BYTES", {"1M", "100M", "1G"}},
		{"WHEN", {"peak", "mark:"}},
		{"fifo:PATH", {"fifo:"}},
		{"push", {"pyroscope+https:", "parca+https:"}},
		{"sort",
		 {"self", "total", "samples", "calls", "per-call", "name", "function", "line",
		  "module"}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(usual); i++) {
		if (strcmp(row->argument, usual[i].what) != 0 &&
		    strcmp(row->name, usual[i].what) != 0)
			continue;
		add_texts(out, usual[i].values);
		return true;
	}
	return false;
}

static bool is_any(const char *word, const char *const *words)
{
	while (*words && strcmp(word, *words) != 0)
		words++;
	return *words;
}

static bool is_name(const struct line *line, const struct completion_option *row,
		    enum name_kind *kind)
{
	static const char *const functions[] = {"function", "callers", "callees",
						"focus",    "hide",    NULL};
	static const char *const kinds[] = {"module", "thread", "process", NULL};

	*kind = NAME_KIND_FUNCTION;
	if (line->command->runs_command || strcmp(line->command->name, "attach") == 0)
		return false; /* names in a program to be recorded are unknown */
	for (size_t i = 0; kinds[i]; i++) {
		if (strcmp(row->name, kinds[i]) == 0)
			*kind = NAME_KIND_MODULE + (enum name_kind)i;
	}
	return is_any(row->name, functions) || *kind != NAME_KIND_FUNCTION;
}

/* And the other things that are taken in place of one. */
static void add_directories(const struct completion_option *row, struct buf *out)
{
	add_usual(row, out);
	buf_append_str(out, ":directories\n");
}

static void add_values(const struct line *line, const struct completion_option *row,
		       const char *beginning, struct buf *out)
{
	static const char *const files[] = {"FILE", "OUT", "ELF", NULL};
	static const char *const directories[] = {"DIR", "URL|DIR/", NULL};
	static const char *const in_program[] = {"count", "count-calls-in", "progress",
						 "spans", "within",	    NULL};
	enum name_kind kind;

	if (is_any(row->name, in_program))
		add_program_names(line, beginning, out);
	else if (strcmp(row->name, "input") == 0)
		profile_files_append(out, beginning);
	else if (row->choices)
		add_texts(out, row->choices);
	else if (strcmp(row->name, "by") == 0)
		add_dimensions(out);
	else if (row->is_file || is_any(row->argument, files))
		buf_append_str(out, ":files\n");
	else if (is_any(row->argument, directories))
		add_directories(row, out);
	else if (strcmp(row->argument, "CMD") == 0)
		buf_append_str(out, ":programs\n");
	else if (strcmp(row->argument, "PID") == 0)
		add_pids(out);
	else if (is_name(line, row, &kind))
		add_names(line, kind, beginning, out);
	else
		add_usual(row, out);
}

static void add_options(const struct completion_command *command, const char *word, struct buf *out)
{
	struct buf name = {0};

	for (size_t i = 0; i < command->nr_options; i++) {
		const struct completion_option *option = &command->options[i];

		buf_clear(&name);
		buf_printf(&name, "-%c", option->letter);
		if (option->letter && word[1] != '-')
			add(out, buf_str(&name), option->help);
		buf_clear(&name);
		buf_printf(&name, "--%s", option->name);
		add(out, buf_str(&name), option->help);
	}
	buf_release(&name);
}

/* Keep the replacements of the word, or of its part from `from` on, that match. */
static void keep_matching(struct buf *all, const char *word, const char *from, struct buf *out)
{
	for (const char *line = buf_str(all); *line;) {
		size_t length = strcspn(line, "\n");

		if (line[0] == ':') {
			buf_append(out, line, length + 1);
		} else if (strncmp(line, from, strlen(from)) == 0) {
			buf_append(out, word, (size_t)(from - word));
			buf_append(out, line, length + 1);
		}
		line += length + 1;
	}
}

static void complete_value(const struct line *line, const struct completion_option *row,
			   const char *word, const char *value, struct buf *out)
{
	bool is_list = row->is_list || strstr(row->argument, "[,");
	const char *comma = is_list ? strrchr(value, ',') : NULL;
	const char *from = comma ? comma + 1 : value;
	struct buf all = {0};

	add_values(line, row, from, &all);
	keep_matching(&all, word, from, out);
	buf_release(&all);
}

/* DIR list, DIR dump LABEL or DIR stop. */
static void complete_ctl(const struct line *line, const char *word, struct buf *out)
{
	static const char *const actions[] = {"list", "dump", "stop", NULL};
	struct buf all = {0};

	if (line->nr_words == 0)
		buf_append_str(&all, ":directories\n");
	else if (line->nr_words == 1)
		add_texts(&all, actions);
	keep_matching(&all, word, word, out);
	buf_release(&all);
}

/* Profiles are all that these take, or all that they may take first. */
static bool takes_profiles(const struct line *line)
{
	static const char *const one[] = {"explain", "export", "info", "report", "view", NULL};
	static const char *const several[] = {"diff", "merge", NULL};

	return is_any(line->command->name, several) ||
	       (is_any(line->command->name, one) && !line->nr_words && !line->input);
}

static void complete_word(const struct line *line, const char *word, struct buf *out)
{
	struct buf all = {0};

	if (strcmp(line->command->name, "ctl") == 0) {
		complete_ctl(line, word, out);
		return;
	}
	if (takes_profiles(line)) {
		profile_files_append(&all, word);
		keep_matching(&all, word, word, out);
		buf_release(&all);
		return;
	}
	if (line->command->runs_command)
		buf_append_str(out, ":programs\n");
	else if (strcmp(line->command->name, "annotate") == 0)
		add_names(line, NAME_KIND_FUNCTION, word, out);
	buf_append_str(out, line->command->runs_command ? "" : ":files\n");
}

static void complete_option(const struct line *line, const char *word, struct buf *out)
{
	size_t length = strcspn(word, "=");
	const struct completion_option *row =
		word[1] == '-' ? find_long(line->command, word + 2, length - 2) : NULL;
	struct buf all = {0};

	if (word[length] && row && row->argument) {
		complete_value(line, row, word, word + length + 1, out);
		return;
	}
	add_options(line->command, word, &all);
	keep_matching(&all, word, word, out);
	buf_release(&all);
}

static void complete_commands(const struct completion_command *commands, size_t nr_commands,
			      const char *word, bool with_others, struct buf *out)
{
	struct buf all = {0};

	for (size_t i = 0; i < nr_commands; i++)
		add(&all, commands[i].name, commands[i].summary);
	if (with_others) {
		add(&all, "help", "show the help of a command");
		add(&all, "--help", "list the commands");
		add(&all, "--version", "show the version");
	}
	keep_matching(&all, word, word, out);
	buf_release(&all);
}

static void complete_line(struct line *line, struct buf *out)
{
	char **words = line->given->words;
	int nr_words = line->given->nr;
	const char *word = words[nr_words - 1];

	for (int i = 1; i < nr_words - 1 && !line->command_at; i++)
		take_word(line, words, i);
	if (line->command_at)
		buf_printf(out, ":command %d\n", line->command_at);
	else if (line->row)
		complete_value(line, line->row, word, word, out);
	else if (word[0] == '-' && !line->words_only)
		complete_option(line, word, out);
	else
		complete_word(line, word, out);
}

void complete_words(const struct completion_command *commands, size_t nr_commands,
		    const struct completion_line *given, struct buf *out)
{
	struct line line = {.given = given};
	char **words = given->words;

	if (given->nr < 1)
		return;
	for (size_t i = 0; i < nr_commands; i++) {
		if (strcmp(commands[i].name, words[0]) == 0)
			line.command = &commands[i];
	}
	if (given->nr == 1 || strcmp(words[0], "help") == 0)
		complete_commands(commands, nr_commands, words[given->nr - 1], given->nr == 1, out);
	else if (strcmp(words[0], "--version") == 0)
		add(out, "-v", "with libraries, compiler and flags");
	else if (line.command)
		complete_line(&line, out);
}
