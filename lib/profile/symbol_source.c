// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of the sources of symbols. */
#include "profile/symbol_source.h"

const char *symbol_source_name(enum symbol_source source)
{
	switch (source) {
	case SYMBOL_SOURCE_NONE:
		return "none";
	case SYMBOL_SOURCE_DWARF:
		return "DWARF";
	case SYMBOL_SOURCE_SEPARATE:
		return "separate debug file";
	case SYMBOL_SOURCE_SYMTAB:
		return "symbol table";
	case SYMBOL_SOURCE_DYNSYM:
		return "dynamic symbols";
	case SYMBOL_SOURCE_MINIDEBUG:
		return "minidebuginfo";
	case SYMBOL_SOURCE_GOPCLNTAB:
		return "Go line table";
	case SYMBOL_SOURCE_PERF_MAP:
		return "perf map";
	case SYMBOL_SOURCE_JITDUMP:
		return "jitdump";
	case SYMBOL_SOURCE_INTERPRETER:
		return "interpreter";
	case SYMBOL_SOURCE_COMPILER:
		return "engine of the scripts";
	case SYMBOL_SOURCE_COUNT:
		break;
	}
	return "unknown source";
}
