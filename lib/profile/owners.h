/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_OWNERS_H
#define PROFC_PROFILE_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

struct profile;

/*
 * By process: the one whose numbers, of calls or of memory, have its own in them, or PROCESS_NONE.
 * That is itself where has_own[] says so, else the one of the process that forked it, in whose
 * memory it goes on counting. A program that is executed shares none with the one before.
 * The caller frees it.
 */
uint32_t *profile_find_owners(const struct profile *profile, const bool *has_own);

#endif
