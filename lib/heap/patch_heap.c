// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/patch_heap.h"

bool patch_heap_has_short_way(const struct patch_heap *heap)
{
	switch (heap->function) {
	case HEAP_MALLOC:
	case HEAP_CALLOC:
	case HEAP_NEW:
	case HEAP_NEW_ALIGNED:
	case HEAP_FREE:
		return true;
	case HEAP_POOL:
	case HEAP_POOL_FREE:
		return heap->is_of_table;
	case HEAP_REALLOC:
	case HEAP_REALLOCARRAY:
	case HEAP_MEMALIGN:
	case HEAP_POSIX_MEMALIGN:
	case HEAP_VALLOC:
	case HEAP_NEW_NOTHROW_ALIGNED:
	case HEAP_MAP:
	case HEAP_UNMAP:
	case HEAP_REMAP:
	case HEAP_EXIT:
	case HEAP_FUNCTION_COUNT:
		break;
	}
	return false;
}
