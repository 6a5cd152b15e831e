/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_LIBRARY_VERSIONS_H
#define PROFC_SYMBOL_LIBRARY_VERSIONS_H

struct buf;

/*
 * Append the libraries that profc reads files with, and their versions: "elfutils 0.188,
 * zstd 1.5.4, zlib 1.2.13". The versions are those of the loaded libraries; if profc was compiled
 * with another, "zstd 1.5.6 (built with 1.5.4)".
 */
void library_versions(struct buf *out);

#endif
