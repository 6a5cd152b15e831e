// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/alloc.h"
#include "symbol/closure_names.h"
#include "tests/unit/unit.h"

TEST(symbol_closure_names, have_the_numbers_of_debug_information)
{
	static const struct {
		const char *name, *qualified, *numbered;
	} rows[] = {
		{"r2::main::{{closure}}", "r2::main::{closure#1}", "r2::main::{closure#1}"},
		{"<a::T as b::U>::f::{{closure}}", "a::{impl#3}::f::{closure#0}<u64>",
		 "<a::T as b::U>::f::{closure#0}"},
		{"a::f::{{closure}}::{{closure}}", "a::f::{closure#2}::{closure#0}",
		 "a::f::{closure#2}::{closure#0}"},
		{"a::f::{{closure}}::{{closure}}", "f::{closure#4}",
		 "a::f::{{closure}}::{closure#4}"},
		{"a::f::{{closure}}::g", "a::f::{async_fn#12}::g", "a::f::{async_fn#12}::g"},
		{"a::f::{{closure}}", "b::{closure#1}::f::{closure#5}", "a::f::{closure#5}"},
		{"a::f::{{closure}}", "a::f::odd", "a::f::{{closure}}"},
	};
	struct name_pool pool;

	name_pool_init(&pool);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(closure_numbered(&pool, rows[i].name, rows[i].qualified),
				    rows[i].numbered);
	name_pool_release(&pool);
}

TEST(symbol_closure_names, have_a_hash_without_it)
{
	static const char linkage_name[] =
		"_ZN2r24main28_$u7b$$u7b$closure$u7d$$u7d$17h0a1b2c3d4e5f6789E.llvm.12345";
	struct name_pool pool;

	name_pool_init(&pool);
	assert_string_equal(closure_hashed(&pool, "r2::main::{{closure}}", linkage_name),
			    "r2::main::{closure#h0a1b}");
	assert_string_equal(closure_hashed(&pool, "r2::main", linkage_name), "r2::main");
	assert_string_equal(closure_hashed(&pool, "f::{{closure}}", "_Z1f"), "f::{{closure}}");
	assert_false(closure_is_in("r2::main::{closure#1}"));
	name_pool_release(&pool);
}
