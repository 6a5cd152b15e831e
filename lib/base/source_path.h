/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_SOURCE_PATH_H
#define PROFC_BASE_SOURCE_PATH_H

#include <stdbool.h>

/* Is one path the other, or its end from a '/' on, after removal of "." and ".."? */
bool source_path_matches(const char *recorded, const char *named);

#endif
