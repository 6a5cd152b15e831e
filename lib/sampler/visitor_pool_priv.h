/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SAMPLER_VISITOR_POOL_PRIV_H
#define PROFC_SAMPLER_VISITOR_POOL_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

struct err;
struct sampled_thread;
struct sampler;
struct visitor;

/* If a visit takes longer, an idle visitor leads in place of the one that waits. */
#define LATE_VISIT_NS (4 * NS_PER_MS)

/* pool.c: with the lock held, except pool_start(), pool_join() and pool_hand_over(). */
int pool_start(struct sampler *sampler, void *(*visitor_main)(void *), struct err *err);
void pool_join(struct sampler *sampler);
int pool_add(struct sampler *sampler);
bool pool_has_idle(const struct sampler *sampler);
/* Is there another visitor that can lead while the leader waits? */
bool pool_can_relieve(const struct sampler *sampler);
/* Wake visitors that wait for a stop that does not come, to ask again; all, if is_end. */
void pool_poke(struct sampler *sampler, uint64_t now_ns, bool is_end);
/*
 * Let another visitor lead while this one waits for a stop. False: the lock is not free now. It is
 * not waited for, as the thread may stop meanwhile, and is to be let go at once then.
 */
bool pool_hand_over(struct visitor *visitor);
/*
 * Let it run on all CPUs. Only the leader may be bound to one: it is watched, and if a thread of
 * higher real-time priority has that CPU, another visitor takes over.
 */
void pool_unbind(struct visitor *visitor);
/*
 * Are ticks so rare that an idle visitor, to be soon enough for a late visit, would have to wake up
 * as often as there are ticks, or more?
 */
bool pool_has_rare_ticks(const struct sampler *sampler);
/*
 * Is the wait for the stop of the thread to end when the next tick is due? Other threads may get
 * the CPU before it. But to set a timer and to clear it takes some microseconds, from the thread if
 * the visitor has its CPU. So where ticks are frequent, and there is no other thread that misses a
 * sample meanwhile, the idle visitor is enough, which finds late visits. Where ticks are rare, so
 * are alarms, and the idle visitor sleeps for longer.
 */
bool pool_needs_alarm(const struct sampler *sampler, const struct sampled_thread *thread);
/* End the calling visitor's waits for a stop from then on; by_ns 0: no more. */
void pool_make_alarm(struct visitor *visitor);
void pool_set_alarm(struct visitor *visitor, uint64_t by_ns);
void pool_end_alarm(struct visitor *visitor);

#endif
