/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers completions of shells. */
#ifndef PROFC_CMD_COMPLETE_H
#define PROFC_CMD_COMPLETE_H

struct buf;
struct command;

/*
 * complete_words() with the options of these commands, NULL-ended. The words may begin with the
 * number of those up to the cursor: others follow it then.
 */
void complete(const struct command *const *commands, int nr_words, char **words, struct buf *out);

#endif
