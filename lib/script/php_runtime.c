// SPDX-License-Identifier: GPL-2.0-or-later
/* PHP in a process: its version, its layout, and how it was built. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "elf/elf_image.h"
#include "mapping/space.h"
#include "proc/maps.h"
#include "proc/read.h"
#include "script/php.h"
#include "script/php_names.h"
#include "script/php_registers.h"
#include "script/runtime_priv.h"
#include "script/script.h"
#include "snapshot/frame_links.h"
#include "snapshot/snapshot.h"

/* In the order of php_runtime.exports; the first two are those of php_other_runtime. */
enum export {
	EXPORT_VERSION,
	EXPORT_LOOP,
	NR_EXPORTS_OF_ANY,
	EXPORT_GLOBALS = NR_EXPORTS_OF_ANY,
	EXPORT_GENERATOR_CLASS,
	EXPORT_SCOPE_GETTER,
	EXPORT_STACK_DESTROYER,
	EXPORT_KIND,
	NR_EXPORTS,
};

_Static_assert(NR_EXPORTS <= SCRIPT_EXPORTS_MAX, "room for the addresses");
_Static_assert(sizeof(struct php) <= WANTED_FACTS_BYTES, "room for a copy");

struct engine {
	struct php php; /* first: the walk needs only this */
	struct php_registers *registers;
	struct php_names *names;
};

/* --- version --- */

static bool read_word(struct space *space, uint64_t address, uint64_t *word)
{
	return space_read_memory(space, address, word, sizeof(*word));
}

/*
 * The address from which code loads a word: "mov N(%rip), %REG", or "lea N(%rip), %REG", at *at,
 * which moves past it. 0: it is something else, as on other processors.
 */
static uint64_t loaded_from(const uint8_t *code, uint64_t start, size_t *at, uint8_t opcode)
{
	const uint8_t *bytes = code + *at;
	int32_t distance;

	/* REX.W, perhaps for a register above the eighth, and an address from the next instruction.
	 */
	if ((bytes[0] & 0xfb) != 0x48 || bytes[1] != opcode || (bytes[2] & 0xc7) != 0x05)
		return 0;
	memcpy(&distance, bytes + 3, sizeof(distance));
	*at += 7;
	return start + *at + (uint64_t)(int64_t)distance;
}

#define OPCODE_LOAD    0x8b
#define OPCODE_ADDRESS 0x8d
#define OPCODE_RETURN  0xc3

/* Versions are names for users: numbers that none has are left out. */
#define NUMBER_MAX 99

/*
 * get_zend_version() returns a word that leads to "Zend Engine v4.2.36, Copyright ...", once PHP
 * has begun. That of PHP 5.6 is 2.6, of 7.4 it is 3.4, and of 8.2 it is 4.2.
 */
static bool read_version(struct space *space, uint64_t getter, struct script_found *found)
{
	static const char beginning[] = "Zend Engine v";
	uint8_t code[8];
	char text[24] = "", *end;
	uint64_t word, at;
	unsigned long major, minor;
	size_t nr = 0;

	/* The loader may have to relocate the word first; then, extensions that are loaded have PHP
	 * put it elsewhere, with their versions. */
	found->is_early = true;
	if (!space_read_memory(space, getter, code, sizeof(code)))
		return false;
	word = loaded_from(code, getter, &nr, OPCODE_LOAD);
	found->is_early = word && code[nr] == OPCODE_RETURN;
	if (!found->is_early || !read_word(space, word, &at) || !at ||
	    !space_read_memory(space, at, text, sizeof(text) - 1) ||
	    strncmp(text, beginning, strlen(beginning)) != 0)
		return false;
	found->is_early = false;
	major = strtoul(text + strlen(beginning), &end, 10);
	minor = *end == '.' ? strtoul(end + 1, NULL, 10) : NUMBER_MAX + 1;
	if (major < 2 || major > NUMBER_MAX || minor > NUMBER_MAX)
		return false;
	snprintf(found->version, sizeof(found->version), "%lu.%lu", major > 2 ? major + 4 : 5,
		 minor);
	return true;
}

/* --- layout --- */

/*
 * Where PHP's globals are, if the function begins by loading the word at `offset` in them; 0: it
 * does not.
 */
static uint64_t globals_of(struct space *space, uint64_t function, uint32_t offset)
{
	uint8_t code[32];
	uint64_t globals;
	uint32_t displacement;
	size_t at = 0;

	if (!space_read_memory(space, function, code, sizeof(code)))
		return 0;
	globals = loaded_from(code, function, &at, OPCODE_ADDRESS);
	/* A library finds them by a word that the loader has set: a program may have a copy. */
	if (!globals) {
		globals = loaded_from(code, function, &at, OPCODE_LOAD);
		if (!globals || !read_word(space, globals, &globals))
			return 0;
	}
	/* The function may save a register first. */
	at += (code[at] & 0xf8) == 0x50;
	memcpy(&displacement, code + at + 3, sizeof(displacement));
	return (code[at] & 0xfb) == 0x48 && code[at + 1] == OPCODE_LOAD &&
			       (code[at + 2] & 0xc0) == 0x80 && displacement == offset
		       ? globals
		       : 0;
}

/* Functions are run by code that jumps from handler to handler, and keeps registers for itself. */
#define KIND_HYBRID 4

static bool is_hybrid(struct space *space, uint64_t kind_getter)
{
	static const uint8_t expected[] = {0xb8, KIND_HYBRID, 0, 0, 0, 0xc3};
	uint8_t code[sizeof(expected)];

	return space_read_memory(space, kind_getter, code, sizeof(code)) &&
	       !memcmp(code, expected, sizeof(code));
}

/* Two functions tell where they are, and that both words are there; 0: it is laid out otherwise. */
static uint64_t find_globals(struct space *space, const struct script_module *module,
			     const struct php_layout *layout)
{
	uint64_t globals =
		globals_of(space, module->exports[EXPORT_SCOPE_GETTER], layout->globals.current);

	return is_hybrid(space, module->exports[EXPORT_KIND]) &&
			       globals == globals_of(space, module->exports[EXPORT_STACK_DESTROYER],
						     layout->globals.stack)
		       ? globals
		       : 0;
}

/*
 * opcache keeps the code of its compiler at the end of the memory that it shares. Functions that
 * are compiled have no native frames of their own, and keep no instruction.
 */
static bool has_compiler(pid_t pid)
{
	struct buf text = {0};
	struct proc_maps_iter iter;
	struct proc_map map;
	bool is_found = false;

	if (!proc_read_process_file(pid, "maps", &text))
		return false;
	iter = proc_maps_over((const char *)text.bytes, text.nr_bytes);
	while (!is_found && proc_maps_next(&iter, &map) == 1)
		is_found = map.executable && map.shared && map.nr_path_bytes >= 9 &&
			   !memcmp(map.path, "/dev/zero", 9);
	buf_release(&text);
	return is_found;
}

static void *recognise(struct space *space, const struct script_module *module,
		       struct script_found *found)
{
	const struct php_layout *layout;
	struct engine *engine;
	uint64_t globals, stack, class_entry;

	*found = (struct script_found){.support = SCRIPT_UNKNOWN_VERSION};
	if (!read_version(space, module->exports[EXPORT_VERSION], found))
		return NULL;
	layout = php_layout_of(found->version);
	if (!layout)
		return NULL;
	found->support = SCRIPT_OTHER_LAYOUT;
	globals = find_globals(space, module, layout);
	if (!globals)
		return NULL;
	/* Before its first script, its extensions may not have begun. */
	if (!read_word(space, globals + layout->globals.stack, &stack) ||
	    !read_word(space, module->exports[EXPORT_GENERATOR_CLASS], &class_entry))
		return NULL;
	found->is_early = !stack || !class_entry;
	if (found->is_early)
		return NULL;
	found->support = SCRIPT_COMPILED;
	if (has_compiler(space_pid(space)))
		return NULL;
	found->support = SCRIPT_OTHER_LAYOUT;
	engine = xcalloc(1, sizeof(*engine));
	engine->php =
		(struct php){.layout = layout, .globals = globals, .generator_class = class_entry};
	engine->registers =
		php_registers_new(module->image, module->exports[EXPORT_LOOP] - module->bias);
	if (!engine->registers) {
		free(engine);
		return NULL;
	}
	engine->names = php_names_new();
	engine->php.functions = php_names_functions(engine->names);
	found->support = SCRIPT_READ;
	return engine;
}

static void forget(void *facts)
{
	struct engine *engine = facts;

	php_registers_free(engine->registers);
	php_names_free(engine->names);
	free(engine);
}

static enum script_outcome walk(const void *facts, const uint64_t *states, size_t nr_states,
				const struct snapshot *snapshot,
				const struct script_native *natives, size_t nr_natives,
				struct script_walk *out)
{
	const struct engine *engine = facts;

	(void)states;
	(void)nr_states;
	return php_walk(&engine->php, snapshot,
			php_registers_find(engine->registers, snapshot, natives, nr_natives),
			nr_natives, out);
}

/* The facts are a copy of the first member of struct engine. */
static bool find_missing(const void *facts, uint64_t thread_state, const struct snapshot *snapshot,
			 struct wanted_memory *missing)
{
	(void)thread_state;
	return php_find_missing(facts, snapshot, missing);
}

/* Functions of all frames are needed to prove them. */
#define ANY_NUMBER 1024

static bool find_links(void *facts, struct space *space, struct frame_links *links)
{
	const struct engine *engine = facts;
	const struct php *php = &engine->php;
	const struct php_layout *layout = php->layout;
	const struct php_globals_layout *globals = &layout->globals;

	(void)space;
	*links = (struct frame_links){
		.root = FRAME_LINKS_OF_MAIN,
		.root_at = php->globals + globals->start,
		.nr_state_bytes = globals->end - globals->start,
		.state_piece = globals->stack - globals->start,
		.state_top = globals->stack_top - globals->start,
		.piece.previous = layout->page.previous,
		.piece.used = layout->page.top,
		.piece.used_is_end = true,
		.state_frame = globals->current - globals->start,
		.nr_frame_bytes = layout->frame.nr_bytes,
		.frame_function = layout->frame.function,
		.frame_previous = layout->frame.previous,
		.frame_instruction = layout->frame.opline,
		.frame_owner = layout->frame.return_value,
		.nr_owner_bytes = layout->generator.nr_bytes,
		.nr_function_bytes = layout->function.nr_bytes,
		.nr_functions = ANY_NUMBER,
		.function_is = {layout->function.oplines, layout->function.name,
				layout->function.first_line},
	};
	return true;
}

static void complete_wanted(const void *facts, struct wanted_memory *wanted)
{
	const struct engine *engine = facts;
	uint32_t nr_bytes = engine->php.layout->function.nr_bytes;

	for (size_t i = 0; i < wanted->nr; i++)
		wanted->at[i].is_late =
			wanted->at[i].nr_bytes == nr_bytes &&
			php_functions_is_steady(engine->php.functions, wanted->at[i].start);
}

static void find_places(void *facts, struct space *space, const struct snapshot *snapshot,
			const struct script_frame *frames, size_t nr, struct script_place *places)
{
	struct engine *engine = facts;

	php_names_find(engine->names, &engine->php, space, snapshot, frames, nr, places);
}

const struct script_runtime php_runtime = {
	.name = "PHP",
	.exports = {[EXPORT_VERSION] = "get_zend_version",
		    [EXPORT_LOOP] = "execute_ex",
		    [EXPORT_GLOBALS] = "executor_globals",
		    [EXPORT_GENERATOR_CLASS] = "zend_ce_generator",
		    [EXPORT_SCOPE_GETTER] = "zend_get_executed_scope",
		    [EXPORT_STACK_DESTROYER] = "zend_vm_stack_destroy",
		    [EXPORT_KIND] = "zend_vm_kind"},
	.nr_exports = NR_EXPORTS,
	.recognise = recognise,
	.forget = forget,
	.walk = walk,
	.nr_fact_bytes = sizeof(struct php),
	.missing = {.find = find_missing, .leads_to_late = true},
	.links.find = find_links,
	.complete_wanted = complete_wanted,
	.find_places = find_places,
};

/* --- others --- */

/* Builds for several threads have no globals of one name; neither have those before 5.5. */

static void *recognise_other(struct space *space, const struct script_module *module,
			     struct script_found *found)
{
	*found = (struct script_found){.support = SCRIPT_UNKNOWN_VERSION};
	if (read_version(space, module->exports[EXPORT_VERSION], found) &&
	    php_layout_of(found->version))
		found->support = SCRIPT_THREAD_SAFE;
	return NULL;
}

const struct script_runtime php_other_runtime = {
	.name = "PHP",
	.exports = {[EXPORT_VERSION] = "get_zend_version", [EXPORT_LOOP] = "execute_ex"},
	.nr_exports = NR_EXPORTS_OF_ANY,
	.recognise = recognise_other,
};
