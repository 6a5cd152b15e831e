/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_SOURCE_NOTE_H
#define PROFC_SYMBOL_SOURCE_NOTE_H

struct profile;

/*
 * Note size and time of each source file that the locations and functions of a profile name and
 * that is here, once for each: whoever shows its lines later can tell whether they are the same.
 */
void source_note_all(struct profile *profile);

#endif
