// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the module of a mapping. */
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/address.h"
#include "base/buf.h"
#include "base/clock.h"
#include "elf/elf_cut.h"
#include "elf/elf_image.h"
#include "mapping/module_file.h"
#include "mapping/module_priv.h"
#include "mapping/space_priv.h"
#include "mapping/target_file.h"
#include "proc/target_memory.h"

#define VDSO_BYTES_MAX (UINT64_C(1) << 20)

/* Recently modified files may be overwritten in place during the recording. */
#define YOUNG_NS	 (24 * 3600 * NS_PER_SEC)
#define COPIED_MAX_BYTES (UINT64_C(16) << 20)
/* Copies use at most a quarter of the file descriptors, which sampling needs more. */
#define COPIES_PART_OF_FDS 4

/* At most this many mappings of an image are searched for its start. */
#define PIECES_MAX 64

struct target_file space_file_of(const struct space *space, const struct entry *entry)
{
	return (struct target_file){.pid = space->reader,
				    .start = entry->mapping.start,
				    .end = entry->mapping.end,
				    .dev = entry->dev,
				    .inode = entry->inode,
				    .path = entry->path,
				    .backings = module_table_backings(space->modules)};
}

static bool is_to_copy(const struct space *space, const struct module *module)
{
	return module->file_bytes <= COPIED_MAX_BYTES &&
	       module->file_bytes <= module_table_copies_left(space->modules) &&
	       module->modified_ns + YOUNG_NS > clock_realtime_ns();
}

/*
 * A plugin that is rebuilt and overwritten in place survives only as a copy. Copies are made of
 * recently modified files that are not large and not being written.
 */
static void open_copy(const struct space *space, struct module *module, struct module_files *files)
{
	struct elf_image *image;
	struct stat now;
	int copy;

	if (!is_to_copy(space, module))
		return;
	copy = elf_copy_of(module->fd, 0, module->file_bytes);
	if (copy >= 0 && copy >= sysconf(_SC_OPEN_MAX) / COPIES_PART_OF_FDS) {
		close(copy);
		copy = -1;
	}
	if (copy < 0)
		return;
	image = elf_image_open(copy, NULL);
	if (!image || fstat(module->fd, &now) < 0 || (uint64_t)now.st_size != module->file_bytes ||
	    module_modified_ns(&now) != module->modified_ns) {
		elf_image_free(image);
		close(copy);
		return;
	}
	elf_image_free(files->image);
	files->image = image;
	files->source_fd = module->fd;
	module->fd = copy;
	module->is_copy = true;
}

static bool shows(const struct elf_image *image, uint64_t image_offset,
		  const struct mapping *mapping, uint64_t *bias)
{
	return image && elf_image_bias(image, mapping->start, mapping->file_offset - image_offset,
				       mapping->executable, bias);
}

/* An image that begins where `first` does, with its mappings placed as its headers require. */
static bool open_inside(const struct entry *entry, const struct entry *first, struct module *module,
			struct module_files *files)
{
	uint64_t offset = first->mapping.file_offset;
	uint64_t bias, first_bias;
	struct elf_image *image;
	int cut = elf_begins_at(module->fd, offset) ? elf_cut_out(module->fd, offset) : -1;

	if (cut < 0)
		return false;
	image = elf_image_open(cut, NULL);
	if (!shows(image, offset, &entry->mapping, &bias) ||
	    !shows(image, offset, &first->mapping, &first_bias) || bias != first_bias) {
		elf_image_free(image);
		close(cut);
		return false;
	}
	elf_image_free(files->image);
	*files = (struct module_files){.image = image, .source_fd = module->fd};
	module->fd = cut;
	module->is_copy = true;
	module->image_offset = offset;
	return true;
}

/* A library may be mapped from an archive: then it begins at one of the earlier mappings. */
static bool find_inside(const struct entries *map, const struct entry *entry, struct module *module,
			struct module_files *files)
{
	size_t at = (size_t)(entry - map->at);

	for (size_t nr = 0; nr < PIECES_MAX && nr <= at; nr++) {
		const struct entry *first = &map->at[at - nr];

		if (first->inode == entry->inode && first->dev == entry->dev &&
		    first->mapping.file_offset &&
		    first->mapping.file_offset <= entry->mapping.file_offset &&
		    open_inside(entry, first, module, files))
			return true;
	}
	return false;
}

static void take_for_jit(const struct space *space, struct module *module)
{
	module->kind = MODULE_KIND_JIT;
	module->owner_pid = space->pid;
}

/* Open the file of a new executable mapping; no image if it is not a readable ELF file. */
static void open_file(const struct space *space, const struct entries *map,
		      const struct entry *entry, struct module *module, struct module_files *files)
{
	const struct target_file file = space_file_of(space, entry);
	struct stat found;
	uint64_t bias;

	module->fd = target_file_open(&file, &found);
	if (module->fd < 0)
		return;
	module->file_bytes = (uint64_t)found.st_size;
	module->modified_ns = module_modified_ns(&found);
	module->owner = target_file_owner(&file, &found);
	files->image = elf_image_open(module->fd, NULL);
	if (shows(files->image, 0, &entry->mapping, &bias))
		open_copy(space, module, files);
	else
		find_inside(map, entry, module, files);
	if (files->image)
		return;
	/* Readable, but not an ELF file: JIT-compiled code. */
	take_for_jit(space, module);
	module->modified_ns = 0; /* it is written to constantly */
	if (!module_is_jitdump(module)) {
		close(module->fd);
		module->fd = -1;
	}
}

/*
 * The kernel has one for all processes of a kind. Its first page, which has the build-id, is enough
 * to know it by: a process has read that, but rarely all, and what is not there takes more files to
 * read. False: it is not like ours.
 */
static bool copy_own_vdso(const struct space *space, const struct entry *entry, uint8_t *bytes,
			  uint64_t nr_bytes)
{
	const uint64_t page = page_bytes();
	const void *own = (const void *)getauxval(AT_SYSINFO_EHDR);
	const ElfW(Ehdr) *header = own;

	if (!own || nr_bytes < page || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    /* The section headers are its last part. */
	    page_align(header->e_shoff + (uint64_t)header->e_shnum * header->e_shentsize) !=
		    nr_bytes ||
	    !target_memory_get_once(space->reader, entry->mapping.start, bytes, page) ||
	    memcmp(bytes, own, page) != 0)
		return false;
	memcpy(bytes, own, nr_bytes);
	return true;
}

static struct elf_image *open_vdso(const struct space *space, const struct entry *entry)
{
	uint64_t nr_bytes = entry->mapping.end - entry->mapping.start;
	struct elf_image *image = NULL;
	struct buf bytes = {0};

	if (nr_bytes <= VDSO_BYTES_MAX &&
	    (copy_own_vdso(space, entry, buf_extend(&bytes, nr_bytes), nr_bytes) ||
	     target_memory_get_once(space->reader, entry->mapping.start, bytes.bytes, nr_bytes)))
		image = elf_image_open_memory(bytes.bytes, bytes.nr_bytes, NULL);
	buf_release(&bytes);
	return image;
}

bool space_is_vdso(const struct entry *entry)
{
	return !strcmp(entry->path, "[vdso]");
}

/* It has the same address in each process, and is in no memory map. */
bool space_is_vsyscall(const struct entry *entry)
{
	return !entry->inode && !strcmp(entry->path, "[vsyscall]");
}

static void describe(const struct space *space, const struct entries *map,
		     const struct entry *entry, struct module *module, struct module_files *files)
{
	static char jit_name[] = "[jit]";

	*module = (struct module){.fd = -1, .path = entry->path};
	*files = (struct module_files){.source_fd = -1};
	if (space_is_vdso(entry)) {
		module->kind = MODULE_KIND_VDSO;
		files->image = open_vdso(space, entry);
	} else if (space_is_vsyscall(entry)) {
		module->kind = MODULE_KIND_VSYSCALL;
	} else if (!entry->inode) {
		take_for_jit(space, module);
		module->path = jit_name;
	} else {
		module->kind = MODULE_KIND_FILE;
		module->deleted = entry->deleted;
		module->dev = entry->dev;
		module->inode = entry->inode;
		/* Each process has a file of its own for its probes, which has nothing to read. */
		if (module_is_of_probes(module))
			take_for_jit(space, module);
		else
			open_file(space, map, entry, module, files);
	}
	if (files->image)
		module_take_edition(module, files->image);
}

static uint64_t bias_of(const struct mapping *mapping, const struct module *module,
			const struct elf_image *image)
{
	uint64_t bias;

	if (module->kind != MODULE_KIND_FILE && module->kind != MODULE_KIND_VDSO)
		return 0;
	if (shows(image, module->image_offset, mapping, &bias))
		return bias;
	/* Without its headers an address in a file can only be expressed as an offset. */
	return mapping->start - mapping->file_offset;
}

/*
 * A known file need not be opened through the process, which may have exited: many programs are
 * short processes with the same libraries.
 */
static bool find_known(struct space *space, const struct entry *entry, bool must_be_unchanged,
		       struct mapping *mapping)
{
	const struct module_mapping wanted = {.path = entry->path,
					      .dev = entry->dev,
					      .inode = entry->inode,
					      .start = mapping->start,
					      .file_offset = mapping->file_offset};
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

static void take_module(struct space *space, const struct module *module,
			const struct module_files *files, struct mapping *mapping)
{
	mapping->bias = bias_of(mapping, module, files->image);
	mapping->module = module_table_intern_files(space->modules, module, files);
}

bool space_find_image(struct space *space, const struct entries *map, size_t index,
		      struct mapping *mapping)
{
	const struct entry *entry = &map->at[index];
	struct module_files files;
	struct module module;

	if (find_known(space, entry, true, mapping))
		return true;
	describe(space, map, entry, &module, &files);
	if (files.image)
		take_module(space, &module, &files, mapping);
	else if (module.fd >= 0)
		close(module.fd);
	return files.image != NULL;
}

void space_find_without_image(struct space *space, const struct entries *map, size_t index)
{
	struct entry *entry = &map->at[index];
	struct module_files files;
	struct module module;

	if (find_known(space, entry, false, &entry->mapping))
		return;
	describe(space, map, entry, &module, &files);
	take_module(space, &module, &files, &entry->mapping);
}
