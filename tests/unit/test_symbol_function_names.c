// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/alloc.h"
#include "symbol/function_names.h"
#include "tests/unit/unit.h"

TEST(symbol_function_names, parts)
{
	static const char *const parts[] = {
		"f.cold",
		"f.cold.12",
		"f.part.0",
		"f.part.0.cold",
		"f.part.0.constprop.1",
		"f.constprop.0.cold",
		"f._omp_fn.3",
		"f.omp_outlined",
		"_Z1fi.resume",
		"_Z1fi.destroy",
		"_Z1fPZ1fvE9_Z1fv.Frame.actor",
		"OUTLINED_FUNCTION_17",
	};
	static const char *const wholes[] = {
		"f",	      "f.constprop.0", "f.isra.0",    "f.lto_priv.0",
		"f.llvm.123", "f.localalias",  "cold",	      ".cold",
		"f.cold_cut", "f.part",	       "Pool.part.x", "module.destroy",
		"f.0",	      "part.0",	       "_Z4coldi",    "",
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!function_name_is_of_part(parts[i]))
			fail_msg("'%s' is a part", parts[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(wholes); i++) {
		if (function_name_is_of_part(wholes[i]))
			fail_msg("'%s' is no part", wholes[i]);
	}
}

static void assert_matches(const char *pattern, const char *linkage_name, bool expected)
{
	regex_t regex;
	struct name_wanted wanted = {.regex = &regex};

	assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
	if (linkage_name_matches(&wanted, linkage_name) != expected)
		fail_msg("'%s' %s '%s'", pattern, expected ? "means" : "does not mean",
			 linkage_name);
	regfree(&regex);
}

TEST(symbol_function_names, code_is_of_a_whole_function)
{
	static const char *const rows[][2] = {
		{"f.cold", "f"},
		{"f.part.0", "f"},
		{"f.part.0.constprop.1.isra.0", "f"},
		{"_Z1fi.cold.3", "_Z1fi"},
		{"f.lto_priv.0", "f.lto_priv.0"},
		{"f.lto_priv.0.cold", "f.lto_priv.0"},
		{"main._omp_fn.0", "main._omp_fn.0"},
		{"Pool.part.x", "Pool.part.x"},
		{"f", "f"},
	};
	struct name_pool pool;

	name_pool_init(&pool);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(whole_function_name(&pool, rows[i][0]), rows[i][1]);
	name_pool_release(&pool);
}

TEST(symbol_function_names, forms_that_match)
{
	assert_matches("^memcpy$", "memcpy@@GLIBC_2.14", true);
	assert_matches("GLIBC", "memcpy@@GLIBC_2.14", false);
	assert_matches("^f$", "f.constprop.0.isra.1", true);
	assert_matches("^f\\.constprop\\.0$", "f.constprop.0", true);
	assert_matches("^f$", "f.odd", false);
	assert_matches("^foldme<int>", "_Z6foldmeIiEiT_", true);
	assert_matches("^foldme<long>", "_Z6foldmeIiEiT_", false);
	assert_matches("^_ZN1a1fEi$", "_ZN1a1fEi", true);
	assert_matches("^a::f\\(int\\)$", "_ZN1a1fEi", true);
	assert_matches("^a::f$", "_ZN1a1fEi", true);
	assert_matches("^a::f$", "_ZN1a1fEi.cold", true);
	assert_matches("^a::g<int>\\(\\)$", "_ZN1a1gIiEEvv", true); /* void a::g<int>() */
	assert_matches("a::g<int>", "_ZN1a1gIiEEvv", true);
	assert_matches("^a::g$", "_ZN1a1gIiEEvv", true);
	assert_matches("^core::fmt::write$", "_ZN4core3fmt5write17h0123456789abcdefE", true);
	assert_matches("", "x", true);
}

TEST(symbol_function_names, the_very_name)
{
	const struct name_wanted wanted = {.exact = "a::f"}, all = {.exact = NULL};

	assert_true(linkage_name_matches(&wanted, "_ZN1a1fEi"));
	assert_false(linkage_name_matches(&wanted, "_ZN1a2ffEi"));
	assert_true(name_matches(&wanted, "a::f(double)"));
	assert_false(name_matches(&wanted, "b::a::f(double)"));
	assert_true(linkage_name_matches(&all, "anything"));
}

TEST(symbol_function_names, without_version)
{
	struct name_pool pool;

	name_pool_init(&pool);
	assert_string_equal(unversioned_name(&pool, "f@@V2"), "f");
	assert_string_equal(unversioned_name(&pool, "f@V1"), "f");
	assert_string_equal(unversioned_name(&pool, "f"), "f");
	assert_string_equal(unversioned_name(&pool, "@f"), "@f");
	name_pool_release(&pool);
}
