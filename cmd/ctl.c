// SPDX-License-Identifier: GPL-2.0-or-later
/* profc ctl: speaks with a flight recorder by its directory. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/sink.h"
#include "cmd/command.h"
#include "cmd/keep_directory.h"
#include "cmd/keep_socket.h"
#include "cmd/view_options.h"
#include "view/number.h"
#include "view/table.h"

#define LABEL_MAX 200

struct ctl_args {
	bool json;
	/* the words: DIR, what to do, and a label or NULL */
	const char *directory, *action, *label;
};

static const struct option_row rows[] = {
	{.type = OPTION_FLAG,
	 .name = "json",
	 .offset = offsetof(struct ctl_args, json),
	 .help = "with list: JSON output"},
	OPTIONS_END,
};

/* A recorder, or the directory that it makes, is missing. */
static int no_recorder(const struct ctl_args *args, struct err *err)
{
	if (err->code == ERR_NOT_FOUND || err->sys_errno == ENOENT)
		err_hint(err, "profc attach -p PID --keep 60s -o %s", args->directory);
	return fail_with(err);
}

/* --- list --- */

static bool is_recording(const char *directory)
{
	struct err err = ERR_INIT;
	int fd;

	if (keep_socket_connect(directory, &fd, &err) < 0)
		return false;
	close(fd);
	return true;
}

static void list_json(const struct keep_files *files, bool has_recorder, struct sink *sink)
{
	struct json json;

	json_init(&json, sink);
	json_object_begin(&json);
	json_key_u64(&json, "version", 1);
	json_key_bool(&json, "recorder", has_recorder);
	json_key_array_begin(&json, "files");
	for (size_t i = 0; i < files->nr; i++) {
		const struct keep_file *file = &files->at[i];
		cleanup_free char *time = keep_file_time(file);
		cleanup_free char *trigger = keep_file_trigger(file);

		json_object_begin(&json);
		json_key_str(&json, "file", file->name);
		json_key_str(&json, "time", time);
		json_key_known_str(&json, "trigger", trigger);
		json_key_u64(&json, "bytes", file->nr_bytes);
		json_object_end(&json);
	}
	json_array_end(&json);
	json_object_end(&json);
	json_finish(&json);
}

static const struct table_column columns[] = {
	{.header = "time (UTC)"},
	{.header = "size", .right = true},
	{.header = "trigger", .flexible = true, .cut = CUT_END, .min_columns = 8, .share = 1},
	{.header = "file"}, /* to be copied: a line may be longer than the terminal is wide */
};

static void list_text(const struct keep_files *files, struct sink *sink)
{
	struct view_options options = VIEW_OPTIONS_INIT;
	struct view view = view_options_resolve(&options);
	struct table *table = table_new(columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < files->nr; i++) {
		const struct keep_file *file = &files->at[i];
		cleanup_free char *time = keep_file_time(file);
		cleanup_free char *trigger = keep_file_trigger(file);
		struct buf size = {0};

		append_bytes(&size, file->nr_bytes);
		table_add(table, STYLE_PLAIN, time);
		table_add(table, STYLE_PLAIN, buf_str(&size));
		table_add(table, STYLE_PLAIN, trigger);
		table_add(table, STYLE_PLAIN, file->name);
		buf_release(&size);
	}
	if (files->nr)
		table_print(table, &view, sink);
	table_free(table);
}

static int list(const struct ctl_args *args)
{
	bool has_recorder = is_recording(args->directory);
	DIR *entries = opendir(args->directory);
	struct err err = ERR_INIT;
	struct keep_files files;
	struct sink sink;

	if (!entries) {
		err_sys(&err, "cannot read the directory %s", args->directory);
		return no_recorder(args, &err);
	}
	closedir(entries);
	keep_files_read(&files, args->directory);
	sink_init_fd(&sink, STDOUT_FILENO);
	if (args->json)
		list_json(&files, has_recorder, &sink);
	else
		list_text(&files, &sink);
	if (!args->json)
		print_note("%zu profile%s in %s; %s recorder writes to it", files.nr,
			   files.nr == 1 ? "" : "s", args->directory, has_recorder ? "a" : "no");
	keep_files_release(&files);
	return flush_stdout(&sink);
}

/* --- dump, stop --- */

/* The text after a word that the answer begins with, or NULL. */
static const char *after(const char *answer, const char *word)
{
	size_t length = strlen(word);

	return strncmp(answer, word, length) == 0 ? answer + length : NULL;
}

/* The recorder may be of a user with fewer rights: its answer is no path to be believed. */
static bool is_plain_name(const char *name)
{
	for (const char *at = name; *at; at++) {
		if (!isgraph((unsigned char)*at) || *at == '/')
			return false;
	}
	return *name && *name != '.';
}

static int say_dump(const struct ctl_args *args, const char *answer, struct err *err)
{
	const char *name = after(answer, "wrote "), *why = after(answer, "failed ");
	size_t length = strlen(args->directory);
	const char *slash = args->directory[length - 1] == '/' ? "" : "/";

	if (name && is_plain_name(name)) {
		printf("%s%s%s\n", args->directory, slash, name);
		return 0;
	}
	return err_set(err, ERR_UNSUPPORTED, "the recorder has written no profile: %s",
		       why ? why : answer);
}

static int ask(const struct ctl_args *args, int fd, struct err *err)
{
	cleanup_free char *request = xasprintf("%s%s%s", args->action, args->label ? " " : "",
					       args->label ? args->label : "");
	char answer[1024];
	int status = keep_socket_ask(fd, request, answer, sizeof(answer), err);

	if (status < 0)
		return status;
	if (strcmp(args->action, "dump") == 0)
		return say_dump(args, answer, err);
	if (!after(answer, "stopping"))
		return err_set(err, ERR_UNSUPPORTED, "the recorder does not stop: %s", answer);
	status = keep_socket_wait_for_end(fd, err);
	if (status == 0)
		print_note("the recorder of %s has ended", args->directory);
	return status;
}

static int connect_and_ask(const struct ctl_args *args)
{
	struct err err = ERR_INIT;
	int fd, status = keep_socket_connect(args->directory, &fd, &err);

	if (status < 0)
		return no_recorder(args, &err);
	status = ask(args, fd, &err);
	close(fd);
	return status < 0 ? fail_with(&err) : EXIT_DONE;
}

static bool is_action(const char *word)
{
	return strcmp(word, "list") == 0 || strcmp(word, "dump") == 0 || strcmp(word, "stop") == 0;
}

static int check_words(struct ctl_args *args, int nr, char *const *words, struct err *err)
{
	bool is_dump = nr > 1 && strcmp(words[1], "dump") == 0;

	if (nr < 2 || !*words[0]) {
		err_set(err, ERR_INVALID, "a directory and what to do are required");
		err_hint(err, "profc ctl DIR list, or dump, or stop");
		return ERR_INVALID;
	}
	args->directory = words[0];
	args->action = words[1];
	if (!is_action(args->action)) {
		err_set(err, ERR_INVALID, "'%s' is neither list, dump nor stop", args->action);
		if (is_action(args->directory))
			err_hint(err, "the directory comes first: profc ctl %s %s", args->action,
				 args->directory);
		else
			err_hint(err, "profc ctl DIR list, or dump, or stop");
		return ERR_INVALID;
	}
	if (nr > (is_dump ? 3 : 2))
		return err_set(err, ERR_INVALID, "unexpected argument '%s'",
			       words[is_dump ? 3 : 2]);
	if (args->json && strcmp(args->action, "list") != 0)
		return err_set(err, ERR_INVALID, "--json is for list");
	args->label = is_dump && nr == 3 ? words[2] : NULL;
	if (args->label && strlen(args->label) > LABEL_MAX)
		return err_set(err, ERR_INVALID, "a label has at most %d letters", LABEL_MAX);
	return 0;
}

static int run_ctl(const struct command *self, int argc, char **argv)
{
	struct ctl_args args = {0};
	struct err err = ERR_INIT;
	int first_word, status;

	if (options_parse(rows, &args, argc, argv, false, &first_word, &err) ||
	    check_words(&args, argc - first_word, argv + first_word, &err))
		status = usage_error(self, &err);
	else
		status = strcmp(args.action, "list") == 0 ? list(&args) : connect_and_ask(&args);
	options_release(rows, &args);
	return status;
}

const struct command command_ctl = {
	.name = "ctl",
	.synopsis = "DIR list | dump [LABEL] | stop",
	.summary = "list profiles of a flight recorder, have one written, stop it",
	.help = "Speaks with the flight recorder, 'profc attach' or 'profc record' with --keep,\n"
		"that writes to the directory DIR.\n"
		"\n"
		"  list          the profiles there, the newest first, and whether one records\n"
		"  dump [LABEL]  write a profile now, wait for it, print its path\n"
		"  stop          end the recording, and wait for that\n"
		"\n"
		"Examples:\n"
		"  profc ctl profc.dumps list\n"
		"  profc report \"$(profc ctl profc.dumps dump slow)\"\n",
	.options = rows,
	.run = run_ctl,
};
