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

/* PROCMAP_QUERY_VMA_EXECUTABLE, PROCMAP_QUERY_VMA_SHARED */
#define EXECUTABLE 4
#define SHARED	   8

#define QUERY_MAP _IOWR('f', 17, struct map_query)

bool proc_range_at(int maps_fd, uint64_t address, struct proc_range *range)
{
	struct map_query query = {.size = sizeof(query), .address = address};

	if (ioctl(maps_fd, QUERY_MAP, &query) < 0)
		return false;
	*range = (struct proc_range){.start = query.start,
				     .end = query.end,
				     .offset = query.offset,
				     .inode = query.inode,
				     .dev_major = query.dev_major,
				     .dev_minor = query.dev_minor,
				     .executable = query.vma_flags & EXECUTABLE,
				     .shared = query.vma_flags & SHARED};
	return true;
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
			*range = (struct proc_range){.start = map.start,
						     .end = map.end,
						     .offset = map.offset,
						     .inode = map.inode,
						     .dev_major = map.dev_major,
						     .dev_minor = map.dev_minor,
						     .executable = map.executable,
						     .shared = map.shared};
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
