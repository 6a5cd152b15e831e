// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/recording_control.h"

#include <errno.h>
#include <fcntl.h>
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
	{"pause", CONTROL_PAUSE, false},      {"resume", CONTROL_RESUME, false},
	{"snapshot", CONTROL_SNAPSHOT, true}, {"stop", CONTROL_STOP, false},
	{"mark", CONTROL_MARK, true},
};

/* Read and written by us, so that it has no end when a writer closes it. */
static int open_fifo(struct control *control, struct err *err)
{
	struct stat found;

	control->created = mkfifo(control->path, 0600) == 0;
	if (!control->created && errno != EEXIST)
		return err_sys(err, "cannot make the FIFO %s", control->path);
	control->fd = open(control->path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	if (control->fd < 0)
		return err_sys(err, "cannot open %s", control->path);
	if (fstat(control->fd, &found) < 0 || !S_ISFIFO(found.st_mode))
		return err_set(err, ERR_INVALID, "%s is there and no FIFO", control->path);
	return 0;
}

int control_open(struct control *control, const char *where, struct err *err)
{
	static const char scheme[] = "fifo:";
	int status;

	*control = (struct control)CONTROL_NONE;
	if (strncmp(where, scheme, sizeof(scheme) - 1) != 0 || !where[sizeof(scheme) - 1]) {
		err_set(err, ERR_INVALID, "--control '%s': it must be fifo:PATH", where);
		return ERR_INVALID;
	}
	control->path = xstrdup(where + sizeof(scheme) - 1);
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

static int parse_line(char *line, enum control_word *word, const char **argument, struct err *err)
{
	size_t nr = strcspn(line, " \t");
	char *rest = line + nr + strspn(line + nr, " \t");

	line[nr] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(line, words[i].text) != 0)
			continue;
		if (words[i].has_argument != (*rest != '\0'))
			return err_set(err, ERR_INVALID, "control: '%s' %s", line,
				       words[i].has_argument ? "needs an argument"
							     : "takes no argument");
		*word = words[i].word;
		*argument = rest;
		return 1;
	}
	err_set(err, ERR_INVALID, "control: unknown word '%s'", line);
	err_hint(err, "it takes: pause, resume, snapshot FILE, stop, mark TEXT");
	return ERR_INVALID;
}

/* One byte at a time: a line is short, and what follows it stays in the FIFO. */
int control_read(struct control *control, enum control_word *word, const char **argument,
		 struct err *err)
{
	char byte;

	while (read(control->fd, &byte, 1) == 1) {
		bool overlong = control->overlong;

		if (byte != '\n') {
			if (control->nr_bytes < sizeof(control->line) - 1)
				control->line[control->nr_bytes++] = byte;
			else
				control->overlong = true;
			continue;
		}
		control->line[control->nr_bytes] = '\0';
		control->nr_bytes = 0;
		control->overlong = false;
		if (overlong)
			return err_set(err, ERR_INVALID, "control: a line is too long");
		if (*control->line)
			return parse_line(control->line, word, argument, err);
	}
	return 0;
}
