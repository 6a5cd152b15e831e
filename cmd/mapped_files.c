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
 * Map a page of zeros in place of the missing one; the faulting instruction is then restarted.
 * BUS_ADRERR has no other cause here; hardware errors are BUS_MCEERR_AR and kill the process.
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

	/* An ignored SIGBUS is inherited by a recorded command; a handler would reset that. */
	if (sigaction(SIGBUS, NULL, &present) < 0 || present.sa_handler != SIG_DFL)
		return;
	action.sa_sigaction = replace_page;
	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, NULL);
}

bool mapped_files_were_cut(void)
{
	bool cut = were_cut != 0;

	were_cut = 0;
	return cut;
}
