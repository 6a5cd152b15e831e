/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time of a call as text. */
#ifndef PROFC_VIEW_PER_CALL_TEXT_H
#define PROFC_VIEW_PER_CALL_TEXT_H

#include <stdbool.h>

#include "view/style.h"

struct buf;
struct per_call;

/* Does it have samples? Otherwise only its interval is known. */
bool per_call_is_measured(const struct per_call *per_call);
/*
 * Append "195 ns", or "<12.1 ns" if it has no sample. In a requested unit, without its name: see
 * per_call_unit_name().
 */
void append_per_call(struct buf *out, const struct per_call *per_call, enum time_unit wanted);
/* Append half the width of its interval as a number in the same unit; nothing if not measured. */
void append_per_call_interval(struct buf *out, const struct per_call *per_call,
			      enum time_unit wanted);
/* For the header of a column of these: "ms", or "" if each value has its own unit. */
const char *per_call_unit_name(enum time_unit wanted);

#endif
