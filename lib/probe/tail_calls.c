// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/tail_calls.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "elf/elf_image.h"
#include "patch/patch.h"
#include "probe/wanted.h"

#define FUNCTION_BYTES_MAX ((size_t)1 << 30)

bool tail_calls_has(const struct wanted *wanted, const struct elf_image *image,
		    const struct wanted_place *place)
{
	uint8_t *bytes = alloc_bounded(place->nr_bytes + 1, 1, FUNCTION_BYTES_MAX);
	struct patch_calls calls = {.address = place->address, .bytes = bytes, .with_jumps = true};
	struct patch_call_site site;
	bool has_call = false;

	if (!bytes)
		return false;
	calls.nr_bytes = elf_image_read(image, place->address, bytes, (size_t)place->nr_bytes);
	while (!has_call && patch_calls_next(&calls, &site) && !calls.has_unknown)
		has_call = site.kind == PATCH_CALL_JUMP && wanted_is_function(wanted, site.callee);
	free(bytes);
	return has_call;
}
