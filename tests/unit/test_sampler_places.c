// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "mapping/module.h"
#include "proc/range.h"
#include "profile/profile.h"
#include "sampler/worker.h"
#include "snapshot/snapshot.h"
#include "stack/stack.h"
#include "store/store.h"

/* No process has this id: its map is what the messages say. */
#define NO_PROCESS 5000000

#define LIB_A "7f0000001000-7f0000003000 r-xp 00001000 08:01 80 /lib/a.so\n"
#define LIB_B "7f0000001000-7f0000003000 r-xp 00001000 08:01 81 /lib/b.so\n"
#define PC    UINT64_C(0x7f0000001234)

struct fixture {
	struct profile *profile;
	struct store_writer *writer;
	int file;
	struct worker *worker;
	struct snapshot_ring ring;
};

static void tell_map(struct fixture *fixture, enum message_kind kind, const char *maps)
{
	struct message *message = message_new(kind, 1);

	message->body.process.pid = NO_PROCESS;
	message->body.process.parent = SERIAL_NONE;
	message->body.process.maps = xstrdup(maps);
	message->body.process.nr_maps_bytes = strlen(maps);
	worker_handle(fixture->worker, message);
}

static int set_up(void **state)
{
	struct fixture *fixture = xcalloc(1, sizeof(*fixture));
	struct worker_options options = {.period_ns = 1000000, .used_snapshots = &fixture->ring};
	struct message *message = message_new(MESSAGE_THREAD, 1);

	options.profile = fixture->profile = profile_new();
	fixture->file = memfd_create("profc.data", MFD_CLOEXEC);
	assert_int_equal(store_writer_new(fixture->file, &fixture->writer, NULL), 0);
	options.writer = fixture->writer;
	fixture->worker = worker_new(&options);
	tell_map(fixture, MESSAGE_PROCESS, LIB_A);
	message->body.thread.tid = NO_PROCESS;
	message->body.thread.hints = xcalloc(1, sizeof(*message->body.thread.hints));
	worker_handle(fixture->worker, message);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	worker_free(fixture->worker);
	snapshot_ring_release(&fixture->ring);
	store_writer_free(fixture->writer);
	close(fixture->file);
	profile_free(fixture->profile);
	free(fixture);
	return 0;
}

/* It ran at PC, where the kernel told of that file; 0: it was not asked. Its leaf by the worker. */
static const char *leaf_of_run(struct fixture *fixture, uint64_t inode)
{
	struct message *message = message_new(MESSAGE_SIGHTING, 2);
	struct message_sighting *sighting = &message->body.sighting;
	const struct profile *profile = fixture->profile;
	struct snapshot *snapshot = xcalloc(1, sizeof(*snapshot));
	struct stack_id stack;
	struct code_address leaf;

	snapshot->arch = arch_native();
	snapshot->syscall_nr = SNAPSHOT_NO_SYSCALL;
	regs_set(&snapshot->regs, arch_regs(snapshot->arch)->pc, PC);
	sighting->is_new = true;
	sighting->kind = SIGHTING_RUNNING;
	sighting->clocks = (struct account_clocks){.time_ns = 2, .cpu_ns = 1};
	sighting->snapshot = snapshot;
	if (inode) {
		sighting->nr_places = 1;
		sighting->places = xcalloc(1, sizeof(*sighting->places));
		*sighting->places = (struct proc_range){.start = 0x7f0000001000,
							.end = 0x7f0000003000,
							.offset = 0x1000,
							.inode = inode,
							.dev_major = 8,
							.dev_minor = 1};
	}
	worker_handle(fixture->worker, message);
	worker_end(fixture->worker);
	assert_true(profile->nr_samples > 0);
	stack = profile->samples[profile->nr_samples - 1].stack;
	leaf = profile->frames[stack_trie_frame(profile->stacks, stack).v].where;
	return leaf.module.v == MODULE_UNKNOWN.v
		       ? "unknown"
		       : module_table_get(profile->modules, leaf.module)->path;
}

static void test_places__a_stack_has_the_code_that_was_there(void **state)
{
	struct fixture *fixture = *state;

	assert_string_equal(leaf_of_run(fixture, 80), "/lib/a.so");
	tell_map(fixture, MESSAGE_MAPS, LIB_B);
	assert_string_equal(leaf_of_run(fixture, 0), "/lib/b.so");
	assert_string_equal(leaf_of_run(fixture, 80), "/lib/a.so");
	assert_string_equal(leaf_of_run(fixture, 81), "/lib/b.so");
}

static void test_places__code_that_no_map_tells_of_has_no_name(void **state)
{
	struct fixture *fixture = *state;

	assert_string_equal(leaf_of_run(fixture, 82), "unknown");
	assert_string_equal(leaf_of_run(fixture, 80), "/lib/a.so");
}

#define WITH_WORKER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORKER(test_places__a_stack_has_the_code_that_was_there),
		WITH_WORKER(test_places__code_that_no_map_tells_of_has_no_name),
	};

	return cmocka_run_group_tests_name("sampler places", tests, NULL, NULL);
}
