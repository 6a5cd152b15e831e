// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the row for a frame: from a cache, from CFI, or from the code. */
/* The row of a frame: a known one, or from CFI, or from the code where there is none. */
#include "mapping/space.h"
#include "unwind/code_walk.h"
#include "unwind/module_cfi.h"
#include "unwind/rows.h"
#include "unwind/rows_priv.h"

static struct code_frame code_frame_of(const struct row_query *query, const struct mapping *mapping,
				       struct elf_image *image)
{
	return (struct code_frame){.mapping = mapping,
				   .image = image,
				   .pc = query->frame->pc,
				   .is_exact = query->frame->is_exact,
				   .regs = query->regs};
}

/*
 * On x86-64 the kernel emulates the code of the legacy vsyscall page: a thread in it has pushed
 * only the return address.
 */
static struct row row_of_vsyscall(const struct unwind_arch *arch)
{
	return (struct row){.kind = ROW_STEP,
			    .cfa_reg = (uint8_t)arch->regs->sp,
			    .cfa_offset = 8,
			    .ra_offset = -8};
}

/* The stack pointer and all registers are already the handler's. */
static struct row row_of_handler(const struct row_query *query, const struct row *by_cfi)
{
	struct row row = *by_cfi;

	if (!query->frame->is_exact)
		return row;
	/* The handler's address has just been popped, into a register for the jump. */
	if (row.kind == ROW_FALLBACK)
		row = (struct row){.kind = ROW_STEP,
				   .cfa_reg = (uint8_t)query->arch->regs->sp,
				   .ra_offset = -(int32_t)sizeof(uint64_t)};
	if (row.kind != ROW_STEP || row.cfa_reg != query->arch->regs->sp)
		return row;
	row.fp = ROW_FP_SAME;
	row.ra = ROW_RA_REPLACED;
	row.is_from_code = true;
	return row;
}

/*
 * From the point where an exception's handler is certain to be entered next, libgcc writes the
 * handler's registers over those that it saved on its entry. Then the path from the entry still
 * finds the frame, by the stack pointer alone.
 */
static struct row row_before_handler(const struct row_query *query, const struct row *by_cfi,
				     const struct code_frame *code, uint64_t entry)
{
	const struct code_reader *reader = query->arch->code;
	const struct code_at at = code_walk_at(code);
	uint64_t pc = at.pc;
	struct row row;

	if (reader->may_return(code->image, &at))
		return *by_cfi;
	row = reader->row_from_entry(code->image, entry, pc, true);
	if (row.kind != ROW_STEP && reader->switched_stack(code->image, entry, pc))
		return row_of_handler(query, by_cfi);
	if (row.kind != ROW_STEP || row.cfa_reg != query->arch->regs->sp)
		return *by_cfi;
	row.ra = ROW_RA_MAY_BE_REPLACED;
	row.entry_distance = (int32_t)(pc - entry);
	return row;
}

/*
 * After the `leave` of a realigned frame, gcc's CFI still has the frame pointer saved at its former
 * target. The path to the return shows that nothing restores it.
 */
static bool has_restored_fp(const struct row_query *query, const struct row *row,
			    const struct code_frame *code)
{
	struct code_at at;

	if (!query->arch->code->keeps_fp || !code->is_exact || row->kind != ROW_STEP ||
	    row->fp != ROW_FP_AT_FP || row->cfa_reg == query->arch->regs->fp)
		return false;
	at = code_walk_at(code);
	return query->arch->code->keeps_fp(code->image, &at);
}

/*
 * Go writes CFI only to .debug_frame, relative to the stack pointer even where code has switched to
 * another stack, or will.
 */
static bool is_on_another_stack(struct rows *rows, const struct row_query *query,
				const struct row *row)
{
	return row->is_from_debug_frame && row->kind == ROW_STEP && !query->frame->is_exact &&
	       row->cfa_reg == query->arch->regs->sp &&
	       (rows_is_stack_base(rows, query) || rows_has_switched_stack(rows, query));
}

/*
 * Functions save below their CFA. glibc's CFI of _dl_runtime_resolve for aarch64 leaves out the
 * PLT's pushes before it, so that it has the return address above.
 */
static bool saves_above_cfa(const struct row *row)
{
	return row->kind == ROW_STEP && row->ra == ROW_RA_AT_CFA && row->ra_offset >= 0;
}

/*
 * The path of code that never returns, such as LLVM libunwind's entry to exception handlers, proves
 * nothing. If it has no symbol, its entry may be where the CFI before it ends.
 */
static struct row row_in_gap(struct rows *rows, const struct row_query *query,
			     const struct code_frame *code)
{
	struct row row = code_walk_row(query->arch, query->walk, code);
	uint64_t start;

	if (row.kind != ROW_NO_CFI ||
	    !module_cfi_gap(rows_cfi(rows, query->frame->lookup.module, code->image),
			    query->frame->lookup.address, &start))
		return row;
	row = code_walk_row_from_entry(query->arch, query->walk, code, start, false);
	row.saves_eh = row.kind == ROW_STEP && query->arch->eh;
	return row;
}

/* Bound on the distance from an entry of code that neither CFI nor a symbol covers. */
#define ENTRY_FUNCTION_BYTES 128

/* The entry functions of a program and of the loader have no caller. */
static bool is_in_entry_function(struct module_cfi *cfi, const struct row_query *query,
				 const struct code_frame *code)
{
	uint64_t entry = elf_image_entry(code->image);
	uint64_t pc = code->pc - code->mapping->bias;
	uint64_t lookup = pc - !code->is_exact;
	struct cfi_fde fde;
	uint64_t start, end;

	if (!entry || lookup < entry)
		return false;
	if (lookup == entry)
		return true;
	if (module_cfi_fde(cfi, lookup, &fde))
		return fde.start == entry;
	if (elf_image_function(code->image, lookup, &start, &end))
		return start == entry;
	return pc - entry <= ENTRY_FUNCTION_BYTES && query->arch->code->comes_by &&
	       query->arch->code->comes_by(code->image, entry, pc);
}

/* The return address that a runtime puts below the first function of its own stacks. */
static bool is_bottom(const struct row_query *query, const struct code_frame *code)
{
	return !code->is_exact && query->arch->code->is_bottom &&
	       query->arch->code->is_bottom(code->image, code->pc - code->mapping->bias);
}

/*
 * Some compilers describe only the bodies of their functions (Mono). At the leaf, CFI may then lead
 * to an address that is no code, while the code itself leads to a return address.
 */
static struct row row_in_place_of(const struct row_query *query, struct row by_cfi,
				  const struct code_frame *code)
{
	struct row by_code;

	if (!code->is_exact || !code_walk_contradicts(query->walk, code, &by_cfi))
		return by_cfi;
	by_code = code_walk_row(query->arch, query->walk, code);
	return by_code.kind == ROW_STEP && !by_code.is_unproved ? by_code : by_cfi;
}

/*
 * Go's CFI omits the frame pointer, which its functions save like any other's. The code on the path
 * from the entry shows where.
 */
static void find_saved_fp(const struct row_query *query, const struct code_frame *code,
			  uint64_t entry, struct row *row)
{
	struct row by_code = query->arch->code->row_from_entry(
		code->image, entry, code->pc - code->mapping->bias, true);

	if (by_code.kind != ROW_STEP || by_code.cfa_reg != row->cfa_reg ||
	    by_code.cfa_offset != row->cfa_offset || by_code.fp != ROW_FP_AT_CFA)
		return;
	row->fp = ROW_FP_AT_CFA;
	row->fp_offset = by_code.fp_offset;
}

static bool may_lack_fp(const struct row *row)
{
	return row->is_from_debug_frame && row->kind == ROW_STEP && row->fp == ROW_FP_SAME;
}

/* If CFI is missing, or known to be wrong, the row comes from the code. */
static struct row amended(struct rows *rows, const struct row_query *query, struct row row,
			  const struct code_frame *code)
{
	struct module_cfi *cfi = rows_cfi(rows, query->frame->lookup.module, code->image);
	struct row by_code;
	uint64_t entry;
	bool has_entry = (row.saves_eh || row.is_of_target || may_lack_fp(&row)) &&
			 module_cfi_entry(cfi, query->arch, query->frame->lookup.address, &entry);

	if ((row.kind == ROW_NO_CFI || row.is_from_debug_frame) && is_bottom(query, code))
		return row_of_kind(ROW_ROOT);
	if (row.kind == ROW_NO_CFI && is_in_entry_function(cfi, query, code))
		return row_of_kind(ROW_ROOT);
	if (row.kind == ROW_NO_CFI)
		return row_in_gap(rows, query, code);
	if (is_on_another_stack(rows, query, &row))
		return row_of_kind(ROW_OTHER_STACK);
	if (may_lack_fp(&row) && has_entry)
		find_saved_fp(query, code, entry, &row);
	if (row.saves_eh && has_entry && query->arch->eh)
		return row_before_handler(query, &row, code, entry);
	if (saves_above_cfa(&row)) {
		by_code = code_walk_row(query->arch, query->walk, code);
		return by_code.kind == ROW_STEP ? by_code : row;
	}
	if (row.is_of_target && has_entry) {
		by_code = code_walk_row_from_entry(query->arch, query->walk, code, entry, false);
		return by_code.kind == ROW_STEP ? by_code : row;
	}
	if (has_restored_fp(query, &row, code)) {
		row.fp = ROW_FP_SAME;
		row.is_from_code = true; /* libunwind would use the CFI, which is wrong */
	}
	return row_in_place_of(query, row, code);
}

static struct row compile_in(struct rows *rows, const struct row_query *query,
			     const struct mapping *mapping, struct elf_image *image)
{
	const struct unwind_frame *frame = query->frame;
	struct module_cfi *cfi = rows_cfi(rows, frame->lookup.module, image);
	struct code_frame code = code_frame_of(query, mapping, image);
	struct row row =
		module_cfi_row(cfi, query->arch, frame->lookup.address, frame->pc - mapping->bias);

	walk_work_add(query->walk, WALK_WORK_OF_CODE);
	code.entries = &cfi->entries;
	rows->nr_compiled++;
	if (!query->arch->code || query->is_cfi_only)
		return row;
	return amended(rows, query, row, &code);
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
		return row_of_vsyscall(query->arch);
	case MODULE_KIND_UNKNOWN:
	case MODULE_KIND_JIT:
	case MODULE_KIND_ELIDED:
	case MODULE_KIND_BETWEEN:
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
	code = code_frame_of(query, mapping, NULL);
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
	code = code_frame_of(query, mapping, NULL);
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

static struct row compile_without_fp(struct rows *rows, const struct row_query *query)
{
	const struct mapping *mapping = rows_mapping(query);
	struct elf_image *image = mapping ? space_image(query->walk->space, mapping) : NULL;
	struct code_frame code;
	struct row row;
	uint64_t entry;

	if (!image || !query->arch->code ||
	    !module_cfi_entry(rows_cfi(rows, query->frame->lookup.module, image), query->arch,
			      query->frame->lookup.address, &entry))
		return row_of_kind(ROW_NO_CFI);
	code = code_frame_of(query, mapping, image);
	row = code_walk_row_from_entry(query->arch, query->walk, &code, entry, true);
	return row.cfa_reg == query->arch->regs->sp ? row : row_of_kind(ROW_NO_CFI);
}

struct row rows_find_without_fp(struct rows *rows, const struct row_query *query)
{
	struct row_key key = row_key(query->frame->lookup, query->frame->is_exact);
	const struct row *known = row_cache_find(&rows->without_fp, key);
	struct row row;

	if (known)
		return *known;
	row = compile_without_fp(rows, query);
	row_cache_add(&rows->without_fp, key, row);
	return row;
}

/*
 * Bound on frames of one stack that need this; each is searched in the trials of the frames before
 * it.
 */
#define TRIAL_DEPTH_MAX 4

struct row rows_find_by_call(struct rows *rows, const struct row_query *query,
			     const struct row *by_cfi)
{
	const struct mapping *mapping = rows_mapping(query);
	struct elf_image *image = mapping ? space_image(query->walk->space, mapping) : NULL;
	struct code_host host = {0};
	struct code_frame code;

	/* This works only on machines with calls that push the return address. */
	if (!image || !query->arch->code || !query->arch->code->entry_before ||
	    query->walk->trial_depth >= TRIAL_DEPTH_MAX ||
	    !module_cfi_entry(rows_cfi(rows, query->frame->lookup.module, image), query->arch,
			      query->frame->lookup.address, &host.wanted))
		return row_of_kind(ROW_NO_CFI);
	host.wanted += mapping->bias;
	code = code_frame_of(query, mapping, image);
	while (!walk_is_over(query->walk) &&
	       code_walk_next_host(query->arch, query->walk, &code, &host)) {
		if (!query->walk->leads_on(rows, query->walk, host.return_address, host.cfa))
			continue;
		if (by_cfi->fp == ROW_FP_AT_CFA) {
			host.row.fp = ROW_FP_AT_CFA;
			host.row.fp_offset = by_cfi->fp_offset;
		}
		return host.row;
	}
	return row_of_kind(ROW_NO_CFI);
}

/* JIT-compiled code changes and grows: a search that failed may succeed later. */
#define JIT_TRIES_MAX 16

struct row rows_find_in_jit(struct rows *rows, const struct row_query *query)
{
	const struct unwind_frame *frame = query->frame;
	struct row_key key = row_key(frame->lookup, frame->is_exact);
	const struct mapping *mapping = rows_mapping(query);
	const struct row *known = row_cache_find(&rows->jit, key);
	struct code_frame code;
	struct row row;

	if (!mapping || !query->arch->code || !query->arch->code->entry_before ||
	    space_module(query->walk->space, mapping)->kind != MODULE_KIND_JIT)
		return row_of_kind(ROW_NO_CFI);
	code = code_frame_of(query, mapping, NULL);
	if (known && known->kind == ROW_NO_CFI
		    ? known->nr_tries >= JIT_TRIES_MAX
		    : known && code_walk_proves_jit_row(query->arch, query->walk, &code, known))
		return *known;
	row = code_walk_jit_row(query->arch, query->walk, &code);
	if (row.kind == ROW_NO_CFI)
		row.nr_tries = known && known->kind == ROW_NO_CFI ? known->nr_tries + 1 : 1;
	/* A failure on one stack does not imply one on the next. */
	if (!known || known->kind == ROW_NO_CFI || row.kind == ROW_STEP)
		row_cache_put(&rows->jit, key, row);
	return row;
}

struct row rows_find_by_code(struct rows *rows, const struct row_query *query)
{
	struct row_key key = row_key(query->frame->lookup, query->frame->is_exact);
	const struct row *known = row_cache_find(&rows->jit, key);
	const struct mapping *mapping = rows_mapping(query);
	struct elf_image *image = mapping ? space_image(query->walk->space, mapping) : NULL;
	struct code_frame code;
	struct row row;

	if (!image || !query->arch->code || query->is_cfi_only)
		return row_of_kind(ROW_NO_CFI);
	code = code_frame_of(query, mapping, image);
	if (known && code_walk_proves(query->arch, query->walk, &code, known))
		return *known;
	row = code_walk_row(query->arch, query->walk, &code);
	if (row.kind != ROW_STEP || row.is_unproved)
		return row_of_kind(ROW_NO_CFI);
	row_cache_put(&rows->jit, key, row);
	return row;
}

/* The CFI row of the function at `target`, which may hold in the middle of it, too. */
static struct row row_at_target(struct rows *rows, const struct row_query *query, uint64_t target)
{
	const struct mapping *mapping = space_find(query->walk->space, target);
	struct elf_image *image = mapping ? space_image(query->walk->space, mapping) : NULL;

	if (!image)
		return row_of_kind(ROW_NO_CFI);
	return module_cfi_row(rows_cfi(rows, mapping->module, image), query->arch,
			      target - mapping->bias, target - mapping->bias);
}

/*
 * A hand-written interpreter has the same frame everywhere, and its CFI says so even at its entry.
 */
static void take_fp_of_host(struct rows *rows, const struct row_query *query, uint64_t target,
			    struct row *row)
{
	struct row host = row_at_target(rows, query, target);

	if (host.kind != ROW_STEP || host.cfa_reg != row->cfa_reg || host.cfa_offset <= 8 ||
	    host.cfa_offset > row->cfa_offset || host.fp != ROW_FP_AT_CFA)
		return;
	row->fp = ROW_FP_AT_CFA;
	row->fp_offset = host.fp_offset;
}

struct row rows_find_host(struct rows *rows, const struct row_query *query)
{
	const struct mapping *mapping = rows_mapping(query);
	struct code_host host = {0};
	struct code_frame code;

	if (!mapping || !query->arch->code || !query->arch->code->entry_before ||
	    query->walk->trial_depth ||
	    space_module(query->walk->space, mapping)->kind != MODULE_KIND_JIT)
		return row_of_kind(ROW_NO_CFI);
	code = code_frame_of(query, mapping, NULL);
	while (!walk_is_over(query->walk) &&
	       code_walk_next_host(query->arch, query->walk, &code, &host)) {
		if (!query->walk->leads_on(rows, query->walk, host.return_address, host.cfa))
			continue;
		if (host.target)
			take_fp_of_host(rows, query, host.target, &host.row);
		return host.row;
	}
	return row_of_kind(ROW_NO_CFI);
}

bool rows_is_behind_call(struct rows *rows, const struct row_query *query, uint64_t pc)
{
	const struct mapping *mapping = space_find(query->walk->space, pc - 1);
	struct row_key key = row_key(space_locate(query->walk->space, pc - 1), false);

	if (!mapping || !mapping->executable)
		return false;
	if (!query->arch->code || !space_image(query->walk->space, mapping) ||
	    row_cache_find(&rows->calls, key))
		return true;
	if (!code_walk_is_behind_call(query->arch, query->walk, pc) &&
	    !(query->arch->code->is_bottom &&
	      query->arch->code->is_bottom(space_image(query->walk->space, mapping),
					   pc - mapping->bias)))
		return false;
	row_cache_add(&rows->calls, key, row_of_kind(ROW_STEP));
	return true;
}

bool rows_begins_at(struct rows *rows, const struct walk *walk, uint64_t pc)
{
	const struct unwind_arch *arch = unwind_arch(walk->snapshot->arch);
	const struct mapping *mapping = space_find(walk->space, pc);
	struct elf_image *image;
	struct cfi_fde fde;
	uint64_t start, end;

	if (!mapping || !mapping->executable || !arch->code ||
	    row_cache_find(&rows->cache, row_key(space_locate(walk->space, pc - 1), false)))
		return false;
	image = space_image(walk->space, mapping);
	if (!image)
		return false;
	if (module_cfi_is_trampoline(rows_cfi(rows, mapping->module, image), arch,
				     pc - mapping->bias))
		return true;
	if (code_walk_is_behind_call(arch, walk, pc))
		return false;
	if (module_cfi_fde(rows_cfi(rows, mapping->module, image), pc - mapping->bias, &fde))
		return fde.start == pc - mapping->bias;
	return elf_image_function(image, pc - mapping->bias, &start, &end) &&
	       start == pc - mapping->bias;
}

struct row rows_find_by_entry(struct rows *rows, const struct row_query *query)
{
	const struct mapping *mapping = rows_mapping(query);
	struct elf_image *image = mapping ? space_image(query->walk->space, mapping) : NULL;
	struct code_host host = {0};
	struct code_frame code;
	uint64_t end;

	if (!image || !query->arch->code || !query->arch->code->entry_before ||
	    query->walk->trial_depth >= TRIAL_DEPTH_MAX ||
	    !elf_image_function(image, query->frame->lookup.address, &host.wanted, &end))
		return row_of_kind(ROW_NO_CFI);
	host.wanted += mapping->bias;
	code = code_frame_of(query, mapping, image);
	while (!walk_is_over(query->walk) &&
	       code_walk_next_host(query->arch, query->walk, &code, &host)) {
		if (query->walk->leads_on(rows, query->walk, host.return_address, host.cfa))
			return host.row;
	}
	return row_of_kind(ROW_NO_CFI);
}
