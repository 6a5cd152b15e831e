/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_RUNTIME_H
#define PROFC_PROFILE_RUNTIME_H

/*
 * Interpreters and virtual machines: what runs in them is nobody's function to a profiler unless
 * they are told to name it.
 */
struct runtime {
	const char *file;   /* what the name of its program or library begins with */
	const char *name;   /* what people call it */
	const char *advice; /* how to start it so that it names its functions, and since when */
};

/* The one that a program or library is of, by its path; NULL: none that is known. */
const struct runtime *runtime_of_file(const char *path);

#endif
