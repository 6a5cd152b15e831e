/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of probes that differ from processor to processor. */
#ifndef PROFC_PATCH_PATCH_MACHINE_H
#define PROFC_PATCH_PATCH_MACHINE_H

#if defined(__x86_64__)
#include "patch/patch_machine_x86_64.h"
#elif defined(__aarch64__)
#include "patch/patch_machine_aarch64.h"
#else
#error "profc has no probes for this machine"
#endif

#endif
