// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/module_cfi.h"

#include "elf/elf_image.h"

/* As much code as it takes to recognise it. */
#define CODE_BYTES 16

void module_cfi_init(struct module_cfi *cfi, struct elf_image *image)
{
	const struct elf_cfi *found = elf_image_cfi(image);

	*cfi = (struct module_cfi){
		.image = image,
		.eh_frame = {.bytes = found->eh_frame, .hdr_vaddr = found->eh_frame_hdr.vaddr},
		.debug_frame = {.bytes = found->debug_frame, .is_debug_frame = true},
	};
	if (cfi_hdr_is_usable(&found->eh_frame_hdr))
		cfi->eh_frame_hdr = found->eh_frame_hdr;
}

void module_cfi_release(struct module_cfi *cfi)
{
	cfi_index_release(&cfi->eh_index);
	cfi_index_release(&cfi->debug_index);
}

static bool find_indexed(const struct cfi_section *section, struct cfi_index *index, bool *indexed,
			 uint64_t address, uint64_t *offset)
{
	if (!section->bytes.bytes)
		return false;
	if (!*indexed) {
		cfi_index_build(index, section);
		*indexed = true;
	}
	return cfi_index_find(index, address, offset);
}

static bool find_eh_frame(struct module_cfi *cfi, uint64_t address, uint64_t *offset)
{
	if (cfi->eh_frame_hdr.bytes)
		return cfi_hdr_find(&cfi->eh_frame_hdr, &cfi->eh_frame.bytes, address, offset);
	return find_indexed(&cfi->eh_frame, &cfi->eh_index, &cfi->eh_indexed, address, offset);
}

static bool row_from(const struct cfi_section *section, uint64_t offset,
		     const struct unwind_arch *arch, uint64_t address, struct row *row)
{
	struct cfi_fde fde;

	if (!cfi_fde_at(section, offset, &fde)) {
		*row = row_of_kind(ROW_BAD_CFI);
		return true;
	}
	if (address < fde.start || address >= fde.end)
		return false;
	*row = row_compile(arch, section, &fde, address);
	return true;
}

/* musl's and Go's signal trampolines have no CFI. */
static struct row row_from_code(const struct module_cfi *cfi, const struct unwind_arch *arch,
				uint64_t pc)
{
	uint8_t code[CODE_BYTES];
	size_t nr_bytes = elf_image_read(cfi->image, pc, code, sizeof(code));

	return row_of_kind(arch->is_sigreturn(code, nr_bytes) ? ROW_SIGNAL : ROW_NO_CFI);
}

struct row module_cfi_row(struct module_cfi *cfi, const struct unwind_arch *arch, uint64_t lookup,
			  uint64_t pc)
{
	struct row row;
	uint64_t offset;

	if (find_eh_frame(cfi, lookup, &offset) &&
	    row_from(&cfi->eh_frame, offset, arch, lookup, &row))
		return row;
	if (find_indexed(&cfi->debug_frame, &cfi->debug_index, &cfi->debug_indexed, lookup,
			 &offset) &&
	    row_from(&cfi->debug_frame, offset, arch, lookup, &row))
		return row;
	return row_from_code(cfi, arch, pc);
}
