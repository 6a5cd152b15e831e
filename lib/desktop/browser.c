// SPDX-License-Identifier: GPL-2.0-or-later
/* Opens a file in the user's browser. */
#include "desktop/browser.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "desktop/words_priv.h"
#include "proc/search_path.h"

/* A browser that still runs after these has opened the file, or is about to. */
#define TRIES	     150
#define TRY_PAUSE_NS (10 * NS_PER_MS)

static void become(const char *program, char **words)
{
	int null_fd = open("/dev/null", O_RDWR);
	sigset_t none;

	for (int fd = 0; fd <= STDERR_FILENO && null_fd >= 0; fd++)
		dup2(null_fd, fd);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid(); /* Ctrl-C on this terminal must not end it */
	execv(program, words);
	_exit(127);
}

/* It exited with success, or still runs. */
static bool has_opened(pid_t pid)
{
	const struct timespec pause = {.tv_nsec = (long)TRY_PAUSE_NS};
	int status = 0;

	for (int i = 0; i < TRIES; i++) {
		if (waitpid(pid, &status, WNOHANG) != 0)
			return status == 0;
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	}
	return true;
}

static bool find(const struct browser_choice *choice, const char *program, struct buf *path)
{
	if (!strchr(program, '/'))
		return search_path_find(choice->path, program, path);
	buf_append_str(path, program);
	return true;
}

static bool run(const struct browser_choice *choice, char **words)
{
	struct buf path = {0};
	bool opened = false;
	pid_t pid;

	if (find(choice, words[0], &path)) {
		pid = fork();
		if (pid == 0)
			become(buf_str(&path), words);
		opened = pid > 0 && has_opened(pid);
	}
	buf_release(&path);
	return opened;
}

static bool open_with(const struct browser_choice *choice, const char *command, size_t nr_bytes,
		      const char *url, struct buf *why)
{
	char **words = browser_words(command, nr_bytes, url);
	bool opened;

	if (!words)
		return false;
	opened = run(choice, words);
	if (!opened)
		buf_printf(why, "%s%s did not open it", why->nr_bytes ? ", " : "", words[0]);
	browser_words_free(words);
	return opened;
}

static bool open_with_any(const struct browser_choice *choice, const char *url, struct buf *why)
{
	const char *commands = choice->browser;

	for (;;) {
		size_t nr_bytes = strcspn(commands, ":");

		if (open_with(choice, commands, nr_bytes, url, why))
			return true;
		if (!commands[nr_bytes])
			return false;
		commands += nr_bytes + 1;
	}
}

static bool has(const struct browser_choice *choice, const char *program)
{
	struct buf path = {0};
	bool found = search_path_find(choice->path, program, &path);

	buf_release(&path);
	return found;
}

static bool open_by_desktop(const struct browser_choice *choice, const char *url, struct buf *why)
{
	static const char *const programs[] = {"wslview",	"xdg-open", "sensible-browser",
					       "x-www-browser", "firefox",  "chromium",
					       "google-chrome", NULL};

	if (!choice->has_display && !choice->is_wsl) {
		buf_append_str(why, "there is no display here, and no $BROWSER");
		return false;
	}
	for (const char *const *program = programs + !choice->is_wsl; *program; program++) {
		if (has(choice, *program) &&
		    open_with(choice, *program, strlen(*program), url, why))
			return true;
	}
	if (!why->nr_bytes)
		buf_append_str(why, "there is no browser");
	return false;
}

bool browser_open(const struct browser_choice *choice, const char *path, struct buf *why)
{
	struct buf url = {0};
	bool opened;

	file_url_append(&url, path);
	opened = choice->browser && *choice->browser ? open_with_any(choice, buf_str(&url), why)
						     : open_by_desktop(choice, buf_str(&url), why);
	buf_release(&url);
	return opened;
}
