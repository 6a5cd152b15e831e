// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/elf_sdt.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "elf/elf_section.h"

#define NT_STAPSDT 3
/* The largest programs have some ten of one name; what more there are is one too many. */
#define SITES_MAX ((size_t)ELF_SDT_SITES_MAX + 1)
#define WORDS	  3 /* addresses of the place, the base, and the semaphore */

static const char owner[] = "stapsdt";

/* A text that ends among these bytes; NULL: it does not. */
static const char *take_text(const uint8_t **at, const uint8_t *end)
{
	const char *text = (const char *)*at;
	const uint8_t *zero = *at < end ? memchr(*at, '\0', (size_t)(end - *at)) : NULL;

	if (!zero)
		return NULL;
	*at = zero + 1;
	return text;
}

static void add(struct elf_sdt *sdt, const uint8_t *bytes, size_t nr_bytes, uint64_t base)
{
	const uint8_t *at = bytes + WORDS * sizeof(uint64_t), *end = bytes + nr_bytes;
	const char *provider, *name;
	uint64_t words[WORDS], moved;
	int number;

	if (nr_bytes < sizeof(words) || sdt->nr == SITES_MAX)
		return;
	memcpy(words, bytes, sizeof(words));
	provider = take_text(&at, end);
	name = provider ? take_text(&at, end) : NULL;
	number = name ? sdt->wants(sdt->context, provider, name) : -1;
	if (number < 0)
		return;
	/* prelink(8) moves the sections, but does not know of the notes. */
	moved = base && words[1] ? base - words[1] : 0;
	ARRAY_GROW(sdt->at, sdt->nr, sdt->cap);
	sdt->at[sdt->nr++] = (struct elf_sdt_site){.address = words[0] + moved,
						   .semaphore = words[2] ? words[2] + moved : 0,
						   .number = (unsigned int)number};
}

void elf_sdt_load(struct elf_sdt *sdt, Elf *elf)
{
	GElf_Shdr header = {0}, base = {0};
	Elf_Scn *section = elf ? elf_section_named(elf, ".note.stapsdt", &header) : NULL;
	Elf_Data *data = section && header.sh_type == SHT_NOTE ? elf_getdata(section, NULL) : NULL;
	size_t offset = 0, name_at, description_at;
	GElf_Nhdr note;

	if (!data || !data->d_buf)
		return;
	elf_section_named(elf, ".stapsdt.base", &base);
	while ((offset = gelf_getnote(data, offset, &note, &name_at, &description_at)) > 0) {
		const uint8_t *bytes = data->d_buf;

		if (note.n_type == NT_STAPSDT && note.n_namesz == sizeof(owner) &&
		    memcmp(bytes + name_at, owner, sizeof(owner)) == 0)
			add(sdt, bytes + description_at, note.n_descsz, base.sh_addr);
	}
}

void elf_sdt_release(struct elf_sdt *sdt)
{
	free(sdt->at);
	sdt->at = NULL;
	sdt->nr = sdt->cap = 0;
}
