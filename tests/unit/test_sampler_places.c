// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "mapping/module.h"
#include "proc/range.h"
#include "profile/profile.h"
#include "sampler/worker.h"
#include "snapshot/snapshot.h"
#include "stack/stack.h"
#include "tests/unit/made_worker.h"

/* No process has this id: its map is what the messages say. */
#define NO_PROCESS 5000000

#define LIB_A  "7f0000001000-7f0000003000 r-xp 00001000 08:01 80 /lib/a.so\n"
#define LIB_B  "7f0000001000-7f0000003000 r-xp 00001000 08:01 81 /lib/b.so\n"
#define JIT    "7f0000010000-7f0000020000 rwxp 00000000 00:00 0 \n"
#define PC     UINT64_C(0x7f0000001234)
#define IN_JIT UINT64_C(0x7f0000010234)

static struct message *of_map(enum message_kind kind, const char *maps)
{
	struct message *message = message_new(kind, 1);

	message->body.process.pid = NO_PROCESS;
	message->body.process.parent = SERIAL_NONE;
	message->body.process.maps = xstrdup(maps);
	message->body.process.nr_maps_bytes = strlen(maps);
	return message;
}

static void tell_map(struct made_worker *made, enum message_kind kind, const char *maps)
{
	worker_handle(made->worker, of_map(kind, maps));
}

static void tell_last_map(struct made_worker *made, const char *maps)
{
	struct message *message = of_map(MESSAGE_MAPS, maps);

	message->body.process.is_last = true;
	worker_handle(made->worker, message);
}

static int set_up(void **state)
{
	struct made_worker *made = xcalloc(1, sizeof(*made));

	made_worker_set_up(made);
	tell_map(made, MESSAGE_PROCESS, LIB_A);
	made_worker_tell_thread(made, NO_PROCESS);
	*state = made;
	return 0;
}

static int tear_down(void **state)
{
	struct made_worker *made = *state;

	made_worker_tear_down(made);
	free(made);
	return 0;
}

static void run_at(struct made_worker *made, uint64_t pc, const struct proc_range *place)
{
	struct snapshot *snapshot = xcalloc(1, sizeof(*snapshot));
	struct message *message = made_worker_sighting(snapshot);
	struct message_sighting *sighting = &message->body.sighting;

	snapshot->arch = arch_native();
	regs_set(&snapshot->regs, arch_regs(snapshot->arch)->pc, pc);
	if (place) {
		sighting->nr_places = 1;
		sighting->places = xcalloc(1, sizeof(*sighting->places));
		*sighting->places = *place;
	}
	worker_handle(made->worker, message);
}

static const char *last_leaf(struct made_worker *made)
{
	const struct profile *profile = made->profile;
	struct stack_id stack;
	struct code_address leaf;

	worker_end(made->worker);
	assert_true(profile->nr_samples > 0);
	stack = profile->samples[profile->nr_samples - 1].stack;
	leaf = profile->frames[stack_trie_frame(profile->stacks, stack).v].where;
	return leaf.module.v == MODULE_UNKNOWN.v
		       ? "unknown"
		       : module_table_get(profile->modules, leaf.module)->path;
}

/* It ran at PC, where the kernel told of that file; 0: it was not asked. Its leaf by the worker. */
static const char *leaf_of_run(struct made_worker *made, uint64_t inode)
{
	const struct proc_range place = {
		.start = 0x7f0000001000,
		.end = 0x7f0000003000,
		.offset = 0x1000,
		.inode = inode,
		.dev_major = 8,
		.dev_minor = 1,
	};

	run_at(made, PC, inode ? &place : NULL);
	return last_leaf(made);
}

static void test_places__a_stack_has_the_code_that_was_there(void **state)
{
	struct made_worker *made = *state;

	assert_string_equal(leaf_of_run(made, 80), "/lib/a.so");
	tell_map(made, MESSAGE_MAPS, LIB_B);
	assert_string_equal(leaf_of_run(made, 0), "/lib/b.so");
	assert_string_equal(leaf_of_run(made, 80), "/lib/a.so");
	assert_string_equal(leaf_of_run(made, 81), "/lib/b.so");
}

static void test_places__code_that_no_map_tells_of_has_no_name(void **state)
{
	struct made_worker *made = *state;

	assert_string_equal(leaf_of_run(made, 82), "unknown");
	assert_string_equal(leaf_of_run(made, 80), "/lib/a.so");
}

/*
 * The worker came to what ran in the JIT's code when the process was gone, and so was that code.
 * The maps that were read meanwhile.
 */
static void assert_named_by(struct made_worker *made, const char *const *maps)
{
	run_at(made, IN_JIT, NULL);
	run_at(made, IN_JIT, NULL);
	for (; *maps; maps++)
		tell_map(made, MESSAGE_MAPS, *maps);
	tell_last_map(made, LIB_A);
	assert_string_equal(last_leaf(made), "[jit]");
}

static void test_places__what_waits_for_a_map_is_named_by_the_next(void **state)
{
	assert_named_by(*state, (const char *const[]){LIB_A JIT, NULL});
}

static void test_places__or_by_one_after_that(void **state)
{
	assert_named_by(*state, (const char *const[]){LIB_A, LIB_A JIT, NULL});
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
