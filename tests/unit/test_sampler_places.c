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

#define LIB_A  "7f0000001000-7f0000003000 r-xp 00001000 08:01 80 /lib/a.so\n"
#define LIB_B  "7f0000001000-7f0000003000 r-xp 00001000 08:01 81 /lib/b.so\n"
#define JIT    "7f0000010000-7f0000020000 rwxp 00000000 00:00 0 \n"
#define PC     UINT64_C(0x7f0000001234)
#define IN_JIT UINT64_C(0x7f0000010234)

struct fixture {
	struct profile *profile;
	struct store_writer *writer;
	int file;
	struct worker *worker;
	struct snapshot_ring ring;
};

static struct message *of_map(enum message_kind kind, const char *maps)
{
	struct message *message = message_new(kind, 1);

	message->body.process.pid = NO_PROCESS;
	message->body.process.parent = SERIAL_NONE;
	message->body.process.maps = xstrdup(maps);
	message->body.process.nr_maps_bytes = strlen(maps);
	return message;
}

static void tell_map(struct fixture *fixture, enum message_kind kind, const char *maps)
{
	worker_handle(fixture->worker, of_map(kind, maps));
}

static void tell_last_map(struct fixture *fixture, const char *maps)
{
	struct message *message = of_map(MESSAGE_MAPS, maps);

	message->body.process.is_last = true;
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

static void run_at(struct fixture *fixture, uint64_t pc, const struct proc_range *place)
{
	struct message *message = message_new(MESSAGE_SIGHTING, 2);
	struct message_sighting *sighting = &message->body.sighting;
	struct snapshot *snapshot = xcalloc(1, sizeof(*snapshot));

	snapshot->arch = arch_native();
	snapshot->syscall_nr = SNAPSHOT_NO_SYSCALL;
	regs_set(&snapshot->regs, arch_regs(snapshot->arch)->pc, pc);
	sighting->is_new = true;
	sighting->kind = SIGHTING_RUNNING;
	sighting->clocks = (struct account_clocks){.time_ns = 2, .cpu_ns = 1};
	sighting->snapshot = snapshot;
	if (place) {
		sighting->nr_places = 1;
		sighting->places = xcalloc(1, sizeof(*sighting->places));
		*sighting->places = *place;
	}
	worker_handle(fixture->worker, message);
}

static const char *last_leaf(struct fixture *fixture)
{
	const struct profile *profile = fixture->profile;
	struct stack_id stack;
	struct code_address leaf;

	worker_end(fixture->worker);
	assert_true(profile->nr_samples > 0);
	stack = profile->samples[profile->nr_samples - 1].stack;
	leaf = profile->frames[stack_trie_frame(profile->stacks, stack).v].where;
	return leaf.module.v == MODULE_UNKNOWN.v
		       ? "unknown"
		       : module_table_get(profile->modules, leaf.module)->path;
}

/* It ran at PC, where the kernel told of that file; 0: it was not asked. Its leaf by the worker. */
static const char *leaf_of_run(struct fixture *fixture, uint64_t inode)
{
	const struct proc_range place = {
		.start = 0x7f0000001000,
		.end = 0x7f0000003000,
		.offset = 0x1000,
		.inode = inode,
		.dev_major = 8,
		.dev_minor = 1,
	};

	run_at(fixture, PC, inode ? &place : NULL);
	return last_leaf(fixture);
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

/* The worker came to it when the process was gone, and so was that code. */
static void test_places__what_waits_for_a_map_is_named_by_the_next(void **state)
{
	struct fixture *fixture = *state;

	run_at(fixture, IN_JIT, NULL);
	run_at(fixture, IN_JIT, NULL);
	tell_map(fixture, MESSAGE_MAPS, LIB_A JIT);
	tell_last_map(fixture, LIB_A);
	assert_string_equal(last_leaf(fixture), "[jit]");
}

static void test_places__or_by_one_after_that(void **state)
{
	struct fixture *fixture = *state;

	run_at(fixture, IN_JIT, NULL);
	tell_map(fixture, MESSAGE_MAPS, LIB_A);
	tell_map(fixture, MESSAGE_MAPS, LIB_A JIT);
	tell_last_map(fixture, LIB_A);
	assert_string_equal(last_leaf(fixture), "[jit]");
}

#define WITH_WORKER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORKER(test_places__a_stack_has_the_code_that_was_there),
		WITH_WORKER(test_places__what_waits_for_a_map_is_named_by_the_next),
		WITH_WORKER(test_places__or_by_one_after_that),
		WITH_WORKER(test_places__code_that_no_map_tells_of_has_no_name),
	};

	return cmocka_run_group_tests_name("sampler places", tests, NULL, NULL);
}
