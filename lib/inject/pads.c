// SPDX-License-Identifier: GPL-2.0-or-later
#include "inject/pads.h"

#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "patch/patch.h"
#include "proc/range.h"
#include "proc/read.h"
#include "proc/task.h"

/* Between mappings, as the kernel keeps gaps below stacks. */
#define MARGIN_BYTES ((uint64_t)1 << 20)
/*
 * Left to a heap. One that grows further meets a pad: brk(2) fails, and allocators go on with
 * mmap(2).
 */
#define HEAP_GROWTH_BYTES ((uint64_t)64 << 20)
/* Left to the first stack, whatever its limit may be. */
#define STACK_GROWTH_BYTES ((uint64_t)4 << 30)
#define LOWEST		   ((uint64_t)1 << 20)
#define HIGHEST		   (PATCH_ADDRESSES - MARGIN_BYTES)

enum { NO_INSTRUCTION = 0xcc };

void pads_take(struct pads *pads, uint64_t start, uint64_t end)
{
	ARRAY_GROW(pads->taken, pads->nr_taken, pads->cap_taken);
	pads->taken[pads->nr_taken++] = (struct pads_range){start, end};
}

static uint64_t below(uint64_t address, uint64_t nr_bytes)
{
	return address > nr_bytes ? address - nr_bytes : 0;
}

static void take_mapping(struct pads *pads, const struct proc_range *range, uint64_t heap,
			 uint64_t stack)
{
	bool is_heap = heap >= range->start && heap < range->end;
	bool is_stack = stack > range->start && stack <= range->end;

	pads_take(pads, below(range->start, is_stack ? STACK_GROWTH_BYTES : MARGIN_BYTES),
		  range->end + (is_heap ? HEAP_GROWTH_BYTES : MARGIN_BYTES));
}

bool pads_begin(struct pads *pads, pid_t pid)
{
	cleanup_close int maps = proc_open_task_file(pid, pid, "maps");
	struct proc_stat stat = {.first_sp = 0};
	struct proc_range_walk walk;
	struct proc_range range;
	struct buf text = {0};
	uint64_t heap = 0;

	*pads = (struct pads){.page_bytes = page_bytes()};
	if (maps < 0 || !proc_read_process_file(pid, "stat", &text))
		return false;
	proc_stat_parse(buf_str(&text), text.nr_bytes, &stat);
	/* The heap may not be mapped yet. */
	if (proc_stat_heap_start(buf_str(&text), text.nr_bytes, &heap))
		pads_take(pads, heap, heap + HEAP_GROWTH_BYTES);
	buf_release(&text);
	proc_range_walk_begin(&walk, maps, PROC_RANGE_ANY);
	while (proc_range_walk_next(&walk, &range))
		take_mapping(pads, &range, heap, stat.first_sp);
	proc_range_walk_end(&walk);
	return !walk.has_failed;
}

static bool is_free(const struct pads *pads, uint64_t start, uint64_t end)
{
	if (start < LOWEST || end > HIGHEST || start >= end)
		return false;
	for (size_t i = 0; i < pads->nr_taken; i++) {
		if (start < pads->taken[i].end && end > pads->taken[i].start)
			return false;
	}
	return true;
}

/* NULL: there are too many. */
static uint8_t *page_at(struct pads *pads, uint64_t address)
{
	size_t i = 0;

	while (i < pads->nr && pads->addresses[i] != address)
		i++;
	if (i == PADS_PAGES_MAX)
		return NULL;
	if (i == pads->nr) {
		pads->bytes = xrealloc(pads->bytes, (i + 1) * pads->page_bytes);
		memset(pads->bytes + i * pads->page_bytes, NO_INSTRUCTION, pads->page_bytes);
		pads->addresses[pads->nr++] = address;
	}
	return pads->bytes + i * pads->page_bytes;
}

static bool overlaps(const struct pads *pads, uint64_t address)
{
	for (size_t i = 0; i < pads->nr_pads; i++) {
		if (address < pads->pads[i] + PATCH_PAD_BYTES &&
		    pads->pads[i] < address + PATCH_PAD_BYTES)
			return true;
	}
	return false;
}

bool pads_add(struct pads *pads, uint64_t address, uint64_t thunk)
{
	uint8_t bytes[PATCH_PAD_BYTES];

	if (!is_free(pads, page_start(address),
		     page_start(address + PATCH_PAD_BYTES - 1) + pads->page_bytes) ||
	    overlaps(pads, address) || !patch_pad_bytes(address, thunk, bytes))
		return false;
	/* Two pages, perhaps. */
	if (!page_at(pads, page_start(address)) ||
	    !page_at(pads, page_start(address + PATCH_PAD_BYTES - 1)))
		return false;
	for (size_t i = 0; i < PATCH_PAD_BYTES; i++) {
		uint64_t start = page_start(address + i);

		page_at(pads, start)[address + i - start] = bytes[i];
	}
	ARRAY_GROW(pads->pads, pads->nr_pads, pads->cap_pads);
	pads->pads[pads->nr_pads++] = address;
	return true;
}

void pads_release(struct pads *pads)
{
	free(pads->bytes);
	free(pads->pads);
	free(pads->taken);
	*pads = (struct pads){.nr = 0};
}
