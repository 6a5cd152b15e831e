// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/call_sites.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "probe/wanted.h"

void call_sites_release(struct call_sites *sites)
{
	free(sites->at);
	*sites = (struct call_sites){0};
}

void call_sites_add(struct call_sites *sites, const struct call_code *code, struct wanted *wanted)
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
		site.bytes = NULL; /* the caller's, for now only */
		ARRAY_GROW(sites->at, sites->nr, sites->cap);
		sites->at[sites->nr++] =
			(struct call_site){.site = site, .function = code->function};
	}
	if (calls.has_unknown)
		wanted_refuse(wanted, code->function, "data stands among its code");
}

void call_sites_want(const struct call_sites *sites, size_t index, struct wanted *wanted)
{
	const struct call_site *call = &sites->at[index];

	if (call->site.kind == PATCH_CALL_INDIRECT)
		wanted_refuse(wanted, call->function,
			      "a call in it goes through a register or pointer");
	else if (call->site.kind == PATCH_CALL_JUMP)
		wanted_refuse(wanted, call->function,
			      "a call in it is a jump, which ends the function (a tail call)");
	else
		wanted_add(wanted, WANTED_CALL, call->site.address, call->site.nr_bytes,
			   call->function);
}
