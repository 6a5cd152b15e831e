/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The visit of one thread. */
#ifndef PROFC_SAMPLER_VISITING_PRIV_H
#define PROFC_SAMPLER_VISITING_PRIV_H

#include <stdbool.h>
#include <stddef.h>

struct sampled_thread;
struct visitor;

/* With the lock, which is released meanwhile; the thread may be gone afterwards. */
void visit_thread(struct visitor *visitor, struct sampled_thread *thread, bool is_asleep);
/* The bytes of its stack that are useful; also sets hints from walks in its tracee. */
size_t visit_stack_limit(struct sampled_thread *thread);

#endif
