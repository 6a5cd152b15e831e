// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/live.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "cmd/record_options.h"
#include "cmd/recording_meta.h"
#include "profile/profile.h"
#include "sampler/sampler.h"
#include "store/store.h"

struct live {
	int fd; /* a file in memory */
	struct profile *profile;
	struct store_writer *writer;
	struct sampler *sampler;
	sigset_t former_mask;
};

static void live_free(struct live *live)
{
	store_writer_free(live->writer);
	profile_free(live->profile);
	if (live->fd >= 0)
		close(live->fd);
	free(live);
}

static int start(struct live *live, const struct record_options *options, char **argv,
		 const pid_t *pids, size_t nr_pids, struct err *err)
{
	struct sampler_options sampler_options = {
		.argv = argv,
		.command_mask = &live->former_mask,
		.pids = pids,
		.nr_pids = nr_pids,
		.frequency_hz = (uint32_t)options->frequency_hz,
		.max_overhead_ppm = (uint32_t)(options->max_overhead_percent * 10000),
		.follow_children = !options->no_children,
		.unwinder = (enum unwinder_kind)options->unwinder,
		.max_depth = options->max_depth,
	};
	int status;

	live->fd = memfd_create("profc", MFD_CLOEXEC);
	if (live->fd < 0)
		return err_sys(err, "cannot make a file in memory");
	status = store_writer_new(live->fd, &live->writer, err);
	if (status < 0)
		return status;
	live->sampler = sampler_start(&sampler_options, live->profile, live->writer, err);
	return live->sampler ? 0 : ERR_SYS;
}

struct live *live_start(const struct record_options *options, char **argv, const pid_t *pids,
			size_t nr_pids, struct err *err)
{
	struct live *live = xcalloc(1, sizeof(*live));
	sigset_t ours;

	live->fd = -1;
	live->profile = profile_new();
	recording_meta_fill(live->profile, options, argv);
	sigemptyset(&ours);
	sigaddset(&ours, SIGCHLD);
	sigprocmask(SIG_BLOCK, &ours, &live->former_mask);
	if (start(live, options, argv, pids, nr_pids, err) == 0)
		return live;
	live_free(live);
	return NULL;
}

struct sampler *live_sampler(struct live *live)
{
	return live->sampler;
}

int live_profile(struct live *live, struct profile **profile, struct err *err)
{
	char path[64];

	if (!sampler_flush(live->sampler))
		return err_set(err, ERR_LIMIT, "the recording could not be written to memory");
	/* By its name, to read it from its beginning while it is written at its end. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", live->fd);
	return store_read_path(path, profile, NULL, err);
}

int live_end(struct live *live)
{
	struct sampler_result result;

	if (!live)
		return 0;
	sampler_finish(live->sampler, &result, NULL);
	live_free(live);
	return result.command_exited ? result.command_status : 0;
}
