// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The option parser on any words: the input is argv, its words ended by newlines.
 * Whatever they are, words stay words and none is lost.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"
#include "cmd/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes);

struct values {
	bool flag;
	const char *text;
	struct option_list list;
	uint64_t number, duration_ns;
	double real;
	int choice;
};

#define AT(member) offsetof(struct values, member)

static const char *const choices[] = {"auto", "always", "never", NULL};

static const struct option_row rows[] = {
	{.type = OPTION_FLAG, .short_name = 'f', .name = "flag", .offset = AT(flag)},
	{.type = OPTION_FLAG, .name = "no-flag", .offset = AT(flag), .negated = true},
	{.type = OPTION_STRING, .short_name = 't', .name = "text", .offset = AT(text)},
	{.type = OPTION_LIST, .name = "list", .offset = AT(list), .commas = true},
	{.type = OPTION_UINT, .short_name = 'n', .name = "number", .offset = AT(number), .max = 99},
	{.type = OPTION_DURATION, .name = "duration", .offset = AT(duration_ns)},
	{.type = OPTION_DOUBLE, .name = "real", .offset = AT(real), .min = -1, .max = 1},
	{.type = OPTION_CHOICE, .name = "choice", .offset = AT(choice), .choices = choices},
	OPTIONS_END,
};

static size_t split(char *text, char **argv, size_t max)
{
	static char name[] = "fuzz";
	size_t nr = 0;

	argv[nr++] = name;
	while (*text && nr < max) {
		argv[nr++] = text;
		text += strcspn(text, "\n");
		if (*text)
			*text++ = '\0';
	}
	return nr;
}

static void check(const struct values *values, int argc, int first_word)
{
	assert(first_word >= 1 && first_word <= argc);
	assert(values->number <= 99);
	assert(values->real >= -1 && values->real <= 1);
	assert(values->choice >= 0 && values->choice < 3);
	for (size_t i = 0; i < values->list.nr; i++)
		assert(values->list.values[i][0] && !strchr(values->list.values[i], ','));
}

static void parse(const uint8_t *bytes, size_t nr_bytes, bool stop_at_word)
{
	cleanup_free char *text = xstrndup((const char *)bytes, nr_bytes);
	struct values values = {0};
	struct err err = ERR_INIT;
	char *argv[64];
	int argc = (int)split(text, argv, ARRAY_SIZE(argv));
	int first_word = -1;

	(void)options_asked(rows, argc, argv, stop_at_word);
	if (options_parse(rows, &values, argc, argv, stop_at_word, &first_word, &err) == 0)
		check(&values, argc, first_word);
	else
		assert(err.code == ERR_INVALID && err.what[0] && first_word == -1);
	options_release(rows, &values);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes)
{
	if (!nr_bytes)
		return 0;
	parse(bytes, nr_bytes, false);
	parse(bytes, nr_bytes, true);
	return 0;
}
