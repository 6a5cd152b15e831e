// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads texts of PHP. */
#include "script/php_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/lasting_hash.h"
#include "base/minmax.h"
#include "mapping/space.h"
#include "script/php_layout.h"
#include "snapshot/snapshot.h"

#define HEAD_BYTES     24
#define TEXT_BYTES_MAX 4096
#define TYPE_MASK      15
#define TYPE_TEXT      6

/* As PHP computes it for texts that are keys. Characters have a sign on x86-64. */
static uint64_t hash_of(const char *text, uint64_t nr)
{
	uint64_t hash = 5381;

	for (uint64_t i = 0; i < nr; i++)
		hash = hash * 33 + (uint64_t)(int64_t)(int8_t)text[i];
	return hash | UINT64_C(1) << 63;
}

static bool read_both(const struct snapshot *snapshot, struct space *space, uint64_t at, void *out,
		      uint64_t nr_bytes)
{
	return snapshot_read_any(snapshot, at, out, nr_bytes) ||
	       space_read_memory(space, at, out, nr_bytes);
}

bool php_text_read(const struct php_layout *layout, const struct snapshot *snapshot,
		   struct space *space, uint64_t at, struct php_text *text)
{
	uint8_t bytes[HEAD_BYTES + TEXT_BYTES_MAX];
	uint64_t hash, length;
	uint32_t type;

	if (!read_both(snapshot, space, at, bytes, HEAD_BYTES))
		return false;
	memcpy(&type, bytes + layout->text_type, sizeof(type));
	memcpy(&hash, bytes + layout->text_hash, sizeof(hash));
	memcpy(&length, bytes + layout->text_length, sizeof(length));
	if ((type & TYPE_MASK) != TYPE_TEXT || !length || length > TEXT_BYTES_MAX ||
	    !read_both(snapshot, space, at + layout->text_head, bytes + HEAD_BYTES, length))
		return false;
	if (!bytes[HEAD_BYTES])
		return false;
	if (hash && hash != hash_of((const char *)bytes + HEAD_BYTES, length))
		return false;
	*text = (struct php_text){
		.at = at,
		/* The name of a class without one has a zero, and then its file. */
		.text = xstrndup((const char *)bytes + HEAD_BYTES, length),
		.nr_bytes = (uint32_t)min_u64(HEAD_BYTES + length, PHP_TEXT_BYTES)};
	text->hash = lasting_hash(LASTING_HASH_BEGIN, bytes + layout->text_length,
				  text->nr_bytes - layout->text_length);
	return true;
}

bool php_text_agrees(const struct php_text *text, const uint8_t *bytes)
{
	/* Before its length are the number of its users, and a hash that may come later. */
	return text->text &&
	       text->hash == lasting_hash(LASTING_HASH_BEGIN, bytes + HEAD_BYTES - sizeof(uint64_t),
					  text->nr_bytes - (HEAD_BYTES - sizeof(uint64_t)));
}

void php_text_release(struct php_text *text)
{
	free(text->text);
	*text = (struct php_text){.at = 0};
}
