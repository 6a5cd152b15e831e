/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROBE_TAIL_CALLS_H
#define PROFC_PROBE_TAIL_CALLS_H

#include <stddef.h>

struct branches;
struct elf_image;
struct wanted;

/*
 * Which of the wanted functions call others by a jump: told by the same pass over the code that
 * finds branches. So this comes before that pass, and the places are sorted.
 */
struct tail_calls;

struct tail_calls *tail_calls_new(struct wanted *wanted, const struct elf_image *image,
				  struct branches *branches);
/* After that pass. */
void tail_calls_free(struct tail_calls *calls);

#endif
