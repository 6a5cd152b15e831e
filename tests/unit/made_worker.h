/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TESTS_UNIT_MADE_WORKER_H
#define PROFC_TESTS_UNIT_MADE_WORKER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "profile/profile.h"
#include "sampler/worker.h"
#include "snapshot/snapshot.h"
#include "store/store.h"

/* A worker that writes into memory, and is told what a test likes. */
struct made_worker {
	struct profile *profile;
	struct store_writer *writer;
	int file;
	struct worker *worker;
	struct snapshot_ring ring;
};

static inline void made_worker_set_up(struct made_worker *made)
{
	struct worker_options options = {.period_ns = 1000000, .used_snapshots = &made->ring};

	options.profile = made->profile = profile_new();
	made->file = memfd_create("profc.data", MFD_CLOEXEC);
	assert_int_equal(store_writer_new(made->file, &made->writer, NULL), 0);
	options.writer = made->writer;
	made->worker = worker_new(&options);
}

static inline void made_worker_tear_down(struct made_worker *made)
{
	worker_free(made->worker);
	snapshot_ring_release(&made->ring);
	store_writer_free(made->writer);
	close(made->file);
	profile_free(made->profile);
}

/* Of a process that it was told of. */
static inline void made_worker_tell_thread(struct made_worker *made, pid_t tid)
{
	struct message *message = message_new(MESSAGE_THREAD, 1);

	message->body.thread.tid = tid;
	message->body.thread.hints = xcalloc(1, sizeof(*message->body.thread.hints));
	worker_handle(made->worker, message);
}

/* That thread was found running. The snapshot is on the heap, and given away with the message. */
static inline struct message *made_worker_sighting(struct snapshot *snapshot)
{
	struct message *message = message_new(MESSAGE_SIGHTING, 2);
	struct message_sighting *sighting = &message->body.sighting;

	snapshot->syscall_nr = SNAPSHOT_NO_SYSCALL;
	sighting->is_new = true;
	sighting->kind = SIGHTING_RUNNING;
	sighting->clocks = (struct account_clocks){.time_ns = 2, .cpu_ns = 1};
	sighting->snapshot = snapshot;
	return message;
}

#endif
