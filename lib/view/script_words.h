/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_SCRIPT_WORDS_H
#define PROFC_VIEW_SCRIPT_WORDS_H

#include <stdbool.h>

struct buf;
struct profile;

/*
 * The interpreters that a recording has recognised. Counters have them: script_read_Python_3.11 is
 * the number of processes whose functions are read, script_unknown_version_Python_3.10 that of
 * others, script_other_layout_Python_3.13 likewise.
 */

/* Is it a counter of processes with an interpreter? */
bool script_counts_processes(const char *counter);
/*
 * Append them: "Python 3.11 in 2 processes; Python 3.10 in 1 process: its functions are not read
 * (known: 3.11 to 3.13)". With only_refused, those whose functions are not read, without their
 * numbers. Nothing if there is none. Raw text.
 */
void script_append_interpreters(struct buf *out, const struct profile *profile, bool only_refused);

#endif
