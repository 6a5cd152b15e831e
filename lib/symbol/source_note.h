/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_SOURCE_NOTE_H
#define PROFC_SYMBOL_SOURCE_NOTE_H

struct profile;

/*
 * Note size and time of each source file that the locations and functions of a profile name and
 * that exists here, once for each: annotate checks later whether a source is still the same.
 */
void source_note_all(struct profile *profile);

#endif
