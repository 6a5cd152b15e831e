// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/elf_linking.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/index_set.h"
#include "elf/elf_image.h"

/* LibreOffice has a library with some 100, and linkers write some 40 other rows. */
#define NEEDED_MAX 256
#define ROWS_MAX   1024
#define NAME_BYTES 256

uint64_t elf_linking_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return hash_bytes(name, strlen(name)) | 1;
}

/* 0: it is no text that is in the file. */
static uint64_t name_at(const struct elf_image *image, uint64_t vaddr)
{
	char text[NAME_BYTES];
	size_t nr = elf_image_read(image, vaddr, text, sizeof(text));

	return memchr(text, '\0', nr) && *text ? elf_linking_name(text) : 0;
}

static size_t read_rows(const struct elf_image *image, Elf64_Dyn *rows)
{
	uint64_t nr_bytes, vaddr = elf_image_dynamic(image, &nr_bytes);
	size_t nr = 0;

	if (nr_bytes > ROWS_MAX * sizeof(*rows))
		nr_bytes = ROWS_MAX * sizeof(*rows);
	if (nr_bytes)
		nr = elf_image_read(image, vaddr, rows, nr_bytes) / sizeof(*rows);
	for (size_t i = 0; i < nr; i++) {
		if (rows[i].d_tag == DT_NULL)
			return i;
	}
	return nr;
}

static void take_row(const struct elf_image *image, uint64_t texts, const Elf64_Dyn *row,
		     struct elf_linking *linking)
{
	uint64_t name;

	if (row->d_tag == DT_FLAGS_1)
		linking->is_never_unloaded = row->d_un.d_val & DF_1_NODELETE;
	if (row->d_tag != DT_NEEDED && row->d_tag != DT_SONAME)
		return;
	name = name_at(image, texts + row->d_un.d_val);
	if (row->d_tag == DT_SONAME) {
		linking->name = name;
	} else if (name && linking->nr_needed < NEEDED_MAX) {
		ARRAY_GROW(linking->needed, linking->nr_needed, linking->cap_needed);
		linking->needed[linking->nr_needed++] = name;
	}
}

void elf_linking_read(const struct elf_image *image, struct elf_linking *linking)
{
	Elf64_Dyn *rows = xcalloc(ROWS_MAX, sizeof(*rows));
	size_t nr = read_rows(image, rows);
	uint64_t texts = 0;

	*linking = (struct elf_linking){.name = 0};
	for (size_t i = 0; i < nr; i++) {
		if (rows[i].d_tag == DT_STRTAB)
			texts = rows[i].d_un.d_ptr;
	}
	for (size_t i = 0; i < nr && texts; i++)
		take_row(image, texts, &rows[i], linking);
	free(rows);
}

void elf_linking_release(struct elf_linking *linking)
{
	free(linking->needed);
	*linking = (struct elf_linking){.name = 0};
}
