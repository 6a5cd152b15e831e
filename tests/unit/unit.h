/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TESTS_UNIT_UNIT_H
#define PROFC_TESTS_UNIT_UNIT_H

/*
 * Each TEST() registers itself; unit.c has main(), which runs the tests in the order of the file.
 * The compiler refuses two tests of one name, and main() fails if there are no tests.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct unit_test {
	struct CMUnitTest test;
	int line;
	struct unit_test *next;
};

/* Keeps the pointer. Constructors call both. */
void unit_add_test(struct unit_test *test);
void unit_set_group(CMFixtureFunction set_up, CMFixtureFunction tear_down);

#define UNIT_TEST(name, parameter, argument, set_up, tear_down)                                    \
	static void name(parameter);                                                               \
	static void name##_run(void **state)                                                       \
	{                                                                                          \
		(void)state;                                                                       \
		name(argument);                                                                    \
	}                                                                                          \
	__attribute__((constructor)) static void name##_add(void)                                  \
	{                                                                                          \
		static struct unit_test test = {                                                   \
			.test = {#name, name##_run, set_up, tear_down, NULL}, .line = __LINE__};   \
                                                                                                   \
		unit_add_test(&test);                                                              \
	}                                                                                          \
	static void name(parameter)

/* The body follows: TEST(buf, grows) { ... } is shown as test_buf__grows. */
#define TEST(module, behaviour) UNIT_TEST(test_##module##__##behaviour, void, , NULL, NULL)

/* A test between the file's set_up() and tear_down(), which have the form that cmocka asks for.
 * `fixture` declares the parameter of the body, a pointer to whatever set_up() stores in *state:
 * TEST_WITH(struct made *made, names, are_read) { ... } */
#define TEST_WITH(fixture, module, behaviour)                                                      \
	UNIT_TEST(test_##module##__##behaviour, fixture, *state, set_up, tear_down)

/* Both functions run once, around all tests of the program. */
#define TEST_GROUP(set_up, tear_down)                                                              \
	__attribute__((constructor)) static void set_group(void)                                   \
	{                                                                                          \
		unit_set_group(set_up, tear_down);                                                 \
	}                                                                                          \
	struct unit_test

#endif
