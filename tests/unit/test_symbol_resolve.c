// SPDX-License-Identifier: GPL-2.0-or-later
/* Resolves the code of this very program, which is built with debug information. */
#include <fcntl.h>
#include <link.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "profile/adopt_symbols.h"
#include "profile/profile.h"
#include "symbol/resolve.h"
#include "tests/unit/unit.h"

static const struct symbol_options options;

/* Volatile, so that there is code of the inlined function's own. */
static volatile int sink;

static inline __attribute__((always_inline)) void innermost(int value)
{
	sink = value * sink + 7;
}

__attribute__((noinline)) static void outermost(int value)
{
	innermost(value);
}

static int take_bias(struct dl_phdr_info *info, size_t nr_bytes, void *bias)
{
	(void)nr_bytes;
	*(uint64_t *)bias = info->dlpi_addr; /* the program itself comes first */
	return 1;
}

/* The ELF virtual address of a function of this program. */
static uint64_t elf_address(void (*function)(int))
{
	uint64_t bias = 0;

	dl_iterate_phdr(take_bias, &bias);
	return (uintptr_t)function - bias;
}

static struct module_id add_module(struct profile *profile, const char *path, const char *file)
{
	char *copy = xstrdup(path);
	struct module module = {
		.kind = MODULE_KIND_FILE, .path = copy, .fd = file ? open(file, O_RDONLY) : -1};
	struct module_id id = module_table_intern(profile->modules, &module);

	free(copy);
	return id;
}

static struct frame_id add_frame(struct profile *profile, struct module_id module, uint64_t address)
{
	return profile_intern_frame(profile,
				    (struct code_address){.module = module, .address = address});
}

static const struct function *function_of(const struct profile *profile, struct frame_id frame,
					  uint32_t level)
{
	const struct frame_symbols *row = &profile->symbols.frames[frame.v];

	assert_true(level < row->nr);
	return &profile->symbols
			.functions[profile->symbols.locations[row->first + level].function.v];
}

static void assert_function(const struct profile *profile, struct frame_id frame, uint32_t level,
			    const char *name)
{
	assert_string_equal(profile_str(profile, function_of(profile, frame, level)->name), name);
}

/* The frame of code of innermost(), which is inlined into outermost(). */
static struct frame_id find_inlined(const struct profile *profile, const struct frame_id *frames,
				    size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (profile->symbols.frames[frames[i].v].nr == 2)
			return frames[i];
	}
	fail_msg("no instruction of the inlined function");
	return frames[0];
}

TEST(symbol_resolve, own_code_with_its_inline_chain)
{
	struct profile *profile = profile_new();
	struct module_id module = add_module(profile, "/proc/self/exe", NULL);
	struct frame_id frames[16], inlined;
	const struct location *location;

	outermost(1);
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		frames[i] = add_frame(profile, module, elf_address(outermost) + i);
	resolve_profile(profile, &options, NULL);
	assert_function(profile, frames[0], profile->symbols.frames[frames[0].v].nr - 1,
			"outermost");
	inlined = find_inlined(profile, frames, ARRAY_SIZE(frames));
	assert_function(profile, inlined, 0, "innermost");
	assert_function(profile, inlined, 1, "outermost");
	location = &profile->symbols.locations[profile->symbols.frames[inlined.v].first];
	assert_non_null(strstr(profile_str(profile, location->file), "test_symbol_resolve.c"));
	assert_true(location->line > 0);
	assert_true(function_of(profile, inlined, 0)->line > 0);
	assert_int_equal(profile->symbols.modules[module.v].source, SYMBOL_SOURCE_DWARF);
	profile_free(profile);
}

TEST(symbol_resolve, many_modules_in_parallel)
{
	struct profile *profile = profile_new();
	struct frame_id frames[40];

	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		/* The same file under many names: every worker reads it. */
		char *path = xasprintf("/copy/%zu", i);

		frames[i] = add_frame(profile, add_module(profile, path, "/proc/self/exe"),
				      elf_address(outermost));
		free(path);
	}
	resolve_profile(profile, &options, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		assert_function(profile, frames[i], profile->symbols.frames[frames[i].v].nr - 1,
				"outermost");
	profile_free(profile);
}

TEST(symbol_resolve, rebuilt_file_keeps_no_names)
{
	struct profile *profile = profile_new();
	int fd = open("/proc/self/exe", O_RDONLY);
	char path[] = "/nowhere/rebuilt";
	struct module module = {.kind = MODULE_KIND_FILE, .path = path, .fd = fd};
	struct module_id id;
	struct frame_id frame;

	memset(module.build_id, 0xab, 20);
	module.nr_build_id_bytes = 20;
	id = module_table_intern(profile->modules, &module);
	frame = add_frame(profile, id, elf_address(outermost));
	resolve_profile(profile, &options, NULL);
	assert_int_equal(profile->symbols.frames[frame.v].nr, 0);
	assert_true(profile->symbols.modules[id.v].mismatched);
	assert_non_null(
		strstr(profile_str(profile, profile->symbols.modules[id.v].problem), "abababab"));
	profile_free(profile);
}

TEST(symbol_resolve, missing_file_is_said)
{
	struct profile *profile = profile_new();
	struct module_id module = add_module(profile, "/nowhere/at/all", NULL);

	add_frame(profile, module, 0x1000);
	resolve_profile(profile, &options, NULL);
	assert_int_equal(profile->symbols.modules[module.v].source, SYMBOL_SOURCE_NONE);
	assert_non_null(strstr(profile_str(profile, profile->symbols.modules[module.v].problem),
			       "No such file"));
	profile_free(profile);
}

/* Of one that ends in a hurry: symbol tables are read, debug information is not. */
TEST(symbol_resolve, names_are_found_without_debug_information)
{
	const atomic_bool hurried = true;
	const struct symbol_options in_a_hurry = {.hurried = &hurried};
	struct profile *profile = profile_new();
	struct module_id self = add_module(profile, "/proc/self/exe", "/proc/self/exe");
	struct frame_id frame = add_frame(profile, self, elf_address(outermost));
	const char *problem;

	resolve_profile(profile, &in_a_hurry, NULL);
	assert_function(profile, frame, 0, "outermost");
	assert_int_equal(profile->symbols.frames[frame.v].nr, 1);
	problem = profile_str(profile, profile->symbols.modules[self.v].problem);
	assert_string_equal(problem, "its debug information was not read to the end");
	/* Later there is time. */
	resolve_profile(profile, &options, NULL);
	assert_function(profile, frame, 0, "innermost");
	assert_int_equal(profile->symbols.frames[frame.v].nr, 2);
	profile_free(profile);
}

TEST(symbol_resolve, better_names_are_kept)
{
	struct profile *profile = profile_new();
	struct module_id module = add_module(profile, "/nowhere/at/all", NULL);
	struct frame_id frame = add_frame(profile, module, 0x1000);
	const struct function function = {.name = profile_intern(profile, "known"), .line = 3};
	struct location chain = {.line = 5};

	profile_reset_symbols(profile);
	chain.function = profile_intern_function(profile, &function);
	profile_set_chain(profile, frame, &chain, 1);
	profile->symbols.modules[module.v].source = SYMBOL_SOURCE_DWARF;
	resolve_profile(profile, &options, NULL);
	assert_function(profile, frame, 0, "known");
	assert_int_equal(profile->symbols.locations[profile->symbols.frames[frame.v].first].line,
			 5);
	assert_int_equal(profile->symbols.modules[module.v].source, SYMBOL_SOURCE_DWARF);
	profile_free(profile);
}

TEST(symbol_resolve, new_frames_leave_others_their_names)
{
	struct profile *profile = profile_new(), *later = profile_new();
	struct module_id module;
	struct frame_id old, new;
	const struct function function = {.name = profile_intern(profile, "resolved before")};
	struct location chain = {.line = 5};

	old = add_frame(profile, add_module(profile, "/proc/self/exe", "/proc/self/exe"),
			elf_address(outermost));
	profile_reset_symbols(profile);
	chain.function = profile_intern_function(profile, &function);
	profile_set_chain(profile, old, &chain, 1);
	module = add_module(later, "/proc/self/exe", "/proc/self/exe");
	old = add_frame(later, module, elf_address(outermost));
	new = add_frame(later, module, elf_address(outermost) + 1);
	profile_adopt_symbols(later, profile);
	assert_int_equal(later->symbols.nr_asked, 1);
	resolve_new_frames(later, &options, 1);
	assert_int_equal(later->symbols.nr_asked, 2);
	assert_function(later, old, 0, "resolved before");
	assert_int_equal(later->symbols.frames[old.v].nr, 1);
	assert_function(later, new, later->symbols.frames[new.v].nr - 1, "outermost");
	profile_free(later);
	profile_free(profile);
}

struct progress {
	size_t nr, last_done, nr_modules;
};

static void note_progress(void *context, size_t done, size_t nr, const char *module)
{
	struct progress *progress = context;

	assert_true(done > progress->last_done);
	assert_non_null(module);
	*progress = (struct progress){.nr = progress->nr + 1, .last_done = done, .nr_modules = nr};
}

TEST(symbol_resolve, progress_ends_with_all)
{
	struct profile *profile = profile_new();
	struct progress seen = {.nr = 0};
	const struct resolve_progress progress = {.report = note_progress, .context = &seen};

	add_frame(profile, add_module(profile, "/nowhere/1", NULL), 1);
	add_frame(profile, add_module(profile, "/nowhere/2", NULL), 1);
	resolve_profile(profile, &options, &progress);
	assert_int_equal(seen.last_done, 2);
	assert_int_equal(seen.nr_modules, 2);
	profile_free(profile);
}

TEST(symbol_resolve, empty_profile)
{
	struct profile *profile = profile_new();

	resolve_profile(profile, &options, NULL);
	assert_int_equal(profile->symbols.nr_frames, 0);
	profile_free(profile);
}
