// SPDX-License-Identifier: GPL-2.0-or-later
/* Survives the truncation of files that are mapped while they are read. */
#include "cmd/mapped_files.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile sig_atomic_t were_cut;

/*
 * Put a page of zeros where the file has none any more; the instruction that
 * touched it is then tried again. BUS_ADRERR has no other cause here: what the
 * machine itself finds broken is BUS_MCEERR_AR, and is left to end the process.
 */
static void replace_page(int signal_number, siginfo_t *info, void *context)
{
	size_t page_bytes = (size_t)getpagesize();
	char *page = (char *)info->si_addr - (uintptr_t)info->si_addr % page_bytes;

	(void)context;
	were_cut = 1;
	if (info->si_code != BUS_ADRERR ||
	    mmap(page, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		 -1, 0) == MAP_FAILED)
		signal(signal_number, SIG_DFL);
}

void mapped_files_guard(void)
{
	struct sigaction action = {.sa_flags = SA_SIGINFO}, present;

	/* A command that is recorded inherits what is ignored, which a handler would undo. */
	if (sigaction(SIGBUS, NULL, &present) < 0 || present.sa_handler != SIG_DFL)
		return;
	action.sa_sigaction = replace_page;
	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, NULL);
}

bool mapped_files_were_cut(void)
{
	return were_cut != 0;
}
