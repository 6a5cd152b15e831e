/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hints for commands and options of other profilers. */
#ifndef PROFC_CMD_FOREIGN_H
#define PROFC_CMD_FOREIGN_H

/*
 * What a command ("script") or an option ("--call-graph", "-g") that other profilers have,
 * and profc has not under that name, is here: a hint, or NULL for all other words.
 */
const char *foreign_word_hint(const char *word);

#endif
