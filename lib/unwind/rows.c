// SPDX-License-Identifier: GPL-2.0-or-later
/* The known rows, and the CFI of each module, from which further rows are compiled. */
#include "unwind/rows.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "mapping/space.h"
#include "unwind/code_walk.h"
#include "unwind/module_cfi.h"
#include "unwind/rows_priv.h"

struct rows *rows_new(struct walk_work *work)
{
	struct rows *rows = xcalloc(1, sizeof(*rows));

	rows->work = work;
	hot_rows_init(&rows->hot);
	return rows;
}

void rows_free(struct rows *rows)
{
	if (!rows)
		return;
	for (size_t i = 0; i < rows->nr_modules; i++) {
		if (rows->modules[i])
			module_cfi_release(rows->modules[i]);
		free(rows->modules[i]);
	}
	free(rows->modules);
	hot_rows_release(&rows->hot);
	row_cache_release(&rows->cache);
	row_cache_release(&rows->jit);
	row_cache_release(&rows->calls);
	row_cache_release(&rows->disproved);
	row_cache_release(&rows->without_fp);
	free(rows);
}

uint64_t rows_nr_compiled(const struct rows *rows)
{
	return rows->nr_compiled;
}

const struct hot_rows *rows_hot(const struct rows *rows)
{
	return &rows->hot;
}

struct module_cfi *rows_cfi(struct rows *rows, struct module_id id, struct elf_image *image)
{
	while (rows->nr_modules <= id.v) {
		ARRAY_GROW(rows->modules, rows->nr_modules, rows->cap_modules);
		rows->modules[rows->nr_modules++] = NULL;
	}
	if (!rows->modules[id.v]) {
		rows->modules[id.v] = xcalloc(1, sizeof(struct module_cfi));
		module_cfi_init(rows->modules[id.v], image, &rows->work->done);
	}
	return rows->modules[id.v];
}

const struct mapping *rows_mapping(const struct row_query *query)
{
	return space_find(query->walk->space, query->frame->pc - !query->frame->is_exact);
}

struct code_frame rows_code_frame(const struct row_query *query, const struct mapping *mapping,
				  struct elf_image *image)
{
	return (struct code_frame){.mapping = mapping,
				   .image = image,
				   .pc = query->frame->pc,
				   .is_exact = query->frame->is_exact,
				   .regs = query->regs};
}
