// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "symbol/demangle.h"
#include "symbol/name_pool.h"
#include "tests/unit/unit.h"

static void assert_demangled(const char *linkage_name, const char *wanted)
{
	char *demangled = symbol_demangle(linkage_name);

	assert_string_equal(demangled, wanted);
	free(demangled);
}

TEST(symbol_demangle, cpp)
{
	assert_demangled("_Z3fooi", "foo(int)");
	assert_demangled("_ZNSt6vectorIiSaIiEE9push_backERKi",
			 "std::vector<int, std::allocator<int> >::push_back(int const&)");
	assert_demangled("_ZN12_GLOBAL__N_13fooEi", "(anonymous namespace)::foo(int)");
	assert_demangled("_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const");
	assert_demangled("_Z3fooi.cold", "foo(int) [clone .cold]");
}

/* Digits of back references, from 0 on, as each scheme writes them. */
static void append_number(struct buf *name, unsigned int number, unsigned int base, char first)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	if (number >= base)
		append_number(name, number / base, base, first == 'a' ? 'A' : first);
	if (base == 26) /* D: capital letters, the last one small */
		buf_append_byte(name, (uint8_t)(first + number % base));
	else
		buf_append_byte(
			name, (uint8_t)digits[base == 36 && number % base >= 10 ? number % base + 26
										: number % base]);
}

/* f(A<int, int>, A<the one before twice>, …), each level twice as long as all before it. */
static void assert_not_unfolded(struct buf *name)
{
	assert_demangled(buf_str(name), buf_str(name));
	buf_release(name);
}

TEST(symbol_demangle, cpp_that_doubles_without_end)
{
	struct buf name = {.nr_bytes = 0};

	buf_append_str(&name, "_Z1f1AIiiE");
	for (unsigned int level = 0; level < 60; level++) {
		buf_append_str(&name, "S_IS");
		append_number(&name, level, 36, '0');
		buf_append_str(&name, "_S");
		append_number(&name, level, 36, '0');
		buf_append_str(&name, "_E");
	}
	assert_not_unfolded(&name);
}

TEST(symbol_demangle, rust_that_doubles_without_end)
{
	struct buf name = {.nr_bytes = 0};
	unsigned int before = 8; /* where the last type stands, from behind the "_R" */

	buf_append_str(&name, "_RINvC1a1fTmmE");
	for (unsigned int level = 0; level < 60; level++) {
		unsigned int here = (unsigned int)name.nr_bytes - 2;

		buf_append_str(&name, "TB");
		append_number(&name, before - 1, 62, '0');
		buf_append_str(&name, "_B");
		append_number(&name, before - 1, 62, '0');
		buf_append_str(&name, "_E");
		before = here;
	}
	buf_append_str(&name, "E");
	assert_not_unfolded(&name);
}

TEST(symbol_demangle, d_that_doubles_without_end)
{
	struct buf name = {.nr_bytes = 0};
	unsigned int before;

	buf_append_str(&name, "_D1a1fF");
	before = (unsigned int)name.nr_bytes;
	buf_append_str(&name, "Hii");
	for (unsigned int level = 0; level < 60; level++) {
		unsigned int here = (unsigned int)name.nr_bytes;

		buf_append_str(&name, "HQ");
		append_number(&name, (unsigned int)name.nr_bytes - 1 - before, 26, 'a');
		buf_append_str(&name, "Q");
		append_number(&name, (unsigned int)name.nr_bytes - 1 - before, 26, 'a');
		before = here;
	}
	buf_append_str(&name, "Zv");
	assert_not_unfolded(&name);
}

TEST(symbol_demangle, d_that_nests_without_end)
{
	struct buf name = {.nr_bytes = 0};

	buf_append_str(&name, "_D1a");
	for (int level = 0; level < 15000; level++)
		buf_append_str(&name, "FPFP");
	assert_not_unfolded(&name);
}

TEST(symbol_demangle, cpp_is_not_taken_for_rust)
{
	/* A part of 17 letters that begins with h, but no hash. */
	assert_demangled("_ZN3foo17hash_table_lookup3getEv", "foo::hash_table_lookup::get()");
}

TEST(symbol_demangle, rust)
{
	assert_demangled("_ZN4core3ptr13drop_in_place17h0123456789abcdefE",
			 "core::ptr::drop_in_place");
	assert_demangled("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$"
			 "$GT$3bar17h930b740aa94f1d3aE",
			 "<Test + 'static as foo::Bar<Test>>::bar");
	assert_demangled("_RNvC6_123foo3bar", "123foo::bar");
	assert_demangled("_RNCNvC4demo4main0", "demo::main::{closure#0}");
}

TEST(symbol_demangle, d_and_ada)
{
	assert_demangled("_D4demo4testFZv", "demo.test()");
	assert_demangled("_Dmain", "D main");
	assert_demangled("_ada_hello", "hello");
}

static void assert_ada(const char *name, const char *wanted)
{
	char *demangled = symbol_demangle_ada(name);

	assert_string_equal(demangled, wanted);
	free(demangled);
}

TEST(symbol_demangle, ada_where_the_unit_says_so)
{
	assert_demangled("pkg__proc", "pkg__proc"); /* of C, for all that is known */
	assert_ada("pkg__proc", "pkg.proc");
	assert_ada("pkg__inner__proc__nested", "pkg.inner.proc.nested");
	assert_ada("pkg__proc__2", "pkg.proc");
	assert_ada("pkg__Oadd", "pkg.\"+\"");
	assert_ada("pkg__Olt", "pkg.\"<\"");
	assert_ada("pkg___elabb", "pkg'Elab_Body");
	assert_ada("pkg__workerTB", "pkg.worker");
	assert_ada("pkg__workerTKB", "pkg.worker");
	assert_ada("pkg__proc__B_12__nested", "pkg.proc.nested");
	assert_ada("B_1__nested", "nested");
	assert_ada("_ada_main", "main");
	assert_ada("main", "main");
}

TEST(symbol_demangle, ada_units_have_other_names_too)
{
	static const char *const names[] = {"pkg__vecIP", "B_1__", "TB",     "TKB",	"",
					    "__",	  "B_",	   "a__B_1", "a__B_1__"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_ada(names[i], names[i]);
	assert_ada("_Z3fooi", "foo(int)");
}

TEST(symbol_demangle, other_names_stay)
{
	assert_demangled("main", "main");
	assert_demangled("", "");
	assert_demangled("_Z", "_Z");
	assert_demangled("_ZN", "_ZN");
	assert_demangled("_R", "_R");
	assert_demangled("g_hash__table", "g_hash__table");
	assert_demangled("_D", "_D");
}

TEST(symbol_demangle, hostile_names_stay)
{
	char *deep = xmalloc(200001);

	memset(deep, 'P', 200000); /* pointer to pointer to … */
	memcpy(deep, "_Z1f", 4);
	deep[200000] = '\0';
	assert_demangled(deep, deep);
	free(deep);
}

static bool is_of_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Each word of the demangled name is in the linkage name, or known to be the demangler's. */
static void assert_words_known(const char *linkage_name)
{
	char *demangled = symbol_demangle(linkage_name);
	bool is_free = symbol_demangle_makes_words(linkage_name);

	for (char *at = demangled, *end; *at && !is_free; at = end) {
		char after;

		for (; *at && !is_of_word(*at); at++)
			;
		for (end = at; is_of_word(*end); end++)
			;
		after = *end;
		*end = '\0';
		if (end > at && !strstr(linkage_name, at) && !symbol_demangle_has_word(at))
			fail_msg("'%s' is not in %s", at, linkage_name);
		*end = after;
	}
	free(demangled);
}

TEST(symbol_demangle, words_are_of_the_linkage_name_or_the_demangler)
{
	static const char *const names[] = {
		"main",
		"_ZSt4cout",
		"_ZNSsC1ERKSs",
		"_ZTVN10__cxxabiv117__class_type_infoE",
		"_ZTv0_n24_NSt19basic_ostringstreamIwSt11char_traitsIwESaIwEED1Ev",
		"_ZNKSt3tr14hashISbIwSt11char_traitsIwESaIwEEEclES4_",
		"_ZNSt7__cxx1112basic_stringIDiSt11char_traitsIDiESaIDiEE6resizeEmDi",
		"_ZZ4mainENKUliE_clEi",
		"_ZN1AIXadL_ZN1B1fEvEEE1gEPKcz",
		"_ZN1SILb1ELc97ELm5EE1fEOU8__vectorf",
		"_Z1fIiEDTcl1gfp_EET_",
		"_ZGVZN3foo3barEvE1x",
		"_ZN3fooB5cxx11EvEUt_",
		"_ZNK5boost6spiritcvT_IiEEv",
		"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
		"_ZN49_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$X$GT$4push17h0123456789abcdefE",
		"_RNvCs1234_7mycrate3foo",
		"_D3std5stdio7writelnFZv",
		"_ZN3foo3barEv.part.0.isra.1",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_words_known(names[i]);
	assert_true(symbol_demangle_has_word("operator"));
	assert_true(symbol_demangle_has_word("rator"));
	assert_true(symbol_demangle_has_word("5"));
	assert_false(symbol_demangle_has_word("main"));
	assert_false(symbol_demangle_has_word("operators"));
	assert_false(symbol_demangle_makes_words("_ZN3foo3barEv"));
	assert_false(symbol_demangle_makes_words("memcpy"));
	assert_true(symbol_demangle_makes_words("_RNvCs1234_7mycrate3foo"));
}

TEST(symbol_demangle, pool_keeps_each_text_once)
{
	struct name_pool pool;
	const char *first;

	name_pool_init(&pool);
	first = name_pool_demangle(&pool, "_Z3fooi");
	assert_string_equal(first, "foo(int)");
	assert_ptr_equal(name_pool_demangle(&pool, "_Z3fooi"), first);
	assert_ptr_equal(name_pool_keep(&pool, "foo(int)"), first);
	assert_ptr_equal(name_pool_demangle(&pool, "main"), name_pool_keep(&pool, "main"));
	assert_null(name_pool_keep(&pool, NULL));
	name_pool_release(&pool);
}
