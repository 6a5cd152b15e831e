/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SAMPLER_OTHERS_PRIV_H
#define PROFC_SAMPLER_OTHERS_PRIV_H

#include <stdbool.h>

struct profile;

/* Other programs of the machine: for one thread at a time. */
struct other_programs;

struct other_programs *others_new(void);
void others_free(struct other_programs *others); /* may be NULL */
/* Read their times now and then, and at the end; set counters and, at the end, add their rows. */
void others_read(struct other_programs *others, struct profile *profile, bool is_last);

#endif
