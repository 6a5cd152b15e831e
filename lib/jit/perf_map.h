/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_JIT_PERF_MAP_H
#define PROFC_JIT_PERF_MAP_H

#include <stdbool.h>
#include <stddef.h>

struct jit_code;

/*
 * Parse the text of a perf map: lines of start, size (both hexadecimal) and name, which is the rest
 * of the line. Invalid lines are skipped. Adds the ranges and returns how many bytes were used: all
 * complete lines; with `is_end`, when nothing will follow, the rest, too.
 */
size_t perf_map_parse(const char *text, size_t nr_bytes, bool is_end, struct jit_code *code);

#endif
