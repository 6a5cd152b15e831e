/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_SOURCE_OWNERS_H
#define PROFC_PROFILE_SOURCE_OWNERS_H

#include "base/owner.h"

struct profile;

/*
 * profile_source_owner() of all files at once, by str_id; meaningless for other texts. The caller
 * frees the array.
 */
struct owner *profile_source_owners(const struct profile *profile);

#endif
