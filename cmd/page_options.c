// SPDX-License-Identifier: GPL-2.0-or-later
/* The options for what a page shows beside the profile: sources and instructions. */
#include "cmd/page_options.h"

#include <string.h>

#include "base/err.h"
#include "calltree/code.h"
#include "cmd/machine_code.h"
#include "cmd/search_path.h"
#include "export/export_options.h"
#include "profile/profile.h"
#include "view/disassembly.h"

int page_options_check(const struct page_options *page, struct err *err)
{
	for (size_t i = 0; i < page->source_paths.nr; i++)
		if (!strchr(page->source_paths.values[i], '='))
			return err_set(err, ERR_INVALID, "--source-path '%s' is not OLD=NEW",
				       page->source_paths.values[i]);
	if (page->instructions && !in_search_path("objdump"))
		return err_set(err, ERR_INVALID, "--asm needs objdump (of binutils)");
	return 0;
}

static bool disassemble(const struct codes *codes, const struct code *code,
			struct disassembly *disassembly)
{
	struct err why = ERR_INIT;

	return code_disassemble(codes, code, disassembly, &why) == 0;
}

/* Without objdump: only functions of which the recording has kept all. */
static bool disassemble_kept(const struct codes *codes, const struct code *code,
			     struct disassembly *disassembly)
{
	return code_is_kept(codes, code) && disassemble(codes, code, disassembly);
}

void page_options_apply(const struct page_options *page, const struct profile *profile,
			struct source_maps *maps, struct export_options *options)
{
	*maps = (struct source_maps){.texts = page->source_paths.values,
				     .nr = page->source_paths.nr};
	options->source_maps = maps;
	if (page->instructions)
		options->disassemble = disassemble;
	else if (profile->symbols.nr_listings)
		options->disassemble = disassemble_kept;
}
