// SPDX-License-Identifier: GPL-2.0-or-later
/* Our code in a process: where memory is mapped, and where the process ends. */
#include <asm/errno.h>
#include <linux/futex.h>
#include <linux/mman.h>

#include "probe/heap_blob_priv.h"

/* -- mappings -- */

static bool is_of_library(const struct heap_frame *frame)
{
	for (int i = 0; i < HEAP_CODES; i++) {
		if (frame->rip - shared.codes[i].start <
		    shared.codes[i].end - shared.codes[i].start)
			return true;
	}
	return false;
}

/* Other mappings are of files that programs share, or address space that is kept for later. */
static bool is_memory(uint64_t protection, uint64_t flags)
{
	return (uint32_t)protection != PROT_NONE &&
	       (flags & MAP_ANONYMOUS || (flags & MAP_TYPE) == MAP_PRIVATE);
}

static void emit_range(struct request *request, enum heap_record_kind kind, uint64_t start,
		       uint64_t nr_bytes)
{
	request->size = nr_bytes;
	if (nr_bytes)
		heap_emit(request, kind, start, false);
}

/* Of a range that one of a fixed place replaces is known from that. */
static struct outcome map(struct request *request)
{
	const uint64_t *with = request->frame->arguments;
	struct outcome outcome = {.result = heap_call_function(request, request->hook->original)};

	if (outcome.result >= -PAGE_BYTES)
		return outcome;
	if (is_memory(with[2], with[3]))
		emit_range(request, HEAP_RECORD_ALLOCATION, outcome.result, with[1]);
	else if (with[3] & MAP_FIXED)
		emit_range(request, HEAP_RECORD_FREE, outcome.result, with[1]);
	return outcome;
}

/* What fails is told afterwards only: that a mapping cannot grow where it is is nothing rare. */
static struct outcome remap(struct request *request)
{
	const uint64_t *with = request->frame->arguments;
	struct outcome outcome = {.result = heap_call_function(request, request->hook->original)};

	if (outcome.result >= -PAGE_BYTES)
		return outcome;
	if (!(with[3] & MREMAP_DONTUNMAP) && with[1]) {
		emit_range(request, HEAP_RECORD_FREE, with[0], with[1]);
		request->old = with[0];
		request->was_sampled = true;
	}
	emit_range(request, HEAP_RECORD_ALLOCATION, outcome.result, with[2]);
	return outcome;
}

struct outcome heap_on_map(struct request *request)
{
	const uint64_t *with = request->frame->arguments;
	uint32_t which = request->hook->form.function;

	if (is_of_library(request->frame) || is_nested(request))
		return (struct outcome){.jump = request->hook->original};
	if (which == HEAP_MAP)
		return map(request);
	if (which == HEAP_REMAP)
		return remap(request);
	if (with[0] % PAGE_BYTES == 0) /* else it fails */
		emit_range(request, HEAP_RECORD_FREE, with[0], with[1]);
	return (struct outcome){.jump = request->hook->original};
}

/* -- the end of the process -- */

static uint32_t *claim_exit(uint32_t pid)
{
	for (int i = 0; i < HEAP_EXITS; i++) {
		uint32_t none = 0;

		if (!relaxed_load(&shared.exits[i]) && exchange(&shared.exits[i], &none, pid))
			return &shared.exits[i];
	}
	return 0;
}

/* Until profc lets us go, has given up its search of processes, or has had the time. */
static void wait_to_go(const uint32_t *exit, uint32_t pid)
{
	uint64_t end_ns = monotonic_ns() + HEAP_EXIT_WAIT_NS;
	uint64_t now_ns = end_ns - HEAP_EXIT_WAIT_NS;
	int64_t result = 0;

	while (now_ns < end_ns && __atomic_load_n(exit, __ATOMIC_ACQUIRE) == pid &&
	       relaxed_load(&shared.waits_at_exit) &&
	       (!result || result == -EINTR || result == -EAGAIN)) {
		struct __kernel_timespec left = {
			.tv_sec = (int64_t)((end_ns - now_ns) / NS_PER_SEC),
			.tv_nsec = (int64_t)((end_ns - now_ns) % NS_PER_SEC)};

		result = system_call(__NR_futex, (uint64_t)exit, FUTEX_WAIT, pid, (uint64_t)&left,
				     0);
		now_ns = monotonic_ns();
	}
}

/*
 * Who has no recorded block goes at once, and so does a child of vfork(2): the memory is its
 * parent's.
 */
struct outcome heap_on_exit(const struct request *request)
{
	uint32_t pid = (uint32_t)relaxed_load(&heap_own()->pid);
	struct heap_frame *frame = request->frame;
	uint32_t *exit = 0;

	/* What registers hold besides the status is no pointer that anybody keeps. */
	for (int i = 1; i < HEAP_ARGUMENTS; i++)
		frame->arguments[i] = 0;
	frame->rax = frame->r10 = frame->r11 = 0;

	if (pid && relaxed_load(&shared.waits_at_exit) &&
	    system_call(__NR_getpid, 0, 0, 0, 0, 0) == pid)
		exit = claim_exit(pid);
	if (exit) {
		wait_to_go(exit, pid);
		exchange(exit, &pid, 0);
	}
	return (struct outcome){.jump = request->hook->original};
}
