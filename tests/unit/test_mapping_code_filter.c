// SPDX-License-Identifier: GPL-2.0-or-later
/* What is kept of a recording that is to be of some code only. */
#include "mapping/code_filter.h"
#include "tests/unit/made_collector.h"
#include "tests/unit/unit.h"

#define MS UINT64_C(1000000)

static const struct code_range ranges[] = {{0x1000, 0x1040}, {0x8000, 0x8010}};

/* The second module has it. */
struct asked {
	const struct module_table *modules;
	unsigned int nr[3];
};

static const struct code_range *find(void *context, const struct module *module, size_t *nr)
{
	struct asked *asked = context;
	bool has_it = false;

	for (uint32_t i = 0; i < module_table_nr(asked->modules); i++) {
		if (module_table_get(asked->modules, (struct module_id){i}) != module)
			continue;
		asked->nr[i]++;
		has_it = i == 2;
	}
	*nr = has_it ? ARRAY_SIZE(ranges) : 0;
	return has_it ? ranges : NULL;
}

static void add_module(struct module_table *modules, const char *path, uint64_t inode)
{
	char *copy = xstrdup(path);

	module_table_intern(
		modules, &(const struct module){
				 .kind = MODULE_KIND_FILE, .path = copy, .inode = inode, .fd = -1});
	free(copy);
}

TEST(code_filter, has_what_is_between_the_bounds)
{
	struct asked asked = {.modules = module_table_new()};
	struct code_filter *within;
	const struct {
		uint32_t module;
		uint64_t address;
		bool is_inside;
	} cases[] = {
		{2, 0xfff, false}, {2, 0x1000, true},  {2, 0x103f, true},  {2, 0x1040, false},
		{2, 0x800f, true}, {2, 0x8010, false}, {1, 0x1000, false}, {0, 0x1000, false},
	};

	add_module((struct module_table *)(uintptr_t)asked.modules, "/lib/other", 1);
	add_module((struct module_table *)(uintptr_t)asked.modules, "/bin/program", 2);
	within = code_filter_new(&(const struct code_filter_options){find, &asked}, asked.modules);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct code_address where = {{cases[i].module}, cases[i].address};

		if (code_filter_has(within, where) != cases[i].is_inside)
			fail_msg("%u:%#lx", cases[i].module, cases[i].address);
	}
	/* Searching a file takes long: once. */
	assert_int_equal(asked.nr[1], 1);
	assert_int_equal(asked.nr[2], 1);
	code_filter_free(within);
	module_table_free((struct module_table *)(uintptr_t)asked.modules);
}

static const struct code_range *find_nothing(void *context, const struct module *module, size_t *nr)
{
	(void)context;
	(void)module;
	*nr = 0;
	return NULL;
}

static void sleep_on(struct made_collector *made, uint64_t until_ns)
{
	struct message *message = message_new(MESSAGE_SAMPLE, until_ns);

	message->body.sample.slept_sure_ns = until_ns;
	message->body.sample.slept_until_ns = until_ns;
	made_publish(made, message);
}

/* Made-up samples have no frames: all of them are outside. */
TEST(code_filter, what_is_outside_takes_its_time_away)
{
	struct made_collector made;
	const struct code_filter_options within = {find_nothing, NULL};
	const struct account_clocks last = {.time_ns = 160 * MS, .cpu_ns = 112 * MS};

	made_collector_start(&made, &(const struct collector_options){.within = &within});
	made_publish(&made, made_process(&made, MADE_PID));
	made_publish(&made, made_thread(&made, MADE_PID));
	made_publish(&made, made_sample(0, SEEN_BLOCKED, 10 * MS, 2 * MS));
	sleep_on(&made, 14 * MS);
	made_publish(&made, made_sample(0, SEEN_RUNNING, 24 * MS, 12 * MS));
	made_publish(&made, made_thread_end(0, 0, 160 * MS, &last));
	made_publish(&made, made_process_end(0, 160 * MS));
	made_collector_finish(&made);
	assert_int_equal(made.read->nr_samples, 0);
	assert_int_equal(stack_trie_nr(made.read->stacks), 1);
	assert_int_equal(made.result.nr_samples, 0);
	assert_int_equal(made.result.cpu_ns, 0);
	assert_int_equal(profile_counter(made.read, "within_dropped_samples"), 2);
	assert_int_equal(profile_counter(made.read, "within_dropped_cpu_ns") / MS, 12);
	assert_int_equal(profile_counter(made.read, "within_dropped_blocked_ns") / MS, 12);
	assert_int_equal(profile_counter(made.read, "within_cut_samples"), 2);
	/* It ran for longer after its last sample than between samples: the place is not known. */
	assert_int_equal(profile_counter(made.read, "within_unknown_cpu_ns") / MS, 100);
	assert_int_equal(profile_counter(made.read, "unattributed_cpu_ns"), 0);
	made_collector_free(&made);
}
