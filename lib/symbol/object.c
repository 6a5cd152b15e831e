// SPDX-License-Identifier: GPL-2.0-or-later
/* Opens an ELF file with all its debug information. */
#include "symbol/object.h"
#include "elf/elf_open.h"
#include "elf/elf_section.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file_pages.h"
#include "elf/elf_cut.h"
#include "mapping/module_file.h"
#include "symbol/debuginfod.h"
#include "symbol/types.h"

/* report_module() reports the file, so that libdwfl never searches for it. */
static int find_elf(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
		    char **file_name, Elf **elf)
{
	(void)module, (void)userdata, (void)name, (void)base, (void)file_name, (void)elf;
	return -1;
}

/*
 * libdwfl asks for the debug file if the file itself has no symbols. profc has searched for it
 * already, by stricter rules (checked links, more directories); libdwfl's own search might wait for
 * a server.
 */
static int find_debuginfo(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
			  const char *file_name, const char *link, GElf_Word crc, char **found)
{
	const struct symbol_object *object = *userdata;

	(void)module, (void)name, (void)base, (void)file_name, (void)link, (void)crc;
	if (!object || object->debug_fd < 0)
		return -1;
	*found = strdup(object->debug_path);
	return fcntl(object->debug_fd, F_DUPFD_CLOEXEC, 0);
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = find_elf,
	.find_debuginfo = find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

/* Kinds of files. libdwfl would unpack a file that is compressed as a whole, however large. */
enum elf_file_kind {
	NO_ELF_FILE,
	ELF_FILE_RELOCATABLE,
	ELF_FILE_OTHER,
};

static enum elf_file_kind kind_of(int fd)
{
	Elf *elf = elf_open_sections(fd, ELF_C_READ_MMAP);
	enum elf_file_kind kind = NO_ELF_FILE;
	GElf_Ehdr header;

	if (elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header))
		kind = header.e_type == ET_REL ? ELF_FILE_RELOCATABLE : ELF_FILE_OTHER;
	elf_end(elf);
	return kind;
}

/* Make `fd`, taken over, the module of a Dwfl with the file's own addresses. */
static int report_module(struct symbol_object *object, int fd, struct err *err)
{
	const enum elf_file_kind kind = kind_of(fd);
	GElf_Addr bias;
	void **userdata;

	if (kind == NO_ELF_FILE) {
		close(fd);
		return err_set(err, ERR_CORRUPT, "%s: not a readable ELF file", object->path);
	}
	object->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	object->dwfl = dwfl_begin(&callbacks);
	if (!object->dwfl) {
		close(fd);
		return err_set(err, ERR_NOMEM, "libdwfl: %s", dwfl_errmsg(-1));
	}
	dwfl_report_begin(object->dwfl);
	if (kind == ELF_FILE_RELOCATABLE)
		object->module = dwfl_report_offline(object->dwfl, object->path, object->path, fd);
	else
		object->module =
			dwfl_report_elf(object->dwfl, object->path, object->path, fd, 0, true);
	dwfl_report_end(object->dwfl, NULL, NULL);
	if (!object->module) {
		close(fd);
		return err_set(err, ERR_CORRUPT, "%s: not a readable ELF file: %s", object->path,
			       dwfl_errmsg(-1));
	}
	dwfl_module_info(object->module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
	*userdata = object;
	object->elf = dwfl_module_getelf(object->module, &bias);
	if (!object->elf)
		return err_set(err, ERR_CORRUPT, "%s: not a readable ELF file: %s", object->path,
			       dwfl_errmsg(-1));
	elf_hide_bombs(object->elf);
	return 0;
}

static bool is_little_endian(Elf *elf)
{
	const char *ident = elf_getident(elf, NULL);

	return ident && ident[EI_DATA] == ELFDATA2LSB;
}

static Elf *begin(int fd)
{
	Elf *elf = elf_open_sections(fd, ELF_C_READ_MMAP_PRIVATE);

	if (elf && elf_kind(elf) == ELF_K_ELF && !elf_hide_bombs(elf))
		return elf;
	elf_end(elf);
	return NULL;
}

static int fetch(struct symbol_object *object, const struct symbol_options *options,
		 const struct build_id *build_id, char **path)
{
	struct debuginfod_patience patience = {
		.deadline_ns = options->debuginfod_deadline_ns,
		.ended = symbol_debug_ended(options),
	};

	if (!options->debuginfod)
		return -1;
	object->has_asked_servers = true;
	if (!patience.deadline_ns)
		patience.deadline_ns =
			clock_monotonic_ns() + options->debuginfod_timeout_ms * NS_PER_MS;
	if (options->asks_server && clock_monotonic_ns() < patience.deadline_ns)
		options->asks_server(options->asks_server_context, object->path);
	return debuginfod_fetch(build_id, &patience, path);
}

static void open_debug_file(struct symbol_object *object, const struct symbol_options *options)
{
	object->debug_fd = debug_file_find(options, object->elf, object->path, object->split.owner,
					   &object->build_id, &object->debug_path,
					   &object->refused_debug_path);
	if (object->debug_fd < 0)
		object->debug_fd = fetch(object, options, &object->build_id, &object->debug_path);
	if (object->debug_fd < 0)
		return;
	object->debug = begin(object->debug_fd);
	if (object->debug) {
		object->split.owner =
			owner_join(object->split.owner, owner_of_fd(object->debug_fd));
		return;
	}
	/* libdwfl does not read it either. */
	close(object->debug_fd);
	object->debug_fd = -1;
}

static void open_supplement(struct symbol_object *object, const struct symbol_options *options,
			    Elf *debug)
{
	struct dwarf_bytes sections[DWARF_SECTION_COUNT];
	const char *path = object->debug_path ? object->debug_path : object->path;
	struct supplement_link link;
	cleanup_free char *fetched = NULL;

	if (!debug_file_supplement_link(debug, &link))
		return;
	object->supplement_fd =
		debug_file_find_supplement(options, &link, path, object->split.owner);
	if (object->supplement_fd < 0)
		object->supplement_fd = fetch(object, options, &link.build_id, &fetched);
	if (object->supplement_fd >= 0)
		object->supplement = begin(object->supplement_fd);
	if (!object->supplement ||
	    !dwarf_sections_read(object->supplement, false, symbol_debug_ended(options),
				 &object->supplement_inflated, sections)) {
		object->missing_supplement = xstrdup(link.name);
		return;
	}
	object->split.owner = owner_join(object->split.owner, owner_of_fd(object->supplement_fd));
	dwarf_file_init(&object->supplement_dwarf, sections);
	object->supplement_dwarf.ended = symbol_debug_ended(options);
	dwarf_file_read_roots(&object->supplement_dwarf);
	object->dwarf.supplement = &object->supplement_dwarf;
}

/*
 * An object file's debug information is valid only after relocation, which libdwfl does. NULL if it
 * cannot (for example with sections compressed by zstd).
 */
static Elf *relocated(struct symbol_object *object)
{
	GElf_Ehdr header;
	Dwarf_Addr bias;
	Dwarf *dwarf;

	if (!gelf_getehdr(object->elf, &header) || header.e_type != ET_REL)
		return object->elf;
	dwarf = dwfl_module_getdwarf(object->module, &bias);
	return dwarf ? dwarf_getelf(dwarf) : NULL;
}

static uint64_t first_code_address(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, &header) && (header.sh_flags & SHF_EXECINSTR) &&
		    header.sh_size)
			return header.sh_addr;
	}
	return 0;
}

static bool has_symbol_table(Elf *elf)
{
	GElf_Shdr header;

	for (Elf_Scn *section = NULL; elf && (section = elf_nextscn(elf, section));) {
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB)
			return true;
	}
	return false;
}

static void open_dwarf(struct symbol_object *object, const struct symbol_options *options)
{
	struct dwarf_bytes sections[DWARF_SECTION_COUNT];
	Elf *elf = relocated(object);
	GElf_Ehdr header;

	if (elf && !is_little_endian(elf))
		return;
	if (!elf || !dwarf_sections_read(elf, false, symbol_debug_ended(options), &object->inflated,
					 sections)) {
		inflated_sections_release(&object->inflated);
		if (!object->is_debug_file_only && !object->debug)
			open_debug_file(object, options);
		elf = object->debug;
		if (!elf || !is_little_endian(elf) ||
		    !dwarf_sections_read(elf, false, symbol_debug_ended(options), &object->inflated,
					 sections))
			return;
	}
	object->has_dwarf = true;
	dwarf_file_init(&object->dwarf, sections);
	object->dwarf.ended = symbol_debug_ended(options);
	object->dwarf.relocatable = gelf_getehdr(elf, &header) && header.e_type == ET_REL;
	if (object->dwarf.relocatable)
		object->address_bias = first_code_address(elf);
	else
		object->dwarf.fd = elf == object->debug ? object->debug_fd : object->fd;
	open_supplement(object, options, elf);
	split_dwarf_init(&object->split, options, object->path, object->split.owner);
	dwarf_file_read_roots(&object->dwarf);
}

static bool is_wanted(const struct symbol_request *request, const struct build_id *id)
{
	return request->nr_build_id_bytes == 0 ||
	       (id->nr == request->nr_build_id_bytes &&
		memcmp(id->bytes, request->build_id, id->nr) == 0);
}

static int open_requested(const struct symbol_options *options,
			  const struct symbol_request *request)
{
	cleanup_free char *path = NULL;

	if (request->fd >= 0)
		return fcntl(request->fd, F_DUPFD_CLOEXEC, 0);
	path = xasprintf("%s%s", options->sysroot ? options->sysroot : "", request->path);
	return open_regular_file(path, request->chooser);
}

/*
 * The recorded image in the open file, which is taken over: the file itself, or a part of it. Sets
 * *difference if it differs from the recording visibly, before its build-id is read.
 */
static int image_of(const struct symbol_request *request, int fd, char **difference)
{
	const struct module *recorded = request->recorded;
	int image = fd;

	if (!recorded || (request->fd >= 0 && recorded->is_copy))
		return fd;
	if (recorded->image_offset && request->fd < 0) {
		image = elf_cut_out(fd, recorded->image_offset);
		if (image < 0) {
			*difference = xasprintf(MODULE_REPLACED "no ELF file begins 0x%" PRIx64
								" bytes into it",
						recorded->image_offset);
			return fd;
		}
	}
	if (!recorded->nr_build_id_bytes)
		*difference = module_file_difference(recorded, fd, image);
	if (image != fd)
		close(fd);
	return image;
}

/* Take over `fd` if it is the file requested. */
static int open_image(struct symbol_object *object, const struct symbol_request *request, int fd,
		      struct err *err)
{
	int result = 0;

	fd = image_of(request, fd, &object->difference);
	if (object->difference) {
		close(fd);
	} else {
		result = report_module(object, fd, err);
		if (result == ERR_CORRUPT && request->recorded) {
			object->difference =
				xstrdup(MODULE_REPLACED "it is not a readable ELF file");
			result = 0;
		} else if (result < 0) {
			return result;
		}
	}
	if (object->elf)
		object->build_id = build_id_of(object->elf);
	object->is_mismatched = object->difference || !is_wanted(request, &object->build_id);
	return result;
}

/* The owner of the file; profc owns a copy. */
static struct owner owner_behind(const struct symbol_request *request, int fd)
{
	return request->fd >= 0 && request->recorded ? request->recorded->owner : owner_of_fd(fd);
}

/* If a file is missing, open its debug file, which has the same addresses. */
static int open_by_build_id(struct symbol_object *object, const struct symbol_options *options,
			    const struct symbol_request *request)
{
	struct build_id id = {.nr = 0};
	int fd;

	if (request->nr_build_id_bytes > sizeof(id.bytes))
		return -1;
	id.nr = request->nr_build_id_bytes;
	if (id.nr)
		memcpy(id.bytes, request->build_id, id.nr);
	fd = debug_file_find(options, NULL, request->path, request->chooser, &id,
			     &object->debug_path, &object->refused_debug_path);
	if (fd < 0)
		fd = fetch(object, options, &id, &object->debug_path);
	object->is_debug_file_only = fd >= 0;
	return fd;
}

static void close_module(struct symbol_object *object)
{
	dwfl_end(object->dwfl);
	if (object->fd >= 0)
		close(object->fd);
	object->fd = -1;
	object->dwfl = NULL;
	object->module = NULL;
	object->elf = NULL;
}

int symbol_object_open(struct symbol_object *object, const struct symbol_options *options,
		       const struct symbol_request *request, struct err *err)
{
	int fd = open_requested(options, request), open_errno = errno, result;

	*object = (struct symbol_object){
		.fd = -1,
		.debug_fd = -1,
		.supplement_fd = -1,
		.path = xstrdup(request->path),
		.ended = options->ended,
	};
	elf_version(EV_CURRENT);
	if (fd >= 0) {
		object->split.owner = owner_behind(request, fd);
		result = open_image(object, request, fd, err);
		if (result < 0)
			return result;
	}
	if (fd < 0 || object->is_mismatched) {
		int debug_fd = open_by_build_id(object, options, request);

		if (debug_fd < 0 && fd < 0) {
			errno = open_errno;
			return err_sys(err, "%s", request->path);
		}
		if (debug_fd < 0)
			return 0;
		close_module(object);
		object->is_mismatched = false;
		object->split.owner = owner_of_fd(debug_fd);
		result = report_module(object, debug_fd, err);
		if (result < 0)
			return result;
		object->build_id = build_id_of(object->elf);
	}
	if (!request->tables_only)
		open_dwarf(object, options);
	else if (!object->is_debug_file_only && !has_symbol_table(object->elf))
		open_debug_file(object, options);
	return 0;
}

void symbol_object_adopt(struct symbol_object *object, const struct symbol_options *options)
{
	const atomic_bool *debug_ended = symbol_debug_ended(options);

	object->ended = options->ended;
	object->split.options = options;
	object->dwarf.ended = object->supplement_dwarf.ended = debug_ended;
	if (object->has_dwarf)
		return;
	/* Where there is none, it is searched in vain once more. */
	inflated_sections_release(&object->inflated);
	if (!object->debug) {
		free(object->debug_path);
		free(object->refused_debug_path);
		object->debug_path = object->refused_debug_path = NULL;
	}
	open_dwarf(object, options);
}

static void release_pages(Elf *elf)
{
	size_t nr_bytes = 0;
	const char *start = elf ? elf_rawfile(elf, &nr_bytes) : NULL;

	if (start)
		file_pages_release(start, nr_bytes);
}

void symbol_object_release_pages(const struct symbol_object *object)
{
	release_pages(object->elf);
	release_pages(object->debug);
	release_pages(object->supplement);
}

struct owner symbol_object_owner(const struct symbol_object *object)
{
	return object->split.owner;
}

void symbol_object_close(struct symbol_object *object)
{
	split_dwarf_release(&object->split);
	dwarf_file_release(&object->dwarf);
	dwarf_file_release(&object->supplement_dwarf);
	elf_end(object->debug);
	elf_end(object->supplement);
	inflated_sections_release(&object->inflated);
	inflated_sections_release(&object->supplement_inflated);
	dwfl_end(object->dwfl);
	if (object->fd >= 0)
		close(object->fd);
	if (object->debug_fd >= 0)
		close(object->debug_fd);
	if (object->supplement_fd >= 0)
		close(object->supplement_fd);
	free(object->difference);
	free(object->missing_supplement);
	free(object->debug_path);
	free(object->refused_debug_path);
	free(object->path);
}
