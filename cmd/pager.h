/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_PAGER_H
#define PROFC_CMD_PAGER_H

#include <stdbool.h>
#include <stdio.h>

#include "base/sink.h"

/*
 * A pager between standard output and the terminal, as git has it: $PROFC_PAGER,
 * else $PAGER, else less, which ends by itself when all fits on one screen (LESS
 * is set to FRX unless the user set it). Ask the terminal about its width and
 * colours before.
 */
struct pager {
	FILE *pipe;	  /* NULL: none is running */
	struct sink sink; /* to standard output, with or without a pager behind it */
};

/* Start one if it is wanted, standard output is a terminal and there is one to start. */
void pager_begin(struct pager *pager, bool wanted);
/* The output is complete: let the user read on. The exit status of flush_stdout(). */
int pager_end(struct pager *pager);

#endif
