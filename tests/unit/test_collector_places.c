// SPDX-License-Identifier: GPL-2.0-or-later
/* Which code names a stack, if other code has its place by now. */
#include "base/alloc.h"
#include "mapping/module.h"
#include "proc/range.h"
#include "profile/profile.h"
#include "snapshot/snapshot.h"
#include "stack/stack.h"
#include "tests/unit/made_collector.h"
#include "tests/unit/unit.h"

#define LIB_A "7f0000001000-7f0000003000 r-xp 00001000 08:01 80 /lib/a.so\n"
#define LIB_B "7f0000001000-7f0000003000 r-xp 00001000 08:01 81 /lib/b.so\n"
#define PC    UINT64_C(0x7f0000001234)

static void publish_map(struct made_collector *made, struct message *message, const char *maps)
{
	message->body.process.maps = xstrdup(maps);
	message->body.process.nr_maps_bytes = strlen(maps);
	made_publish(made, message);
}

static int set_up(void **state)
{
	struct made_collector *made = xcalloc(1, sizeof(*made));

	made_collector_start(made, NULL);
	publish_map(made, made_process(made, MADE_PID), LIB_A);
	made_publish(made, made_thread(made, MADE_PID));
	*state = made;
	return 0;
}

static int tear_down(void **state)
{
	made_collector_free(*state);
	free(*state);
	return 0;
}

/* It ran at PC, where the kernel showed that file; 0: it was not asked. */
static void run(struct made_collector *made, uint64_t time_ns, uint64_t inode)
{
	struct message *message = made_sample(0, SEEN_RUNNING, time_ns, time_ns);
	struct message_sample *sample = &message->body.sample;

	sample->snapshot->arch = arch_native();
	regs_set(&sample->snapshot->regs, arch_regs(arch_native())->pc, PC);
	if (inode) {
		sample->nr_places = 1;
		sample->places = xcalloc(1, sizeof(*sample->places));
		*sample->places = (struct proc_range){.start = 0x7f0000001000,
						      .end = 0x7f0000003000,
						      .offset = 0x1000,
						      .inode = inode,
						      .dev_major = 8,
						      .dev_minor = 1};
	}
	made_publish(made, message);
}

static void assert_leaf(const struct made_collector *made, size_t sample, const char *path)
{
	const struct profile *read = made->read;
	struct stack_id stack = read->samples[sample].stack;
	struct code_address leaf = read->frames[stack_trie_frame(read->stacks, stack).v].where;

	assert_string_equal(leaf.module.v == MODULE_UNKNOWN.v
				    ? "unknown"
				    : module_table_get(read->modules, leaf.module)->path,
			    path);
}

TEST_WITH(struct made_collector *made, places, a_stack_has_the_code_that_was_there)
{
	run(made, 1000, 80);
	publish_map(made, message_new(MESSAGE_MAPS, 1500), LIB_B);
	run(made, 2000, 0);
	run(made, 3000, 80);
	run(made, 4000, 81);
	made_collector_finish(made);
	assert_int_equal(made->read->nr_samples, 4);
	assert_leaf(made, 0, "/lib/a.so");
	assert_leaf(made, 1, "/lib/b.so");
	assert_leaf(made, 2, "/lib/a.so");
	assert_leaf(made, 3, "/lib/b.so");
}

TEST_WITH(struct made_collector *made, places, code_in_no_map_has_no_name)
{
	run(made, 1000, 82);
	run(made, 2000, 80);
	made_collector_finish(made);
	assert_int_equal(made->read->nr_samples, 2);
	assert_leaf(made, 0, "unknown");
	assert_leaf(made, 1, "/lib/a.so");
}
