// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds separate debug files, as gdb does. */
#include "symbol/debug_file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/chosen_file.h"
#include "base/cursor.h"
#include "dwarf/dwarf_sections.h"
#include "elf/elf_open.h"
#include "elf/elf_section.h"
#include "symbol/types.h"

static const char standard_debug_dir[] = "/usr/lib/debug";

struct build_id build_id_of(Elf *elf)
{
	struct build_id id = {.nr = 0};
	const void *bits;
	ssize_t nr = dwelf_elf_gnu_build_id(elf, &bits);

	if (nr > 0 && (size_t)nr <= sizeof(id.bytes)) {
		id.nr = (size_t)nr;
		memcpy(id.bytes, bits, id.nr);
	}
	return id;
}

static bool same_build_id(const struct build_id *a, const struct build_id *b)
{
	return a->nr == b->nr && memcmp(a->bytes, b->bytes, a->nr) == 0;
}

int open_regular_file(const char *path, struct owner chooser)
{
	struct stat stat;
	int fd = chosen_file_open(path, chooser, &stat);

	if (fd < 0)
		return -1;
	if (stat.st_size == 0) {
		close(fd);
		errno = ENOEXEC;
		return -1;
	}
	return fd;
}

/* False if the file is not an ELF file; id.nr is 0 if it has no build-id. */
static bool is_elf(int fd, struct build_id *id)
{
	Elf *elf = elf_open_sections(fd, ELF_C_READ_MMAP);
	bool result = elf && elf_kind(elf) == ELF_K_ELF;

	*id = (struct build_id){.nr = 0};
	if (result)
		*id = build_id_of(elf);
	elf_end(elf);
	return result;
}

/* Limit for files that only a checksum identifies: four times the largest debug files. */
#define CHECKSUM_BYTES_MAX INT64_C(0x400000000)
#define BLOCK_BYTES	   (1 << 16)

/* The checksum of `nr` zeros. */
static uLong sum_of_zeros(int64_t nr)
{
	uLong sum = crc32(0, NULL, 0), of_power = crc32(0, (const Bytef *)"", 1);

	for (int64_t power = 1; power <= nr; power *= 2) {
		if (nr & power)
			sum = crc32_combine(sum, of_power, power);
		of_power = crc32_combine(of_power, of_power, power);
	}
	return sum;
}

/* The first stored byte from an offset on; the offset itself if the file system does not say. */
static int64_t next_stored(int fd, int64_t offset, int64_t end)
{
	int64_t found = lseek(fd, offset, SEEK_DATA);

	if (found < 0)
		return errno == ENXIO ? end : offset;
	return found < end ? found : end;
}

/* The checksum of .gnu_debuglink is zlib's. */
static bool has_checksum(int fd, uint32_t wanted, const atomic_bool *ended)
{
	cleanup_free uint8_t *block = xmalloc(BLOCK_BYTES);
	uLong sum = crc32(0, NULL, 0);
	int64_t offset = 0, stored;
	struct stat found;
	ssize_t nr;

	if (fstat(fd, &found) < 0 || found.st_size > CHECKSUM_BYTES_MAX)
		return false;
	while (offset < found.st_size && !has_ended(ended)) {
		stored = next_stored(fd, offset, found.st_size);
		if (stored > offset)
			sum = crc32_combine(sum, sum_of_zeros(stored - offset), stored - offset);
		offset = stored;
		nr = pread(fd, block, BLOCK_BYTES, offset);
		if (nr <= 0)
			break;
		sum = crc32(sum, block, (uInt)nr);
		offset += nr;
	}
	return offset == found.st_size && (uint32_t)sum == wanted;
}

/* The conditions for a candidate. */
struct proof {
	struct owner chooser;		 /* of its path */
	const struct build_id *build_id; /* nr 0: not known */
	bool has_crc;
	uint32_t crc;
	char **refused; /* NULL, or receives the path of the first file that fails the check */
	const atomic_bool *ended; /* symbol_options.ended */
};

static int open_proven(const char *path, const struct proof *proof)
{
	int fd = open_regular_file(path, proof->chooser);
	struct build_id id;

	if (fd < 0)
		return -1;
	if (!is_elf(fd, &id)) {
		/* It belongs to another build. */
	} else if (proof->build_id->nr && id.nr) {
		if (same_build_id(&id, proof->build_id))
			return fd;
	} else if (proof->has_crc && has_checksum(fd, proof->crc, proof->ended)) {
		return fd;
	}
	if (proof->refused && !*proof->refused)
		*proof->refused = xstrdup(path);
	close(fd);
	return -1;
}

char *debug_file_root(const struct symbol_options *options, size_t index)
{
	if (index < options->nr_debug_dirs)
		return xstrdup(options->debug_dirs[index]);
	index -= options->nr_debug_dirs;
	if (options->sysroot) {
		if (index == 0)
			return xasprintf("%s%s", options->sysroot, standard_debug_dir);
		index--;
	}
	return index == 0 ? xstrdup(standard_debug_dir) : NULL;
}

/* ".build-id/ab/cdef….debug" */
static void append_build_id_path(struct buf *path, const struct build_id *id)
{
	buf_append_str(path, "/.build-id/");
	for (size_t i = 0; i < id->nr; i++)
		buf_printf(path, i == 1 ? "/%02x" : "%02x", id->bytes[i]);
	buf_append_str(path, ".debug");
}

static int find_by_build_id(const struct symbol_options *options, const struct build_id *id,
			    char **found, char **refused)
{
	/* The debug roots are the caller's, and a build-id is no path. */
	const struct proof proof = {.chooser = owner_caller(),
				    .build_id = id,
				    .refused = refused,
				    .ended = symbol_debug_ended(options)};
	char *root;
	int fd = -1;

	if (id->nr < 2)
		return -1;
	for (size_t i = 0; fd < 0 && (root = debug_file_root(options, i)); i++) {
		struct buf path = {.nr_bytes = 0};

		buf_append_str(&path, root);
		append_build_id_path(&path, id);
		fd = open_proven(buf_str(&path), &proof);
		if (fd >= 0)
			*found = xstrdup(buf_str(&path));
		buf_release(&path);
		free(root);
	}
	return fd;
}

/* A link must be a plain file name, without directories. */
static bool is_plain_name(const char *name)
{
	return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static int try_link(char *candidate, const struct proof *proof, char **found)
{
	int fd = open_proven(candidate, proof);

	if (fd >= 0)
		*found = candidate;
	else
		free(candidate);
	return fd;
}

static int find_by_link(const struct symbol_options *options, const char *link,
			const char *directory, const struct proof *proof, char **found)
{
	const char *sysroot = options->sysroot ? options->sysroot : "";
	char *root;
	int fd;

	fd = try_link(xasprintf("%s%s/%s", sysroot, directory, link), proof, found);
	if (fd < 0)
		fd = try_link(xasprintf("%s%s/.debug/%s", sysroot, directory, link), proof, found);
	for (size_t i = 0; fd < 0 && (root = debug_file_root(options, i)); i++) {
		fd = try_link(xasprintf("%s%s/%s", root, directory, link), proof, found);
		free(root);
	}
	return fd;
}

static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return xstrdup(".");
	return xstrndup(path, (size_t)(slash - path));
}

int debug_file_find(const struct symbol_options *options, Elf *elf, const char *path,
		    struct owner owner, const struct build_id *build_id, char **found,
		    char **refused)
{
	struct proof proof = {.chooser = owner,
			      .build_id = build_id,
			      .has_crc = true,
			      .refused = refused,
			      .ended = symbol_debug_ended(options)};
	cleanup_free char *directory = directory_of(path);
	const char *link;
	GElf_Word crc;
	int fd = find_by_build_id(options, build_id, found, refused);

	if (fd >= 0 || !elf)
		return fd;
	link = dwelf_elf_gnu_debuglink(elf, &crc);
	if (!link || !is_plain_name(link))
		return -1;
	proof.crc = crc;
	return find_by_link(options, link, directory, &proof, found);
}

bool debug_file_supplement_link(Elf *debug, struct supplement_link *link)
{
	struct dwarf_bytes section = dwarf_bytes_of(elf_section_bytes(debug, ".gnu_debugaltlink"));
	struct cursor cursor = dwarf_cursor_at(section, 0);

	*link = (struct supplement_link){.name = cursor_text(&cursor)};
	link->build_id.nr = cursor_left(&cursor);
	if (!link->name || !*link->name || link->build_id.nr == 0 ||
	    link->build_id.nr > sizeof(link->build_id.bytes))
		return false;
	memcpy(link->build_id.bytes, cursor.at, link->build_id.nr);
	return true;
}

static int try_supplement(char *path, const struct proof *proof)
{
	int fd = open_proven(path, proof);

	free(path);
	return fd;
}

/* If a package was unpacked elsewhere, its /usr/lib/debug/.dwz/… is below another root. */
static int find_below_roots(const struct symbol_options *options, const char *name,
			    const struct proof *proof)
{
	const size_t nr_standard = strlen(standard_debug_dir);
	char *root;
	int fd = -1;

	if (strncmp(name, standard_debug_dir, nr_standard) != 0 || name[nr_standard] != '/')
		return -1;
	for (size_t i = 0; fd < 0 && (root = debug_file_root(options, i)); i++) {
		fd = try_supplement(xasprintf("%s%s", root, name + nr_standard), proof);
		free(root);
	}
	return fd;
}

/* Relative names are relative to the real location of the file: .build-id/ contains links. */
static char *real_directory_of(const char *path)
{
	cleanup_free char *real = realpath(path, NULL);

	return directory_of(real ? real : path);
}

int debug_file_find_supplement(const struct symbol_options *options,
			       const struct supplement_link *link, const char *debug_path,
			       struct owner owner)
{
	const struct proof proof = {.chooser = owner, .build_id = &link->build_id};
	cleanup_free char *directory = real_directory_of(debug_path);
	cleanup_free char *found = NULL;
	int fd;

	if (link->name[0] == '/')
		fd = try_supplement(
			xasprintf("%s%s", options->sysroot ? options->sysroot : "", link->name),
			&proof);
	else
		fd = try_supplement(xasprintf("%s/%s", directory, link->name), &proof);
	if (fd < 0)
		fd = find_below_roots(options, link->name, &proof);
	return fd >= 0 ? fd : find_by_build_id(options, &link->build_id, &found, NULL);
}
