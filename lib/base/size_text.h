/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_SIZE_TEXT_H
#define PROFC_BASE_SIZE_TEXT_H

#include <stdint.h>

/* "100", "64K", "10M", "2G": 1 to 10^18 bytes. ERR_INVALID: it is none. */
int size_parse(const char *text, uint64_t *nr_bytes);

#endif
