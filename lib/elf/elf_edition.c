// SPDX-License-Identifier: GPL-2.0-or-later
/* The fingerprint of an ELF file without a build-id. */
#include "elf/elf_edition.h"

#include <gelf.h>
#include <libelf.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "elf/elf_open.h"

#define BLOCK_BYTES 4096
/* Bounds the time to some milliseconds; the pages are spread over the whole file. */
#define HASHED_BYTES	 (UINT64_C(4) << 20)
#define SEGMENTS_MAX	 512
#define NOTE_BYTES_MAX	 (UINT64_C(1) << 20)
#define GO_NOTE_BUILD_ID 4 /* ELF_NOTE_GOBUILDID_TAG of cmd/link */

#define FNV_BASIS UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

static uint64_t fnv(uint64_t hash, const uint8_t *bytes, size_t nr_bytes)
{
	for (size_t i = 0; i < nr_bytes; i++)
		hash = (hash ^ bytes[i]) * FNV_PRIME;
	return hash;
}

/* The bytes from offset on, as many of nr_bytes as exist. */
static uint64_t fnv_of_file(uint64_t hash, int fd, uint64_t offset, size_t nr_bytes)
{
	cleanup_free uint8_t *bytes = xmalloc(nr_bytes);
	ssize_t nr_read = offset <= INT64_MAX ? pread(fd, bytes, nr_bytes, (off_t)offset) : -1;

	return fnv(hash, bytes, nr_read > 0 ? (size_t)nr_read : 0);
}

/* Hash all pages of a file, or for a large one as many at equal distances. */
static uint64_t fnv_of_pages(uint64_t hash, int fd, uint64_t file_bytes)
{
	uint64_t step = (file_bytes / HASHED_BYTES + 1) * BLOCK_BYTES;

	for (uint64_t at = 0; at < file_bytes; at += step)
		hash = fnv_of_file(hash, fd, at, BLOCK_BYTES);
	return hash;
}

static bool hash_go_note(Elf_Data *notes, uint64_t *hash)
{
	size_t at = 0;
	size_t name_at;
	size_t desc_at;
	size_t next;
	GElf_Nhdr note;

	while ((next = gelf_getnote(notes, at, &note, &name_at, &desc_at)) > at) {
		const uint8_t *bytes = notes->d_buf;

		if (note.n_type == GO_NOTE_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(bytes + name_at, "Go\0", 4) && note.n_descsz) {
			*hash = fnv(FNV_BASIS, bytes + desc_at, note.n_descsz);
			return true;
		}
		at = next;
	}
	return false;
}

static bool hash_go_build_id(Elf *elf, const GElf_Phdr *header, uint64_t *hash)
{
	Elf_Data *notes;

	if (header->p_type != PT_NOTE || header->p_filesz > NOTE_BYTES_MAX ||
	    header->p_offset > INT64_MAX)
		return false;
	notes = elf_getdata_rawchunk(elf, (int64_t)header->p_offset, header->p_filesz,
				     header->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	return notes && notes->d_buf && hash_go_note(notes, hash);
}

static struct elf_edition edition_of(Elf *elf, int fd, uint64_t file_bytes)
{
	struct elf_edition edition = {.fingerprint = FNV_BASIS};
	bool has_code = false;
	size_t nr;

	if (elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &nr) || nr > SEGMENTS_MAX)
		return (struct elf_edition){0};
	edition.fingerprint = fnv_of_file(edition.fingerprint, fd, 0, BLOCK_BYTES);
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(elf, (int)i, &header))
			continue;
		if (hash_go_build_id(elf, &header, &edition.fingerprint)) {
			edition.is_of_go_build_id = true;
			return edition;
		}
		if (header.p_type != PT_LOAD || !(header.p_flags & PF_X) || has_code)
			continue;
		has_code = true;
		edition.fingerprint =
			fnv_of_file(edition.fingerprint, fd, header.p_offset, BLOCK_BYTES);
	}
	edition.fingerprint = fnv_of_pages(edition.fingerprint, fd, file_bytes);
	return edition;
}

struct elf_edition elf_edition_of(int fd)
{
	struct elf_edition edition = {0};
	struct stat stat;
	Elf *elf;

	if (fstat(fd, &stat) < 0)
		return edition;
	elf_version(EV_CURRENT);
	elf = elf_open(fd, ELF_C_READ);
	if (elf)
		edition = edition_of(elf, fd, (uint64_t)stat.st_size);
	elf_end(elf);
	return edition;
}
