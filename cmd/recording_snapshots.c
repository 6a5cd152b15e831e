// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/recording_snapshots.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/output_place.h"
#include "cmd/command.h"
#include "cmd/recording_file.h"
#include "cmd/recording_writer.h"
#include "cmd/resolve_progress.h"
#include "cmd/save_profile.h"
#include "profile/profile.h"
#include "store/store.h"

/*
 * A recording that is over waits so long for somebody to read on; whoever reads something has as
 * long again.
 */
#define PATIENCE_NS (5 * NS_PER_SEC)
#define TELL_NS	    NS_PER_SEC
#define POLL_MS	    100

struct snapshot_request {
	struct snapshots *snapshots; /* borrowed */
	char *path;		     /* owned */
	struct recording_part part;
};

void snapshots_init(struct snapshots *snapshots, const struct recording_file *file,
		    const struct symbol_options *symbols)
{
	*snapshots = (struct snapshots){.file = file, .has_names = symbols != NULL};
	if (symbols)
		snapshots->symbols = *symbols;
	patience_init(&snapshots->patience);
	snapshots->writer = recording_writer_new(0);
}

/* A FIFO without a reader gets the whole snapshot once it has one. */
static int save(struct snapshots *snapshots, struct profile *profile, const char *path,
		struct err *err)
{
	cleanup_close int fd = -1;
	int status;

	if (!patience_is_needed(path))
		return save_profile_keeping(profile, path, err);
	if (strcmp(path, "-") != 0 && output_place_check(path, err) < 0)
		return err->code;
	fd = memfd_create("profc", MFD_CLOEXEC);
	if (fd < 0)
		return err_sys(err, "cannot make a file in memory");
	status = save_profile_fd(profile, fd, err);
	return status < 0 ? status : patient_copy(&snapshots->patience, fd, path, err);
}

/* Read back from the file, as far as it went then. */
static int write_snapshot(struct snapshots *snapshots, struct snapshot_request *request,
			  struct err *err)
{
	uint64_t nr_bytes = request->part.cut.nr_bytes;
	struct profile *profile = NULL;
	int status;

	if (!nr_bytes)
		return err_set(err, ERR_LIMIT, "no snapshot: the recording could not be written");
	status = store_read_path_start(snapshots->file->path, nr_bytes, &profile, err);
	if (status < 0)
		return status;
	if (snapshots->has_names)
		resolve_with_progress(profile, &snapshots->symbols, false);
	profile->meta.complete = true; /* as far as it goes */
	status = save(snapshots, profile, request->path, err);
	profile_free(profile);
	return status;
}

static void serve(void *context)
{
	struct snapshot_request *request = context;
	struct snapshots *snapshots = request->snapshots;
	struct err err = ERR_INIT;

	if (write_snapshot(snapshots, request, &err) < 0) {
		if (snapshots->clears_line && may_show_progress())
			print_progress("%s", "");
		print_err(&err);
	}
	free(request->path);
	free(request);
}

void snapshots_take(struct snapshots *snapshots, struct sampler *sampler, const char *path)
{
	struct snapshot_request *request = xcalloc(1, sizeof(*request));

	request->snapshots = snapshots;
	request->path = xstrdup(path);
	request->part = (struct recording_part){.write = serve, .context = request};
	/* Else it is written now, which must not wait for a reader. */
	if (!recording_writer_is_beside(snapshots->writer))
		patience_end(&snapshots->patience);
	recording_writer_add(snapshots->writer, sampler, &request->part);
}

/* At the end. There is no reader if no bytes were taken since `since_ns`. */
struct waiting {
	uint64_t nr_bytes, nr_copies;
	uint64_t since_ns;
	bool is_told;
};

static void watch_readers(struct snapshots *snapshots, struct waiting *waiting)
{
	struct patience *patience = &snapshots->patience;
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t nr_bytes = atomic_load(&patience->nr_bytes);
	uint64_t nr_copies = atomic_load(&patience->nr_copies);

	if (nr_bytes != waiting->nr_bytes || nr_copies != waiting->nr_copies ||
	    !atomic_load(&patience->is_tried)) {
		waiting->nr_bytes = nr_bytes;
		waiting->nr_copies = nr_copies;
		waiting->since_ns = now_ns;
	} else if (now_ns - waiting->since_ns > PATIENCE_NS) {
		patience_give_up(patience);
	} else if (now_ns - waiting->since_ns > TELL_NS && !waiting->is_told) {
		waiting->is_told = true;
		print_note("a snapshot waits to be read: Ctrl-C gives it up");
	}
}

static void wait_until_over(struct snapshots *snapshots, int over_fd, int asked_fd, bool quiet)
{
	struct waiting waiting = {.since_ns = clock_monotonic_ns(), .is_told = quiet};
	struct pollfd fds[] = {
		{.fd = asked_fd, .events = POLLIN},
		{.fd = over_fd, .events = POLLIN},
	};

	while (!fds[1].revents) {
		poll(fds, ARRAY_SIZE(fds), POLL_MS);
		if (fds[0].revents) {
			patience_end(&snapshots->patience);
			fds[0].fd = -1; /* it stays readable */
		}
		watch_readers(snapshots, &waiting);
	}
}

void snapshots_finish(struct snapshots *snapshots, int asked_fd, bool quiet)
{
	int over_fd = recording_writer_finish(snapshots->writer);

	if (over_fd >= 0)
		wait_until_over(snapshots, over_fd, asked_fd, quiet);
	recording_writer_free(snapshots->writer);
	patience_release(&snapshots->patience);
}
