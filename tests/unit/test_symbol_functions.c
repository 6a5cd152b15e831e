// SPDX-License-Identifier: GPL-2.0-or-later
/* The functions of small programs, built here, beside what nm and readelf say of them. */
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "mapping/module.h"
#include "profile/profile.h"
#include "symbol/functions.h"
#include "symbol/kept_files.h"
#include "symbol/resolve.h"
#include "symbol/symbol.h"
#include "symbol/symbol_priv.h"
#include "symbol/written_in.h"
#include "tests/unit/unit.h"

/* twin() is in two files; doubled() is in both, too, and always inlined. */
static const char c_one[] =
	"#include <stdlib.h>\n"
	"static inline __attribute__((always_inline)) int doubled(int x) { return x * 2 + 1; }\n"
	"__attribute__((noinline)) static int twin(int x) { return x + 1; }\n"
	"int from_two(int x);\n"
	"int original(int x) { return doubled(x) + twin(x); }\n"
	"int nickname(int x) __attribute__((alias(\"original\")));\n"
	"__attribute__((cold, noinline)) void seldom(int x) { if (x == 77) abort(); }\n"
	"__attribute__((noinline)) int mostly(int x)\n"
	"{ if (x == 5) { seldom(x); seldom(x + 1); return doubled(x * 7); } return x; }\n"
	"static int choice_a(int x) { return x; }\n"
	"static int (*resolve_choice(void))(int) { return choice_a; }\n"
	"int choice(int x) __attribute__((ifunc(\"resolve_choice\")));\n"
	"int main(int argc, char **argv) { (void)argv;\n"
	"return original(argc) + from_two(argc) + mostly(argc) + choice(argc) + atoi(argv[0]); }\n";
static const char c_two[] =
	"static inline __attribute__((always_inline)) int doubled(int x) { return x * 2 + 1; }\n"
	"__attribute__((noinline)) static int twin(int x) { return x + 2; }\n"
	"int from_two(int x) { return twin(doubled(x)) + doubled(x + 3); }\n";

static const char cc_header[] =
	"#include <cstdio>\n"
	"struct A { virtual ~A() {} virtual int a() { return 1; } int x = 0; };\n"
	"struct B { virtual ~B() {} virtual int b() { return 2; } int y = 0; };\n"
	"namespace outer { struct C : A, B { C(int); int b() override; int overloaded(int);\n"
	"	int overloaded(double); }; }\n"
	"template <typename T> __attribute__((noinline)) T twice(T x) { return x + x; }\n"
	"inline int shared(int x) { return x * 3 + 1; }\n";
static const char cc_one[] =
	"#include \"header.h\"\n"
	"namespace { __attribute__((noinline)) int hidden(int x) { return x + 4; } }\n"
	"outer::C::C(int v) { x = v; y = hidden(v); }\n"
	"int outer::C::b() { return y; }\n"
	"int outer::C::overloaded(int v) { return shared(v) ^ x; }\n"
	"int outer::C::overloaded(double v) { return (int)v + y; }\n";
static const char cc_two[] =
	"#include \"header.h\"\n"
	"extern int (*volatile pointer)(int);\n"
	"int (*volatile pointer)(int) = shared;\n"
	"int main(int argc, char **) { outer::C c(argc); B *b = &c;\n"
	"auto lambda = [&](int x) { return x + pointer(argc); };\n"
	"return b->b() + c.overloaded(argc) + c.overloaded(1.5) + twice(argc) +\n"
	"(int)twice((long)argc) + shared(argc + 7) + lambda(argc); }\n";

/* In Go this is no part of a function `main`. */
static const char go[] = "package main\n"
			 "//go:noinline\n"
			 "func cold(x int) int { return x * 7 }\n"
			 "func main() { println(cold(4)) }\n";

static const char versions[] = "int old_impl(void) { return 1; } int new_impl(void) { return 2; }\n"
			       "__asm__(\".symver old_impl,versioned@V1\");\n"
			       "__asm__(\".symver new_impl,versioned@@V2\");\n";

static const char script[] =
	"cd $DIR || exit\n"
	"cc=${CC:-cc} cxx=${CXX:-c++} strip=${STRIP:-strip} objcopy=${OBJCOPY:-objcopy}\n"
	"$cc -g -O2 -fno-lto -o c one.c two.c &&\n"
	"$cxx -g -O2 -fno-lto -o cc one.cc two.cc &&\n"
	"$objcopy --only-keep-debug c c.debug && cp c split && $strip split &&\n"
	"$objcopy --add-gnu-debuglink=c.debug split &&\n"
	"cp c bare && $strip bare &&\n"
	"$objcopy --strip-all --keep-section='.debug*' c dwarf &&\n"
	"printf 'V1 {}; V2 {};' >map &&\n"
	"$cc -shared -fPIC -Wl,--version-script=map -o versions.so versions.c\n"
	"$cc -static -g -O2 -o static one.c two.c 2>/dev/null\n"
	"command -v go >/dev/null && GOCACHE=$DIR/cache go build -o go go.go &&\n"
	"cp go go_bare && $strip go_bare\n"
	":";

static char directory[] = "/tmp/test_functions.XXXXXX";

static void write_source(const char *name, const char *text)
{
	cleanup_free char *path = xasprintf("%s/%s", directory, name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int build(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(directory));
	write_source("one.c", c_one);
	write_source("two.c", c_two);
	write_source("header.h", cc_header);
	write_source("one.cc", cc_one);
	write_source("two.cc", cc_two);
	write_source("versions.c", versions);
	write_source("go.go", go);
	setenv("DIR", directory, 1);
	return system(script);
}

static int clean(void **state)
{
	cleanup_free char *command = xasprintf("rm -r %s", directory);

	(void)state;
	return system(command);
}

static bool was_built(const char *name)
{
	cleanup_free char *path = xasprintf("%s/%s", directory, name);

	return access(path, R_OK) == 0;
}

/* A program of the fixture, opened. */
struct program {
	char *path;
	struct symbol_file *file;
	struct symbol_functions *functions;
};

static struct program open_program_with(const char *name, bool tables_only)
{
	static const struct symbol_options options;
	struct program program = {.path = xasprintf("%s/%s", directory, name)};
	struct symbol_request request = {.path = program.path,
					 .chooser = owner_caller(),
					 .fd = -1,
					 .tables_only = tables_only};
	struct err err = ERR_INIT;

	if (symbol_file_open(&options, &request, &program.file, &err) < 0)
		fail_msg("%s", err.what);
	program.functions = symbol_functions_new(program.file);
	return program;
}

static struct program open_program(const char *name)
{
	return open_program_with(name, false);
}

static void close_program(struct program *program)
{
	symbol_functions_free(program->functions);
	symbol_file_close(program->file);
	free(program->path);
}

static const struct symbol_function **find(const struct program *program, const char *text,
					   size_t *nr)
{
	const struct symbol_function **found;
	regex_t regex;

	assert_int_equal(regcomp(&regex, text, REG_EXTENDED | REG_NOSUB), 0);
	found = symbol_functions_find(program->functions, &regex, NULL, nr);
	regfree(&regex);
	return found;
}

/* The only one that a pattern means. */
static const struct symbol_function *the_one(const struct program *program, const char *text)
{
	const struct symbol_function **found, *one;
	size_t nr;

	found = find(program, text, &nr);
	if (nr != 1)
		fail_msg("'%s' means %zu functions of %s", text, nr, program->path);
	one = found[0];
	free(found);
	return one;
}

static void assert_none(const struct program *program, const char *text)
{
	size_t nr;

	free(find(program, text, &nr));
	assert_int_equal(nr, 0);
}

/* The number that a command prints, in which $FILE is the program. */
static uint64_t number_of(const struct program *program, const char *command)
{
	uint64_t number = UINT64_MAX;
	FILE *pipe;

	setenv("FILE", program->path, 1);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_int_equal(fscanf(pipe, "%" SCNu64, &number), 1);
	assert_int_equal(pclose(pipe), 0);
	return number;
}

/* A name in one row of the table of symbols that nm prints. */
static uint64_t address_by_nm(const struct program *program, const char *name)
{
	cleanup_free char *command = xasprintf(
		"printf '%%d\\n' 0x$(nm $FILE | awk '$3 == \"%s\" { print $1; exit }')", name);

	return number_of(program, command);
}

/* Some compilers move no cold code out of functions. */
static size_t nr_cold_in(const struct program *program)
{
	return number_of(program, "nm $FILE | grep -c ' mostly.cold$' || :");
}

TEST(symbol_functions, aliases_are_one_function)
{
	struct program program = open_program("c");
	const struct symbol_function *original = the_one(&program, "^original$");

	assert_ptr_equal(the_one(&program, "^nickname$"), original);
	assert_int_equal(original->start, address_by_nm(&program, "original"));
	assert_true(original->end > original->start);
	assert_int_equal(original->kind, SYMBOL_FUNCTION_WHOLE);
	assert_int_equal(original->line, 5);
	close_program(&program);
}

TEST(symbol_functions, static_ones_of_a_name_are_several)
{
	struct program program = open_program("c");
	const struct symbol_function **found;
	size_t nr;

	found = find(&program, "^twin$", &nr);
	assert_int_equal(nr, 2);
	assert_true(found[0]->start < found[1]->start);
	assert_string_equal(found[0]->name, "twin");
	assert_string_equal(found[1]->name, "twin");
	assert_string_not_equal(found[0]->file, found[1]->file);
	free(found);
	close_program(&program);
}

/* Each symbol with a size that readelf calls a function is one, as long as it says, and no other.
 */
static void assert_as_readelf_says(const struct program *program)
{
	const struct symbol_function **all;
	size_t nr, nr_sized = 0, nr_seen = 0;
	uint64_t start, size;
	FILE *pipe;

	all = symbol_functions_find(program->functions, NULL, NULL, &nr);
	assert_int_equal(nr, symbol_functions_nr(program->functions));
	setenv("FILE", program->path, 1);
	pipe = popen("readelf -sW $FILE | awk '($4 == \"FUNC\" || $4 == \"IFUNC\") && "
		     "$7 != \"UND\" && $3 { print $2, $3 }' | sort -u",
		     "r");
	assert_non_null(pipe);
	while (fscanf(pipe, "%" SCNx64 " %" SCNu64, &start, &size) == 2) {
		size_t at = 0;

		while (at < nr && all[at]->start != start)
			at++;
		if (at == nr)
			fail_msg("no function at 0x%" PRIx64, start);
		assert_int_equal(all[at]->end, start + size);
		nr_seen++;
	}
	assert_int_equal(pclose(pipe), 0);
	for (size_t i = 0; i < nr; i++) {
		assert_true(i == 0 || all[i]->start > all[i - 1]->start);
		nr_sized += all[i]->linkage_name && all[i]->end > all[i]->start;
	}
	assert_true(nr_seen >= 8);
	assert_in_range(nr_sized, nr_seen, nr_seen + 4); /* of _init, _fini the unwinder knows it */
	free(all);
}

TEST(symbol_functions, all_are_those_of_readelf)
{
	struct program program = open_program("c");

	assert_as_readelf_says(&program);
	close_program(&program);
	program = open_program("cc");
	assert_as_readelf_says(&program);
	close_program(&program);
}

TEST(symbol_functions, stubs_are_none)
{
	struct program program = open_program("c");
	const struct symbol_function **all;
	uint64_t low = number_of(&program, "printf '%d\\n' 0x$(readelf -SW $FILE | "
					   "sed -n 's/.* \\.plt  *[A-Z]*  *\\([^ ]*\\).*/\\1/p')");
	uint64_t high =
		number_of(&program, "printf '%d\\n' 0x$(readelf -SW $FILE | "
				    "sed -n 's/.* \\.text  *[A-Z]*  *\\([^ ]*\\).*/\\1/p')");
	size_t nr;

	assert_true(low < high);
	all = symbol_functions_find(program.functions, NULL, NULL, &nr);
	for (size_t i = 0; i < nr; i++)
		assert_false(all[i]->start >= low && all[i]->start < high);
	free(all);
	assert_none(&program, "atoi|strtol|abort");
	close_program(&program);
}

TEST(symbol_functions, cold_code_is_a_part)
{
	struct program program = open_program("c");
	const struct symbol_function *part, *whole, **found;
	size_t nr;

	if (nr_cold_in(&program) != 1) {
		close_program(&program);
		skip();
	}
	part = the_one(&program, "^mostly\\.cold$");
	assert_int_equal(part->kind, SYMBOL_FUNCTION_PART);
	assert_string_equal(part->name, "mostly"); /* as reports show it */
	assert_string_equal(part->linkage_name, "mostly.cold");
	found = symbol_functions_called(program.functions, "mostly", &nr);
	assert_int_equal(nr, 2); /* the other one is what is called */
	whole = found[found[0] == part];
	assert_int_equal(whole->kind, SYMBOL_FUNCTION_WHOLE);
	assert_int_equal(whole->start, address_by_nm(&program, "mostly"));
	free(found);
	close_program(&program);
}

TEST(symbol_functions, names_come_after_a_match)
{
	struct program program = open_program("c");
	const struct symbol_function **found;
	uint64_t starts[2];
	const char *names[2];
	regex_t regex;
	size_t nr;

	assert_int_equal(regcomp(&regex, "^(mostly|twin)$", REG_EXTENDED | REG_NOSUB), 0);
	found = symbol_functions_match(program.functions, &regex, NULL, &nr);
	assert_true(nr >= 2);
	for (size_t i = 0; i < nr; i++) {
		assert_null(found[i]->name);
		assert_int_not_equal(found[i]->nr_inlined, SYMBOL_INLINED_UNKNOWN);
	}
	symbol_file_trim(program.file); /* what it frees is made again */
	starts[0] = found[0]->start;
	starts[1] = found[0]->start + 1;
	symbol_functions_name(program.functions, starts, 2, names);
	assert_string_equal(names[0], found[0]->name);
	assert_null(names[1]);
	regfree(&regex);
	free(found);
	close_program(&program);
}

TEST(symbol_functions, has_a_symbol_without_an_index_as_with_one)
{
	static const struct {
		const char *name;
		bool is_there;
	} cases[] = {{"mostly", true}, {"most", false}, {"mostly.", false}, {"choice", true}};
	struct program program = open_program("c");
	size_t nr;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(symbol_functions_has_linked_as(program.functions, cases[i].name),
				 cases[i].is_there);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		free(symbol_functions_linked_as(program.functions, cases[i].name, &nr));
		assert_int_equal(nr > 0, cases[i].is_there);
		assert_int_equal(symbol_functions_has_linked_as(program.functions, cases[i].name),
				 cases[i].is_there);
	}
	close_program(&program);
}

TEST(symbol_functions, resolver_has_the_name_it_chooses_for)
{
	struct program program = open_program("c");
	const struct symbol_function *choice = the_one(&program, "^choice$");

	assert_int_equal(choice->kind, SYMBOL_FUNCTION_IFUNC);
	assert_string_equal(choice->name, "choice");
	assert_ptr_equal(the_one(&program, "^resolve_choice$"), choice);
	assert_int_equal(the_one(&program, "^choice_a$")->kind, SYMBOL_FUNCTION_WHOLE);
	close_program(&program);
}

TEST(symbol_functions, static_program)
{
	struct program program;

	if (!was_built("static"))
		skip(); /* this compiler links no static programs here */
	program = open_program("static");
	assert_int_equal(the_one(&program, "^exit$")->start, address_by_nm(&program, "exit"));
	if (number_of(&program, "nm $FILE | grep -c ' __libc_malloc$' || :") == 1) /* glibc */
		assert_ptr_equal(the_one(&program, "^__libc_malloc$"),
				 the_one(&program, "^malloc$"));
	assert_int_equal(the_one(&program, "^from_two$")->kind, SYMBOL_FUNCTION_WHOLE);
	if (number_of(&program, "nm $FILE | grep -c ' i memcpy$' || :") == 1)
		assert_int_equal(the_one(&program, "^memcpy$")->kind, SYMBOL_FUNCTION_IFUNC);
	close_program(&program);
}

TEST(symbol_functions, go_table)
{
	struct program plain, bare;
	const struct symbol_function *cold;

	if (!was_built("go_bare"))
		skip(); /* there is no compiler of Go here */
	plain = open_program("go");
	bare = open_program("go_bare");
	cold = the_one(&bare, "^main\\.cold$");
	assert_string_equal(cold->name, "main.cold");
	assert_null(cold->linkage_name);
	assert_int_equal(cold->kind, SYMBOL_FUNCTION_WHOLE);
	assert_int_equal(cold->start, address_by_nm(&plain, "main.cold"));
	assert_int_equal(the_one(&plain, "^main\\.cold$")->kind, SYMBOL_FUNCTION_WHOLE);
	assert_true(symbol_functions_nr(bare.functions) > 1000);
	close_program(&plain);
	close_program(&bare);
}

TEST(symbol_functions, cxx_names_in_all_forms)
{
	struct program program = open_program("cc");
	const struct symbol_function **found;
	size_t nr;

	assert_string_equal(the_one(&program, "^outer::C::overloaded\\(int\\)$")->name,
			    "outer::C::overloaded(int)");
	assert_string_equal(the_one(&program, "^_ZN5outer1C10overloadedEd$")->name,
			    "outer::C::overloaded(double)");
	free(find(&program, "^outer::C::overloaded$", &nr));
	assert_int_equal(nr, 2);
	free(find(&program, "^twice$", &nr));
	assert_int_equal(nr, 2);
	assert_string_equal(the_one(&program, "twice<long>")->name, "long twice<long>(long)");
	assert_non_null(strstr(the_one(&program, "hidden")->name, "(anonymous namespace)"));
	/* Complete and base constructor, C1 and C2, have one code. */
	assert_string_equal(the_one(&program, "^outer::C::C\\(int\\)$")->name, "outer::C::C(int)");
	found = find(&program, "outer::C::b\\(\\)", &nr);
	assert_int_equal(nr, 2); /* one of them adjusts `this` for B */
	assert_true(!strncmp(found[0]->linkage_name, "_ZThn", 5) !=
		    !strncmp(found[1]->linkage_name, "_ZThn", 5));
	free(found);
	close_program(&program);
}

TEST(symbol_functions, names_are_those_of_reports)
{
	static const char *const names[] = {"c", "cc", "split", "dwarf"};

	for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
		struct program program = open_program(names[k]);
		const struct symbol_function **all;
		size_t nr;

		all = symbol_functions_find(program.functions, NULL, NULL, &nr);
		for (size_t i = 0; i < nr; i++) {
			struct symbol_result *result;
			const struct symbol_chain *chain;

			if (all[i]->kind == SYMBOL_FUNCTION_IFUNC)
				continue;
			result = symbol_file_resolve(program.file, &all[i]->start, 1);
			chain = &result->chains[0];
			assert_true(chain->nr > 0);
			assert_string_equal(result->locations[chain->first + chain->nr - 1].name,
					    all[i]->name);
			symbol_result_free(result);
		}
		free(all);
		close_program(&program);
	}
}

TEST(symbol_functions, separate_debug_file)
{
	struct program whole = open_program("c"), split = open_program("split");
	struct program bare = open_program("bare");

	assert_int_equal(symbol_functions_nr(split.functions),
			 symbol_functions_nr(whole.functions));
	assert_int_equal(the_one(&split, "^original$")->start,
			 the_one(&whole, "^original$")->start);
	assert_int_equal(the_one(&split, "^original$")->nr_inlined,
			 the_one(&whole, "^original$")->nr_inlined);
	assert_int_not_equal(the_one(&split, "^original$")->nr_inlined, SYMBOL_INLINED_UNKNOWN);
	assert_none(&bare, "original");
	close_program(&whole);
	close_program(&split);
	close_program(&bare);
}

TEST(symbol_functions, debug_information_alone)
{
	struct program whole = open_program("c"), dwarf = open_program("dwarf");
	const struct symbol_function *original = the_one(&dwarf, "^original$");
	size_t nr;

	assert_null(original->linkage_name);
	assert_string_equal(original->name, "original");
	assert_int_equal(original->start, the_one(&whole, "^original$")->start);
	assert_int_equal(original->end, the_one(&whole, "^original$")->end);
	free(find(&dwarf, "^twin$", &nr));
	assert_int_equal(nr, 2);
	close_program(&whole);
	close_program(&dwarf);
}

/* How many inlined copies of a function readelf shows. */
static uint64_t copies_by_readelf(const struct program *program, const char *name)
{
	cleanup_free char *command =
		xasprintf("readelf --debug-dump=info $FILE | awk '\n"
			  "/Abbrev Number:/ { split($0, part, /[<>]/); entry = part[4];\n"
			  "	kind = $NF; kinds[entry] = kind }\n"
			  "/DW_AT_(linkage_)?name/ && $NF == \"%s\" { named[entry] = 1 }\n"
			  "/DW_AT_(abstract_origin|specification)/ { split($0, part, /<0x|>/);\n"
			  "	for (i in part) if (part[i] ~ /^[0-9a-f]+$/) to = part[i];\n"
			  "	sub(/.*<0x/, \"\"); sub(/>.*/, \"\"); origin[entry] = $0 }\n"
			  "END { nr = 0; for (entry in kinds) {\n"
			  "	if (kinds[entry] != \"(DW_TAG_inlined_subroutine)\") continue;\n"
			  "	at = entry;\n"
			  "	while (at in origin && !(at in named)) at = origin[at];\n"
			  "	nr += at in named }\n"
			  "	print nr }'",
			  name);

	return number_of(program, command);
}

TEST(symbol_functions, inlined_copies_are_counted)
{
	struct program program = open_program("cc");
	const struct symbol_function *shared = the_one(&program, "^shared\\(int\\)$");

	/* One in each of two units, each of which describes it for itself. */
	assert_int_equal(shared->nr_inlined, 2);
	assert_int_equal(shared->nr_inlined, copies_by_readelf(&program, "_Z6sharedi"));
	assert_int_equal(the_one(&program, "^outer::C::overloaded\\(int\\)$")->nr_inlined, 0);
	assert_int_equal(the_one(&program, "^_start$")->nr_inlined, SYMBOL_INLINED_UNKNOWN);
	close_program(&program);
}

TEST(symbol_functions, inlined_everywhere_is_told)
{
	struct program program = open_program("c");
	struct symbol_inlined_function found = {.name = NULL};
	regex_t regex;

	assert_none(&program, "^doubled$");
	assert_int_equal(regcomp(&regex, "^doubled$", REG_EXTENDED | REG_NOSUB), 0);
	assert_true(symbol_functions_find_inlined(program.functions, &regex, &found));
	assert_string_equal(found.name, "doubled");
	assert_true(found.nr_inlined > 0);
	assert_int_equal(found.nr_inlined, copies_by_readelf(&program, "doubled"));
	regfree(&regex);
	assert_int_equal(regcomp(&regex, "^original$|nowhere", REG_EXTENDED | REG_NOSUB), 0);
	assert_false(symbol_functions_find_inlined(program.functions, &regex, &found));
	regfree(&regex);
	close_program(&program);
}

TEST(symbol_functions, versions_do_not_matter)
{
	struct program program = open_program("versions.so");
	const struct symbol_function **found;
	size_t nr;

	found = find(&program, "^versioned$", &nr);
	assert_int_equal(nr, 2);
	assert_true(found[0]->start < found[1]->start);
	free(found);
	close_program(&program);
}

TEST(symbol_functions, called_means_the_very_name)
{
	struct program program = open_program("cc");
	size_t nr;

	free(symbol_functions_called(program.functions, "twice", &nr));
	assert_int_equal(nr, 2);
	free(symbol_functions_called(program.functions, "outer::C::overloaded(int)", &nr));
	assert_int_equal(nr, 1);
	free(symbol_functions_called(program.functions, "twic", &nr));
	assert_int_equal(nr, 0);
	close_program(&program);
}

static void assert_linked_as(struct program *program, const char *name, size_t nr_expected)
{
	const struct symbol_function **found;
	size_t nr;

	found = symbol_functions_linked_as(program->functions, name, &nr);
	assert_int_equal(nr, nr_expected);
	for (size_t i = 0; i < nr; i++)
		assert_true(found[i]->end > found[i]->start);
	free(found);
}

/* Tables alone, of the file or of its debug file, have them, too. */
TEST(symbol_functions, symbols_of_functions_are_found)
{
	static const char *const files[] = {"c", "split"};
	struct program whole = open_program("c");
	size_t nr_cold = nr_cold_in(&whole);

	close_program(&whole);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(files); i++) {
		struct program program = open_program_with(files[i / 2], i % 2);

		assert_linked_as(&program, "original", 1);
		assert_linked_as(&program, "nickname", 1);
		assert_linked_as(&program, "twin", 2);
		assert_linked_as(&program, "mostly", 1 + nr_cold);
		assert_linked_as(&program, "mostly.cold", nr_cold);
		assert_linked_as(&program, "doubled", 0);
		assert_linked_as(&program, "orig", 0);
		close_program(&program);
	}
}

TEST(symbol_functions, symbols_have_no_demangled_names_and_no_versions)
{
	struct program cxx = open_program_with("cc", true);
	struct program library = open_program_with("versions.so", true);

	assert_linked_as(&cxx, "_ZN5outer1C10overloadedEi", 1);
	assert_linked_as(&cxx, "outer::C::overloaded", 0);
	assert_linked_as(&library, "versioned", 2);
	close_program(&cxx);
	close_program(&library);
}

TEST(symbol_functions, all_of_the_tables_are_all_that_have_symbols)
{
	struct program tables = open_program_with("c", true), whole = open_program("c");
	uint64_t *of_tables, *of_all;
	size_t nr, nr_all;

	of_tables = symbol_functions_starts(tables.functions, &nr);
	of_all = symbol_functions_starts(whole.functions, &nr_all);
	assert_int_equal(nr, nr_all);
	assert_true(nr > 5);
	for (size_t i = 0; i < nr; i++) {
		const struct symbol_function *table =
			symbol_functions_before(tables.functions, of_tables[i]);
		const struct symbol_function *other =
			symbol_functions_before(whole.functions, of_all[i]);

		assert_int_equal(table->start, of_tables[i]);
		assert_int_equal(table->start, other->start);
		assert_int_equal(table->end, other->end);
		assert_int_equal(table->kind, other->kind);
		assert_ptr_equal(
			symbol_functions_before(tables.functions, table->start + 1),
			i + 1 < nr && of_tables[i + 1] == table->start + 1
				? symbol_functions_before(tables.functions, of_tables[i + 1])
				: table);
	}
	assert_null(symbol_functions_before(tables.functions, of_tables[0] - 1));
	free(of_tables);
	free(of_all);
	close_program(&tables);
	close_program(&whole);
}

TEST(symbol_functions, nearest_name)
{
	struct program program = open_program("c");

	assert_string_equal(symbol_functions_nearest(program.functions, "^orignal$"), "original");
	assert_null(symbol_functions_nearest(program.functions, "nothing_like_any_of_them"));
	close_program(&program);
	program = open_program("cc");
	assert_string_equal(symbol_functions_nearest(program.functions, "outer::C::overlaoded"),
			    "outer::C::overloaded");
	close_program(&program);
}

/* A program as a search opens it, and as the resolution of a recording requests it. */
struct recorded_program {
	char *path;
	int fd;
	struct module module;
	struct symbol_file *file; /* until it is given away */
	struct build_id build_id;
	struct symbol_request request;
	uint64_t *starts;
	size_t nr;
};

static void search_recorded(struct recorded_program *program, const char *name, bool tables_only)
{
	static const struct symbol_options options;
	struct symbol_functions *functions;
	struct symbol_request request;

	*program = (struct recorded_program){.path = xasprintf("%s/%s", directory, name)};
	program->fd = open(program->path, O_RDONLY | O_CLOEXEC);
	assert_true(program->fd >= 0);
	request = (struct symbol_request){.path = program->path,
					  .chooser = owner_of_fd(program->fd),
					  .fd = program->fd,
					  .tables_only = tables_only};
	assert_int_equal(symbol_file_open(&options, &request, &program->file, NULL), 0);
	functions = symbol_functions_new(program->file);
	program->starts = symbol_functions_starts(functions, &program->nr);
	symbol_functions_free(functions);
	program->build_id = program->file->object.build_id;
	program->module = (struct module){
		.kind = MODULE_KIND_FILE, .path = program->path, .owner = owner_of_fd(program->fd)};
	program->request = (struct symbol_request){.path = program->path,
						   .chooser = owner_caller(),
						   .fd = program->fd,
						   .build_id = program->build_id.bytes,
						   .nr_build_id_bytes = program->build_id.nr,
						   .recorded = &program->module,
						   .addresses = program->starts,
						   .nr_addresses = program->nr};
}

static void release_recorded(struct recorded_program *program)
{
	free(program->starts);
	free(program->path);
	close(program->fd);
}

static void assert_same_results(const struct symbol_result *a, const struct symbol_result *b,
				size_t nr)
{
	assert_int_equal(a->source, b->source);
	assert_int_equal(a->owner.v, b->owner.v);
	assert_int_equal(a->nr_locations, b->nr_locations);
	assert_int_equal(!a->debug_path, !b->debug_path);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(a->chains[i].nr, b->chains[i].nr);
	for (size_t i = 0; i < a->nr_locations; i++) {
		assert_int_equal(a->locations[i].line, b->locations[i].line);
		assert_string_equal(a->locations[i].name, b->locations[i].name);
	}
}

static void assert_kept_resolves_alike(const char *name, bool tables_only)
{
	struct symbol_options options = {.nr_threads = 1};
	struct recorded_program program;
	struct symbol_result *anew, *kept_one;
	struct symbol_file *file;

	search_recorded(&program, name, tables_only);
	assert_int_equal(symbol_resolve_file(&options, &program.request, &anew, NULL), 0);
	options.kept = kept_files_new(UINT64_C(32) << 20);
	kept_files_give(options.kept, program.file);
	file = kept_files_take(options.kept, &options, &program.request);
	assert_non_null(file);
	kept_one = symbol_file_answer(file, &program.request);
	symbol_file_close(file);
	assert_null(kept_files_take(options.kept, &options, &program.request));
	assert_true(anew->nr_locations >= program.nr - 1);
	assert_same_results(anew, kept_one, program.nr);
	symbol_result_free(anew);
	symbol_result_free(kept_one);
	kept_files_free(options.kept);
	release_recorded(&program);
}

TEST(symbol_kept_files, names_are_those_of_a_file_opened_anew)
{
	static const char *const names[] = {"c", "cc", "split", "bare"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_kept_resolves_alike(names[i], false);
		assert_kept_resolves_alike(names[i], true);
	}
}

/* It is code of a recorded program. */
static struct profile *profile_of(const struct recorded_program *program)
{
	struct profile *profile = profile_new();
	struct module module = program->module;
	struct code_address where = {.module = MODULE_UNKNOWN};

	module.fd = fcntl(program->fd, F_DUPFD_CLOEXEC, 0);
	module.nr_build_id_bytes = program->build_id.nr;
	memcpy(module.build_id, program->build_id.bytes, program->build_id.nr);
	where.module = module_table_intern(profile->modules, &module);
	for (size_t i = 0; i < program->nr; i++) {
		where.address = program->starts[i];
		profile_intern_frame(profile, where);
	}
	return profile;
}

TEST(symbol_kept_files, a_resolution_leaves_its_files_to_the_next_one)
{
	struct symbol_options options = {.kept = kept_files_new(UINT64_C(32) << 20)};
	struct recorded_program program;
	size_t nr_locations = 0;

	search_recorded(&program, "c", false);
	symbol_file_close(program.file);
	for (int round = 0; round < 3; round++) {
		struct profile *profile = profile_of(&program);
		struct symbol_file *file;

		resolve_profile(profile, &options, NULL);
		if (round)
			assert_int_equal(profile->symbols.nr_locations, nr_locations);
		nr_locations = profile->symbols.nr_locations;
		assert_true(nr_locations >= program.nr - 1);
		profile_free(profile);
		file = kept_files_take(options.kept, &options, &program.request);
		assert_non_null(file);
		assert_true(file->has_tables);
		kept_files_give(options.kept, file);
	}
	kept_files_free(options.kept);
	release_recorded(&program);
}

TEST(symbol_kept_files, no_more_is_held_than_was_said)
{
	struct symbol_options options = {.kept = kept_files_new(1)};
	struct recorded_program program;

	search_recorded(&program, "c", false);
	assert_true(program.file->has_tables);
	kept_files_give(options.kept, program.file);
	assert_null(kept_files_take(options.kept, &options, &program.request));
	kept_files_free(options.kept);
	release_recorded(&program);
}

TEST(symbol_kept_files, only_the_same_file_for_the_same_owner)
{
	static const struct timespec times[] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
	const struct symbol_options options = {.nr_threads = 1};
	struct kept_files *kept = kept_files_new(UINT64_C(32) << 20);
	struct recorded_program program;
	struct symbol_request other;
	uint8_t other_id[BUILD_ID_MAX_BYTES] = {1};

	search_recorded(&program, "c", false);
	kept_files_give(kept, program.file);
	other = program.request;
	other.build_id = other_id;
	assert_null(kept_files_take(kept, &options, &other));
	other = program.request;
	other.path = "/elsewhere/c";
	assert_null(kept_files_take(kept, &options, &other));
	other = program.request;
	other.fd = -1;
	assert_null(kept_files_take(kept, &options, &other));
	program.module.owner = OWNER_NOBODY;
	assert_null(kept_files_take(kept, &options, &program.request));
	program.module.owner = owner_of_fd(program.fd);
	assert_int_equal(futimens(program.fd, times), 0);
	assert_null(kept_files_take(kept, &options, &program.request));
	assert_null(kept_files_take(NULL, &options, &program.request));
	kept_files_free(kept);
	release_recorded(&program);
	search_recorded(&program, "c", false);
	kept_files_give(NULL, program.file);
	release_recorded(&program);
}

TEST(symbol_functions, another_build_has_none)
{
	static const struct symbol_options options;
	static const uint8_t other[20] = {1, 2, 3};
	cleanup_free char *path = xasprintf("%s/c", directory);
	struct symbol_request request = {.path = path,
					 .chooser = owner_caller(),
					 .fd = -1,
					 .build_id = other,
					 .nr_build_id_bytes = sizeof(other)};
	struct symbol_functions *functions;
	struct symbol_file *file;

	assert_int_equal(symbol_file_open(&options, &request, &file, NULL), 0);
	functions = symbol_functions_new(file);
	assert_non_null(symbol_file_mismatch(file));
	assert_int_equal(symbol_functions_nr(functions), 0);
	symbol_functions_free(functions);
	symbol_file_close(file);
}

/* The lines, of those wanted, that instructions of a function were written in. */
static size_t lines_of(const struct program *program, const struct symbol_function *function,
		       const struct source_lines *wanted, uint32_t *low, uint32_t *high)
{
	size_t nr = (size_t)(function->end - function->start), nr_written;
	cleanup_free uint64_t *addresses = xcalloc(nr, sizeof(*addresses));
	cleanup_free uint32_t *lines = xcalloc(nr, sizeof(*lines));

	for (size_t i = 0; i < nr; i++)
		addresses[i] = function->start + i;
	nr_written = symbol_file_written_in(program->file, wanted, addresses, nr, lines);
	*low = UINT32_MAX;
	*high = 0;
	for (size_t i = 0; i < nr; i++) {
		*low = lines[i] && lines[i] < *low ? lines[i] : *low;
		*high = lines[i] > *high ? lines[i] : *high;
	}
	return nr_written;
}

TEST(symbol_written_in, lines_of_a_file)
{
	struct program program = open_program("c");
	const struct symbol_function *function = the_one(&program, "^from_two$");
	uint32_t low, high;

	assert_true(lines_of(&program, function, &(struct source_lines){"two.c", 1, 99}, &low,
			     &high) > 0);
	assert_int_equal(low, 1); /* of doubled(), which was written there and is inlined here */
	assert_int_equal(high, 3);
	assert_true(lines_of(&program, function, &(struct source_lines){"two.c", 2, 3}, &low,
			     &high) > 0);
	assert_int_equal(low, 3);
	assert_int_equal(
		lines_of(&program, function, &(struct source_lines){"one.c", 1, 99}, &low, &high),
		0);
	assert_int_equal(
		lines_of(&program, function, &(struct source_lines){"wo.c", 1, 99}, &low, &high),
		0);
	close_program(&program);
}

static void assert_lines(const char *text, const char *file, uint32_t first, uint32_t last)
{
	struct source_lines lines;
	char *path;

	assert_int_equal(source_lines_read(&lines, &path, text, NULL), 0);
	assert_non_null(path);
	assert_string_equal(lines.path, file);
	assert_int_equal(lines.first, first);
	assert_int_equal(lines.last, last);
	free(path);
}

TEST(symbol_written_in, file_and_lines_are_read)
{
	static const char *const functions[] = {"main",	   "a::b",	"a.c", "a.c:",	   "a.c:1-",
						"a.c:x-2", "a.c:1-2-3", ":12", "a::b(int)"};
	static const char *const bad[] = {"a.c:0", "a.c:3-2", "a.c:0-2",
					  "a.c:1-99999999999999999999999", "a.c:4294967296"};
	struct source_lines lines;
	struct err err = ERR_INIT;
	char *path;

	assert_lines("src/a.c:12", "src/a.c", 12, 12);
	assert_lines("a.c:3-40", "a.c", 3, 40);
	assert_lines("odd:name.c:1-4294967295", "odd:name.c", 1, UINT32_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		assert_int_equal(source_lines_read(&lines, &path, functions[i], NULL), 0);
		assert_null(path);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(source_lines_read(&lines, &path, bad[i], &err), ERR_INVALID);
		assert_non_null(strstr(err.what, bad[i]));
	}
}

TEST_GROUP(build, clean);
