/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_NEAREST_H
#define PROFC_BASE_NEAREST_H

#include <stddef.h>

/*
 * The candidate that a misspelt word was meant to be: the one with the fewest typing slips (a
 * letter wrong, missing, extra, or two swapped), or one that begins with the word; NULL if none is
 * near. Earlier candidates win ties.
 */
const char *nearest_word(const char *word, const char *const *candidates, size_t nr);

#endif
