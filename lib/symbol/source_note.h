/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_SOURCE_NOTE_H
#define PROFC_SYMBOL_SOURCE_NOTE_H

struct profile;

/*
 * Note size and time of each existing source file that locations and functions of a profile name,
 * once for each file: annotate checks later whether the source has changed.
 */
void source_note_all(struct profile *profile);

#endif
