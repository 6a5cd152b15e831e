/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_MINIDEBUG_H
#define PROFC_SYMBOL_MINIDEBUG_H

struct Elf;

/*
 * .gnu_debugdata, a symbol table that xz compressed, is unpacked by libdwfl,
 * which knows no bound: half a megabyte may stand for gigabytes. Call this first:
 * a section that is larger unpacked than any symbol table is taken out of `elf`,
 * which must be mapped privately, and no longer seen.
 */
void minidebug_check(struct Elf *elf);

#endif
