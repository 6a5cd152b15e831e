/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_DURATION_TEXT_H
#define PROFC_BASE_DURATION_TEXT_H

#include <stdint.h>

struct err;

/* Parse "10", "500ms", "2m" …: nanoseconds. Plain numbers are seconds. ERR_INVALID: it is none. */
int duration_parse(const char *text, uint64_t *ns, struct err *err);

#endif
