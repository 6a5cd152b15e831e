/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_JIT_SYMBOLS_H
#define PROFC_SYMBOL_JIT_SYMBOLS_H

#include <stddef.h>

#include "mapping/module.h"
#include "stack/stack.h"

struct profile;
struct symbol_result;

/*
 * Names of JIT-compiled code from those in the recording: of nr frames, which are all in
 * `module`. Never fails: what is missing, and why, is the result's problem. Caller owns it.
 */
struct symbol_result *jit_symbols_resolve(const struct profile *profile, struct module_id module,
					  const struct frame_id *frames, size_t nr);

#endif
