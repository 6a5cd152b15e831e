/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROBE_SERIALS_H
#define PROFC_PROBE_SERIALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct probed_process;

/* Processes by the serials of a recording, from 0 on. Zero-initialised is empty. */
#define SERIALS_NO_PARENT UINT32_MAX

struct serials {
	struct serial_row {
		struct probed_process *process; /* borrowed; NULL: not known */
		uint32_t parent;		/* which forked it, or the process before an exec */
	} * rows;				/* owned */
	size_t nr, cap;
};

void serials_release(struct serials *serials);
void serials_set(struct serials *serials, uint32_t serial, struct probed_process *process,
		 uint32_t parent);
struct probed_process *serials_find(const struct serials *serials, uint32_t serial); /* or NULL */
/* Is it `from`, or a descendant of it? */
bool serials_descends(const struct serials *serials, uint32_t serial, uint32_t from);
bool serials_has_parent(const struct serials *serials, uint32_t serial);

#endif
