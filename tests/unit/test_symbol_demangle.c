// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "symbol/name_pool.h"
#include "symbol/symbol.h"

static void assert_demangled(const char *linkage_name, const char *wanted)
{
	char *demangled = symbol_demangle(linkage_name);

	assert_string_equal(demangled, wanted);
	free(demangled);
}

static void test_symbol_demangle__cpp(void **state)
{
	(void)state;
	assert_demangled("_Z3fooi", "foo(int)");
	assert_demangled("_ZNSt6vectorIiSaIiEE9push_backERKi",
			 "std::vector<int, std::allocator<int> >::push_back(int const&)");
	assert_demangled("_ZN12_GLOBAL__N_13fooEi", "(anonymous namespace)::foo(int)");
	assert_demangled("_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const");
	assert_demangled("_Z3fooi.cold", "foo(int) [clone .cold]");
}

static void test_symbol_demangle__cpp_is_not_taken_for_rust(void **state)
{
	(void)state;
	/* A part of 17 letters that begins with h, but no hash. */
	assert_demangled("_ZN3foo17hash_table_lookup3getEv", "foo::hash_table_lookup::get()");
}

static void test_symbol_demangle__rust(void **state)
{
	(void)state;
	assert_demangled("_ZN4core3ptr13drop_in_place17h0123456789abcdefE",
			 "core::ptr::drop_in_place");
	assert_demangled("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$"
			 "$GT$3bar17h930b740aa94f1d3aE",
			 "<Test + 'static as foo::Bar<Test>>::bar");
	assert_demangled("_RNvC6_123foo3bar", "123foo::bar");
	assert_demangled("_RNCNvC4demo4main0", "demo::main::{closure#0}");
}

static void test_symbol_demangle__d_and_ada(void **state)
{
	(void)state;
	assert_demangled("_D4demo4testFZv", "demo.test()");
	assert_demangled("_Dmain", "D main");
	assert_demangled("_ada_hello", "hello");
}

static void test_symbol_demangle__other_names_stay(void **state)
{
	(void)state;
	assert_demangled("main", "main");
	assert_demangled("", "");
	assert_demangled("_Z", "_Z");
	assert_demangled("_ZN", "_ZN");
	assert_demangled("_R", "_R");
	assert_demangled("g_hash__table", "g_hash__table");
	assert_demangled("_D", "_D");
}

static void test_symbol_demangle__hostile_names_stay(void **state)
{
	char *deep = xmalloc(200001);

	(void)state;
	memset(deep, 'P', 200000); /* pointer to pointer to … */
	memcpy(deep, "_Z1f", 4);
	deep[200000] = '\0';
	assert_demangled(deep, deep);
	free(deep);
}

static void test_symbol_demangle__pool_keeps_each_text_once(void **state)
{
	struct name_pool pool;
	const char *first;

	(void)state;
	name_pool_init(&pool);
	first = name_pool_demangle(&pool, "_Z3fooi");
	assert_string_equal(first, "foo(int)");
	assert_ptr_equal(name_pool_demangle(&pool, "_Z3fooi"), first);
	assert_ptr_equal(name_pool_keep(&pool, "foo(int)"), first);
	assert_ptr_equal(name_pool_demangle(&pool, "main"), name_pool_keep(&pool, "main"));
	assert_null(name_pool_keep(&pool, NULL));
	name_pool_release(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_symbol_demangle__cpp),
		cmocka_unit_test(test_symbol_demangle__cpp_is_not_taken_for_rust),
		cmocka_unit_test(test_symbol_demangle__rust),
		cmocka_unit_test(test_symbol_demangle__d_and_ada),
		cmocka_unit_test(test_symbol_demangle__other_names_stay),
		cmocka_unit_test(test_symbol_demangle__hostile_names_stay),
		cmocka_unit_test(test_symbol_demangle__pool_keeps_each_text_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
