/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_HEAP_HEAP_MACHINE_H
#define PROFC_HEAP_HEAP_MACHINE_H

#if defined(__x86_64__)
#include "heap/heap_machine_x86_64.h"
#elif defined(__aarch64__)
#include "heap/heap_machine_aarch64.h"
#else
#error "no such file for this processor: see .github/CONTRIBUTING.md"
#endif

#endif
