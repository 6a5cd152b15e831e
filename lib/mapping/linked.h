/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_MAPPING_LINKED_H
#define PROFC_MAPPING_LINKED_H

#include <stdbool.h>
#include <stdint.h>

#include "mapping/module.h"

struct space;

/*
 * Does a module, with this load bias, stay where it is for as long as the program runs? It is the
 * program; or a library with which that, or a library that is never unloaded, is linked. False also
 * if it cannot be known: such as for a library that dlopen(3) has loaded.
 */
bool linked_for_good(struct space *space, struct module_id module, uint64_t bias);

#endif
