// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/recording_control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"

static const struct {
	const char *text;
	enum control_word word;
	bool has_argument;
} words[] = {
	{"pause", CONTROL_PAUSE, false},
	{"resume", CONTROL_RESUME, false},
	{"snapshot", CONTROL_SNAPSHOT, true},
	{"dump", CONTROL_DUMP, true},
	{"stop", CONTROL_STOP, false},
	{"mark", CONTROL_MARK, true},
	{"mem start", CONTROL_MEM_START, false},
	{"mem stop", CONTROL_MEM_STOP, false},
	{"mem discard", CONTROL_MEM_DISCARD, false},
	{"mem search", CONTROL_MEM_SEARCH, true},
};

#define BLANKS	   " \t"
#define OPEN_FLAGS (O_RDONLY | O_NONBLOCK | O_CLOEXEC)

/* Whoever may write to it steers profc, which may have more rights. What root shares it means to.
 */
static int refuse_foreign(const char *path, const struct stat *found, struct err *err)
{
	mode_t others = found->st_uid == 0 ? S_IWOTH : S_IWGRP | S_IWOTH;

	if (found->st_uid != 0 && found->st_uid != geteuid())
		return err_set(err, ERR_PERMISSION,
			       "the FIFO %s is not obeyed: it belongs to another user (uid %u)",
			       path, (unsigned int)found->st_uid);
	if (!(found->st_mode & others))
		return 0;
	err_set(err, ERR_PERMISSION, "the FIFO %s is not obeyed: other users may write to it",
		path);
	err_hint(err, "chmod go-w takes that from them");
	return ERR_PERMISSION;
}

static int open_fifo(struct control *control, struct err *err)
{
	struct stat found;

	control->created = mkfifo(control->path, 0600) == 0;
	if (!control->created && errno != EEXIST)
		return err_sys(err, "cannot make the FIFO %s", control->path);
	control->fd = open(control->path, OPEN_FLAGS | O_NOFOLLOW);
	if (control->fd < 0)
		return err_sys(err, "cannot open %s", control->path);
	if (fstat(control->fd, &found) < 0 || !S_ISFIFO(found.st_mode))
		return err_set(err, ERR_INVALID, "%s is there and no FIFO", control->path);
	return refuse_foreign(control->path, &found, err);
}

const char *control_path(const char *where, struct err *err)
{
	static const char scheme[] = "fifo:";

	if (strncmp(where, scheme, sizeof(scheme) - 1) == 0 && where[sizeof(scheme) - 1])
		return where + sizeof(scheme) - 1;
	err_set(err, ERR_INVALID, "--control needs fifo:PATH, not '%s'", where);
	err_hint(err, "such as --control fifo:/tmp/control, which is made if it is not there");
	return NULL;
}

int control_open(struct control *control, const char *path, struct err *err)
{
	int status;

	*control = (struct control)CONTROL_NONE;
	control->path = xstrdup(path);
	status = open_fifo(control, err);
	if (status < 0)
		control_close(control);
	return status;
}

void control_close(struct control *control)
{
	if (control->fd >= 0)
		close(control->fd);
	if (control->created)
		unlink(control->path);
	free(control->path);
	*control = (struct control)CONTROL_NONE;
}

/* The word that a text begins with, whatever follows it; ARRAY_SIZE(words) if none. */
static size_t word_at(const char *text)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(words) && strncmp(text, words[i].text, strlen(words[i].text)) != 0)
		i++;
	return i;
}

/*
 * Is this what remains of the lines of several writers none of which has ended its own, such as
 * "pausestop"? Only the last of them can have an argument.
 */
static bool is_glued(const char *text)
{
	do {
		size_t i = word_at(text);

		if (i == ARRAY_SIZE(words))
			return false;
		text += strlen(words[i].text);
		if (words[i].has_argument)
			return strspn(text, BLANKS) > 0 && text[strspn(text, BLANKS)];
	} while (text[strspn(text, BLANKS)]);
	return true;
}

/* An unknown word, unless it is several; the rest of those is for the next call. */
static int parse_glued(struct control *control, const char *line, enum control_word *word,
		       const char **argument, struct err *err)
{
	if (is_glued(line)) {
		size_t i = word_at(line);

		*word = words[i].word;
		*argument = "";
		control->glued = line + strlen(words[i].text);
		return 1;
	}
	err_set(err, ERR_INVALID, "control: unknown word '%.*s'", (int)strcspn(line, BLANKS), line);
	err_hint(err, "it takes lines: pause, resume, snapshot FILE, dump LABEL, stop, mark TEXT, "
		      "mem start, mem stop, mem discard, mem search TEXT");
	return ERR_INVALID;
}

static int parse_line(struct control *control, const char *line, enum control_word *word,
		      const char **argument, struct err *err)
{
	control->glued = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t nr = strlen(words[i].text);
		const char *rest = line + nr;

		if (strncmp(line, words[i].text, nr) != 0 || (*rest && !strspn(rest, BLANKS)))
			continue;
		rest += strspn(rest, BLANKS);
		if (words[i].has_argument != (*rest != '\0'))
			return err_set(err, ERR_INVALID, "control: '%s' %s", words[i].text,
				       words[i].has_argument ? "needs an argument"
							     : "takes no argument");
		*word = words[i].word;
		*argument = rest;
		return 1;
	}
	return parse_glued(control, line, word, argument, err);
}

/*
 * All writers have closed the FIFO, and poll(2) would report that for ever; a descriptor that is
 * opened only now is new to it. The FIFO always has a reader meanwhile.
 */
static void open_anew(struct control *control)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", control->fd);
	fd = open(path, OPEN_FLAGS);
	if (fd >= 0) {
		dup3(fd, control->fd, O_CLOEXEC);
		close(fd);
	}
}

static int end_line(struct control *control, enum control_word *word, const char **argument,
		    struct err *err)
{
	bool overlong = control->overlong;
	bool has_null = memchr(control->line, '\0', control->nr_bytes);

	control->line[control->nr_bytes] = '\0';
	control->nr_bytes = 0;
	control->overlong = false;
	if (overlong)
		return err_set(err, ERR_INVALID, "control: a line is too long");
	/* As a program writes that counts the end of its text. */
	if (has_null) {
		err_set(err, ERR_INVALID, "control: a line has a null byte in it");
		err_hint(err, "lines end with a newline, and with nothing else");
		return ERR_INVALID;
	}
	return *control->line ? parse_line(control, control->line, word, argument, err) : 0;
}

/* One byte at a time: a line is short, and what follows it stays in the FIFO. */
int control_read(struct control *control, enum control_word *word, const char **argument,
		 struct err *err)
{
	char byte;
	ssize_t nr;
	int status;

	if (control->glued)
		return parse_line(control, control->glued, word, argument, err);
	while ((nr = read(control->fd, &byte, 1)) == 1) {
		if (byte == '\n') {
			status = end_line(control, word, argument, err);
			if (status)
				return status;
		} else if (control->nr_bytes < sizeof(control->line) - 1) {
			control->line[control->nr_bytes++] = byte;
		} else {
			control->overlong = true;
		}
	}
	if (nr < 0)
		return 0;
	open_anew(control);
	return end_line(control, word, argument, err);
}
