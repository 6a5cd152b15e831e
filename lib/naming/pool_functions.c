// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads descriptions of a pool's functions. */
#include "naming/pool_functions.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"

#define BYTES_MAX (UINT64_C(1) << 40)

/* One description being read. */
struct reading {
	const char *start, *end; /* of the whole text */
	const char *at;
	struct heap_form form;
	struct err *err;
};

static int fail(const struct reading *reading, const char *why)
{
	int nr = reading->end ? (int)(reading->end - reading->start) : 200;

	err_set(reading->err, ERR_INVALID, "'%.*s': %s", nr, reading->start, why);
	err_hint(reading->err, "as in 'alloc:pool_get(size=2)' 'free:pool_put(1)': arguments are "
			       "numbered from 1 on");
	return ERR_INVALID;
}

static bool is_separator(char c)
{
	return c == ',' || c == ' ' || c == '\t' || c == '\n';
}

/* After the parenthesis that ends a description: C++ names may contain others. */
static const char *end_of(const char *text)
{
	for (; *text; text++) {
		if (*text == ')' && (!text[1] || is_separator(text[1])))
			return text + 1;
	}
	return NULL;
}

static bool take_word(struct reading *reading, const char *word)
{
	size_t nr = strlen(word);

	while (*reading->at == ' ')
		reading->at++;
	if (strncmp(reading->at, word, nr) != 0)
		return false;
	reading->at += nr;
	return true;
}

/* The member of the form that a word of the description sets. */
static const struct key {
	const char *word;
	size_t offset; /* in struct heap_form */
	bool may_be_int;
} keys[] = {
	{"size=", offsetof(struct heap_form, size), true},
	{"count=", offsetof(struct heap_form, count), true},
	{"pointer=", offsetof(struct heap_form, pointer), false},
	{"out=", offsetof(struct heap_form, out), false},
	{"bytes=", offsetof(struct heap_form, bytes), false},
	{"", offsetof(struct heap_form, pointer), false}, /* a number alone */
};

static bool take_number(struct reading *reading, uint64_t max, uint64_t *number)
{
	*number = 0;
	if (*reading->at < '0' || *reading->at > '9')
		return false;
	for (; *reading->at >= '0' && *reading->at <= '9' && *number <= max; reading->at++)
		*number = *number * 10 + (uint64_t)(*reading->at - '0');
	return *number && *number <= max;
}

static int take_value(struct reading *reading, const struct key *key)
{
	uint8_t *argument = (uint8_t *)&reading->form + key->offset;
	uint64_t number;

	if (key->offset == offsetof(struct heap_form, bytes)) {
		if (reading->form.bytes)
			return fail(reading, "bytes= is there twice");
		return take_number(reading, BYTES_MAX, &reading->form.bytes)
			       ? 0
			       : fail(reading, "bytes= is a number from 1 to 2^40");
	}
	if (*argument)
		return fail(reading, "an argument is there twice");
	if (!take_number(reading, HEAP_ARGUMENTS, &number))
		return fail(reading, "an argument is a number from 1 to 6");
	*argument = (uint8_t)number;
	if (take_word(reading, ":int")) {
		if (!key->may_be_int)
			return fail(reading, "only a size or a count may be an int");
		*argument |= HEAP_ARGUMENT_INT;
	}
	return 0;
}

/* From after the opening parenthesis to the closing one. */
static int take_arguments(struct reading *reading)
{
	do {
		const struct key *key = keys;
		int status;

		while (!take_word(reading, key->word))
			key++;
		status = take_value(reading, key);
		if (status < 0)
			return status;
	} while (take_word(reading, ","));
	if (!take_word(reading, ")") || reading->at != reading->end)
		return fail(reading, "its arguments are not size=, count=, pointer=, out=, bytes=");
	return 0;
}

static int judge(const struct reading *reading, const char *kind)
{
	const struct heap_form *form = &reading->form;
	bool has_size = form->size || form->bytes;

	if (form->function == HEAP_POOL_FREE)
		return !has_size && !form->count && !form->out
			       ? 0
			       : fail(reading, "free has one argument, the pointer");
	if (!has_size || (form->size && form->bytes))
		return fail(reading, "it needs size=N, or bytes=SIZE");
	if (*kind == 'a')
		return form->pointer ? fail(reading, "alloc has no pointer; realloc has") : 0;
	if (!form->pointer)
		return fail(reading, "realloc needs pointer=P");
	return form->bytes || form->out ? fail(reading, "realloc has a pointer, size and count")
					: 0;
}

/* The start of the arguments: the last opening parenthesis. */
static const char *arguments_of(const struct reading *reading)
{
	const char *at = reading->end;

	while (at > reading->at && *at != '(')
		at--;
	return at;
}

static int read_one(struct reading *reading, struct pool_function *function)
{
	static const char *const kinds[] = {"alloc:", "realloc:", "free:"};
	const char *name, *arguments;
	size_t kind = 0;
	int status;

	while (kind < ARRAY_SIZE(kinds) && !take_word(reading, kinds[kind]))
		kind++;
	if (kind == ARRAY_SIZE(kinds))
		return fail(reading, "it does not begin with alloc:, realloc: or free:");
	if (!reading->end)
		return fail(reading, "it does not end with its arguments in parentheses");
	name = reading->at;
	arguments = arguments_of(reading);
	if (arguments == name)
		return fail(reading, "it names no function");
	reading->form.function = kind == 2 ? HEAP_POOL_FREE : HEAP_POOL;
	reading->at = arguments + 1;
	status = take_arguments(reading);
	if (status == 0)
		status = judge(reading, kinds[kind]);
	if (status == 0)
		*function = (struct pool_function){
			.name = xstrndup(name, (size_t)(arguments - name)), .form = reading->form};
	return status;
}

int pool_functions_add(struct pool_functions *functions, const char *text, struct err *err)
{
	size_t nr_before = functions->nr;

	for (;;) {
		struct reading reading = {.err = err};
		int status;

		while (is_separator(*text))
			text++;
		if (!*text)
			break;
		reading.start = reading.at = text;
		reading.end = end_of(text);
		ARRAY_GROW(functions->rows, functions->nr, functions->cap);
		status = read_one(&reading, &functions->rows[functions->nr]);
		if (status < 0)
			return status;
		functions->nr++;
		text = reading.end;
	}
	return functions->nr > nr_before ? 0 : err_set(err, ERR_INVALID, "it names no function");
}

void pool_functions_release(struct pool_functions *functions)
{
	for (size_t i = 0; i < functions->nr; i++)
		free(functions->rows[i].name);
	free(functions->rows);
	*functions = (struct pool_functions){0};
}
