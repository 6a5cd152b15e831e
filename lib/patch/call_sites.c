// SPDX-License-Identifier: GPL-2.0-or-later
#include "patch/call_sites.h"

#include <stdlib.h>

#include "base/alloc.h"

void call_sites_release(struct call_sites *sites)
{
	free(sites->at);
	*sites = (struct call_sites){0};
}

bool call_sites_add(struct call_sites *sites, const struct call_code *code)
{
	struct patch_calls calls = {.address = code->address,
				    .bytes = code->bytes,
				    .nr_bytes = code->nr_bytes,
				    .with_jumps = code->is_function != NULL};
	struct patch_call_site site;

	while (patch_calls_next(&calls, &site) && !calls.has_unknown) {
		if (sites->nr && site.address <= sites->at[sites->nr - 1].site.address)
			continue;
		if (site.kind == PATCH_CALL_JUMP &&
		    !(code->is_function && code->is_function(code->context, site.callee)))
			continue;
		site.bytes = NULL; /* the caller's, and valid now only */
		ARRAY_GROW(sites->at, sites->nr, sites->cap);
		sites->at[sites->nr++] =
			(struct call_site){.site = site, .function = code->function};
	}
	return !calls.has_unknown;
}
