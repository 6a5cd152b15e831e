// SPDX-License-Identifier: GPL-2.0-or-later
/* Opens ELF files and reads their segments, build-id, sections and code. */
#include "elf/elf_image.h"

#include "elf/elf_exports.h"
#include "elf/elf_functions.h"
#include "elf/elf_holes.h"
#include "elf/elf_inflate.h"
#include "elf/elf_open.h"
#include "elf/elf_ranges.h"
#include "elf/elf_relocations.h"
#include "elf/elf_sdt.h"
#include "elf/elf_section.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/err.h"

/* Far above any linker's output: librustc_driver has 6 MB of .eh_frame, node 3. */
#define SEGMENTS_MAX   512
#define CFI_BYTES_MAX  (UINT64_C(512) << 20)
#define NOTE_BYTES_MAX (UINT64_C(1) << 20)
#define BUILD_ID_MAX   64

struct elf_image {
	Elf *elf;		  /* NULL once the CFI is loaded */
	int fd;			  /* borrowed; -1: none (any more) */
	elf_image_reader *reader; /* of code without a file, or NULL */
	const void *reader_context;
	uint8_t *memory; /* owned copy of an image without a file */
	size_t nr_memory_bytes;
	enum elf_machine machine;
	uint64_t entry;
	struct elf_segment *segments;
	size_t nr_segments, cap_segments;
	uint8_t build_id[BUILD_ID_MAX];
	size_t nr_build_id_bytes;
	uint64_t hdr_offset, hdr_bytes, hdr_vaddr; /* PT_GNU_EH_FRAME */
	uint64_t dynamic_vaddr, dynamic_bytes;	   /* PT_DYNAMIC */
	struct elf_thread_variable thread_data;	   /* PT_TLS, without a variable */
	struct elf_cfi cfi;			   /* its bytes are owned */
	struct elf_ranges functions;
	bool functions_loaded;
};

static enum elf_machine machine_of(const GElf_Ehdr *header)
{
	bool is_64 = header->e_ident[EI_CLASS] == ELFCLASS64;

	if (header->e_machine == EM_X86_64 && is_64)
		return ELF_MACHINE_X86_64;
	if (header->e_machine == EM_AARCH64 && is_64)
		return ELF_MACHINE_AARCH64;
	if (header->e_machine == EM_386)
		return ELF_MACHINE_I386;
	return ELF_MACHINE_OTHER;
}

/*
 * A copy of nr_bytes of the file from offset on, or NULL. libelf checks the
 * range against the file's size before it allocates.
 */
static uint8_t *copy_of_file(const struct elf_image *image, uint64_t offset, uint64_t nr_bytes)
{
	Elf_Data *raw;

	if (!nr_bytes || nr_bytes > CFI_BYTES_MAX || offset > INT64_MAX ||
	    (image->fd >= 0 && elf_is_of_holes(image->fd, offset, nr_bytes)))
		return NULL;
	raw = elf_getdata_rawchunk(image->elf, (int64_t)offset, nr_bytes, ELF_T_BYTE);
	return raw && raw->d_buf && raw->d_size == nr_bytes ? xmemdup(raw->d_buf, nr_bytes) : NULL;
}

static void note_build_id(struct elf_image *image, Elf_Data *notes)
{
	size_t at = 0;
	size_t name_at;
	size_t desc_at;
	size_t next;
	GElf_Nhdr note;

	while ((next = gelf_getnote(notes, at, &note, &name_at, &desc_at)) > at) {
		const uint8_t *bytes = notes->d_buf;

		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") &&
		    !memcmp(bytes + name_at, "GNU", sizeof("GNU")) && note.n_descsz > 0 &&
		    note.n_descsz <= BUILD_ID_MAX) {
			memcpy(image->build_id, bytes + desc_at, note.n_descsz);
			image->nr_build_id_bytes = note.n_descsz;
			return;
		}
		at = next;
	}
}

static void take_notes(struct elf_image *image, const GElf_Phdr *header)
{
	Elf_Data *notes;

	if (image->nr_build_id_bytes || header->p_filesz > NOTE_BYTES_MAX ||
	    header->p_offset > INT64_MAX)
		return;
	notes = elf_getdata_rawchunk(image->elf, (int64_t)header->p_offset, header->p_filesz,
				     header->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	if (notes && notes->d_buf)
		note_build_id(image, notes);
}

static void take_program_header(struct elf_image *image, const GElf_Phdr *header)
{
	switch (header->p_type) {
	case PT_LOAD:
		ARRAY_GROW(image->segments, image->nr_segments, image->cap_segments);
		image->segments[image->nr_segments++] = (struct elf_segment){
			.file_offset = header->p_offset,
			.file_bytes = header->p_filesz,
			.vaddr = header->p_vaddr,
			.memory_bytes = header->p_memsz,
			.executable = header->p_flags & PF_X,
			.writable = header->p_flags & PF_W,
		};
		break;
	case PT_GNU_EH_FRAME:
		image->hdr_offset = header->p_offset;
		image->hdr_bytes = header->p_filesz;
		image->hdr_vaddr = header->p_vaddr;
		break;
	case PT_DYNAMIC:
		image->dynamic_vaddr = header->p_vaddr;
		image->dynamic_bytes = header->p_filesz;
		break;
	case PT_TLS:
		image->thread_data = (struct elf_thread_variable){.vaddr = header->p_vaddr,
								  .nr_bytes = header->p_memsz,
								  .alignment = header->p_align};
		break;
	case PT_NOTE:
		take_notes(image, header);
		break;
	default: /* other types are not needed */
		break;
	}
}

static int read_headers(struct elf_image *image, struct err *err)
{
	GElf_Ehdr header;
	size_t nr;

	if (elf_kind(image->elf) != ELF_K_ELF || !gelf_getehdr(image->elf, &header))
		return err_set(err, ERR_CORRUPT, "not an ELF file");
	image->machine = machine_of(&header);
	image->entry = header.e_entry;
	if (elf_getphdrnum(image->elf, &nr) || nr > SEGMENTS_MAX)
		return err_set(err, ERR_CORRUPT, "an ELF file with damaged program headers");
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr program;

		if (!gelf_getphdr(image->elf, (int)i, &program))
			return err_set(err, ERR_CORRUPT, "an ELF file truncated in its headers");
		take_program_header(image, &program);
	}
	return 0;
}

/* The image itself after reading its headers, or NULL after freeing it. */
static struct elf_image *with_headers(struct elf_image *image, struct err *err)
{
	int reason = image->elf ? 0 : elf_errno();

	if (image->elf && !read_headers(image, err))
		return image;
	if (!image->elf)
		err_set(err, ERR_CORRUPT, "not an ELF file: %s",
			reason ? elf_errmsg(reason) : "more sections than any program has");
	elf_image_free(image);
	return NULL;
}

struct elf_image *elf_image_open(int fd, struct err *err)
{
	struct elf_image *image = xcalloc(1, sizeof(*image));

	elf_version(EV_CURRENT);
	image->fd = fd;
	image->elf = elf_open(fd, ELF_C_READ);
	return with_headers(image, err);
}

struct elf_image *elf_image_open_memory(const void *bytes, size_t nr_bytes, struct err *err)
{
	struct elf_image *image = xcalloc(1, sizeof(*image));

	elf_version(EV_CURRENT);
	image->fd = -1;
	image->memory = xmemdup(bytes, nr_bytes);
	image->nr_memory_bytes = nr_bytes;
	image->elf = elf_memory((char *)image->memory, nr_bytes);
	return with_headers(image, err);
}

struct elf_image *elf_image_of_code(const void *bytes, size_t nr_bytes, uint64_t vaddr)
{
	struct elf_image *image = xcalloc(1, sizeof(*image));

	image->fd = -1;
	image->machine = ELF_MACHINE_OTHER;
	image->memory = xmemdup(bytes, nr_bytes);
	image->nr_memory_bytes = nr_bytes;
	ARRAY_GROW(image->segments, image->nr_segments, image->cap_segments);
	image->segments[image->nr_segments++] = (struct elf_segment){
		.file_bytes = nr_bytes,
		.vaddr = vaddr,
		.memory_bytes = nr_bytes,
		.executable = true,
	};
	return image;
}

struct elf_image *elf_image_of_reader(elf_image_reader *read, const void *context)
{
	struct elf_image *image = xcalloc(1, sizeof(*image));

	image->fd = -1;
	image->machine = ELF_MACHINE_OTHER;
	image->reader = read;
	image->reader_context = context;
	return image;
}

void elf_image_free(struct elf_image *image)
{
	if (!image)
		return;
	elf_end(image->elf);
	free(image->memory);
	free(image->segments);
	elf_ranges_release(&image->functions);
	free((void *)(uintptr_t)image->cfi.eh_frame_hdr.bytes);
	free((void *)(uintptr_t)image->cfi.eh_frame.bytes);
	free((void *)(uintptr_t)image->cfi.debug_frame.bytes);
	free(image);
}

void elf_image_detach(struct elf_image *image)
{
	elf_image_cfi(image);
	image->fd = -1;
}

enum elf_machine elf_image_machine(const struct elf_image *image)
{
	return image->machine;
}

uint64_t elf_image_entry(const struct elf_image *image)
{
	return image->entry;
}

uint64_t elf_image_dynamic(const struct elf_image *image, uint64_t *nr_bytes)
{
	*nr_bytes = image->dynamic_bytes;
	return image->dynamic_vaddr;
}

size_t elf_image_nr_segments(const struct elf_image *image)
{
	return image->nr_segments;
}

const struct elf_segment *elf_image_segment(const struct elf_image *image, size_t index)
{
	return &image->segments[index];
}

const uint8_t *elf_image_build_id(const struct elf_image *image, size_t *nr_bytes)
{
	*nr_bytes = image->nr_build_id_bytes;
	return image->nr_build_id_bytes ? image->build_id : NULL;
}

/* Does the file page of `file_offset` contain bytes of the segment? */
static bool segment_holds(const struct elf_segment *segment, uint64_t file_offset)
{
	uint64_t first_page = page_start(segment->file_offset);

	return file_offset >= first_page &&
	       file_offset - first_page < segment->file_offset - first_page + segment->file_bytes;
}

bool elf_image_bias(const struct elf_image *image, uint64_t start, uint64_t file_offset,
		    bool executable, uint64_t *bias)
{
	const struct elf_segment *found = NULL;

	for (size_t i = 0; i < image->nr_segments; i++) {
		const struct elf_segment *segment = &image->segments[i];

		if (!segment_holds(segment, file_offset))
			continue;
		if (!found ||
		    (segment->executable == executable && found->executable != executable))
			found = segment;
	}
	if (!found)
		return false;
	*bias = start - file_offset - (found->vaddr - found->file_offset);
	return true;
}

static size_t read_at(const struct elf_image *image, uint64_t offset, void *out, size_t nr_bytes)
{
	ssize_t nr_read;

	if (image->memory) {
		if (offset >= image->nr_memory_bytes)
			return 0;
		if (nr_bytes > image->nr_memory_bytes - offset)
			nr_bytes = image->nr_memory_bytes - offset;
		memcpy(out, image->memory + offset, nr_bytes);
		return nr_bytes;
	}
	if (image->fd < 0 || offset > INT64_MAX)
		return 0;
	nr_read = pread(image->fd, out, nr_bytes, (off_t)offset);
	return nr_read > 0 ? (size_t)nr_read : 0;
}

size_t elf_image_read(const struct elf_image *image, uint64_t vaddr, void *out, size_t nr_bytes)
{
	if (image->reader)
		return image->reader(image->reader_context, vaddr, out, nr_bytes);
	for (size_t i = 0; i < image->nr_segments; i++) {
		const struct elf_segment *segment = &image->segments[i];
		uint64_t skip = vaddr - segment->vaddr;

		if (vaddr < segment->vaddr || skip >= segment->file_bytes)
			continue;
		if (nr_bytes > segment->file_bytes - skip)
			nr_bytes = segment->file_bytes - skip;
		return read_at(image, segment->file_offset + skip, out, nr_bytes);
	}
	return 0;
}

/* The image's handle may be closed. A new one keeps all that it reads until it is ended. */
static Elf *open_again(const struct elf_image *image)
{
	if (image->memory)
		return elf_memory((char *)image->memory, image->nr_memory_bytes);
	return image->fd >= 0 ? elf_open_sections(image->fd, ELF_C_READ) : NULL;
}

size_t elf_image_exports(const struct elf_image *image, const char *const *names, size_t nr,
			 uint64_t *values)
{
	Elf *elf = open_again(image);
	size_t nr_found = elf_exports_find(elf, image->fd, names, nr, values);

	elf_end(elf);
	return nr_found;
}

void elf_image_sdt(const struct elf_image *image, struct elf_sdt *sdt)
{
	Elf *elf = open_again(image);

	elf_sdt_load(sdt, elf);
	elf_end(elf);
}

bool elf_image_thread_variable(const struct elf_image *image, const char *name,
			       struct elf_thread_variable *variable)
{
	Elf *elf = image->thread_data.nr_bytes ? open_again(image) : NULL;
	uint64_t offset = 0;
	bool is_found = elf_exports_find_thread_variable(elf, image->fd, name, &offset);

	elf_end(elf);
	if (!is_found || offset >= image->thread_data.nr_bytes)
		return false;
	*variable = image->thread_data;
	variable->offset = offset;
	return true;
}

size_t elf_image_words(const struct elf_image *image, uint64_t vaddr, uint64_t *words, size_t nr)
{
	size_t got = elf_image_read(image, vaddr, words, nr * sizeof(*words)) / sizeof(*words);
	Elf *elf = open_again(image);

	elf_relocations_apply(elf, vaddr, words, got);
	elf_end(elf);
	return got;
}

static void add_section(struct elf_ranges *ranges, const GElf_Shdr *header)
{
	if (header->sh_size <= UINT64_MAX - header->sh_addr)
		elf_ranges_add(ranges,
			       (struct elf_range){.start = header->sh_addr,
						  .end = header->sh_addr + header->sh_size});
}

void elf_image_sections(const struct elf_image *image, const char *prefix,
			struct elf_ranges *ranges)
{
	Elf *elf = open_again(image);
	Elf_Scn *section = NULL;
	const char *name;
	GElf_Shdr header;

	while (elf && (section = elf_section_next(elf, section, &header, &name))) {
		if (header.sh_flags & SHF_ALLOC && strncmp(name, prefix, strlen(prefix)) == 0)
			add_section(ranges, &header);
	}
	elf_end(elf);
	elf_ranges_sort(ranges);
}

void elf_image_data(const struct elf_image *image, struct elf_ranges *data)
{
	Elf *elf = open_again(image);
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, &header) && header.sh_flags & SHF_ALLOC &&
		    !(header.sh_flags & SHF_EXECINSTR) && header.sh_type != SHT_NOBITS)
			add_section(data, &header);
	}
	elf_end(elf);
	elf_ranges_sort(data);
}

bool elf_image_function(struct elf_image *image, uint64_t vaddr, uint64_t *start, uint64_t *end)
{
	const struct elf_range *function;

	if (!image->functions_loaded) {
		Elf *elf = open_again(image);

		elf_functions_load(&image->functions, elf);
		elf_end(elf);
		image->functions_loaded = true;
	}
	function = elf_ranges_range(&image->functions, vaddr);
	if (!function)
		return false;
	*start = function->start;
	*end = function->end;
	return true;
}

/* The first section with that name that has bytes; NULL if there is none. */
static Elf_Scn *find_section(Elf *elf, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = elf_section_named(elf, name, header);

	return section && header->sh_type != SHT_NOBITS ? section : NULL;
}

static struct elf_bytes load_eh_frame_hdr(struct elf_image *image)
{
	uint8_t *bytes = copy_of_file(image, image->hdr_offset, image->hdr_bytes);

	return (struct elf_bytes){.bytes = bytes,
				  .nr_bytes = bytes ? image->hdr_bytes : 0,
				  .vaddr = image->hdr_vaddr};
}

/* From vaddr to the end of its segment's bytes in the file. */
static struct elf_bytes load_rest_of_segment(struct elf_image *image, uint64_t vaddr)
{
	for (size_t i = 0; i < image->nr_segments; i++) {
		const struct elf_segment *segment = &image->segments[i];
		uint64_t skip = vaddr - segment->vaddr;
		uint8_t *bytes;

		if (skip >= segment->file_bytes)
			continue;
		bytes = copy_of_file(image, segment->file_offset + skip,
				     segment->file_bytes - skip);
		return (struct elf_bytes){.bytes = bytes,
					  .nr_bytes = bytes ? segment->file_bytes - skip : 0,
					  .vaddr = vaddr};
	}
	return (struct elf_bytes){0};
}

/*
 * The start of .eh_frame according to .eh_frame_hdr, in the one encoding that linkers use (LSB
 * 10.6.2: pc-relative, 4 bytes, signed).
 */
static bool eh_frame_from_hdr(const struct elf_bytes *hdr, uint64_t *vaddr)
{
	int32_t relative;

	if (hdr->nr_bytes < 8 || hdr->bytes[0] != 1 || hdr->bytes[1] != 0x1b)
		return false;
	memcpy(&relative, hdr->bytes + 4, sizeof(relative));
	*vaddr = hdr->vaddr + 4 + (uint64_t)(int64_t)relative;
	return true;
}

/* With section headers the section's own bounds, else from the header's pointer on. */
static struct elf_bytes load_eh_frame(struct elf_image *image)
{
	GElf_Shdr header;
	uint64_t vaddr;

	if (find_section(image->elf, ".eh_frame", &header)) {
		uint8_t *bytes = copy_of_file(image, header.sh_offset, header.sh_size);

		if (bytes)
			return (struct elf_bytes){.bytes = bytes,
						  .nr_bytes = header.sh_size,
						  .vaddr = header.sh_addr};
	}
	if (eh_frame_from_hdr(&image->cfi.eh_frame_hdr, &vaddr))
		return load_rest_of_segment(image, vaddr);
	return (struct elf_bytes){0};
}

/* It is not loaded, and may be compressed. */
static struct elf_bytes load_debug_section(const struct elf_image *image, const char *name)
{
	GElf_Shdr header;
	Elf_Scn *section = find_section(image->elf, name, &header);
	struct elf_packed packed;
	struct elf_bytes bytes = {0};

	if (!section || header.sh_size > CFI_BYTES_MAX)
		return bytes;
	if (!elf_is_packed(name, &header)) {
		bytes.bytes = copy_of_file(image, header.sh_offset, header.sh_size);
		bytes.nr_bytes = bytes.bytes ? header.sh_size : 0;
	} else if (elf_read_packed(image->elf, section, name, &packed) &&
		   packed.nr_inflated <= CFI_BYTES_MAX) {
		bytes.bytes = elf_inflate(&packed, NULL);
		bytes.nr_bytes = bytes.bytes ? packed.nr_inflated : 0;
	}
	return bytes;
}

static struct elf_bytes load_debug_frame(struct elf_image *image)
{
	struct elf_bytes bytes = load_debug_section(image, ".debug_frame");

	return bytes.bytes ? bytes : load_debug_section(image, ".zdebug_frame");
}

const struct elf_cfi *elf_image_cfi(struct elf_image *image)
{
	if (image->elf) {
		image->cfi.eh_frame_hdr = load_eh_frame_hdr(image);
		image->cfi.eh_frame = load_eh_frame(image);
		image->cfi.debug_frame = load_debug_frame(image);
		/* libelf keeps a second copy of everything it read. */
		elf_end(image->elf);
		image->elf = NULL;
	}
	return &image->cfi;
}
