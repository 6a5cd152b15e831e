/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_CPYTHON_VARIABLE_H
#define PROFC_SCRIPT_CPYTHON_VARIABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A variable that each thread has, as glibc finds it. */
struct cpython_variable {
	uint64_t module; /* 0: it is at the offset from the thread's data */
	uint64_t offset; /* else in the block that the thread has of this module */
};

/* Reads memory of the process. False: not all can be read. */
typedef bool cpython_reader(void *context, uint64_t address, void *out, size_t nr_bytes);

/*
 * The variable that code of aarch64 at `address` reads before it does anything else with effects.
 * False: it is not found.
 */
bool cpython_find_variable_aarch64(const uint8_t *code, size_t nr_bytes, uint64_t address,
				   cpython_reader *read, void *context,
				   struct cpython_variable *variable);

#endif
