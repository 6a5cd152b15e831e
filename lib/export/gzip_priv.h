/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a gzip file. */
#ifndef PROFC_EXPORT_GZIP_PRIV_H
#define PROFC_EXPORT_GZIP_PRIV_H

#include <stddef.h>

struct sink;

/* Write bytes as one gzip member without name or time: equal input gives equal output. */
void gzip_write(struct sink *sink, const void *bytes, size_t nr_bytes);

#endif
