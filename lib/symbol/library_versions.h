/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_LIBRARY_VERSIONS_H
#define PROFC_SYMBOL_LIBRARY_VERSIONS_H

struct buf;

/*
 * The libraries that files are read with, and their versions: "elfutils 0.188, zstd 1.5.4,
 * zlib 1.2.13". They are of the libraries that are loaded; where others were compiled with,
 * "zstd 1.5.6 (built with 1.5.4)".
 */
void library_versions(struct buf *out);

#endif
