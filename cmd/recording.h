/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_RECORDING_H
#define PROFC_CMD_RECORDING_H

struct command;
struct record_options;

/*
 * Record a command (argv, NULL-ended) from its start. Returns profc's exit status, and not at all
 * where the command died of a signal: profc then dies of it, too.
 */
int recording_run(const struct command *self, const struct record_options *options, char **argv);
/* Record the processes of -p. Returns profc's exit status. */
int recording_attach(const struct command *self, const struct record_options *options);

#endif
