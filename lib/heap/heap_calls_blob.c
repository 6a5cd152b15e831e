// SPDX-License-Identifier: GPL-2.0-or-later
/* The blob calls functions of the allocator: with which arguments, and how. */
#include "heap/heap_blob_priv.h"

/* In heap_call_*.S. */
uint64_t heap_call(struct heap_frame *frame, uint64_t function, const uint64_t *stack)
	__attribute__((visibility("hidden")));

/* False: the size overflows, so the function will fail. */
bool heap_read_arguments(struct request *request)
{
	const struct heap_form *form = &request->hook->form;
	uint64_t count, size;

	/* malloc() and operator new, which are most calls. */
	if (form->size == 1 && !form->count && !form->pointer && !form->out) {
		request->size = request->frame->arguments[0];
		return true;
	}
	count = form->count ? argument(request, form->count) : 1;
	size = form->size ? argument(request, form->size) : form->bytes;

	request->old = argument(request, form->pointer);
	request->out = argument(request, form->out);
	return !__builtin_mul_overflow(count, size, &request->size);
}

static void go_inside(const struct request *request)
{
	if (request->thread) {
		relaxed_store(&request->thread->inside_sp, (uint64_t)request->frame);
		return;
	}
	relaxed_store(inside_place((uint64_t)request->frame / NESTED_STACK_BYTES),
		      (uint64_t)request->frame);
	relaxed_add(&request->slot->countdown, -HEAP_INSIDE);
}

static void come_out(const struct request *request)
{
	if (request->thread) {
		relaxed_store(&request->thread->inside_sp, 0);
		return;
	}
	relaxed_add(&request->slot->countdown, HEAP_INSIDE);
	relaxed_store(inside_place((uint64_t)request->frame / NESTED_STACK_BYTES), 0);
}

static uint64_t arguments_at(const struct request *request)
{
	return (uint64_t)(request->frame + 1);
}

/*
 * The registers and the words on the stack that a pool's function reads are unknown: it gets all.
 */
static uint64_t call_pool(const struct request *request, uint64_t function_at)
{
	uint64_t stack[HEAP_STACK_ARGUMENTS];

	machine_copy(stack, (const void *)arguments_at(request), sizeof(stack));
	return heap_call(request->frame, function_at, stack);
}

bool heap_can_be_called(const struct request *request)
{
	uint64_t at = arguments_at(request);
	uint64_t start;

	return !heap_is_pool(&request->hook->form) ||
	       heap_readable_end(at, &start) - at >= HEAP_STACK_ARGUMENTS * sizeof(uint64_t);
}

uint64_t heap_call_function(const struct request *request, uint64_t function_at)
{
	const uint64_t *with = request->frame->arguments;

	if (heap_is_pool(&request->hook->form))
		return call_pool(request, function_at);
	return ((function)function_at)(with[0], with[1], with[2], with[3], with[4], with[5]);
}

/* An exception must not unwind the blob's frame: so a function that throws none is called. */
static uint64_t call_without_throwing(const struct request *request)
{
	const uint64_t *with = request->frame->arguments;

	if (request->hook->form.function == HEAP_NEW)
		return heap_call_function(request, request->hook->plain);
	return ((function)request->hook->plain)(with[1], with[0], 0, 0, 0, 0);
}

uint64_t heap_call_original(const struct request *request)
{
	uint64_t result;

	if (throws(request))
		return call_without_throwing(request);
	go_inside(request);
	result = heap_call_function(request, request->hook->original);
	come_out(request);
	return result;
}

uint64_t heap_pointer_of(const struct request *request, uint64_t result)
{
	const struct heap_form *form = &request->hook->form;
	uint64_t pointer = 0;

	if (!form->out)
		return result;
	if ((uint32_t)result)
		return 0;
	if (!heap_is_pool(form))
		return *(const uint64_t *)request->out;
	/* A user may have named an argument that is no address. */
	if (!heap_is_writable(request->out, sizeof(pointer), arguments_at(request))) {
		relaxed_add(&shared.lost.nr_dropped, 1);
		return 0;
	}
	machine_copy(&pointer, (const void *)request->out, sizeof(pointer));
	return pointer;
}
