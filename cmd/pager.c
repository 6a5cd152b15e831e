// SPDX-License-Identifier: GPL-2.0-or-later
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cmd/terminal.h"

/* The user's choice as a shell command, or NULL for none. */
static const char *chosen_pager(void)
{
	const char *pager = getenv("PROFC_PAGER");

	if (!pager)
		pager = getenv("PAGER");
	if (!pager)
		return "command -v less >/dev/null || exec cat; exec less";
	return *pager && strcmp(pager, "cat") != 0 ? pager : NULL;
}

/* What the pager and the rest of profc must know once standard output is a pipe. */
static void set_environment(void)
{
	cleanup_free char *columns = xasprintf("%u", terminal_columns());

	setenv("COLUMNS", columns, 0);
	setenv("PROFC_PAGER_IN_USE", "1", 1);
	/* Quit if it fits one screen, colours raw, do not clear: as git starts less. */
	setenv("LESS", "FRX", 0);
	setenv("LV", "-c", 0);
}

void pager_start(struct pager *pager)
{
	const char *chosen = chosen_pager();

	*pager = (struct pager){0};
	if (!chosen || !isatty(STDOUT_FILENO))
		return;
	set_environment();
	pager->pipe = popen(chosen, "we");
	if (!pager->pipe) {
		unsetenv("PROFC_PAGER_IN_USE");
		return;
	}
	dup2(fileno(pager->pipe), STDOUT_FILENO);
	if (isatty(STDERR_FILENO))
		dup2(fileno(pager->pipe), STDERR_FILENO);
	/* Ctrl-C is for the pager; if profc died of it, the shell and less would share a terminal.
	 */
	signal(SIGINT, SIG_IGN);
}

void pager_finish(struct pager *pager)
{
	if (!pager->pipe)
		return;
	/* The pager ends only when nobody holds the other end of its pipe. */
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	pclose(pager->pipe);
	pager->pipe = NULL;
}
