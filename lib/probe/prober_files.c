// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of code, each opened and searched once. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/minmax.h"
#include "base/read_ahead.h"
#include "cfi/cfi.h"
#include "elf/elf_image.h"
#include "elf/elf_ranges.h"
#include "mapping/target_file.h"
#include "patch/branches.h"
#include "patch/patch.h"
#include "probe/known_code.h"
#include "probe/prober_priv.h"
#include "proc/maps.h"

void prober_file_free(struct prober_file *file)
{
	for (size_t i = 0; file->codes && i < file->wanted.nr_places; i++)
		known_code_free(file->codes[i]);
	free(file->codes);
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
	if (file->fd >= 0 && !file->image) {
		close(file->fd);
		file->fd = -1;
	}
	return file;
}

struct prober_file *prober_file_known(const struct prober *prober, uint64_t dev, uint64_t inode)
{
	for (size_t i = 0; i < prober->files.nr; i++) {
		struct prober_file *file = prober->files.at[i];

		if (file->inode == inode && file->dev == dev)
			return file;
	}
	return NULL;
}

struct prober_file *prober_file_of(struct prober *prober, pid_t pid, const struct proc_map *map)
{
	struct prober_file *file =
		prober_file_known(prober, makedev(map->dev_major, map->dev_minor), map->inode);

	if (file)
		return file->image ? file : NULL;
	file = open_file(prober, pid, map);
	ARRAY_GROW(prober->files.at, prober->files.nr, prober->files.cap);
	prober->files.at[prober->files.nr++] = file;
	return file->image ? file : NULL;
}

/* Code is read in pieces of so many bytes, of whole functions. */
#define PIECE_BYTES ((uint64_t)256 << 10)

static uint64_t end_of_piece(const struct branches *branches, uint64_t from, uint64_t end)
{
	uint64_t last;

	if (end - from <= PIECE_BYTES)
		return end;
	last = branches_last_start(branches, from + PIECE_BYTES);
	if (last <= from)
		last = branches_last_step(branches, from + PIECE_BYTES);
	return last > from ? last : min_u64(branches_next_start(branches, from + PIECE_BYTES), end);
}

/* One for all pieces: each new one would be fresh memory, page by page. */
struct piece {
	uint8_t *bytes; /* owned */
	size_t cap;
};

/* False: there is no such memory. */
static bool piece_reserve(struct piece *piece, size_t nr_bytes)
{
	if (nr_bytes <= piece->cap)
		return true;
	free(piece->bytes);
	piece->cap = (size_t)max_u64(nr_bytes, PIECE_BYTES);
	piece->bytes = alloc_bounded(piece->cap, 1, (size_t)4 << 30);
	if (!piece->bytes)
		piece->cap = 0;
	return piece->bytes;
}

static void read_part(struct prober_file *file, uint64_t at, uint64_t end, struct piece *piece)
{
	uint64_t next;

	for (; at < end; at = next) {
		next = end_of_piece(file->branches, at, end);
		if (!piece_reserve(piece, (size_t)(next - at)))
			break;
		branches_add_code(
			file->branches, at, piece->bytes,
			elf_image_read(file->image, at, piece->bytes, (size_t)(next - at)));
	}
}

/* Eight for each function. */
#define STEPS_BYTES_MAX ((size_t)64 << 20)
/* Where the symbols of most functions are known, these have no more bytes by the mean. */
#define KNOWN_MEAN_BYTES 1024

static bool lacks_starts(const struct prober_file *file)
{
	uint64_t nr_bytes = 0;

	for (size_t i = 0; i < elf_image_nr_segments(file->image); i++) {
		const struct elf_segment *segment = elf_image_segment(file->image, i);

		if (segment->executable)
			nr_bytes += segment->file_bytes;
	}
	return nr_bytes / KNOWN_MEAN_BYTES > file->wanted.nr_starts;
}

/* Where functions begin by the table of unwind information. The caller frees them; NULL: not known.
 */
static uint64_t *read_steps(const struct prober_file *file, size_t *nr)
{
	struct elf_ranges found = {.nr = 0};
	cleanup_free uint8_t *bytes = NULL;
	struct elf_bytes table = {.nr_bytes = 0};

	if (lacks_starts(file))
		elf_image_sections(file->image, ".eh_frame_hdr", &found);
	if (found.nr == 1) {
		table.vaddr = found.at[0].start;
		table.nr_bytes = (size_t)(found.at[0].end - found.at[0].start);
		bytes = alloc_bounded(table.nr_bytes, 1, STEPS_BYTES_MAX);
	}
	elf_ranges_release(&found);
	if (!bytes)
		return NULL;
	table.bytes = bytes;
	table.nr_bytes = elf_image_read(file->image, table.vaddr, bytes, table.nr_bytes);
	return cfi_hdr_is_usable(&table) ? cfi_hdr_starts(&table, nr) : NULL;
}

/*
 * Finds the branches in the file, so that none leads into the middle of overwritten bytes. Some
 * linkers put as much data as code into a segment that can be executed.
 */
static void read_code(struct prober_file *file)
{
	struct elf_ranges data = {.nr = 0};
	struct piece piece = {.cap = 0};
	size_t nr_steps = 0;
	cleanup_free uint64_t *steps = read_steps(file, &nr_steps);

	branches_know_steps(file->branches, steps, nr_steps);
	elf_image_data(file->image, &data);
	for (size_t i = 0; i < elf_image_nr_segments(file->image); i++) {
		const struct elf_segment *segment = elf_image_segment(file->image, i);
		uint64_t at = segment->vaddr, end = segment->vaddr + segment->file_bytes;

		if (!segment->executable)
			continue;
		for (size_t k = 0; k < data.nr; k++) {
			read_part(file, at, min_u64(end, data.at[k].start), &piece);
			at = max_u64(at, data.at[k].end);
		}
		read_part(file, at, end, &piece);
	}
	branches_know_steps(file->branches, NULL, 0);
	free(piece.bytes);
	elf_ranges_release(&data);
}

static size_t read_image(void *image, uint64_t address, void *out, size_t nr_bytes)
{
	return elf_image_read(image, address, out, nr_bytes);
}

/* The caller frees it. */
static struct read_ahead *read_ahead_of(const struct prober_file *file)
{
	struct read_ahead *ahead = xmalloc(sizeof(*ahead));

	ahead->read = read_image;
	ahead->context = file->image;
	ahead->is_of_file = true;
	ahead->address = ahead->nr_bytes = 0;
	return ahead;
}

static void ask_about_places(struct prober_file *file)
{
	struct wanted *wanted = &file->wanted;
	cleanup_free uint64_t *addresses = xcalloc(wanted->nr_places, sizeof(*addresses));
	cleanup_free uint8_t *reach = xcalloc(wanted->nr_places, sizeof(*reach));
	struct branches_places places = {.at = addresses, .nr = wanted->nr_places, .reach = reach};
	cleanup_free struct read_ahead *ahead = read_ahead_of(file);

	for (size_t i = 0; i < wanted->nr_places; i++) {
		struct wanted_place *place = &wanted->places[i];
		uint64_t next = branches_next_start(file->branches, place->address);
		uint8_t bytes[PATCH_REACH_MAX_BYTES];
		size_t nr = read_ahead_get(ahead, place->address, bytes, sizeof(bytes));
		bool is_plain;

		addresses[i] = place->address;
		reach[i] = patch_entry_reach(bytes, nr, &is_plain);
		/* The system call after it is not jumped to, either. */
		if (place->kind == WANTED_SYSCALL)
			reach[i] = (uint8_t)max_u64(reach[i], place->nr_bytes + 1);
		place->is_plain = is_plain && next - place->address >= reach[i] &&
				  (!place->nr_bytes || place->nr_bytes >= reach[i]);
		if (place->nr_bytes > next - place->address)
			places.span = max_u64(places.span, place->nr_bytes);
	}
	branches_ask_about(file->branches, &places);
}

static void read_code_of_heap(struct prober_file *file)
{
	const struct wanted *wanted = &file->wanted;

	for (size_t i = 0; i < wanted->nr_places; i++) {
		const struct wanted_place *place = &wanted->places[i];

		if (place->kind != WANTED_HEAP)
			continue;
		if (!file->codes)
			file->codes = xcalloc(wanted->nr_places, sizeof(struct known_code *));
		file->codes[i] = known_code_read(file->image, place->address, place->nr_bytes);
	}
}

/* A branch to it may be a reason against a probe. */
static void note_branches(struct prober_file *file)
{
	for (size_t i = 0; i < file->wanted.nr_places; i++) {
		struct wanted_place *place = &file->wanted.places[i];

		place->is_plain &= !branches_lead_to(file->branches, place->address,
						     place->address + PATCH_REACH_MAX_BYTES);
	}
}

/* Only the places and branches are needed when probes are put in. */
static void search(struct prober_file *file)
{
	file->branches = branches_new(file->wanted.starts, file->wanted.nr_starts);
	ask_about_places(file);
	if (wanted_has_probes(&file->wanted))
		read_code(file);
	branches_sort(file->branches);
	note_branches(file);
	read_code_of_heap(file);
}

void prober_file_search(struct prober *prober, struct prober_file *file)
{
	const struct probe_file known = {.path = file->path, .fd = file->fd, .image = file->image};

	if (file->is_searched)
		return;
	file->is_searched = true;
	prober->options.find(prober->options.context, &known, &file->wanted);
	wanted_watch_gates(&file->wanted, file->image, prober->options.has_span);
	wanted_sort(&file->wanted);
	if (file->wanted.nr_places)
		search(file);
	wanted_forget_starts(&file->wanted);
}

void prober_file_name(const struct prober *prober, struct prober_file *file,
		      struct wanted_place *const *places, size_t nr, pthread_mutex_t *lock)
{
	const struct probe_file known = {.path = file->path, .fd = file->fd, .image = file->image};
	cleanup_free uint64_t *addresses = xcalloc(nr + 1, sizeof(*addresses));
	cleanup_free char **names = xcalloc(nr + 1, sizeof(char *));

	if (!nr)
		return;
	for (size_t i = 0; i < nr; i++)
		addresses[i] = places[i]->address;
	prober->options.name(prober->options.context, &known, addresses, nr, names);
	if (lock)
		pthread_mutex_lock(lock);
	for (size_t i = 0; i < nr; i++) {
		if (places[i]->name)
			free(names[i]);
		else
			places[i]->name = names[i];
	}
	if (lock)
		pthread_mutex_unlock(lock);
}

/* Longer than any thunk. */
#define TRIED_BYTES 512
/* As far from code as it may be in a process; one of all threads has the shortest thunks. */
#define TRIED_AT(address) (((address) & ~UINT64_C(15)) + 0x10000)

/* Makes the probe of a function as it is in the file, for the outcome. */
static bool is_told(const struct prober_file *file, const struct wanted_place *place,
		    struct read_ahead *ahead)
{
	uint8_t bytes[KNOWN_CODE_BYTES], thunk[TRIED_BYTES];
	const struct patch_function function = {
		.address = place->address,
		.nr_bytes = place->nr_bytes,
		.bytes = bytes,
		.nr_readable = read_ahead_get(ahead, place->address, bytes, sizeof(bytes))};
	struct code_area area = {
		.address = TRIED_AT(place->address), .bytes = thunk, .cap_bytes = sizeof(thunk)};
	const struct patch_counter counter = {.address = area.address + sizeof(thunk),
					      .nr_shards = 1};
	struct patch patch;

	return patch_entry(&patch, &function, file->branches, &area, &counter) != PATCH_OK ||
	       patch.is_in_sled;
}

/* May the probe of the function before be in the way? */
static bool is_within(const struct wanted_place *place, const struct wanted_place *before)
{
	uint64_t distance = place->address - before->address;

	return distance < PATCH_REACH_MAX_BYTES &&
	       (!before->nr_bytes || distance < before->nr_bytes);
}

void prober_file_name_told(struct prober *prober, struct prober_file *file)
{
	struct wanted *wanted = &file->wanted;
	cleanup_free struct wanted_place **told =
		xcalloc(wanted->nr_places + 1, sizeof(struct wanted_place *));
	cleanup_free struct read_ahead *ahead = read_ahead_of(file);
	size_t nr = 0;

	for (size_t i = 0; i < wanted->nr_places; i++) {
		struct wanted_place *place = &wanted->places[i];

		if (place->kind == WANTED_ENTRY && !place->name &&
		    ((i && is_within(place, place - 1)) ||
		     (!place->is_plain && is_told(file, place, ahead))))
			told[nr++] = place;
	}
	prober_file_name(prober, file, told, nr, &prober->lock);
}

void prober_forget_names(const struct prober *prober)
{
	if (prober->options.forget)
		prober->options.forget(prober->options.context);
}

const char *prober_name_of(const struct prober *prober, const struct counted_place *place)
{
	struct wanted *wanted = &place->file->wanted;
	const struct wanted_place *known = counted_wanted(place);
	struct wanted_place **places;
	size_t nr = 0;

	if (known->name)
		return known->name;
	places = xcalloc(wanted->nr_places, sizeof(struct wanted_place *));
	for (size_t i = 0; i < wanted->nr_places; i++) {
		if (!wanted->places[i].name)
			places[nr++] = &wanted->places[i];
	}
	prober_file_name(prober, place->file, places, nr, NULL);
	free(places);
	return known->name;
}
