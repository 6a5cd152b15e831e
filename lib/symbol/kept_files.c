// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/kept_files.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "mapping/module.h"
#include "symbol/symbol_priv.h"

/* Each holds some descriptors: so many, or fewer where these are few. */
#define FILES_MAX	     32
#define DESCRIPTORS_PER_FILE 16
/* One that was not taken for so long makes room for others: its program may be gone. */
#define STALE_NS (600 * NS_PER_SEC)

struct kept_file {
	struct symbol_file *file; /* owned */
	uint64_t since_ns;	  /* CLOCK_MONOTONIC */
};

struct kept_files {
	pthread_mutex_t lock;
	struct kept_file files[FILES_MAX];
	size_t nr, most;
	uint64_t nr_bytes, max_bytes;
};

struct kept_files *kept_files_new(uint64_t max_bytes)
{
	struct kept_files *kept = xcalloc(1, sizeof(*kept));
	struct rlimit limit = {.rlim_cur = 0};

	getrlimit(RLIMIT_NOFILE, &limit);
	kept->most = (size_t)min_u64(limit.rlim_cur / DESCRIPTORS_PER_FILE, FILES_MAX);
	kept->max_bytes = max_bytes;
	pthread_mutex_init(&kept->lock, NULL);
	return kept;
}

void kept_files_free(struct kept_files *kept)
{
	if (!kept)
		return;
	for (size_t i = 0; i < kept->nr; i++)
		symbol_file_close(kept->files[i].file);
	pthread_mutex_destroy(&kept->lock);
	free(kept);
}

/* The memory that it holds, without mapped pages, which the kernel may take back. */
static uint64_t bytes_of(const struct symbol_file *file)
{
	const struct symbol_object *object = &file->object;
	uint64_t nr = file->symbols.cap * sizeof(*file->symbols.rows);

	if (!object->has_dwarf)
		return nr;
	for (int i = 0; i < DWARF_SECTION_COUNT; i++) {
		if (object->inflated.blocks[i])
			nr += object->dwarf.sections[i].nr;
		if (object->supplement_inflated.blocks[i])
			nr += object->supplement_dwarf.sections[i].nr;
	}
	return nr + object->dwarf.nr_units * sizeof(*object->dwarf.units) +
	       object->dwarf.nr_scratch_bytes;
}

/* A file without a build-id, or that is not whole, cannot be known again. */
static bool may_be_kept(const struct symbol_file *file)
{
	const struct symbol_object *object = &file->object;

	return file->opened.st_ino && !file->mismatch && object->build_id.nr &&
	       !object->is_debug_file_only && !object->split.nr && !object->split.package &&
	       !has_ended(object->ended) && !has_ended(symbol_debug_ended(&file->options));
}

static struct symbol_file *take_out(struct kept_files *kept, size_t i)
{
	struct symbol_file *file = kept->files[i].file;

	kept->nr_bytes -= bytes_of(file);
	kept->files[i] = kept->files[--kept->nr];
	return file;
}

static bool has_room(const struct kept_files *kept, uint64_t nr_bytes)
{
	return kept->nr < kept->most && nr_bytes <= kept->max_bytes - kept->nr_bytes;
}

static void make_room(struct kept_files *kept, uint64_t nr_bytes, uint64_t now_ns)
{
	for (size_t i = kept->nr; i-- > 0 && !has_room(kept, nr_bytes);) {
		if (kept->files[i].since_ns + STALE_NS < now_ns)
			symbol_file_close(take_out(kept, i));
	}
}

static bool keep(struct kept_files *kept, struct symbol_file *file)
{
	uint64_t nr_bytes = bytes_of(file), now_ns = clock_monotonic_ns();
	bool is_kept;

	pthread_mutex_lock(&kept->lock);
	make_room(kept, nr_bytes, now_ns);
	is_kept = has_room(kept, nr_bytes);
	if (is_kept) {
		kept->files[kept->nr++] = (struct kept_file){file, now_ns};
		kept->nr_bytes += nr_bytes;
	}
	pthread_mutex_unlock(&kept->lock);
	return is_kept;
}

void kept_files_give(struct kept_files *kept, struct symbol_file *file)
{
	if (kept)
		symbol_file_trim(file);
	if (!kept || !may_be_kept(file) || !keep(kept, file))
		symbol_file_close(file);
}

/* Has no one written to it since it was opened? */
static bool is_unchanged(const struct stat *then, int fd)
{
	struct stat now;

	return fstat(fd, &now) == 0 && now.st_dev == then->st_dev && now.st_ino == then->st_ino &&
	       now.st_size == then->st_size && now.st_mtim.tv_sec == then->st_mtim.tv_sec &&
	       now.st_mtim.tv_nsec == then->st_mtim.tv_nsec &&
	       now.st_ctim.tv_sec == then->st_ctim.tv_sec &&
	       now.st_ctim.tv_nsec == then->st_ctim.tv_nsec;
}

/* Debug files are searched in the same places, for the same owner. */
static bool is_for(const struct symbol_file *file, const struct symbol_options *options,
		   const struct symbol_request *request)
{
	const struct symbol_object *object = &file->object;
	const struct symbol_options *former = &file->options;

	return request->fd >= 0 && request->recorded && !request->recorded->image_offset &&
	       !request->tables_only &&
	       request->recorded->owner.v == owner_of_file(&file->opened).v &&
	       request->nr_build_id_bytes == object->build_id.nr &&
	       memcmp(request->build_id, object->build_id.bytes, object->build_id.nr) == 0 &&
	       strcmp(request->path, object->path) == 0 &&
	       options->debug_dirs == former->debug_dirs &&
	       options->nr_debug_dirs == former->nr_debug_dirs &&
	       options->sysroot == former->sysroot && options->verbatim == former->verbatim &&
	       (!options->debuginfod || former->debuginfod || object->has_dwarf) &&
	       is_unchanged(&file->opened, request->fd);
}

static struct symbol_file *find(struct kept_files *kept, const struct symbol_options *options,
				const struct symbol_request *request)
{
	struct symbol_file *found = NULL;
	size_t i = 0;

	pthread_mutex_lock(&kept->lock);
	while (i < kept->nr && !is_for(kept->files[i].file, options, request))
		i++;
	if (i < kept->nr)
		found = take_out(kept, i);
	pthread_mutex_unlock(&kept->lock);
	return found;
}

struct symbol_file *kept_files_take(struct kept_files *kept, const struct symbol_options *options,
				    const struct symbol_request *request)
{
	struct symbol_file *file = kept ? find(kept, options, request) : NULL;

	if (!file)
		return NULL;
	file->options = *options; /* the object refers to this copy */
	file->nr_threads = options->nr_threads;
	symbol_object_adopt(&file->object, &file->options);
	return file;
}
