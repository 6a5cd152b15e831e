/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TESTS_UNIT_MADE_COLLECTOR_H
#define PROFC_TESTS_UNIT_MADE_COLLECTOR_H

#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/alloc.h"
#include "collector/collector.h"
#include "collector/message.h"
#include "collector/wanted_hints.h"
#include "profile/profile.h"
#include "snapshot/snapshot.h"
#include "store/store.h"
#include "tests/unit/unit.h"

/* A collector that writes into memory, is told what a test likes, and whose file is read back. */
struct made_collector {
	struct profile *profile; /* that it fills */
	struct store_writer *writer;
	int file;
	struct collector *collector;
	uint32_t nr_processes, nr_threads; /* next serials */
	struct collector_result result;	   /* once finished, as is what was read back: */
	struct profile *read;
};

/* No process has this id: of it there is what the messages say. */
#define MADE_PID 5000000

#define MADE_PERIOD_NS 1000000

/* `options` gives bounds; or NULL. */
static inline void made_collector_start(struct made_collector *made,
					const struct collector_options *options)
{
	struct collector_options all = options ? *options : (struct collector_options){0};

	*made = (struct made_collector){0};
	all.period_ns = MADE_PERIOD_NS;
	all.max_depth = 100;
	all.profile = made->profile = profile_new();
	made->profile->meta.start_realtime_ns = 1;
	made->file = memfd_create("profc.data", MFD_CLOEXEC);
	assert_int_equal(store_writer_new(made->file, &made->writer, NULL), 0);
	all.writer = made->writer;
	made->collector = collector_start(&all, NULL);
	assert_non_null(made->collector);
}

/* All that was published is in made.read. */
static inline void made_collector_finish(struct made_collector *made)
{
	collector_finish(made->collector, &made->result, NULL);
	assert_int_equal(lseek(made->file, 0, SEEK_SET), 0);
	assert_int_equal(store_read(made->file, &made->read, NULL, NULL), 0);
}

static inline void made_collector_free(struct made_collector *made)
{
	collector_free(made->collector);
	store_writer_free(made->writer);
	close(made->file);
	profile_free(made->profile);
	profile_free(made->read);
}

static inline struct message *made_process(struct made_collector *made, pid_t pid)
{
	struct message *message = message_new(MESSAGE_PROCESS, 1);

	message->body.process.serial = made->nr_processes++;
	message->body.process.parent = SERIAL_NONE;
	message->body.process.pid = pid;
	return message;
}

/* A process of which only its end is to be told. */
static inline struct message *made_process_end(uint32_t serial, uint64_t time_ns)
{
	struct message *message = message_new(MESSAGE_PROCESS_END, time_ns);

	message->body.process.serial = serial;
	return message;
}

/* A thread of the latest process, counted from 0 on. */
static inline struct message *made_thread(struct made_collector *made, pid_t tid)
{
	struct message *message = message_new(MESSAGE_THREAD, 1);

	message->body.thread.serial = made->nr_threads++;
	message->body.thread.process = made->nr_processes - 1;
	message->body.thread.tid = tid;
	message->body.thread.name = xstrdup("made");
	message->body.thread.hints = thread_hints_new(NULL);
	return message;
}

static inline struct message *made_thread_end(uint32_t serial, uint32_t process, uint64_t time_ns,
					      const struct account_clocks *clocks)
{
	struct message *message = message_new(MESSAGE_THREAD_END, time_ns);

	message->body.thread.serial = serial;
	message->body.thread.process = process;
	message->body.thread.has_clocks = clocks != NULL;
	if (clocks)
		message->body.thread.clocks = *clocks;
	return message;
}

/* Of a snapshot without registers no walk begins; a test may put some into it. */
static inline struct message *made_sample(uint32_t thread, enum seen_state state, uint64_t time_ns,
					  uint64_t cpu_ns)
{
	struct message *message = message_new(MESSAGE_SAMPLE, time_ns);
	struct message_sample *sample = &message->body.sample;

	sample->thread = thread;
	sample->is_new = true;
	sample->state = state;
	sample->clocks = (struct account_clocks){.time_ns = time_ns, .cpu_ns = cpu_ns};
	sample->snapshot = xcalloc(1, sizeof(*sample->snapshot));
	sample->snapshot->syscall_nr = SNAPSHOT_NO_SYSCALL;
	return message;
}

static inline void made_publish(struct made_collector *made, struct message *message)
{
	collector_publish(made->collector, message);
}

/* Once that has been handled and written. */
static inline void made_cut(struct made_collector *made)
{
	struct collector_cut cut = {.look = NULL};

	collector_cut(made->collector, &cut);
	assert_true(collector_cut_wait(&cut) > 0);
}

#endif
