// SPDX-License-Identifier: GPL-2.0-or-later
/* How users describe the functions of a pool. */
#include "base/alloc.h"
#include "base/err.h"
#include "naming/pool_functions.h"
#include "tests/unit/unit.h"

#define INT(number) (number | HEAP_ARGUMENT_INT)

static void assert_form(const struct pool_function *function, const char *name,
			struct heap_form expected)
{
	const struct heap_form *form = &function->form;

	assert_string_equal(function->name, name);
	assert_int_equal(form->function, expected.function);
	assert_int_equal(form->bytes, expected.bytes);
	assert_int_equal(form->size, expected.size);
	assert_int_equal(form->count, expected.count);
	assert_int_equal(form->pointer, expected.pointer);
	assert_int_equal(form->out, expected.out);
}

TEST(pool_functions, each_form_is_read)
{
	static const struct {
		const char *text, *name;
		struct heap_form form;
	} rows[] = {
		{"alloc:pool_get(size=2)", "pool_get", {.function = HEAP_POOL, .size = 2}},
		{"alloc:f(size=6:int,count=1:int)",
		 "f",
		 {.function = HEAP_POOL, .size = INT(6), .count = INT(1)}},
		{"alloc:f(out=1, size=3)", "f", {.function = HEAP_POOL, .size = 3, .out = 1}},
		{"alloc:f( bytes=48 )", "f", {.function = HEAP_POOL, .bytes = 48}},
		{"alloc:f(bytes=1099511627776,count=2)",
		 "f",
		 {.function = HEAP_POOL, .bytes = UINT64_C(1) << 40, .count = 2}},
		{"realloc:f(pointer=1,size=2,count=3)",
		 "f",
		 {.function = HEAP_POOL, .pointer = 1, .size = 2, .count = 3}},
		{"free:f(1)", "f", {.function = HEAP_POOL_FREE, .pointer = 1}},
		{"free:f(pointer=2)", "f", {.function = HEAP_POOL_FREE, .pointer = 2}},
		{"alloc:Pool<int, char *(*)(int)>::operator()(size=2)",
		 "Pool<int, char *(*)(int)>::operator()",
		 {.function = HEAP_POOL, .size = 2}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pool_functions functions = {0};
		struct err err = ERR_INIT;

		if (pool_functions_add(&functions, rows[i].text, &err) < 0)
			fail_msg("%s", err.what);
		assert_int_equal(functions.nr, 1);
		assert_form(&functions.rows[0], rows[i].name, rows[i].form);
		pool_functions_release(&functions);
	}
}

TEST(pool_functions, several_stand_in_one_text)
{
	struct pool_functions functions = {0};
	struct err err = ERR_INIT;

	assert_int_equal(
		pool_functions_add(&functions, " alloc:a(size=1),free:b(2)  free:c(3),", &err), 0);
	assert_int_equal(pool_functions_add(&functions, "free:d(4)", &err), 0);
	assert_int_equal(functions.nr, 4);
	assert_form(&functions.rows[0], "a", (struct heap_form){.function = HEAP_POOL, .size = 1});
	for (size_t i = 1; i < 4; i++)
		assert_form(&functions.rows[i], (const char *[]){"b", "c", "d"}[i - 1],
			    (struct heap_form){.function = HEAP_POOL_FREE,
					       .pointer = (uint8_t)(i + 1)});
	pool_functions_release(&functions);
}

TEST(pool_functions, what_is_wrong_is_said)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{"", "it names no function"},
		{" , ", "it names no function"},
		{"pool_get(size=1)", "it does not begin with alloc:, realloc: or free:"},
		{"alloc:f", "it does not end with its arguments in parentheses"},
		{"alloc:f(size=1", "it does not end with its arguments in parentheses"},
		{"alloc:f(size=1)x", "it does not end with its arguments in parentheses"},
		{"alloc:(size=1)", "it names no function"},
		{"alloc:f()", "an argument is a number from 1 to 6"},
		{"alloc:f(size=0)", "an argument is a number from 1 to 6"},
		{"alloc:f(size=7)", "an argument is a number from 1 to 6"},
		{"alloc:f(size=99999999999999999999)", "an argument is a number from 1 to 6"},
		{"alloc:f(size=-1)", "an argument is a number from 1 to 6"},
		{"alloc:f(length=1)", "an argument is a number from 1 to 6"},
		{"alloc:f(size=1,size=2)", "an argument is there twice"},
		{"alloc:f(bytes=1,bytes=2)", "bytes= is there twice"},
		{"alloc:f(bytes=0)", "bytes= is a number from 1 to 2^40"},
		{"alloc:f(bytes=1099511627777)", "bytes= is a number from 1 to 2^40"},
		{"alloc:f(bytes=1,size=2)", "it needs size=N, or bytes=SIZE"},
		{"alloc:f(count=1)", "it needs size=N, or bytes=SIZE"},
		{"alloc:f(size=1,pointer=2)", "alloc has no pointer; realloc has"},
		{"alloc:f(size=1,2)", "alloc has no pointer; realloc has"},
		{"alloc:f(size=1;count=2)",
		 "its arguments are not size=, count=, pointer=, out=, bytes="},
		{"alloc:f(size=1,out=2:int)", "only a size or a count may be an int"},
		{"realloc:f(size=1)", "realloc needs pointer=P"},
		{"realloc:f(pointer=1)", "it needs size=N, or bytes=SIZE"},
		{"realloc:f(pointer=1,bytes=8)", "realloc has a pointer, size and count"},
		{"realloc:f(pointer=1,size=2,out=3)", "realloc has a pointer, size and count"},
		{"free:f(size=1)", "free has one argument, the pointer"},
		{"free:f(1,2)", "an argument is there twice"},
		{"free:f(1,count=2)", "free has one argument, the pointer"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pool_functions functions = {0};
		struct err err = ERR_INIT;

		if (pool_functions_add(&functions, rows[i].text, &err) != ERR_INVALID ||
		    !strstr(err.what, rows[i].why))
			fail_msg("'%s': %s", rows[i].text, err.what);
		assert_int_equal(functions.nr, 0);
		pool_functions_release(&functions);
	}
}

/* Those before what is wrong are there, and can be released. */
TEST(pool_functions, wrong_one_leaves_those_before)
{
	struct pool_functions functions = {0};
	struct err err = ERR_INIT;

	assert_int_equal(pool_functions_add(&functions, "free:a(1) free:b(9)", &err), ERR_INVALID);
	assert_non_null(strstr(err.what, "'free:b(9)'"));
	assert_int_equal(functions.nr, 1);
	pool_functions_release(&functions);
}
