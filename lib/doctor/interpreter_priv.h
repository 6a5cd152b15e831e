/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_DOCTOR_INTERPRETER_PRIV_H
#define PROFC_DOCTOR_INTERPRETER_PRIV_H

#include <stdbool.h>
#include <sys/types.h>

/* The interpreter that a process runs. */
struct doctor_interpreter {
	const char *name;     /* such as "Python"; static */
	char version[16];     /* such as "3.11"; empty: it is not known */
	const char *problem;  /* why its functions are not read; NULL: they are; static */
	const char *versions; /* of those that are; static; NULL: none */
};

/* False: it has none that profc knows, or its memory cannot be read. The process runs on. */
bool doctor_find_interpreter(pid_t pid, struct doctor_interpreter *found);

#endif
