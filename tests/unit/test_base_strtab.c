// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/strtab.h"
#include "tests/unit/unit.h"

TEST(strtab, ids_are_dense_and_texts_distinct)
{
	struct strtab *tab = strtab_new();

	assert_int_equal(strtab_nr(tab), 1);
	assert_string_equal(strtab_get(tab, STR_EMPTY), "");
	assert_int_equal(strtab_intern(tab, "main").v, 1);
	assert_int_equal(strtab_intern(tab, "mai").v, 2);
	assert_int_equal(strtab_intern(tab, "main").v, 1);
	assert_int_equal(strtab_intern(tab, "").v, 0);
	assert_int_equal(strtab_length(tab, (struct str_id){2}), 3);
	assert_int_equal(strtab_nr(tab), 3);
	strtab_free(tab);
	strtab_free(NULL);
}

TEST(strtab, takes_parts_of_texts)
{
	struct strtab *tab = strtab_new();
	static const char bytes[] = {'a', 'b', '\0', 'c', 'x'};

	assert_string_equal(strtab_get(tab, strtab_intern_n(tab, "name=value", 4)), "name");
	assert_int_equal(strtab_intern(tab, "name").v, 1);
	assert_string_equal(strtab_get(tab, strtab_intern_n(tab, bytes, sizeof(bytes))), "ab");
	assert_int_equal(strtab_intern_n(tab, "anything", 0).v, 0);
	strtab_free(tab);
}

TEST(strtab, texts_never_move)
{
	struct strtab *tab = strtab_new();
	const char *first = strtab_get(tab, strtab_intern(tab, "first"));
	size_t huge_bytes = (size_t)1 << 20;
	char *huge = malloc(huge_bytes + 1);
	char name[32];

	assert_non_null(huge);
	memset(huge, 'h', huge_bytes);
	huge[huge_bytes] = '\0';
	strtab_intern(tab, huge);
	for (int i = 0; i < 50000; i++) {
		snprintf(name, sizeof(name), "name %d", i);
		assert_int_equal(strtab_intern(tab, name).v, 3 + (uint32_t)i);
	}
	assert_ptr_equal(strtab_get(tab, (struct str_id){1}), first);
	assert_string_equal(first, "first");
	assert_int_equal(strtab_length(tab, (struct str_id){2}), huge_bytes);
	assert_int_equal(strtab_intern(tab, huge).v, 2);
	assert_int_equal(strtab_intern(tab, "name 31415").v, 3 + 31415);
	free(huge);
	strtab_free(tab);
}
