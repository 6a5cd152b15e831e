/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_JIT_SYMBOLS_H
#define PROFC_SYMBOL_JIT_SYMBOLS_H

#include <stddef.h>

#include "mapping/module.h"
#include "stack/stack.h"

struct profile;
struct symbol_result;

/*
 * Name JIT-compiled code, nr frames that are all in `module`, from the names in the recording.
 * Never fails: result->problem says which names are missing and why. The caller owns the result.
 */
struct symbol_result *jit_symbols_resolve(const struct profile *profile, struct module_id module,
					  const struct frame_id *frames, size_t nr);

#endif
