// SPDX-License-Identifier: GPL-2.0-or-later
/* The call frame information of one module, and its search. */
#include "unwind/module_cfi.h"

#include "base/minmax.h"
#include "elf/elf_image.h"

/* Bytes of code needed to recognise a trampoline. */
#define CODE_BYTES 16

void module_cfi_init(struct module_cfi *cfi, struct elf_image *image, uint64_t *work)
{
	const struct elf_cfi *found = elf_image_cfi(image);

	*cfi = (struct module_cfi){
		.image = image,
		.work = work,
		.eh_frame = {.bytes = found->eh_frame, .hdr_vaddr = found->eh_frame_hdr.vaddr},
		.debug_frame = {.bytes = found->debug_frame, .is_debug_frame = true},
	};
	if (cfi_hdr_is_usable(&found->eh_frame_hdr))
		cfi->eh_frame_hdr = found->eh_frame_hdr;
}

void module_cfi_release(struct module_cfi *cfi)
{
	elf_ranges_release(&cfi->eh_index);
	elf_ranges_release(&cfi->debug_index);
	code_entries_release(&cfi->entries);
}

static bool find_indexed(const struct cfi_section *section, struct elf_ranges *index, bool *indexed,
			 uint64_t address, uint64_t *offset)
{
	if (!section->bytes.bytes)
		return false;
	if (!*indexed) {
		cfi_index_build(index, section);
		*indexed = true;
	}
	return elf_ranges_find(index, address, offset);
}

static bool find_eh_frame(struct module_cfi *cfi, uint64_t address, uint64_t *offset)
{
	if (cfi->eh_frame_hdr.bytes)
		return cfi_hdr_find(&cfi->eh_frame_hdr, &cfi->eh_frame.bytes, address, offset);
	return find_indexed(&cfi->eh_frame, &cfi->eh_index, &cfi->eh_indexed, address, offset);
}

/* The FDE that covers `lookup`, and the section it is from; NULL if there is none. */
static const struct cfi_section *find_fde(struct module_cfi *cfi, uint64_t lookup,
					  struct cfi_fde *fde, bool *is_bad)
{
	uint64_t offset;

	*is_bad = false;
	if (find_eh_frame(cfi, lookup, &offset)) {
		*is_bad = !cfi_fde_at(&cfi->eh_frame, offset, fde);
		if (*is_bad || (lookup >= fde->start && lookup < fde->end))
			return &cfi->eh_frame;
	}
	if (!find_indexed(&cfi->debug_frame, &cfi->debug_index, &cfi->debug_indexed, lookup,
			  &offset))
		return NULL;
	*is_bad = !cfi_fde_at(&cfi->debug_frame, offset, fde);
	return &cfi->debug_frame;
}

bool module_cfi_fde(struct module_cfi *cfi, uint64_t address, struct cfi_fde *fde)
{
	bool is_bad;

	return find_fde(cfi, address, fde, &is_bad) && !is_bad;
}

bool module_cfi_gap(struct module_cfi *cfi, uint64_t address, uint64_t *start)
{
	struct cfi_fde before;
	uint64_t offset;

	if (!find_eh_frame(cfi, address, &offset) || !cfi_fde_at(&cfi->eh_frame, offset, &before) ||
	    before.end > address)
		return false;
	*start = before.end;
	return true;
}

/* musl's and Go's signal trampolines have no CFI. */
bool module_cfi_is_trampoline(const struct module_cfi *cfi, const struct unwind_arch *arch,
			      uint64_t pc)
{
	uint8_t code[CODE_BYTES];
	size_t nr_bytes = elf_image_read(cfi->image, pc, code, sizeof(code));

	return arch->is_sigreturn(code, nr_bytes);
}

static struct row compile(const struct module_cfi *cfi, const struct unwind_arch *arch,
			  const struct cfi_section *section, const struct cfi_fde *fde,
			  uint64_t address)
{
	*cfi->work += min_u64(cursor_left(&fde->initial_instructions), CFI_INSTRUCTION_BYTES_MAX) +
		      min_u64(cursor_left(&fde->instructions), CFI_INSTRUCTION_BYTES_MAX);
	return row_compile(arch, section, fde, address);
}

struct row module_cfi_row(struct module_cfi *cfi, const struct unwind_arch *arch, uint64_t lookup,
			  uint64_t pc)
{
	struct cfi_fde fde;
	bool is_bad;
	const struct cfi_section *section = find_fde(cfi, lookup, &fde, &is_bad);
	struct row row;

	if (is_bad)
		return row_of_kind(ROW_BAD_CFI);
	/*
	 * A trampoline is not called, so that pc - 1 may be in the function before it. (The
	 * kernel's and glibc's start with a nop for unwinders.)
	 */
	if ((!section || pc >= fde.end || pc == fde.start) &&
	    module_cfi_is_trampoline(cfi, arch, pc))
		return row_of_kind(ROW_SIGNAL);
	if (!section)
		return row_of_kind(ROW_NO_CFI);
	row = compile(cfi, arch, section, &fde, lookup);
	row.is_from_debug_frame = section->is_debug_frame;
	return row;
}

bool module_cfi_entry(struct module_cfi *cfi, const struct unwind_arch *arch, uint64_t lookup,
		      uint64_t *entry)
{
	struct cfi_fde fde;
	bool is_bad;
	const struct cfi_section *section = find_fde(cfi, lookup, &fde, &is_bad);
	struct row first;

	if (!section || is_bad)
		return false;
	first = compile(cfi, arch, section, &fde, fde.start);
	*entry = fde.start;
	return first.kind == ROW_STEP && first.cfa_reg == arch->regs->sp &&
	       first.cfa_offset == -first.ra_offset;
}
