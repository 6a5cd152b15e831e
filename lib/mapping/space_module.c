// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "elf/elf_image.h"
#include "mapping/module_priv.h"
#include "mapping/space_priv.h"
#include "mapping/target_file.h"

#define VDSO_BYTES_MAX (UINT64_C(1) << 20)

/* Open what a new executable mapping shows; false where it is no ELF file that can be read. */
static struct elf_image *open_file(const struct space *space, const struct entry *entry,
				   struct module *module)
{
	const struct target_file file = {.pid = space->reader,
					 .start = entry->mapping.start,
					 .end = entry->mapping.end,
					 .dev = entry->dev,
					 .inode = entry->inode,
					 .path = entry->path};
	struct elf_image *image;

	module->fd = target_file_open(&file, &module->file_bytes);
	if (module->fd < 0)
		return NULL;
	image = elf_image_open(module->fd, NULL);
	if (image)
		return image;
	/* Readable and no ELF file: the code in it was made at run time. */
	module->kind = MODULE_KIND_JIT;
	module->owner_pid = space->pid;
	if (!module_is_jitdump(module)) {
		close(module->fd);
		module->fd = -1;
	}
	return NULL;
}

static struct elf_image *open_vdso(const struct space *space, const struct entry *entry)
{
	uint64_t nr_bytes = entry->mapping.end - entry->mapping.start;
	struct elf_image *image = NULL;
	struct buf bytes = {0};

	if (nr_bytes <= VDSO_BYTES_MAX &&
	    target_memory_read(space->reader, entry->mapping.start, nr_bytes, &bytes))
		image = elf_image_open_memory(bytes.bytes, bytes.nr_bytes, NULL);
	buf_release(&bytes);
	return image;
}

static void take_build_id(struct module *module, const struct elf_image *image)
{
	const uint8_t *build_id = elf_image_build_id(image, &module->nr_build_id_bytes);

	if (build_id && module->nr_build_id_bytes <= BUILD_ID_MAX_BYTES)
		memcpy(module->build_id, build_id, module->nr_build_id_bytes);
	else
		module->nr_build_id_bytes = 0;
}

bool space_is_vdso(const struct entry *entry)
{
	return !strcmp(entry->path, "[vdso]");
}

/* It has the same place in each process, and no memory map that could be asked knows of it. */
bool space_is_vsyscall(const struct entry *entry)
{
	return !entry->inode && !strcmp(entry->path, "[vsyscall]");
}

static struct elf_image *describe(const struct space *space, const struct entry *entry,
				  struct module *module)
{
	*module = (struct module){.fd = -1, .path = entry->path};
	if (space_is_vdso(entry)) {
		module->kind = MODULE_KIND_VDSO;
		return open_vdso(space, entry);
	}
	if (space_is_vsyscall(entry)) {
		module->kind = MODULE_KIND_VSYSCALL;
		return NULL;
	}
	if (!entry->inode) {
		static char jit_name[] = "[jit]";

		module->kind = MODULE_KIND_JIT;
		module->owner_pid = space->pid;
		module->path = jit_name;
		return NULL;
	}
	module->kind = MODULE_KIND_FILE;
	module->deleted = entry->deleted;
	module->dev = entry->dev;
	module->inode = entry->inode;
	return open_file(space, entry, module);
}

static uint64_t bias_of(const struct mapping *mapping, const struct module *module,
			const struct elf_image *image)
{
	uint64_t bias;

	if (module->kind != MODULE_KIND_FILE && module->kind != MODULE_KIND_VDSO)
		return 0;
	if (image &&
	    elf_image_bias(image, mapping->start, mapping->file_offset, mapping->executable, &bias))
		return bias;
	/* Without its headers an address in a file can only be given as the offset in it. */
	return mapping->start - mapping->file_offset;
}

/*
 * A file that is known needs no way through the process, which may be gone
 * already: most programs are many short processes with the same libraries.
 */
static bool find_known(struct space *space, struct entry *entry, bool must_be_unchanged)
{
	struct mapping *mapping = &entry->mapping;
	const struct module wanted = {
		.path = entry->path, .dev = entry->dev, .inode = entry->inode};
	struct module_id known;

	if (!entry->inode && !space_is_vdso(entry))
		return false;
	known = module_table_find_file(space->modules, &wanted, must_be_unchanged);
	if (known.v == MODULE_UNKNOWN.v)
		return false;
	mapping->module = known;
	mapping->bias = bias_of(mapping, module_table_get(space->modules, known),
				module_table_image(space->modules, known));
	return true;
}

void space_find_module(struct space *space, struct entry *entry)
{
	struct mapping *mapping = &entry->mapping;
	struct module module;
	struct elf_image *image;

	if (!mapping->executable || find_known(space, entry, true))
		return;
	image = describe(space, entry, &module);
	if (!image && find_known(space, entry, false))
		return;
	if (image)
		take_build_id(&module, image);
	mapping->bias = bias_of(mapping, &module, image);
	mapping->module = module_table_intern_image(space->modules, &module, image);
}
