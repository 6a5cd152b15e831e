/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which programs had the CPUs of the machine during a recording. */
#ifndef PROFC_VIEW_MACHINE_TEXT_H
#define PROFC_VIEW_MACHINE_TEXT_H

#include <stdbool.h>

struct buf;
struct json;
struct profile;

/*
 * "CPUs 98% busy, 7% with this program; cc1 31%, python3 22%, children of make 12%": shares of the
 * time of all CPUs. Names are escaped for a terminal. False: the recording does not have it.
 */
bool machine_append(struct buf *out, const struct profile *profile);
/* The share of that time in which CPUs were idle, in percent; 0 if it is not known. */
double machine_idle_percent(const struct profile *profile);
/* The share of it that the host of a virtual machine gave to others; 0 where it is not known. */
double machine_stolen_percent(const struct profile *profile);
/* The member "machine": an object, or null. */
void json_key_machine(struct json *json, const struct profile *profile);

#endif
