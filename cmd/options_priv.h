/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of options.h. */
#ifndef PROFC_CMD_OPTIONS_PRIV_H
#define PROFC_CMD_OPTIONS_PRIV_H

#include "cmd/options.h"

/* One option as written. */
struct option_match {
	const struct option_row *row;
	const char *value; /* NULL for flags */
	char spelling[64]; /* "--name" or "-x", for messages */
};

/* Convert the value, check it, and put it into the command's options struct. */
int option_store(const struct option_match *match, void *values, struct err *err);

#endif
