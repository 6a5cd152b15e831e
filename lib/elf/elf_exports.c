// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds exported symbols of an ELF file by their names. */
#include "elf/elf_exports.h"

#include <gelf.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

/* More than a million symbols; libLLVM exports some 40,000. */
#define SECTION_BYTES_MAX (UINT64_C(32) << 20)

/* A hash of each symbol's name from `first` on, without its lowest bit. */
struct hashes {
	const uint8_t *chains; /* NULL: there are none */
	uint64_t first, nr;
};

struct exports {
	Elf *elf;
	int fd;
	Elf_Data *data;
	GElf_Shdr header;
	size_t nr;
	struct hashes hashes;
};

static Elf_Data *find_section(Elf *elf, uint32_t type, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, header) && header->sh_type == type)
			return header->sh_size <= SECTION_BYTES_MAX ? elf_getdata(section, NULL)
								    : NULL;
	}
	return NULL;
}

/* Those of the hash table of GNU's tools, behind its numbers, a filter and the buckets. */
static struct hashes find_hashes(Elf *elf)
{
	GElf_Shdr header;
	Elf_Data *data = find_section(elf, SHT_GNU_HASH, &header);
	uint32_t numbers[4]; /* buckets, the first symbol, words of the filter, a shift */
	uint64_t before;

	if (!data || !data->d_buf || data->d_size < sizeof(numbers))
		return (struct hashes){.chains = NULL};
	memcpy(numbers, data->d_buf, sizeof(numbers));
	before = sizeof(numbers) + numbers[0] * sizeof(uint32_t) +
		 (uint64_t)numbers[2] * (gelf_getclass(elf) == ELFCLASS32 ? 4 : 8);
	if (before > data->d_size)
		return (struct hashes){.chains = NULL};
	return (struct hashes){.chains = (const uint8_t *)data->d_buf + before,
			       .first = numbers[1],
			       .nr = (data->d_size - before) / sizeof(uint32_t)};
}

static bool open_exports(struct exports *exports, Elf *elf, int fd)
{
	*exports = (struct exports){.elf = elf, .fd = fd};
	exports->data = elf ? find_section(elf, SHT_DYNSYM, &exports->header) : NULL;
	if (!exports->data || !exports->header.sh_entsize)
		return false;
	exports->nr = exports->data->d_size / exports->header.sh_entsize;
	exports->hashes = find_hashes(elf);
	return true;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (uint8_t)*name;
	return hash;
}

/* Nearly all names are told apart without being read: those of node have 5 MB. */
static bool may_be(const struct hashes *hashes, size_t index, uint32_t hash)
{
	uint32_t found;

	if (!hashes->chains)
		return true;
	if (index < hashes->first || index - hashes->first >= hashes->nr)
		return false;
	memcpy(&found, hashes->chains + (index - hashes->first) * sizeof(found), sizeof(found));
	return (found ^ hash) >> 1 == 0;
}

/* Few names are read with hashes, and thus alone: libelf would read all. */
static bool has_name(const struct exports *exports, const GElf_Sym *symbol, const char *name)
{
	Elf_Scn *names = elf_getscn(exports->elf, exports->header.sh_link);
	size_t nr_bytes = strlen(name) + 1;
	cleanup_free char *read = NULL;
	const char *found;
	GElf_Shdr header;

	if (!exports->hashes.chains) {
		found = elf_strptr(exports->elf, exports->header.sh_link, symbol->st_name);
		return found && strcmp(found, name) == 0;
	}
	if (!names || !gelf_getshdr(names, &header))
		return false;
	read = xmalloc(nr_bytes);
	return pread(exports->fd, read, nr_bytes, (off_t)(header.sh_offset + symbol->st_name)) ==
		       (ssize_t)nr_bytes &&
	       memcmp(read, name, nr_bytes) == 0;
}

typedef bool is_wanted_fn(const GElf_Sym *symbol);

static bool has_value(const GElf_Sym *symbol)
{
	return symbol->st_value != 0;
}

/* The first one may be at 0. */
static bool is_thread_variable(const GElf_Sym *symbol)
{
	return GELF_ST_TYPE(symbol->st_info) == STT_TLS;
}

static bool find(const struct exports *exports, const char *name, is_wanted_fn *is_wanted,
		 uint64_t *value)
{
	uint32_t hash = hash_of(name);

	for (size_t i = 0; i < exports->nr; i++) {
		GElf_Sym symbol;

		if (!may_be(&exports->hashes, i, hash))
			continue;
		if (!gelf_getsym(exports->data, (int)i, &symbol))
			return false;
		if (symbol.st_shndx == SHN_UNDEF || !is_wanted(&symbol) ||
		    !has_name(exports, &symbol, name))
			continue;
		*value = symbol.st_value;
		return true;
	}
	return false;
}

size_t elf_exports_find(Elf *elf, int fd, const char *const *names, size_t nr, uint64_t *values)
{
	struct exports exports;
	bool is_open = open_exports(&exports, elf, fd);
	size_t nr_found = 0;

	memset(values, 0, nr * sizeof(*values));
	for (size_t i = 0; i < nr && is_open; i++)
		nr_found += find(&exports, names[i], has_value, &values[i]);
	return nr_found;
}

bool elf_exports_find_thread_variable(Elf *elf, int fd, const char *name, uint64_t *offset)
{
	struct exports exports;

	return open_exports(&exports, elf, fd) && find(&exports, name, is_thread_variable, offset);
}
