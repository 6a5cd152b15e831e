/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What names of functions are like, by the language of their unit (DW_LANG_…). */
#ifndef PROFC_DWARF_DWARF_LANGUAGE_H
#define PROFC_DWARF_DWARF_LANGUAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Do functions live in namespaces and types? */
bool dwarf_language_has_scopes(uint16_t language);
bool dwarf_language_is_ada(uint16_t language);

#endif
