/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_FILE_PAGES_H
#define PROFC_BASE_FILE_PAGES_H

#include <stddef.h>

/*
 * Give the memory of a mapped file back to the kernel, which has it in its cache and brings it back
 * when it is touched: what was read once need not stay resident for as long as the file is mapped.
 * Pages of a private mapping that were written to, and memory that is no file's, stay. No other
 * thread may write there meanwhile. Does nothing where the kernel does not show which pages those
 * are.
 */
void file_pages_release(const void *start, size_t nr_bytes);

#endif
