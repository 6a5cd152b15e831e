/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PATCH_GATE_PRIV_H
#define PROFC_PATCH_GATE_PRIV_H

#include "patch/gate.h"

/* Is the address in any part of the gate? */
bool gate_has(const struct gate_search *search, uint64_t address);
/*
 * Is the target of a jump out of the gate a function, or a stub of the PLT? Another place may be a
 * part of the gate without a name.
 */
bool gate_is_function(const struct gate_search *search, uint64_t address);

#endif
