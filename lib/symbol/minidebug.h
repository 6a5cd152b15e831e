/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_MINIDEBUG_H
#define PROFC_SYMBOL_MINIDEBUG_H

struct Elf;

/*
 * libdwfl unpacks .gnu_debugdata, a symbol table compressed by xz, without a bound: half a megabyte
 * may unpack to gigabytes. Call this first: it hides the section from libdwfl if it would unpack to
 * more than any symbol table, by a change to `elf`, which must be mapped privately.
 */
void minidebug_check(struct Elf *elf);

#endif
