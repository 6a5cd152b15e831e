// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/dwarf_language.h"

#include <dwarf.h>

/* DWARF 6 defines these, compilers use them already; elfutils' dwarf.h lacks them. */
enum {
	LANG_C_PLUS_PLUS_17 = 0x2a,
	LANG_C_PLUS_PLUS_20 = 0x2b,
	LANG_ADA_2005 = 0x2e,
	LANG_ADA_2012 = 0x2f,
	LANG_C_PLUS_PLUS_23 = 0x3a,
};

bool dwarf_language_has_scopes(uint16_t language)
{
	switch (language) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case DW_LANG_ObjC_plus_plus:
	case DW_LANG_D:
	case DW_LANG_Rust:
	case LANG_C_PLUS_PLUS_17:
	case LANG_C_PLUS_PLUS_20:
	case LANG_C_PLUS_PLUS_23:
		return true;
	}
	return false;
}

bool dwarf_language_is_ada(uint16_t language)
{
	switch (language) {
	case DW_LANG_Ada83:
	case DW_LANG_Ada95:
	case LANG_ADA_2005:
	case LANG_ADA_2012:
		return true;
	}
	return false;
}
