// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/alloc.h"
#include "profile/profile.h"
#include "symbol/jit_symbols.h"
#include "symbol/symbol.h"
#include "tests/unit/unit.h"

/* A process of node with two places in code that it made. */
struct made {
	struct profile *profile;
	struct module_id module;
	struct frame_id frames[2];
};

static struct made made_in(const char *path)
{
	struct made made = {.profile = profile_new()};
	char *copy = xstrdup(path);
	const struct module jit = {
		.kind = MODULE_KIND_JIT, .path = copy, .owner_pid = 77, .fd = -1};
	const struct profile_process process = {.pid = 77,
						.parent = PROCESS_NONE,
						.exe = profile_intern(made.profile, "/bin/node")};

	made.module = module_table_intern(made.profile->modules, &jit);
	profile_add_process(made.profile, &process);
	for (uint64_t i = 0; i < 2; i++)
		made.frames[i] = profile_intern_frame(
			made.profile, (struct code_address){made.module, 0x1000 + i});
	free(copy);
	return made;
}

static void name(struct made *made, size_t i, const char *text)
{
	const struct jit_name row = {.frame = made->frames[i],
				     .name = profile_intern(made->profile, text),
				     .file = profile_intern(made->profile, "a.js"),
				     .line = 7};

	profile_add_jit_name(made->profile, &row);
}

static void source(struct made *made, const char *path, const char *problem)
{
	const struct jit_source row = {.module = made->module,
				       .source =
					       *path ? SYMBOL_SOURCE_PERF_MAP : SYMBOL_SOURCE_NONE,
				       .path = profile_intern(made->profile, path),
				       .problem = profile_intern(made->profile, problem)};

	profile_add_jit_source(made->profile, &row);
}

static struct symbol_result *resolve(const struct made *made)
{
	return jit_symbols_resolve(made->profile, made->module, made->frames, 2);
}

/* All that is said when nothing is named, or not all. */
static void assert_problem(struct made made, const char *part)
{
	struct symbol_result *result = resolve(&made);

	assert_non_null(result->problem);
	if (!strstr(result->problem, part))
		fail_msg("\"%s\" is not in \"%s\"", part, result->problem);
	symbol_result_free(result);
	profile_free(made.profile);
}

TEST(jit_symbols, the_last_name_stands_as_it_is)
{
	struct made made = made_in("[jit]");
	struct symbol_result *result;
	const struct symbol_location *location;

	name(&made, 0, "old");
	name(&made, 0, "_ZN3fooEv");
	name(&made, 1, "other");
	source(&made, "/tmp/perf-77.map", "");
	result = resolve(&made);
	assert_int_equal(result->source, SYMBOL_SOURCE_PERF_MAP);
	assert_string_equal(result->debug_path, "/tmp/perf-77.map");
	assert_null(result->problem);
	location = &result->locations[result->chains[0].first];
	assert_string_equal(location->name, "_ZN3fooEv");
	assert_null(location->linkage_name);
	assert_string_equal(location->file, "a.js");
	assert_int_equal(location->line, 7);
	symbol_result_free(result);
	profile_free(made.profile);
}

/* The kernel has functions of the names of those of libraries. */
TEST(jit_symbols, functions_of_the_kernel_are_marked)
{
	struct profile *profile = profile_new();
	char path[] = "[kernel]";
	const struct module kernel = {.kind = MODULE_KIND_KERNEL, .path = path, .fd = -1};
	struct module_id module = module_table_intern(profile->modules, &kernel);
	struct frame_id frame = profile_intern_frame(profile, (struct code_address){module, 1});
	const struct jit_name row = {.frame = frame, .name = profile_intern(profile, "ep_poll")};
	struct symbol_result *result;

	profile_add_jit_name(profile, &row);
	result = jit_symbols_resolve(profile, module, &frame, 1);
	assert_string_equal(result->locations[result->chains[0].first].name, "[k] ep_poll");
	assert_null(result->problem);
	symbol_result_free(result);
	profile_free(profile);
}

TEST(jit_symbols, hints_say_what_was_found)
{
	struct made silent = made_in("[jit]"), partly = made_in("[jit]"), other = made_in("[jit]"),
		    refused = made_in("[jit]"), wine = made_in("/usr/lib/wine/ntdll.dll");

	assert_problem(made_in("[jit]"), "older profc");
	assert_problem(made_in("/memfd:profc-probes-7-8-9"), "code of profc's own");
	source(&silent, "", "");
	assert_problem(silent, "Node.js: node --perf-basic-prof");
	source(&partly, "/tmp/perf-77.map", "");
	name(&partly, 1, "f");
	assert_problem(partly, "/tmp/perf-77.map names 1 of its 2 addresses");
	source(&other, "/tmp/perf-77.map", "");
	assert_problem(other, "/tmp/perf-77.map does not name this code");
	source(&refused, "/tmp/perf-77.map", "/tmp/perf-77.map belongs to another user");
	assert_problem(refused, "belongs to another user");
	source(&wine, "", "");
	assert_problem(wine, "not an ELF file");
}
