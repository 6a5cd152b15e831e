// SPDX-License-Identifier: GPL-2.0-or-later
/* No probes yet. */
#include "patch/patch.h"

#if defined(__aarch64__)

#include "patch/branches.h"

const char *patch_unsupported_machine(void)
{
	return "aarch64";
}

enum patch_outcome patch_entry(struct patch *patch, const struct patch_function *function,
			       const struct branches *branches, struct code_area *area,
			       const struct patch_counter *counter)
{
	(void)patch;
	(void)function;
	(void)branches;
	(void)area;
	(void)counter;
	return PATCH_UNSUPPORTED;
}

bool patch_stub(struct patch_owners *owners, const struct patch_counter *counter,
		struct code_area *area)
{
	(void)owners;
	(void)counter;
	(void)area;
	return false;
}

bool patch_is_in_stub(const struct patch *patch, uint64_t pc, uint64_t link,
		      struct patch_saved *saved)
{
	(void)patch;
	(void)pc;
	(void)link;
	(void)saved;
	return false;
}

enum patch_outcome patch_call(struct patch *patch, uint64_t address, const uint8_t *bytes,
			      size_t nr_readable, struct code_area *area,
			      const struct patch_counter *counter)
{
	(void)patch;
	(void)address;
	(void)bytes;
	(void)nr_readable;
	(void)area;
	(void)counter;
	return PATCH_UNSUPPORTED;
}

bool patch_always_calls(const struct patch *patch, uint64_t call)
{
	(void)patch;
	(void)call;
	return false;
}

enum patch_outcome patch_exit(struct patch *patch, uint64_t address, const uint8_t *bytes,
			      size_t nr_bytes, size_t exit_at, struct code_area *area,
			      const struct patch_counter *counter)
{
	(void)patch;
	(void)address;
	(void)bytes;
	(void)nr_bytes;
	(void)exit_at;
	(void)area;
	(void)counter;
	return PATCH_UNSUPPORTED;
}

bool patch_calls_next(struct patch_calls *calls, struct patch_call_site *site)
{
	(void)site;
	calls->at = calls->nr_bytes;
	return false;
}

/* Nothing is patched, so branches do not matter. */
void branches_add_code(struct branches *branches, uint64_t address, const uint8_t *bytes,
		       size_t nr_bytes)
{
	(void)branches;
	(void)address;
	(void)bytes;
	(void)nr_bytes;
}

#endif
