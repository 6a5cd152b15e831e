// SPDX-License-Identifier: GPL-2.0-or-later
/* Starts of functions in stripped code without unwind information, beside its symbol table. */
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "symbol/functions.h"
#include "symbol/symbol.h"
#include "tests/unit/unit.h"

#if defined(__x86_64__)

/* Called directly, through a table only, by a jump, and by itself; one ends in a call of abort().
 */
static const char source[] =
	"#include <stdlib.h>\n"
	"#define OWN __attribute__((noinline)) static\n"
	"volatile int sink;\n"
	"OWN int many_blocks(int x) { int s = 0; for (int i = 0; i < x; i++) { if (i % 3 == 1) { s "
	"+= i;\n"
	"	if (s > 1000) return s; } else if (i % 7 == 2) s ^= i; else while (s > 50 && s % "
	"2) s /= 2; }\n"
	"	return s; }\n"
	"OWN int by_table_one(int x) { for (int i = 0; i < x; i++) sink += i; return sink; }\n"
	"OWN int by_table_two(int x) { sink ^= x; return many_blocks(x) + 1; }\n"
	"OWN int recurses(int x) { return x < 2 ? x : recurses(x - 1) + recurses(x - 2); }\n"
	"OWN void ends(int x) { sink = x; abort(); }\n"
	"OWN int chooses(int x) { switch (x) { case 1: sink = 4; return 17; case 2: return sink;\n"
	"	case 3: sink++; return 3; case 4: return sink * 7; case 5: sink -= 5; return 2; } "
	"return 0; }\n"
	"OWN int jumps(int x) { sink = x; return many_blocks(x + 1); }\n"
	"int (*volatile table[])(int) = {by_table_one, by_table_two, chooses};\n"
	"int main(int argc, char **argv) { (void)argv; int sum = 0;\n"
	"	for (int i = 0; i < 3; i++) sum += table[i](argc);\n"
	"	if (argc > 99) ends(argc);\n"
	"	return (sum + recurses(argc) + jumps(argc)) == 77; }\n";

static const char script[] =
	"cd $DIR || exit\n"
	"plain='-fno-asynchronous-unwind-tables -fno-unwind-tables -fno-ipa-icf -fno-lto "
	"program.c'\n"
	"cc=${CC:-cc} strip=${STRIP:-strip}\n"
	"$cc -O2 $plain -o O2 && $cc -O0 $plain -o O0 && $cc -O2 -fcf-protection $plain -o ibt &&\n"
	"$cc -Os -fomit-frame-pointer $plain -o Os || exit\n"
	"command -v clang >/dev/null && clang -O2 -fno-asynchronous-unwind-tables program.c -o "
	"clang\n"
	"for i in O2 O0 Os ibt clang; do [ -e $i ] && $strip -o $i.bare $i; done\n"
	":";

static char directory[] = "/tmp/test_code_starts.XXXXXX";

static int build(void **state)
{
	cleanup_free char *path = NULL;
	FILE *file;

	(void)state;
	assert_non_null(mkdtemp(directory));
	path = xasprintf("%s/program.c", directory);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(source, file) >= 0);
	assert_int_equal(fclose(file), 0);
	setenv("DIR", directory, 1);
	return system(script);
}

static int clean(void **state)
{
	cleanup_free char *command = xasprintf("rm -r %s", directory);

	(void)state;
	return system(command);
}

static struct symbol_file *open_file(const char *name)
{
	static const struct symbol_options options;
	cleanup_free char *path = xasprintf("%s/%s", directory, name);
	struct symbol_request request = {.path = path, .chooser = owner_caller(), .fd = -1};
	struct symbol_file *file;
	struct err err = ERR_INIT;

	if (symbol_file_open(&options, &request, &file, &err) < 0)
		fail_msg("%s", err.what);
	return file;
}

/* Is each of some places of a function known to be of one that begins where it does? */
static void check_function(struct symbol_file *bare, const struct symbol_function *function)
{
	for (uint64_t at = function->start; at < function->end; at += 3) {
		struct symbol_result *result = symbol_file_resolve(bare, &at, 1);
		uint64_t start, end;

		assert_non_null(result->starts);
		if (result->chains[0].nr || result->starts[0] != function->start)
			fail_msg("0x%lx of %s at 0x%lx is of 0x%lx", at, function->name,
				 function->start, result->starts[0]);
		assert_true(symbol_file_find_function(bare, at, &start, &end));
		assert_int_equal(start, function->start);
		assert_true(end > at);
		symbol_result_free(result);
	}
}

static void check(const char *name)
{
	static const char *const names[] = {"many_blocks", "by_table_one", "by_table_two",
					    "recurses",	   "ends",	   "chooses",
					    "jumps"};
	cleanup_free char *bare_name = xasprintf("%s.bare", name);
	struct symbol_file *whole = open_file(name), *bare = open_file(bare_name);
	struct symbol_functions *functions = symbol_functions_new(whole);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct symbol_function **found;
		size_t nr;

		found = symbol_functions_called(functions, names[i], &nr);
		assert_int_equal(nr, 1);
		check_function(bare, found[0]);
		free(found);
	}
	symbol_functions_free(functions);
	symbol_file_close(whole);
	symbol_file_close(bare);
}

TEST(symbol_code_starts, of_optimised_code)
{
	check("O2");
}

TEST(symbol_code_starts, of_code_as_it_is_written)
{
	check("O0");
}

TEST(symbol_code_starts, of_code_that_is_not_aligned)
{
	check("Os");
}

TEST(symbol_code_starts, of_code_with_landing_pads)
{
	check("ibt");
}

TEST(symbol_code_starts, of_clang)
{
	cleanup_free char *path = xasprintf("%s/clang.bare", directory);

	if (access(path, R_OK) < 0)
		skip();
	check("clang");
}

TEST_GROUP(build, clean);

#else

TEST(symbol_code_starts, are_not_found_for_this_processor)
{
	skip();
}

#endif
