// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of code, each opened and searched once. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "elf/elf_image.h"
#include "mapping/target_file.h"
#include "patch/branches.h"
#include "probe/prober_priv.h"
#include "proc/maps.h"

void prober_file_free(struct prober_file *file)
{
	wanted_release(&file->wanted);
	branches_free(file->branches);
	elf_image_free(file->image);
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	free(file);
}

static struct prober_file *open_file(struct prober *prober, pid_t pid, const struct proc_map *map)
{
	struct prober_file *file = xcalloc(1, sizeof(*file));
	struct buf path = {0};
	struct stat found;

	proc_map_path(map, &path);
	file->path = xstrdup(buf_str(&path));
	buf_release(&path);
	file->dev = makedev(map->dev_major, map->dev_minor);
	file->inode = map->inode;
	file->fd = target_file_open(&(const struct target_file){.pid = pid,
								.start = map->start,
								.end = map->end,
								.dev = file->dev,
								.inode = file->inode,
								.path = file->path,
								.backings = &prober->backings},
				    &found);
	if (file->fd >= 0)
		file->image = elf_image_open(file->fd, NULL);
	return file;
}

struct prober_file *prober_file_of(struct prober *prober, pid_t pid, const struct proc_map *map)
{
	uint64_t dev = makedev(map->dev_major, map->dev_minor);
	struct prober_file *file;

	for (size_t i = 0; i < prober->nr_files; i++) {
		file = prober->files[i];
		if (file->inode == map->inode && file->dev == dev)
			return file->image ? file : NULL;
	}
	file = open_file(prober, pid, map);
	ARRAY_GROW(prober->files, prober->nr_files, prober->cap_files);
	prober->files[prober->nr_files++] = file;
	return file->image ? file : NULL;
}

/* Finds all branches in the file, so that none leads into the middle of overwritten bytes. */
static void sweep(struct prober_file *file)
{
	for (size_t i = 0; i < elf_image_nr_segments(file->image); i++) {
		const struct elf_segment *segment = elf_image_segment(file->image, i);
		uint8_t *bytes;
		size_t nr;

		if (!segment->executable)
			continue;
		bytes = alloc_bounded(segment->file_bytes, 1, (size_t)4 << 30);
		if (!bytes)
			continue;
		nr = elf_image_read(file->image, segment->vaddr, bytes, segment->file_bytes);
		branches_add_code(file->branches, segment->vaddr, bytes, nr);
		free(bytes);
	}
}

void prober_file_search(struct prober *prober, struct prober_file *file)
{
	const struct probe_file known = {.path = file->path, .fd = file->fd, .image = file->image};

	if (file->is_searched)
		return;
	file->is_searched = true;
	prober->options.find(prober->options.context, &known, &file->wanted);
	wanted_watch_gate(&file->wanted, file->image);
	wanted_sort(&file->wanted);
	if (!file->wanted.nr_places)
		return;
	file->branches = branches_new(file->wanted.starts, file->wanted.nr_starts);
	if (wanted_has_probes(&file->wanted))
		sweep(file);
	branches_sort(file->branches);
}
