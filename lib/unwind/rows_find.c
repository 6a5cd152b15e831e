// SPDX-License-Identifier: GPL-2.0-or-later
/* The row of a frame's place: a known one, or by the rules. */
#include "mapping/space.h"
#include "unwind/code_walk.h"
#include "unwind/module_cfi.h"
#include "unwind/rows_priv.h"
#include "unwind/rules.h"

static struct row compile_in(struct rows *rows, const struct row_query *query,
			     const struct mapping *mapping, struct elf_image *image)
{
	const struct unwind_frame *frame = query->frame;
	struct module_cfi *cfi = rows_cfi(rows, frame->lookup.module, image);
	struct rule_case at = {
		.rows = rows,
		.query = query,
		.code = rows_code_frame(query, mapping, image),
		.cfi = cfi,
		.known = module_cfi_row(cfi, query->arch, frame->lookup.address,
					frame->pc - mapping->bias),
	};

	at.code.entries = &cfi->entries;
	walk_work_add(query->walk, WALK_WORK_OF_CODE);
	rows->nr_compiled++;
	return rules_row_of_place(&at);
}

static struct row compile(struct rows *rows, const struct row_query *query)
{
	struct space *space = query->walk->space;
	const struct mapping *mapping = rows_mapping(query);
	struct elf_image *image = mapping ? space_image(space, mapping) : NULL;

	if (image && elf_image_machine(image) != query->arch->machine)
		return row_of_kind(ROW_FOREIGN);
	if (image)
		return compile_in(rows, query, mapping, image);
	if (!mapping)
		return row_of_kind(ROW_NO_CFI);
	switch (space_module(space, mapping)->kind) {
	case MODULE_KIND_FILE:
	case MODULE_KIND_VDSO:
		return row_of_kind(ROW_NO_FILE);
	case MODULE_KIND_VSYSCALL:
	case MODULE_KIND_UNKNOWN:
	case MODULE_KIND_JIT:
	case MODULE_KIND_ELIDED:
	case MODULE_KIND_BETWEEN:
	case MODULE_KIND_KERNEL:
	case MODULE_KIND_SCRIPT:
		break;
	}
	return row_of_kind(ROW_NO_CFI);
}

/*
 * A row for code without CFI, or its absence, was proved on one stack, with the address space known
 * then: at the first sample of a program its libraries may not have been mapped. So the search is
 * repeated this often, and more often in a space that has changed.
 */
#define TRIES_MAX	    4
#define TRIES_ELSEWHERE_MAX 64

/* A row from code may not hold on the next stack: a loop may have pushed more. */
static bool is_to_prove(const struct row *row)
{
	return row->is_from_code && row->kind == ROW_STEP && row->ra == ROW_RA_AT_CFA &&
	       !row->saves_eh;
}

static bool may_be_known_better(const struct row_query *query, const struct row *row)
{
	const struct mapping *mapping;
	struct code_frame code;
	uint32_t stamp = space_stamp(query->walk->space);

	if (query->is_cfi_only || !query->arch->code)
		return false;
	if (row->kind == ROW_NO_CFI)
		return row->nr_tries < (row->stamp == stamp ? TRIES_MAX : TRIES_ELSEWHERE_MAX);
	mapping = row->is_unproved ? rows_mapping(query) : NULL;
	if (!mapping)
		return false;
	code = rows_code_frame(query, mapping, NULL);
	return !code_walk_may_hold(query->arch, query->walk, &code, row);
}

static bool is_disproved(const struct row_query *query, const struct row *row)
{
	const struct mapping *mapping = is_to_prove(row) && !row->is_unproved && query->arch->code
						? rows_mapping(query)
						: NULL;
	struct code_frame code;

	if (!mapping)
		return false;
	code = rows_code_frame(query, mapping, NULL);
	return code_walk_disproves(query->arch, query->walk, &code, row);
}

/* The cached row does not hold on this stack; a new one may. */
static struct row find_another(struct rows *rows, const struct row_query *query, struct row_key key)
{
	const struct row *before = row_cache_find(&rows->disproved, key);
	struct row count = row_of_kind(ROW_NO_CFI);
	struct row row = count;

	count.nr_tries = before ? before->nr_tries + 1 : 1;
	if (count.nr_tries > TRIES_ELSEWHERE_MAX)
		return row;
	row_cache_put(&rows->disproved, key, count);
	row = compile(rows, query);
	if (row.kind == ROW_STEP)
		row_cache_put(&rows->cache, key, row);
	return row;
}

static struct row compile_again(struct rows *rows, const struct row_query *query,
				const struct row *known)
{
	int32_t nr_tries = known && known->kind == ROW_NO_CFI ? known->nr_tries : 0;
	struct row row = compile(rows, query);

	if (row.kind == ROW_NO_CFI) {
		row.nr_tries = nr_tries + 1;
		row.stamp = space_stamp(query->walk->space);
	}
	return row;
}

struct row rows_find(struct rows *rows, const struct row_query *query)
{
	const struct unwind_frame *frame = query->frame;
	struct row_key key = row_key(frame->lookup, frame->is_exact);
	const struct row *known = row_cache_find(&rows->cache, key);
	struct row row;

	if (known && is_disproved(query, known)) {
		row = find_another(rows, query, key);
		if (row.kind != ROW_STEP)
			return row;
	} else if (known && !may_be_known_better(query, known)) {
		row = *known;
	} else {
		row = compile_again(rows, query, known);
		row_cache_put(&rows->cache, key, row);
	}
	if (frame->lookup.module.v != MODULE_UNKNOWN.v)
		hot_rows_add(&rows->hot, query->arch->regs, space_stamp(query->walk->space), frame,
			     &row);
	return row;
}
