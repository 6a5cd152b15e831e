// SPDX-License-Identifier: GPL-2.0-or-later
/* The mapping at an address of a process. */
#include "proc/range.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "proc/maps.h"
#include "proc/read.h"

/* struct procmap_query and PROCMAP_QUERY of linux/fs.h, which old headers lack. */
struct map_query {
	uint64_t size, flags, address;
	uint64_t start, end; /* output, like all that follows */
	uint64_t vma_flags, page_bytes, offset, inode;
	uint32_t dev_major, dev_minor, nr_name_bytes, nr_build_id_bytes;
	uint64_t name, build_id;
};

/* PROCMAP_QUERY_VMA_SHARED; rights are those of enum proc_range_rights. */
#define SHARED 8
/* PROCMAP_QUERY_COVERING_OR_NEXT_VMA */
#define OR_NEXT 0x10

#define QUERY_MAP _IOWR('f', 17, struct map_query)

static bool ask(int maps_fd, uint64_t address, uint64_t flags, struct proc_range *range)
{
	struct map_query query = {.size = sizeof(query), .flags = flags, .address = address};

	if (ioctl(maps_fd, QUERY_MAP, &query) < 0)
		return false;
	*range = (struct proc_range){.start = query.start,
				     .end = query.end,
				     .offset = query.offset,
				     .inode = query.inode,
				     .dev_major = query.dev_major,
				     .dev_minor = query.dev_minor,
				     .readable = query.vma_flags & PROC_RANGE_READ,
				     .writable = query.vma_flags & PROC_RANGE_WRITE,
				     .executable = query.vma_flags & PROC_RANGE_EXECUTE,
				     .shared = query.vma_flags & SHARED};
	return true;
}

bool proc_range_at(int maps_fd, uint64_t address, struct proc_range *range)
{
	return ask(maps_fd, address, 0, range);
}

bool proc_range_name(int maps_fd, uint64_t address, char *name, size_t cap)
{
	struct map_query query = {.size = sizeof(query),
				  .address = address,
				  .nr_name_bytes = (uint32_t)cap,
				  .name = (uint64_t)(uintptr_t)name};

	if (ioctl(maps_fd, QUERY_MAP, &query) < 0)
		return false;
	if (!query.nr_name_bytes)
		*name = '\0';
	return true;
}

bool proc_range_next(int maps_fd, uint64_t address, unsigned int rights, struct proc_range *range)
{
	return ask(maps_fd, address, OR_NEXT | rights, range);
}

#define TEXT_BYTES ((size_t)64 * 1024)

/* The kernel returns whole lines, up to a page per read. */
static void read_text(int fd, size_t max_bytes, struct buf *text)
{
	size_t nr = 0;
	ssize_t got;

	do {
		uint8_t *room = buf_extend(text, TEXT_BYTES);

		got = pread(fd, room, TEXT_BYTES, (off_t)nr);
		nr += got > 0 ? (size_t)got : 0;
		text->nr_bytes = nr;
	} while (got > 0 && nr < max_bytes);
}

static struct proc_range range_of(const struct proc_map *map)
{
	return (struct proc_range){.start = map->start,
				   .end = map->end,
				   .offset = map->offset,
				   .inode = map->inode,
				   .dev_major = map->dev_major,
				   .dev_minor = map->dev_minor,
				   .readable = map->readable,
				   .writable = map->writable,
				   .executable = map->executable,
				   .shared = map->shared};
}

static bool find_in_text(int maps_fd, size_t max_bytes, uint64_t address, struct proc_range *range)
{
	struct buf text = {0};
	struct proc_maps_iter maps;
	struct proc_map map;
	bool found = false;

	read_text(maps_fd, max_bytes, &text);
	maps = proc_maps_over(buf_str(&text), text.nr_bytes);
	while (!found && proc_maps_next(&maps, &map) > 0) {
		found = map.start <= address && address < map.end;
		if (found)
			*range = range_of(&map);
	}
	buf_release(&text);
	if (!found)
		errno = ENOENT;
	return found;
}

bool proc_range_in_text(int maps_fd, uint64_t address, struct proc_range *range)
{
	return find_in_text(maps_fd, TEXT_BYTES, address, range);
}

bool proc_range_find(int maps_fd, uint64_t address, struct proc_range *range)
{
	return proc_range_at(maps_fd, address, range) ||
	       (errno == ENOTTY && find_in_text(maps_fd, PROC_FILE_MAX_BYTES, address, range));
}

void proc_range_walk_begin(struct proc_range_walk *walk, int maps_fd, unsigned int rights)
{
	*walk = (struct proc_range_walk){.maps_fd = maps_fd, .rights = rights};
}

static bool has_rights(const struct proc_range *range, unsigned int rights)
{
	return (range->readable || !(rights & PROC_RANGE_READ)) &&
	       (range->writable || !(rights & PROC_RANGE_WRITE)) &&
	       (range->executable || !(rights & PROC_RANGE_EXECUTE));
}

static bool next_in_text(struct proc_range_walk *walk, struct proc_range *range)
{
	struct proc_maps_iter iter = proc_maps_over(buf_str(&walk->text) + walk->text_at,
						    walk->text.nr_bytes - walk->text_at);
	struct proc_map map;

	while (proc_maps_next(&iter, &map) == 1) {
		walk->text_at = (size_t)(iter.at - buf_str(&walk->text));
		*range = range_of(&map);
		if (has_rights(range, walk->rights))
			return true;
	}
	return false;
}

bool proc_range_walk_next(struct proc_range_walk *walk, struct proc_range *range)
{
	if (!walk->is_of_text) {
		if (proc_range_next(walk->maps_fd, walk->at, walk->rights, range)) {
			walk->at = range->end;
			return true;
		}
		walk->is_of_text = errno == ENOTTY;
		walk->has_failed = errno != ENOENT;
	}
	if (walk->is_of_text && !walk->text.nr_bytes) {
		read_text(walk->maps_fd, PROC_FILE_MAX_BYTES, &walk->text);
		walk->has_failed = !walk->text.nr_bytes;
	}
	return walk->text.nr_bytes && next_in_text(walk, range);
}

void proc_range_walk_end(struct proc_range_walk *walk)
{
	buf_release(&walk->text);
}
