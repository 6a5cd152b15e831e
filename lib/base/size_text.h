/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_SIZE_TEXT_H
#define PROFC_BASE_SIZE_TEXT_H

#include <stdint.h>

/* "100", "64K", "10M", "2G": bytes, at most 10^18 of a unit. ERR_INVALID: it is none. */
int size_parse(const char *text, uint64_t *nr_bytes);

#endif
