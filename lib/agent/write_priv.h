/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_AGENT_WRITE_PRIV_H
#define PROFC_AGENT_WRITE_PRIV_H

#include <stdint.h>

#include "mapping/module.h"
#include "profile/profile.h"

struct buf;

/* One line each: an object of JSON, and a newline. man/profc-agent.5 defines their members. */

#define AGENT_VERSION 1

void agent_write_hello(struct buf *out, const struct profile *profile);
void agent_write_process(struct buf *out, const struct profile *profile, uint32_t id);
void agent_write_thread(struct buf *out, const struct profile *profile, uint32_t id);
void agent_write_module(struct buf *out, const struct profile *profile, struct module_id id);
/* `name` is NULL unless the program named the code. */
void agent_write_frame(struct buf *out, const struct profile *profile, struct frame_id id,
		       const struct jit_name *name);
void agent_write_stack(struct buf *out, const struct profile *profile, struct stack_id id);

void agent_write_sample(struct buf *out, const struct profile *profile, const struct sample *row);
void agent_write_advance(struct buf *out, const struct profile_advance *row);
void agent_write_allocation(struct buf *out, const struct profile_allocation *row, uint32_t id);
void agent_write_free(struct buf *out, const struct profile_allocation *row, uint32_t id);
void agent_write_memory(struct buf *out, const struct profile_heap_moment *row);
void agent_write_mark(struct buf *out, const struct profile *profile,
		      const struct profile_mark *row);
void agent_write_count(struct buf *out, const struct profile_count *row, uint32_t id);

void agent_write_lost(struct buf *out, uint64_t nr);
/* nr_lost: in all. */
void agent_write_end(struct buf *out, const struct profile *profile, uint64_t nr_lost);

#endif
