// SPDX-License-Identifier: GPL-2.0-or-later
/* Runs a pager for output to a terminal. */
#include "cmd/pager.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/search_path.h"

/* The command, or NULL. An empty variable or "cat" says that none is wanted. */
static const char *pager_command(void)
{
	const char *command = getenv("PROFC_PAGER");

	if (!command)
		command = getenv("PAGER");
	if (!command)
		return in_search_path("less") ? "less" : NULL;
	return *command && strcmp(command, "cat") != 0 ? command : NULL;
}

void pager_begin(struct pager *pager, bool wanted)
{
	const char *command = pager_command();

	pager->pipe = NULL;
	sink_init_fd(&pager->sink, STDOUT_FILENO);
	if (!wanted || !command || !isatty(STDOUT_FILENO))
		return;
	setenv("LESS", "FRX", 0);
	fflush(stdout);
	pager->pipe = popen(command, "we");
	if (!pager->pipe)
		return;
	if (dup2(fileno(pager->pipe), STDOUT_FILENO) < 0) {
		pclose(pager->pipe);
		pager->pipe = NULL;
		return;
	}
	/* Ctrl-C is for the pager, and quitting it before the end of the output is no failure. */
	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
}

int pager_end(struct pager *pager)
{
	int status = flush_stdout(&pager->sink);

	if (!pager->pipe)
		return status;
	fflush(stdout);
	/* Both ends of ours must close before the pager sees the end of its input. */
	dup2(STDERR_FILENO, STDOUT_FILENO);
	pclose(pager->pipe);
	pager->pipe = NULL;
	return status;
}
