// SPDX-License-Identifier: GPL-2.0-or-later
/* Walks of frames of PHP that are made up, and texts in the memory of this process. */
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "mapping/module.h"
#include "mapping/space.h"
#include "script/php_functions.h"
#include "script/php_names.h"
#include "script/php_text.h"
#include "snapshot/wanted.h"
#include "tests/unit/made_php.h"
#include "tests/unit/unit.h"

static enum script_outcome walk(struct made_php *made, struct script_walk *out)
{
	return php_walk(&made->php, &made->snapshot, made->natives, NR_MADE_NATIVES, out);
}

static void check_frame(const struct script_walk *found, size_t i, enum made_function function,
			uint64_t instruction, size_t native)
{
	assert_true(i < found->nr_frames);
	assert_int_equal(found->frames[i].code, MADE_FUNCTION(function));
	assert_int_equal(found->frames[i].instruction, instruction);
	assert_int_equal(found->frames[i].native, native);
}

static void set_current(struct made_php *made, uint64_t frame)
{
	made_php_put(made, MADE_GLOBALS + made->php.layout->globals.current, frame);
}

static void set_previous(struct made_php *made, uint64_t frame, uint64_t previous)
{
	made_php_put(made, frame + made->php.layout->frame.previous, previous);
}

TEST(script_php, all_frames_are_in_their_native_frames)
{
	struct script_walk found = {0};
	struct made_php made;

	made_php_init(&made);
	assert_int_equal(walk(&made, &found), SCRIPT_PROVED);
	assert_int_equal(found.nr_frames, 5);
	check_frame(&found, 0, MADE_INNER, MADE_OPLINES(MADE_INNER) + 32, 1);
	check_frame(&found, 1, MADE_OUTER, MADE_KEPT(MADE_OUTER), 1);
	check_frame(&found, 2, MADE_EACH, 0, 2);
	check_frame(&found, 3, MADE_MIDDLE, MADE_KEPT(MADE_MIDDLE), 3);
	check_frame(&found, 4, MADE_MAIN, MADE_KEPT(MADE_MAIN), 3);
	script_walk_release(&found);
	made_php_release(&made);
}

TEST(script_php, an_instruction_is_one_of_its_function)
{
	struct script_walk found = {0};
	struct made_php made;

	made_php_init(&made);
	made.natives[1].opline = MADE_OPLINES(MADE_INNER) + 33;
	assert_int_equal(walk(&made, &found), SCRIPT_PROVED);
	check_frame(&found, 0, MADE_INNER, 0, 1);
	made.natives[1].opline = MADE_OPLINES(MADE_INNER) + MADE_NR_OPLINES * UINT64_C(32);
	assert_int_equal(walk(&made, &found), SCRIPT_PROVED);
	check_frame(&found, 0, MADE_INNER, 0, 1);
	made.natives[1].has_opline = false;
	made.natives[1].opline = MADE_OPLINES(MADE_INNER);
	assert_int_equal(walk(&made, &found), SCRIPT_PROVED);
	check_frame(&found, 0, MADE_INNER, 0, 1);
	script_walk_release(&found);
	made_php_release(&made);
}

/* Frames are at one of three instructions of their own then. */
TEST(script_php, while_an_exception_is_handled_the_instruction_before_counts)
{
	struct script_walk found = {0};
	struct made_php made;
	const struct php_globals_layout *globals;

	made_php_init(&made);
	globals = &made.php.layout->globals;
	made_php_put(&made, MADE_GLOBALS + globals->before_exception,
		     MADE_OPLINES(MADE_MIDDLE) + 64);
	made_php_put(&made, made.frames[MADE_MIDDLE], MADE_GLOBALS + globals->exception + 32);
	assert_int_equal(walk(&made, &found), SCRIPT_PROVED);
	check_frame(&found, 3, MADE_MIDDLE, MADE_OPLINES(MADE_MIDDLE) + 64, 3);
	script_walk_release(&found);
	made_php_release(&made);
}

TEST(script_php, a_frame_is_refused_if_the_register_has_another)
{
	struct script_walk found = {0};
	struct made_php made;

	made_php_init(&made);
	made.natives[3].frame += 16;
	assert_int_equal(walk(&made, &found), SCRIPT_NO_NATIVE_FRAME);
	assert_int_equal(found.nr_frames, 0);
	made.natives[3].frame -= 16;
	made.natives[3].has_frame = false;
	assert_int_equal(walk(&made, &found), SCRIPT_NO_NATIVE_FRAME);
	script_walk_release(&found);
	made_php_release(&made);
}

/* The loop has the callee in its register, and `current` is its caller: it is entered, or left. */
TEST(script_php, a_call_that_begins_or_ends_is_at_the_line_of_its_caller)
{
	struct script_walk found = {0};
	struct made_php made;

	made_php_init(&made);
	set_current(&made, made.frames[MADE_MIDDLE]);
	made_php_frame(&made, MADE_EACH, made.frames[MADE_MIDDLE], 0);
	made.natives[3].frame = made.frames[MADE_EACH];
	assert_int_equal(walk(&made, &found), SCRIPT_PROVED);
	assert_int_equal(found.nr_frames, 2);
	check_frame(&found, 0, MADE_MIDDLE, MADE_KEPT(MADE_MIDDLE), 3);
	/* An entry frame is that of another loop. */
	made_php_frame(&made, MADE_EACH, made.frames[MADE_MIDDLE], MADE_ENTRY);
	assert_int_equal(walk(&made, &found), SCRIPT_NO_NATIVE_FRAME);
	script_walk_release(&found);
	made_php_release(&made);
}

/* Before it has saved the register, and once it has restored it, that is its caller's. */
TEST(script_php, a_loop_that_begins_or_returns_has_no_frames)
{
	struct script_walk found = {0};
	struct made_php made;

	made_php_init(&made);
	set_current(&made, made.frames[MADE_MIDDLE]);
	made.natives[1].frame = made.frames[MADE_MIDDLE];
	assert_int_equal(walk(&made, &found), SCRIPT_PROVED);
	assert_int_equal(found.nr_frames, 2);
	check_frame(&found, 0, MADE_MIDDLE, 0, 3);
	/* Its entry is there already. */
	set_current(&made, made.frames[MADE_INNER]);
	assert_int_equal(walk(&made, &found), SCRIPT_PROVED);
	assert_int_equal(found.nr_frames, 3);
	check_frame(&found, 0, MADE_EACH, 0, 2);
	script_walk_release(&found);
	made_php_release(&made);
}

TEST(script_php, a_native_function_that_native_code_calls_is_in_its_own_code)
{
	struct script_walk found = {0};
	struct made_php made;

	made_php_init(&made);
	made_php_frame(&made, MADE_EACH, made.frames[MADE_MIDDLE], MADE_ENTRY);
	assert_int_equal(walk(&made, &found), SCRIPT_PROVED);
	assert_int_equal(found.nr_frames, 4);
	made.natives[2].entry = MADE_HANDLER;
	assert_int_equal(walk(&made, &found), SCRIPT_PROVED);
	check_frame(&found, 2, MADE_EACH, 0, 2);
	script_walk_release(&found);
	made_php_release(&made);
}

/* It sleeps, and was not stopped. */
TEST(script_php, the_innermost_loop_has_the_rest_in_a_system_call)
{
	struct script_walk found = {0};
	struct made_php made;

	made_php_init(&made);
	made.natives[1].has_frame = made.natives[1].has_opline = false;
	made.snapshot.syscall_nr = 230;
	assert_int_equal(walk(&made, &found), SCRIPT_PROVED);
	assert_int_equal(found.nr_frames, 5);
	check_frame(&found, 0, MADE_INNER, 0, 1);
	/* Then all other loops have their frames. */
	made.natives[2].is_loop = true;
	assert_int_equal(walk(&made, &found), SCRIPT_NO_NATIVE_FRAME);
	made.natives[2].is_loop = false;
	made.natives[4].is_loop = true;
	assert_int_equal(walk(&made, &found), SCRIPT_PROVED);
	made.natives[4].is_loop = false;
	/* Anywhere else a loop may begin or end. */
	made.snapshot.syscall_nr = SNAPSHOT_PAGE_FAULT;
	assert_int_equal(walk(&made, &found), SCRIPT_NO_NATIVE_FRAME);
	script_walk_release(&found);
	made_php_release(&made);
}

TEST(script_php, frames_outside_the_stack_are_of_generators)
{
	struct script_walk found = {0};
	struct made_php made;
	const struct php_generator_layout *layout;

	made_php_init(&made);
	layout = &made.php.layout->generator;
	made_php_put(&made, MADE_OBJECT(MADE_INNER) + layout->frame, made.frames[MADE_OUTER]);
	assert_int_equal(walk(&made, &found), SCRIPT_NOT_GENERATOR);
	made_php_object(&made, MADE_INNER, 0);
	made_php_put(&made, MADE_OBJECT(MADE_OUTER) + layout->class_entry, MADE_CLASS + 8);
	assert_int_equal(walk(&made, &found), SCRIPT_NOT_GENERATOR);
	made_php_object(&made, MADE_OUTER, MADE_OBJECT(MADE_INNER));
	made_php_frame(&made, MADE_INNER, 0, MADE_ENTRY);
	assert_int_equal(walk(&made, &found), SCRIPT_NOT_GENERATOR);
	/* Two that delegate to each other. */
	made_php_release(&made);
	made_php_init(&made);
	made_php_object(&made, MADE_INNER, MADE_OBJECT(MADE_OUTER));
	assert_int_equal(walk(&made, &found), SCRIPT_TOO_DEEP);
	assert_int_equal(found.nr_frames, 0);
	script_walk_release(&found);
	made_php_release(&made);
}

TEST(script_php, what_resumed_a_fiber_is_on_another_stack)
{
	struct script_walk found = {0};
	struct made_php made;

	made_php_init(&made);
	set_previous(&made, made.frames[MADE_MAIN], made.frames[MADE_MAIN] + 0x4000);
	made_php_put(&made, MADE_GLOBALS + made.php.layout->globals.fiber, MADE_HEAP);
	assert_int_equal(walk(&made, &found), SCRIPT_PROVED);
	assert_int_equal(found.nr_frames, 5);
	made_php_put(&made, MADE_GLOBALS + made.php.layout->globals.fiber, 0);
	assert_int_equal(walk(&made, &found), SCRIPT_NOT_COPIED);
	script_walk_release(&found);
	made_php_release(&made);
}

TEST(script_php, a_circle_ends)
{
	struct script_walk found = {0};
	struct made_php made;

	made_php_init(&made);
	set_previous(&made, made.frames[MADE_MAIN], made.frames[MADE_MIDDLE]);
	assert_int_not_equal(walk(&made, &found), SCRIPT_PROVED);
	set_previous(&made, made.frames[MADE_MIDDLE], made.frames[MADE_MIDDLE]);
	assert_int_equal(walk(&made, &found), SCRIPT_TOO_DEEP);
	made_php_put(&made, MADE_PAGE + 16, MADE_PAGE);
	assert_int_not_equal(walk(&made, &found), SCRIPT_PROVED);
	script_walk_release(&found);
	made_php_release(&made);
}

/* Copy what is wanted of the whole memory, as stops do. */
static void copy_wanted(struct made_php *whole, const struct wanted_memory *wanted,
			struct made_php *part)
{
	for (size_t i = 0; i < wanted->nr; i++) {
		const struct wanted_range *range = &wanted->at[i];
		uint8_t bytes[0x2000];

		assert_true(range->nr_bytes <= sizeof(bytes));
		/* The end of the made-up memory. */
		for (uint32_t nr = range->nr_bytes; nr; nr--) {
			if (snapshot_read_any(&whole->snapshot, range->start, bytes, nr)) {
				memcpy(snapshot_add_wanted(&part->snapshot, range->start, nr),
				       bytes, nr);
				break;
			}
		}
	}
}

TEST(script_php, each_copy_shows_where_the_next_is)
{
	struct script_walk found = {0};
	struct made_php whole, part;
	uint8_t stack[0x400];
	int nr = 0;

	made_php_init(&whole);
	part = whole;
	part.snapshot = (struct snapshot){.arch = ARCH_X86_64};
	assert_true(snapshot_read(&whole.snapshot, MADE_STACK, stack, sizeof(stack)));
	memcpy(snapshot_add_region(&part.snapshot, MADE_STACK, sizeof(stack)), stack,
	       sizeof(stack));
	for (; nr < 16; nr++) {
		struct wanted_memory missing = {.nr = 0};

		if (!php_find_missing(&part.php, &part.snapshot, &missing))
			break;
		copy_wanted(&whole, &missing, &part);
	}
	assert_true(nr < 16);
	assert_int_equal(walk(&part, &found), SCRIPT_PROVED);
	assert_int_equal(found.nr_frames, 5);
	/* The wanted memory is enough for the next walk. */
	snapshot_clear(&part.snapshot);
	part.snapshot.arch = ARCH_X86_64;
	memcpy(snapshot_add_region(&part.snapshot, MADE_STACK, sizeof(stack)), stack,
	       sizeof(stack));
	copy_wanted(&whole, &found.wanted, &part);
	assert_int_equal(walk(&part, &found), SCRIPT_PROVED);
	script_walk_release(&found);
	made_php_release(&whole);
	made_php_release(&part);
}

/* All wanted ranges; those of functions are copied after the stop, and have no bytes yet. */
static void copy_but_functions(struct made_php *whole, const struct wanted_memory *wanted,
			       struct made_php *part)
{
	uint32_t nr_bytes = part->php.layout->function.nr_bytes;
	struct wanted_memory rest = {.nr = 0};

	for (size_t i = 0; i < wanted->nr; i++) {
		const struct wanted_range *range = &wanted->at[i];

		if (range->nr_bytes == nr_bytes)
			snapshot_add_due(&part->snapshot, range->start, nr_bytes);
		else
			rest.at[rest.nr++] = *range;
	}
	copy_wanted(whole, &rest, part);
}

static void copy_due(const struct made_php *whole, struct made_php *part)
{
	for (unsigned int i = 0; i < part->snapshot.nr_regions; i++) {
		struct stack_region *region = &part->snapshot.regions[i];

		if (region->kind == REGION_DUE &&
		    snapshot_read_any(&whole->snapshot, region->start,
				      part->snapshot.bytes + region->offset, region->nr_bytes))
			region->kind = REGION_LATE;
	}
}

TEST(script_php, functions_may_be_copied_after_the_stop)
{
	struct script_walk found = {0};
	struct wanted_memory missing = {.nr = 0};
	struct made_php whole, part;
	uint8_t stack[0x400];

	made_php_init(&whole);
	assert_int_equal(walk(&whole, &found), SCRIPT_PROVED);
	part = whole;
	part.snapshot = (struct snapshot){.arch = ARCH_X86_64};
	assert_true(snapshot_read(&whole.snapshot, MADE_STACK, stack, sizeof(stack)));
	memcpy(snapshot_add_region(&part.snapshot, MADE_STACK, sizeof(stack)), stack,
	       sizeof(stack));
	copy_but_functions(&whole, &found.wanted, &part);
	/* Nothing else is read for them in the stop. */
	assert_false(php_find_missing(&part.php, &part.snapshot, &missing));
	assert_int_equal(walk(&part, &found), SCRIPT_NOT_COPIED);
	copy_due(&whole, &part);
	assert_int_equal(walk(&part, &found), SCRIPT_PROVED);
	assert_int_equal(found.nr_frames, 5);
	script_walk_release(&found);
	made_php_release(&whole);
	made_php_release(&part);
}

TEST(script_php, nothing_of_a_stack_that_is_too_large_is_missing)
{
	struct wanted_memory missing = {.nr = 0};
	struct script_walk found = {0};
	struct made_php made;

	made_php_init(&made);
	made_php_put(&made, made.frames[MADE_INNER] + made.php.layout->frame.function,
		     MADE_FUNCTIONS + 0x10000);
	assert_true(php_find_missing(&made.php, &made.snapshot, &missing));
	missing = (struct wanted_memory){.nr = 0};
	made_php_put(&made, MADE_PAGE + 8, MADE_PAGE + 2 * WANTED_BYTES_MAX);
	made_php_put(&made, MADE_GLOBALS + made.php.layout->globals.stack_top,
		     MADE_PAGE + WANTED_BYTES_MAX + 8);
	assert_int_equal(walk(&made, &found), SCRIPT_TOO_DEEP);
	assert_false(php_find_missing(&made.php, &made.snapshot, &missing));
	script_walk_release(&found);
	made_php_release(&made);
}

struct made_text {
	uint32_t nr_users, type;
	uint64_t hash, length;
	char characters[64];
};

static bool reads(const struct made_text *made, const char *expected)
{
	struct module_table *modules = module_table_new();
	struct space *space = space_new(modules, getpid());
	static const struct snapshot nothing;
	struct php_text text = {0};
	bool is_read = php_text_read(php_layout_of("8.2"), &nothing, space,
				     (uint64_t)(uintptr_t)made, &text);

	if (is_read) {
		assert_string_equal(text.text, expected);
		assert_true(php_text_agrees(&text, (const uint8_t *)made));
	}
	php_text_release(&text);
	space_free(space);
	module_table_free(modules);
	return is_read;
}

TEST(script_php, texts_are_proved_by_their_hash)
{
	struct made_text text = {1, 6 | 0x70, UINT64_C(0xb7f45acfccebf42a), 12, "Any\\Ou\\Magic"};

	assert_true(reads(&text, "Any\\Ou\\Magic"));
	text.characters[0] = 'B';
	assert_false(reads(&text, ""));
	text.hash = 0; /* it was not computed so far */
	assert_true(reads(&text, "Bny\\Ou\\Magic"));
	text.type = 7;
	assert_false(reads(&text, ""));
	text.type = 6;
	text.length = UINT64_C(1) << 40;
	assert_false(reads(&text, ""));
	text.length = 0;
	assert_false(reads(&text, ""));
	text.length = 5;
	text.characters[2] = '\0';
	assert_true(reads(&text, "Bn"));
	text.characters[0] = '\0';
	assert_false(reads(&text, ""));
}

/* --- names, in the memory of this process --- */

/* An object of a function, as it is in PHP 8.2. */
struct made_method {
	uint32_t type, flags;
	const struct made_text *name;
	const void *scope;
	uint64_t unused[7];
	uint32_t nr_oplines;
	uint32_t more;
	const void *oplines;
	uint64_t rest[7];
	const struct made_text *file;
	uint32_t first_line, last_line;
};

static const struct made_text class_names[] = {{1, 6, 0, 1, "A"}, {1, 6, 0, 1, "B"}},
			      method_name = {1, 6, 0, 4, "step"}, file_name = {1, 6, 0, 5, "t.php"};

static struct made_method method_of(const void *scope, const void *oplines)
{
	return (struct made_method){.type = PHP_FUNCTION_SCRIPT,
				    .name = &method_name,
				    .scope = scope,
				    .nr_oplines = 2,
				    .oplines = oplines,
				    .file = &file_name,
				    .first_line = 3,
				    .last_line = 9};
}

/* The places of two functions' first instructions. */
static void find_two(const struct made_method *methods, struct php_names *names,
		     struct space *space, struct script_place *places)
{
	const struct php php = {.layout = php_layout_of("8.2")};
	struct snapshot snapshot = {0};
	struct script_frame frames[2];

	memcpy(snapshot_add_region(&snapshot, (uintptr_t)methods, 2 * sizeof(*methods)), methods,
	       2 * sizeof(*methods));
	for (int i = 0; i < 2; i++)
		frames[i] = (struct script_frame){.code = (uintptr_t)&methods[i],
						  .instruction = (uintptr_t)methods[i].oplines};
	php_names_find(names, &php, space, &snapshot, frames, 2, places);
	snapshot_release(&snapshot);
}

TEST(script_php, methods_with_the_same_instructions_are_told_apart)
{
	struct module_table *modules = module_table_new();
	struct space *space = space_new(modules, getpid());
	struct php_names *names = php_names_new();
	const struct made_text *classes[2][2] = {{NULL, &class_names[0]}, {NULL, &class_names[1]}};
	uint32_t oplines[16] = {[6] = 5};
	/* A method of a trait, in two classes. */
	struct made_method methods[] = {method_of(classes[0], oplines),
					method_of(classes[1], oplines)};
	struct script_place places[2];

	assert_int_equal(sizeof(methods[0]), 168);
	find_two(methods, names, space, places);
	assert_string_equal(places[0].name, "A::step");
	assert_int_equal(places[0].line, 5);
	assert_string_equal(places[1].name, "B::step");
	/* No two that are there at once are so: the former is none, or no longer. */
	methods[1].scope = classes[0];
	methods[1].first_line = 4;
	find_two(methods, names, space, places);
	assert_null(places[0].name);
	assert_string_equal(places[1].name, "A::step");
	assert_int_equal(places[1].first_line, 4);
	php_names_free(names);
	space_free(space);
	module_table_free(modules);
}

/* --- functions that stay --- */

struct function_fixture {
	struct module_table *modules;
	struct space *space;
	struct php_functions *functions;
	struct made_method method;
	uint8_t head[PHP_FUNCTION_BYTES_MAX];
	uint64_t time_ns;
};

static void begin_functions(struct function_fixture *fixture)
{
	*fixture = (struct function_fixture){.modules = module_table_new()};
	fixture->space = space_new(fixture->modules, getpid());
	fixture->functions = php_functions_new();
}

static void end_functions(struct function_fixture *fixture)
{
	php_functions_free(fixture->functions);
	space_free(fixture->space);
	module_table_free(fixture->modules);
}

/* Is it proved by a snapshot with a region of this kind, with these bytes? */
static bool proves(struct function_fixture *fixture, enum region_kind kind,
		   const struct made_method *bytes)
{
	struct snapshot snapshot = {.time_ns = fixture->time_ns};
	const struct php_source source = {
		.layout = php_layout_of("8.2"), .snapshot = &snapshot, .space = fixture->space};
	uint64_t at = (uintptr_t)&fixture->method;
	uint8_t *to = kind == REGION_WANTED ? snapshot_add_wanted(&snapshot, at, sizeof(*bytes))
					    : snapshot_add_due(&snapshot, at, sizeof(*bytes));
	bool is_proved;

	memcpy(to, bytes, sizeof(*bytes));
	snapshot.regions[0].kind = kind;
	php_functions_begin(fixture->functions, &snapshot);
	is_proved = php_functions_prove(fixture->functions, &source, at, fixture->head);
	snapshot_release(&snapshot);
	return is_proved;
}

static bool is_steady(const struct function_fixture *fixture)
{
	return php_functions_is_steady(fixture->functions, (uintptr_t)&fixture->method);
}

/* Stops that show it, for so long. */
static void see_for(struct function_fixture *fixture, uint64_t nr_ns)
{
	for (uint64_t end = fixture->time_ns + nr_ns; fixture->time_ns < end;
	     fixture->time_ns += 10 * NS_PER_MS)
		assert_true(proves(fixture, REGION_WANTED, &fixture->method));
}

TEST(script_php, a_steady_function_is_proved_by_what_is_there_after_the_stop)
{
	uint32_t oplines[16] = {[6] = 5};
	struct function_fixture fixture;
	struct made_method other;

	begin_functions(&fixture);
	fixture.method = other = method_of(NULL, oplines);
	other.first_line = 4;
	/* One that no stop has shown is not known. */
	assert_false(proves(&fixture, REGION_LATE, &fixture.method));
	see_for(&fixture, NS_PER_SEC / 2);
	assert_false(is_steady(&fixture));
	see_for(&fixture, NS_PER_SEC);
	assert_true(is_steady(&fixture));
	assert_true(proves(&fixture, REGION_LATE, &fixture.method));
	assert_int_equal(fixture.head[0], PHP_FUNCTION_SCRIPT);
	/* It came too late, but is there still. */
	assert_true(proves(&fixture, REGION_DUE, &fixture.method));
	/* Another one is there, which may have been there in the stop. */
	assert_false(proves(&fixture, REGION_LATE, &other));
	assert_false(is_steady(&fixture));
	see_for(&fixture, NS_PER_SEC);
	assert_false(is_steady(&fixture));
	see_for(&fixture, 2 * NS_PER_SEC);
	assert_true(is_steady(&fixture));
	fixture.method = other;
	assert_false(proves(&fixture, REGION_DUE, &other));
	/* While another is replaced, none is. */
	fixture.method = method_of(NULL, oplines);
	see_for(&fixture, 3 * NS_PER_SEC);
	assert_true(is_steady(&fixture));
	assert_true(proves(&fixture, REGION_WANTED, &other));
	assert_false(is_steady(&fixture));
	end_functions(&fixture);
}

/* They come and go, with the same code, or are one object for many functions. */
TEST(script_php, closures_and_trampolines_are_never_steady)
{
	static const unsigned int bits[] = {18, 22, 23};
	uint32_t oplines[16] = {[6] = 5};
	struct function_fixture fixture;

	for (size_t i = 0; i < ARRAY_SIZE(bits); i++) {
		begin_functions(&fixture);
		fixture.method = method_of(NULL, oplines);
		fixture.method.flags = UINT32_C(1) << bits[i];
		see_for(&fixture, 3 * NS_PER_SEC);
		assert_false(is_steady(&fixture));
		assert_false(proves(&fixture, REGION_LATE, &fixture.method));
		end_functions(&fixture);
	}
	/* Neither is what has no name: PHP frees it as soon as it has run. */
	begin_functions(&fixture);
	fixture.method = method_of(NULL, oplines);
	fixture.method.name = NULL;
	see_for(&fixture, 3 * NS_PER_SEC);
	assert_false(is_steady(&fixture));
	end_functions(&fixture);
}
