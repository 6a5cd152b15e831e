/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_IDS_H
#define PROFC_PROFILE_IDS_H

#include <stdint.h>

/* Rows of the tables of a profile. */

struct process_id {
	uint32_t v;
};

struct thread_id {
	uint32_t v;
};

struct function_id {
	uint32_t v;
};

#endif
