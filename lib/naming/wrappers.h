/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of a C library that make one system call each. */
#ifndef PROFC_NAMING_WRAPPERS_H
#define PROFC_NAMING_WRAPPERS_H

#include <regex.h>

/* A function that each C library has, and nothing else. */
extern const char wrappers_witness[];

/*
 * An expression for their names, which are those of the calls; but for calls that end the thread or
 * return twice. The caller frees it with regfree().
 */
void wrappers_compile(regex_t *regex);

#endif
