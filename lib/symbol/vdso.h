/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The [vdso] of this process as an ELF file. */
#ifndef PROFC_SYMBOL_VDSO_H
#define PROFC_SYMBOL_VDSO_H

/*
 * The kernel maps the same shared object, [vdso], into every process. So this process' own one has
 * the symbols for any process recorded under the same kernel, which the build-id proves. Returns a
 * descriptor of a copy, the caller's, or -1.
 */
int vdso_open(void);

#endif
