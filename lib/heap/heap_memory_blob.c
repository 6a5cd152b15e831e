// SPDX-License-Identifier: GPL-2.0-or-later
/* The memory of the blob. The linker script puts both around the start of the code. */
#include "heap/heap_blob_priv.h"

struct heap_shared shared_before __attribute__((section(".bss.shared")));

/* profc fills them in before it puts the code into a process. */
const struct heap_rules rules __attribute__((section(".rules")));
