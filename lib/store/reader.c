// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads a profile from a file, as far as it is undamaged. */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/minmax.h"
#include "profile/heap_discard.h"
#include "store/reader_priv.h"

static bool has_names(enum record_type type)
{
	return type == RECORD_META || (type >= RECORD_STRINGS && type <= RECORD_FRAMES) ||
	       (type >= RECORD_FUNCTIONS && type <= RECORD_MODULE_SYMBOLS);
}

/* Process one record; types of later versions are ignored. False if the frame is damaged. */
static bool take_record(struct reader *reader, struct cursor *cursor)
{
	uint64_t type = cursor_uleb(cursor);
	uint64_t nr_bytes = cursor_uleb(cursor);
	const uint8_t *payload = cursor_bytes(cursor, nr_bytes);

	if (!payload)
		return false;
	if (type == 0 || type >= RECORD_TYPE_COUNT)
		return true;
	if (reader->names_only && !has_names((enum record_type)type))
		return true;
	return reader_take_record(reader, (enum record_type)type, payload, nr_bytes);
}

static int take_frame(struct reader *reader, struct err *err)
{
	const struct buf *content = &reader->frames.content;
	struct cursor cursor = cursor_over(content->bytes, content->nr_bytes);

	while (cursor_left(&cursor)) {
		size_t at = content->nr_bytes - cursor_left(&cursor);

		if (!take_record(reader, &cursor) || (reader->ended && cursor_left(&cursor)))
			return err_set(err, ERR_CORRUPT,
				       "damaged at byte %llu: bad record at %zu of its frame",
				       (unsigned long long)reader->frames.nr_bytes_used, at);
	}
	frames_in_accept(&reader->frames);
	return 0;
}

/* Read frames until the end mark, the end of the file, or damage; *why is the reason. */
static void read_frames(struct reader *reader, struct err *why)
{
	bool end = false;

	while (!reader->ended) {
		if (frames_in_next(&reader->frames, &end, why) < 0)
			return;
		if (end) {
			err_set(why, ERR_TRUNCATED, "the recording did not finish");
			return;
		}
		if (take_frame(reader, why) < 0)
			return;
	}
	if (frames_in_next(&reader->frames, &end, why) < 0 || !end)
		err_set(why, ERR_CORRUPT, "there is data after the end of the profile");
}

static void estimate_duration_of_memory(const struct profile_heap *heap, uint64_t *duration_ns)
{
	for (size_t i = 0; i < heap->nr_allocations; i++)
		*duration_ns = max_u64(*duration_ns, max_u64(heap->allocations[i].time_ns,
							     heap->allocations[i].freed_ns));
	if (heap->nr_moments)
		*duration_ns = max_u64(*duration_ns, heap->moments[heap->nr_moments - 1].time_ns);
}

/* The duration is written last; in an incomplete file take the time of its last row. */
static void estimate_duration(struct profile *profile)
{
	estimate_duration_of_memory(&profile->heap, &profile->meta.duration_ns);
	for (size_t i = 0; i < profile->nr_samples; i++) {
		if (profile->samples[i].time_ns > profile->meta.duration_ns)
			profile->meta.duration_ns = profile->samples[i].time_ns;
	}
	for (size_t i = 0; i < profile->probes.nr_counts; i++) {
		if (profile->probes.counts[i].to_ns > profile->meta.duration_ns)
			profile->meta.duration_ns = profile->probes.counts[i].to_ns;
	}
}

static int finish(struct reader *reader, const struct err *why, struct store_salvage *salvage,
		  struct err *err)
{
	struct profile *profile = reader->profile;

	if (!profile->meta.start_realtime_ns && !profile->nr_processes && !reader->ended) {
		if (err)
			*err = *why;
		return why->code;
	}
	if (!reader->ended) {
		profile->meta.complete = false;
		estimate_duration(profile);
	}
	if (salvage) {
		*salvage = (struct store_salvage){.salvaged = why->code != ERR_OK};
		if (salvage->salvaged)
			salvage->nr_bytes_lost = frames_in_nr_bytes_left(&reader->frames);
		snprintf(salvage->why, sizeof(salvage->why), "%.150s", why->what);
	}
	return 0;
}

static int read_start(int fd, uint64_t nr_bytes, bool names_only, struct profile **profile,
		      struct store_salvage *salvage, struct err *err)
{
	struct reader reader = {.names_only = names_only};
	struct err why = ERR_INIT;
	int status = frames_in_init(&reader.frames, fd, nr_bytes, err);

	if (status < 0)
		return status;
	reader.profile = profile_new();
	status = frames_in_header(&reader.frames, err);
	if (status == 0) {
		read_frames(&reader, &why);
		status = finish(&reader, &why, salvage, err);
	}
	frames_in_release(&reader.frames);
	columns_in_release(&reader.columns);
	sample_coder_release(&reader.coder);
	moment_coder_release(&reader.moments);
	if (status < 0) {
		profile_free(reader.profile);
		return status;
	}
	heap_discard_apply(reader.profile);
	*profile = reader.profile;
	return status;
}

int store_read(int fd, struct profile **profile, struct store_salvage *salvage, struct err *err)
{
	return read_start(fd, UINT64_MAX, false, profile, salvage, err);
}

/* O_NONBLOCK: a FIFO without a writer must not block the caller; it reads as empty. */
static int open_input(const char *path, struct err *err)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int code = ERR_INVALID;

	if (fd < 0) {
		code = errno == ENOENT ? ERR_NOT_FOUND : ERR_SYS;
		err_sys(err, "cannot open the profile");
		if (err)
			err->code = (enum err_code)code;
		return code;
	}
	if (fstat(fd, &status) < 0)
		code = err_sys(err, "cannot stat the profile");
	else if (S_ISDIR(status.st_mode))
		err_set(err, ERR_INVALID, "is a directory, not a profile");
	else if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode))
		err_set(err, ERR_INVALID, "is neither a file nor a pipe");
	else
		return fd;
	close(fd);
	return code;
}

/* If the pipe has a writer (read would fail with EAGAIN), waiting for its bytes is right. */
static int make_blocking(int fd, struct err *err)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0)
		return err_sys(err, "cannot read the profile");
	return 0;
}

static int read_path_start(const char *path, uint64_t nr_bytes, bool names_only,
			   struct profile **profile, struct store_salvage *salvage, struct err *err)
{
	bool is_stdin = strcmp(path, "-") == 0;
	int fd = is_stdin ? STDIN_FILENO : open_input(path, err);
	int status = fd < 0 ? fd : 0;

	if (status == 0 && !is_stdin)
		status = make_blocking(fd, err);
	if (status == 0)
		status = read_start(fd, nr_bytes, names_only, profile, salvage, err);
	if (status == 0)
		profile_set_owner(*profile, owner_of_fd(fd));
	if (fd >= 0 && !is_stdin)
		close(fd);
	if (status < 0)
		err_prefix(err, "%s", is_stdin ? "standard input" : path);
	return status;
}

int store_read_path(const char *path, struct profile **profile, struct store_salvage *salvage,
		    struct err *err)
{
	return read_path_start(path, UINT64_MAX, false, profile, salvage, err);
}

int store_read_names(const char *path, struct profile **profile, struct err *err)
{
	return read_path_start(path, UINT64_MAX, true, profile, NULL, err);
}

bool store_is_profile(const char *path)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;
	uint8_t header[FORMAT_HEADER_BYTES];
	struct cursor cursor = cursor_over(header, sizeof(header));

	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
	    pread(fd, header, sizeof(header), 0) != (ssize_t)sizeof(header))
		return false;
	if (cursor_u32(&cursor) != FORMAT_SKIPPABLE_MAGIC)
		return false;
	(void)cursor_u32(&cursor); /* the size of the rest */
	return memcmp(cursor_bytes(&cursor, FORMAT_MAGIC_BYTES), FORMAT_MAGIC,
		      FORMAT_MAGIC_BYTES) == 0;
}

int store_read_path_start(const char *path, uint64_t nr_bytes, struct profile **profile,
			  struct err *err)
{
	return read_path_start(path, nr_bytes, false, profile, NULL, err);
}
