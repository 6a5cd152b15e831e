/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROBE_TAIL_CALLS_H
#define PROFC_PROBE_TAIL_CALLS_H

#include <stdbool.h>

struct elf_image;
struct wanted;
struct wanted_place;

/*
 * Is a jump of this function the call of another one? Its code is decoded, which takes some
 * microseconds for each kilobyte: few of the functions of a large file are ever called, and only
 * of those it matters.
 */
bool tail_calls_has(const struct wanted *wanted, const struct elf_image *image,
		    const struct wanted_place *place);

#endif
