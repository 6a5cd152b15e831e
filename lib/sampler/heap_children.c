// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Forked children that live for less than a tick. Records of their allocations are in their
 * parent's memory; the parent may have blocks of its own at the same addresses.
 */
#include "sampler/heap_children_priv.h"

#include "base/clock.h"
#include "heap/reach.h"
#include "probe/prober.h"
#include "proc/read.h"
#include "sampler/sampler_priv.h"

static void give_up_search(struct sampler *sampler, uint32_t serial)
{
	struct reach *reach = prober_reach(sampler->options.prober);
	struct message *message;

	if (!reach || !reach_is_due(reach, serial))
		return;
	reach_give_up(reach, serial, "it ended before it was found");
	message = message_new(MESSAGE_SEARCHED, clock_monotonic_ns());
	message->body.search.process = serial;
	reach_take(reach, &message->body.search.found);
	collector_publish(sampler->collector, message);
}

static void end(struct sampler *sampler, struct heap_child *child)
{
	struct message *message;

	give_up_search(sampler, child->process.serial);
	message = message_new(MESSAGE_PROCESS_END, child->last_ns + 1);
	message->body.process.serial = child->process.serial;
	message->body.process.pid = child->roster.pid;
	collector_publish(sampler->collector, message);
	child->roster.pid = 0;
}

static struct heap_child *find(struct heap_session *heap, pid_t pid)
{
	for (size_t i = 0; i < HEAP_CHILDREN; i++) {
		if (heap->children[i].roster.pid == pid)
			return &heap->children[i];
	}
	return NULL;
}

static bool is_in_namespace(struct heap_family *family, pid_t owner)
{
	struct proc_status status;

	if (family->owner != owner) {
		family->owner = owner;
		family->owner_ns_pid = proc_read_status(owner, &status) ? status.ns_pid : 0;
	}
	return family->owner_ns_pid != owner;
}

bool heap_is_stranger(const struct sampler *sampler, struct heap_family *family, pid_t owner,
		      pid_t pid)
{
	return pid != owner && !sampler->options.follow_children && !is_in_namespace(family, owner);
}

/* Only once for each: perhaps the roster does not find it, either. */
static bool may_wait_for(struct heap_session *heap, pid_t pid)
{
	bool is_new = heap->waited_for != pid;

	heap->waited_for = pid;
	return is_new;
}

static struct heap_child *add(struct sampler *sampler, const struct sampled_process *owner,
			      pid_t pid, uint64_t time_ns)
{
	struct heap_session *heap = &sampler->session->heap;
	struct heap_child *child = &heap->children[heap->next_child];
	struct message *message = message_new(MESSAGE_PROCESS, time_ns);
	struct message_process *about = &message->body.process;

	heap->nr_children++;
	heap->next_child = (heap->next_child + 1) % HEAP_CHILDREN;
	if (child->roster.pid)
		end(sampler, child);
	*child = (struct heap_child){.roster = {.pid = pid},
				     .process = {.serial = sampler->next_process++}};
	child->process.roster = &child->roster;
	about->serial = child->process.serial;
	about->parent = owner->serial;
	about->forked = about->is_gone = true;
	about->pid = pid;
	about->program = owner->roster->program;
	collector_publish(sampler->collector, message);
	return child;
}

const struct sampled_process *heap_child_of(struct sampler *sampler, struct heap_family *family,
					    const struct sampled_process *owner, pid_t pid,
					    uint64_t time_ns)
{
	struct heap_session *heap = &sampler->session->heap;
	struct heap_child *child;

	if (pid <= 0 || !sampler->options.follow_children ||
	    is_in_namespace(family, owner->roster->pid))
		return NULL;
	child = find(heap, pid);
	if (!child && !family->is_last && !proc_task_has_ended(pid, pid)) {
		family->waits = may_wait_for(heap, pid);
		return NULL;
	}
	if (!child && heap->nr_children == HEAP_CHILDREN_MAX)
		return NULL;
	if (!child)
		child = add(sampler, owner, pid, time_ns);
	child->is_met = true;
	if (time_ns > child->last_ns)
		child->last_ns = time_ns;
	return &child->process;
}

void heap_end_children(struct sampler *sampler, bool all)
{
	for (size_t i = 0; i < HEAP_CHILDREN; i++) {
		struct heap_child *child = &sampler->session->heap.children[i];

		if (child->roster.pid && (all || !child->is_met))
			end(sampler, child);
		child->is_met = false;
	}
}
