/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_TRIGGER_HINT_H
#define PROFC_CMD_TRIGGER_HINT_H

#include <stdbool.h>

struct buf;
struct profile;

/*
 * Append the command that compares the time at the trigger of a flight recorder with the time
 * before, or slow calls with others where one of them was the trigger. False, and nothing appended:
 * the profile does not have both. `input` is the file or directory as it was given, or NULL.
 */
bool trigger_hint_append(struct buf *out, const struct profile *profile, const char *input);
/* Print it as a hint, if there is one. */
void trigger_hint_print(const struct profile *profile, const char *input);

#endif
