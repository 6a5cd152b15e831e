// SPDX-License-Identifier: GPL-2.0-or-later
/* An array of chunks; each is freed once all its numbers were given and removed. */
#include "collector/serials.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"

struct serials_chunk {
	uint32_t nr_left; /* numbers that were not removed, those not given yet included */
	void *objects[SERIALS_PER_CHUNK];
};

void serials_release(struct serials *serials)
{
	for (size_t i = 0; i < serials->nr_chunks; i++)
		free(serials->chunks[i]);
	free(serials->chunks);
	*serials = (struct serials){0};
}

static struct serials_chunk *add_chunk(struct serials *serials)
{
	struct serials_chunk *chunk = xcalloc(1, sizeof(*chunk));

	chunk->nr_left = SERIALS_PER_CHUNK;
	ARRAY_GROW(serials->chunks, serials->nr_chunks, serials->cap_chunks);
	serials->chunks[serials->nr_chunks++] = chunk;
	return chunk;
}

uint32_t serials_add(struct serials *serials, void *object)
{
	uint32_t serial = serials->nr_given++;
	struct serials_chunk *chunk = serial % SERIALS_PER_CHUNK == 0
					      ? add_chunk(serials)
					      : serials->chunks[serial / SERIALS_PER_CHUNK];

	chunk->objects[serial % SERIALS_PER_CHUNK] = object;
	return serial;
}

static struct serials_chunk *chunk_of(const struct serials *serials, uint32_t serial)
{
	return serial < serials->nr_given ? serials->chunks[serial / SERIALS_PER_CHUNK] : NULL;
}

void *serials_get(const struct serials *serials, uint32_t serial)
{
	struct serials_chunk *chunk = chunk_of(serials, serial);

	return chunk ? chunk->objects[serial % SERIALS_PER_CHUNK] : NULL;
}

void serials_remove(struct serials *serials, uint32_t serial)
{
	struct serials_chunk *chunk = chunk_of(serials, serial);

	assert(chunk && chunk->objects[serial % SERIALS_PER_CHUNK]);
	chunk->objects[serial % SERIALS_PER_CHUNK] = NULL;
	if (--chunk->nr_left)
		return;
	free(chunk);
	serials->chunks[serial / SERIALS_PER_CHUNK] = NULL;
}
