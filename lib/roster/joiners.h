/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_ROSTER_JOINERS_H
#define PROFC_ROSTER_JOINERS_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct buf;
struct err;

/* Processes by what they are, whenever they run. Begins as all 0. */
struct joiners {
	char **units; /* names of control groups, or several of nested ones with '/'; owned */
	size_t nr_units, cap_units;
	regex_t *names; /* owned */
	char **texts;	/* of these; owned */
	size_t nr_names, cap_names, cap_texts;
};

void joiners_release(struct joiners *joiners);

/*
 * Select what is in the control group of a unit of systemd: of its name, with ".service" if that
 * has no type; or in groups of these names, one in another, as in
 * "user-1000.slice/session-2.scope". Groups below it are in it. ERR_INVALID for a name that no
 * group has.
 */
int joiners_add_unit(struct joiners *joiners, const char *name, struct err *err);
/* Select processes with a name that the extended regular expression matches; or ERR_INVALID. */
int joiners_add_name(struct joiners *joiners, const char *regex, struct err *err);

bool joiners_is_empty(const struct joiners *joiners);
/* Is it selected, with the name `comm` that it has now? */
bool joiners_fits(const struct joiners *joiners, pid_t pid, const char *comm);
/* Append what is selected, in words: "nginx.service or ^worker". */
void joiners_append_words(const struct joiners *joiners, struct buf *out);

/*
 * Is a process with this text of /proc/PID/cgroup in such a unit? Its lines are
 * "ID:CONTROLLERS:PATH", one for each hierarchy of version 1, and one of version 2: any will do. As
 * systemd does, a name that the kernel could take for a file of its own has "_" before it there.
 */
bool joiners_unit_has(const char *unit, const char *text);

#endif
