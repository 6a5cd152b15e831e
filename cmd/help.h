/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The texts of profc --help and profc COMMAND --help. */
#ifndef PROFC_CMD_HELP_H
#define PROFC_CMD_HELP_H

struct buf;
struct command;

/* `profc --help`; `commands` is NULL-ended. */
void help_profc(const struct command *const *commands, struct buf *out);
/* `profc NAME --help` */
void help_command(const struct command *command, struct buf *out);

#endif
