// SPDX-License-Identifier: GPL-2.0-or-later
/* Names the stubs of procedure linkage tables. */
#include "symbol/plt.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "symbol/object.h"

static void add_slot(struct plt *plt, const struct plt_slot *slot, bool is_jump)
{
	ARRAY_GROW(plt->slots, plt->nr, plt->cap);
	plt->slots[plt->nr++] = *slot;
	if (is_jump) {
		ARRAY_GROW(plt->jumps, plt->nr_jumps, plt->cap_jumps);
		plt->jumps[plt->nr_jumps++] = *slot;
	}
}

#ifndef R_AARCH64_IRELATIVE /* missing in musl's <elf.h> */
#define R_AARCH64_IRELATIVE 1032
#endif

/* STT_GNU_IFUNC: a resolver function chooses the target of the slot at start-up. */
static bool is_choice(Elf *elf, uint64_t info)
{
	GElf_Ehdr header;

	if (!gelf_getehdr(elf, &header))
		return false;
	return (header.e_machine == EM_X86_64 && GELF_R_TYPE(info) == R_X86_64_IRELATIVE) ||
	       (header.e_machine == EM_AARCH64 && GELF_R_TYPE(info) == R_AARCH64_IRELATIVE);
}

/* Add the relocations of a section that have a name, or a resolver with a name. */
static void add_relocations(struct plt *plt, Elf_Scn *section, const GElf_Shdr *header,
			    bool is_jump)
{
	Elf *elf = plt->object->elf;
	Elf_Scn *symbols = elf_getscn(elf, header->sh_link);
	Elf_Data *symbol_data = symbols ? elf_getdata(symbols, NULL) : NULL;
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Shdr symbols_header;
	GElf_Rela relocation;
	GElf_Sym symbol;

	if (!data)
		return;
	/* A static program has only IRELATIVE relocations, without symbols. */
	if (!symbol_data || !gelf_getshdr(symbols, &symbols_header))
		symbol_data = NULL;
	for (int i = 0; gelf_getrela(data, i, &relocation) && !has_ended(plt->object->ended); i++) {
		struct plt_slot slot = {.slot = relocation.r_offset};
		int index = (int)GELF_R_SYM(relocation.r_info);

		if (is_choice(elf, relocation.r_info))
			slot.resolver = (uint64_t)relocation.r_addend;
		if (symbol_data && index > 0 && gelf_getsym(symbol_data, index, &symbol))
			slot.name = elf_strptr(elf, symbols_header.sh_link, symbol.st_name);
		if (slot.name || slot.resolver || is_jump)
			add_slot(plt, &slot, is_jump);
	}
}

static int compare_slots(const void *a, const void *b)
{
	const struct plt_slot *left = a, *right = b;

	return (left->slot > right->slot) - (left->slot < right->slot);
}

static const char *section_name(Elf *elf, const GElf_Shdr *header)
{
	size_t strings;

	return elf_getshdrstrndx(elf, &strings) < 0 ? NULL
						    : elf_strptr(elf, strings, header->sh_name);
}

void plt_init(struct plt *plt, const struct symbol_object *object)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	*plt = (struct plt){.object = object};
	while ((section = elf_nextscn(object->elf, section))) {
		const char *name;

		/*
		 * The loader does not use these relocations (ld --emit-relocs): they fill no slot
		 * and may be huge.
		 */
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA ||
		    !(header.sh_flags & SHF_ALLOC))
			continue;
		name = section_name(object->elf, &header);
		if (name)
			add_relocations(plt, section, &header, strcmp(name, ".rela.plt") == 0);
	}
	if (plt->nr)
		qsort(plt->slots, plt->nr, sizeof(*plt->slots), compare_slots);
}

void plt_release(struct plt *plt)
{
	free(plt->slots);
	free(plt->jumps);
	*plt = (struct plt){.object = NULL};
}

/* The PLT section that holds an address, or NULL. */
static Elf_Scn *section_at(Elf *elf, uint64_t address, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		const char *name;

		if (!gelf_getshdr(section, header) || address < header->sh_addr ||
		    address - header->sh_addr >= header->sh_size)
			continue;
		name = section_name(elf, header);
		if (name && (strncmp(name, ".plt", 4) == 0 || strcmp(name, ".iplt") == 0) &&
		    header->sh_type == SHT_PROGBITS)
			return section;
	}
	return NULL;
}

static const struct plt_slot *slot_of_stub(const struct plt *plt, struct plt_stub stub)
{
	struct plt_slot key = {.slot = stub.value};
	const struct plt_slot *found = NULL;

	switch (stub.kind) {
	case PLT_STUB_NONE:
		break;
	case PLT_STUB_INDEX:
		found = stub.value < plt->nr_jumps ? &plt->jumps[stub.value] : NULL;
		break;
	case PLT_STUB_SLOT:
		if (plt->nr)
			found = bsearch(&key, plt->slots, plt->nr, sizeof(key), compare_slots);
		break;
	}
	return found;
}

/* Decode the stub that holds an offset of the section. `bytes` end with the section. */
static struct plt_stub decode(Elf *elf, const GElf_Shdr *section, struct dwarf_bytes bytes,
			      uint64_t offset)
{
	struct plt_stub stub = {.kind = PLT_STUB_NONE};
	GElf_Ehdr header;
	uint64_t size = section->sh_entsize == 8 ? 8 : 16, start;

	if (!gelf_getehdr(elf, &header))
		return stub;
	if (header.e_machine == EM_X86_64) {
		start = offset - offset % size;
		return plt_decode_x86_64(dwarf_tail(bytes, start), section->sh_addr + start);
	}
	if (header.e_machine != EM_AARCH64)
		return stub;
	/* The table's header is longer than a stub: go back to the start of an instruction. */
	start = offset & ~UINT64_C(3);
	for (int i = 0; i < 6 && stub.kind == PLT_STUB_NONE; i++, start -= 4) {
		stub = plt_decode_aarch64(dwarf_tail(bytes, start), section->sh_addr + start);
		if (start == 0)
			break;
	}
	return stub;
}

const struct plt_slot *plt_find(const struct plt *plt, uint64_t address)
{
	Elf *elf = plt->object->elf;
	GElf_Shdr header;
	Elf_Scn *section = section_at(elf, address, &header);
	Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;
	struct dwarf_bytes bytes;

	if (!data || !data->d_buf || address - header.sh_addr >= data->d_size)
		return NULL;
	bytes = (struct dwarf_bytes){.at = data->d_buf, .nr = data->d_size};
	return slot_of_stub(plt, decode(elf, &header, bytes, address - header.sh_addr));
}

bool plt_holds(const struct plt *plt, uint64_t address)
{
	GElf_Shdr header;

	return section_at(plt->object->elf, address, &header) != NULL;
}
