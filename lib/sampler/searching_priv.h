/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SAMPLER_SEARCHING_PRIV_H
#define PROFC_SAMPLER_SEARCHING_PRIV_H

struct sampled_process;
struct sampler;

/* Does anything point to blocks that are alive? With the lock, which is kept. */
void search_leaving(struct sampler *sampler); /* processes that are about to end */
void search_all(struct sampler *sampler);     /* before the recording ends */
/* One that has ended, or executed a program: it is too late, which is told. */
void search_gone(struct sampler *sampler, const struct sampled_process *process);

#endif
