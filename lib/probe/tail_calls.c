// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/tail_calls.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "elf/elf_image.h"
#include "patch/branches.h"
#include "patch/patch.h"
#include "probe/wanted.h"

#define FUNCTION_BYTES_MAX ((size_t)1 << 30)

/* Its places are those of functions that no other function begins in. */
struct tail_calls {
	struct branches_listener listener;
	const struct wanted *wanted;
	const struct elf_image *image;
	struct wanted_place **places; /* owned; of `wanted`, by address */
	size_t nr, at;		      /* the last one that was jumped from: the next one is near */
};

static bool leads_out(const struct wanted_place *place, uint64_t target)
{
	return target - place->address >= place->nr_bytes;
}

/* A function may begin in another one: the pass is in step with the inner one only. */
static void read_alone(const struct wanted *wanted, const struct elf_image *image,
		       struct wanted_place *place)
{
	uint8_t *bytes = alloc_bounded(place->nr_bytes + 1, 1, FUNCTION_BYTES_MAX);
	struct patch_calls calls = {.address = place->address, .bytes = bytes, .with_jumps = true};
	struct patch_call_site site;

	if (!bytes)
		return;
	calls.nr_bytes = elf_image_read(image, place->address, bytes, (size_t)place->nr_bytes);
	while (!place->has_tail_call && patch_calls_next(&calls, &site) && !calls.has_unknown)
		place->has_tail_call = site.kind == PATCH_CALL_JUMP &&
				       site.callee != place->address &&
				       wanted_is_function(wanted, site.callee);
	free(bytes);
}

static struct wanted_place *place_of(struct tail_calls *calls, uint64_t source)
{
	while (calls->at && source < calls->places[calls->at]->address)
		calls->at--;
	while (calls->at + 1 < calls->nr && calls->places[calls->at + 1]->address <= source)
		calls->at++;
	return calls->nr && calls->places[calls->at]->address <= source ? calls->places[calls->at]
									: NULL;
}

/* Most bytes that look like a jump would lead out of the file. */
static bool is_code(const struct elf_image *image, uint64_t target)
{
	for (size_t i = 0; i < elf_image_nr_segments(image); i++) {
		const struct elf_segment *segment = elf_image_segment(image, i);

		if (segment->executable && target - segment->vaddr < segment->file_bytes)
			return true;
	}
	return false;
}

/* 0: the target is in a word. */
static bool is_call(const struct tail_calls *calls, const struct wanted_place *place,
		    uint64_t target)
{
	return !place->has_tail_call && leads_out(place, target) &&
	       (!target || is_code(calls->image, target)) &&
	       wanted_is_function(calls->wanted, target);
}

static uint64_t end_of(void *context, uint64_t start)
{
	const struct wanted_place *place = place_of(context, start);

	return place && place->address == start ? start + place->nr_bytes : 0;
}

static bool wants_jump(void *context, uint64_t source, uint64_t target)
{
	struct tail_calls *calls = context;
	const struct wanted_place *place = place_of(calls, source);

	return place && source - place->address < place->nr_bytes && is_call(calls, place, target);
}

static void take_jump(void *context, uint64_t source, size_t nr_bytes, uint64_t target)
{
	struct tail_calls *calls = context;
	struct wanted_place *place = place_of(calls, source);

	if (place && source + nr_bytes - place->address <= place->nr_bytes)
		place->has_tail_call |= is_call(calls, place, target);
}

struct tail_calls *tail_calls_new(struct wanted *wanted, const struct elf_image *image,
				  struct branches *branches)
{
	struct tail_calls *calls = xcalloc(1, sizeof(*calls));

	calls->wanted = wanted;
	calls->image = image;
	calls->places = xcalloc(wanted->nr_places + 1, sizeof(struct wanted_place *));
	for (size_t i = 0; i < wanted->nr_places; i++) {
		struct wanted_place *place = &wanted->places[i];

		if (place->kind != WANTED_ENTRY)
			continue;
		if (branches_next_start(branches, place->address) - place->address <
		    place->nr_bytes)
			read_alone(wanted, image, place);
		else
			calls->places[calls->nr++] = place;
	}
	calls->listener = (struct branches_listener){
		.end = end_of, .wants = wants_jump, .tell = take_jump, .context = calls};
	branches_tell_jumps(branches, &calls->listener);
	return calls;
}

void tail_calls_free(struct tail_calls *calls)
{
	free(calls->places);
	free(calls);
}
