// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/function_names.h"

#include <string.h>

#include "base/alloc.h"
#include "base/demangled_name.h"
#include "base/index_set.h"
#include "base/minmax.h"
#include "symbol/demangle.h"

static bool lacks_word(const struct name_wanted *wanted, const char *name)
{
	return wanted->word && !strstr(name, wanted->word);
}

static bool matches(const struct name_wanted *wanted, const char *name)
{
	if (lacks_word(wanted, name))
		return false;
	if (wanted->regex)
		return regexec(wanted->regex, name, 0, NULL, 0) == 0;
	return !wanted->exact || strcmp(wanted->exact, name) == 0;
}

/* Most names are of C, and have a single form. */
static bool has_short_form(const char *name)
{
	return strpbrk(name, "(<[:") != NULL;
}

/* Texts are not kept: a search goes through all names of a file, and few are shown. */
bool name_matches(const struct name_wanted *wanted, const char *name)
{
	cleanup_free char *shortened = NULL;

	if (matches(wanted, name))
		return true;
	/* Short forms have no words that the name does not have. */
	if (!has_short_form(name) || lacks_word(wanted, name))
		return false;
	if (matches(wanted, demangled_name_without_result(name)))
		return true;
	shortened = demangled_name_shorten(name);
	return matches(wanted, shortened);
}

const char *unversioned_name(struct name_pool *pool, const char *linkage_name)
{
	const char *version = strchr(linkage_name, '@');
	cleanup_free char *bare = NULL;

	if (!version || version == linkage_name)
		return linkage_name;
	bare = xstrndup(linkage_name, (size_t)(version - linkage_name));
	return name_pool_keep(pool, bare);
}

/*
 * Suffixes that compilers append to a function's name for code derived from it. Those with is_part
 * are code moved out of the function; the others are called in its place.
 */
struct suffix {
	const char *word;
	bool is_numbered; /* ".part.0"; a function `part` of a language with dots in names is none
			   */
	bool is_cxx;	  /* only after names of C++ */
	bool is_part;
	bool is_shown; /* it tells code apart that is worth a row of its own */
};

static const struct suffix suffixes[] = {
	{"cold", false, false, true, false}, /* seldom run */
	/* the rest of a function after its beginning was inlined */
	{"part", true, false, true, false},
	{"_omp_fn", true, false, true, true}, /* bodies of OpenMP's constructs, of gcc and clang */
	{"omp_outlined", false, false, true, true},
	{"actor", false, true, true, true}, /* coroutines, after their first call */
	{"resume", false, true, true, true},
	{"destroy", false, true, true, true},
	{"cleanup", false, true, true, true},
	{"constprop", true, false, false, false}, /* for some constant arguments */
	{"isra", true, false, false, false},	  /* with other parameters */
	{"lto_priv", true, false, false, true},
	{"llvm", true, false, false, true},
	{"localalias", false, false, false, false},
};

static bool is_digits(const char *text, size_t nr)
{
	return nr && strspn(text, "0123456789") >= nr;
}

/* The place of the last dot before `end`, unless the name begins with it. */
static size_t last_dot(const char *name, size_t end)
{
	while (end > 0 && name[end - 1] != '.')
		end--;
	return end > 1 ? end - 1 : 0;
}

/* The suffix at the end of a name, or NULL; *nr_bytes becomes the length without it. */
static const struct suffix *take_suffix(const char *name, size_t *nr_bytes)
{
	size_t end = *nr_bytes, dot = last_dot(name, end);
	bool is_numbered = dot && is_digits(name + dot + 1, end - dot - 1);

	if (is_numbered) {
		end = dot;
		dot = last_dot(name, end);
	}
	for (size_t i = 0; dot && i < ARRAY_SIZE(suffixes); i++) {
		const struct suffix *suffix = &suffixes[i];
		size_t length = strlen(suffix->word);

		if (length != end - dot - 1 || memcmp(name + dot + 1, suffix->word, length) != 0 ||
		    (suffix->is_numbered && !is_numbered) ||
		    (suffix->is_cxx && strncmp(name, "_Z", 2) != 0))
			continue;
		*nr_bytes = dot;
		return suffix;
	}
	return NULL;
}

bool function_name_is_of_part(const char *linkage_name)
{
	size_t nr_bytes = strlen(linkage_name);
	const struct suffix *suffix;

	while (memchr(linkage_name, '.', nr_bytes) &&
	       (suffix = take_suffix(linkage_name, &nr_bytes))) {
		if (suffix->is_part)
			return true;
	}
	/* clang's machine outliner shares this code among several functions. */
	return strncmp(linkage_name, "OUTLINED_FUNCTION_", 18) == 0;
}

const char *whole_function_name(struct name_pool *pool, const char *linkage_name)
{
	size_t nr_bytes = strlen(linkage_name), nr_whole = nr_bytes;
	cleanup_free char *whole = NULL;
	const struct suffix *suffix;

	if (!strchr(linkage_name, '.'))
		return linkage_name;
	while ((suffix = take_suffix(linkage_name, &nr_bytes)) && !suffix->is_shown)
		nr_whole = nr_bytes;
	if (!linkage_name[nr_whole])
		return linkage_name;
	whole = xstrndup(linkage_name, nr_whole);
	return name_pool_keep(pool, whole);
}

size_t bare_name_bytes(const char *linkage_name, size_t *nr_whole_bytes)
{
	const char *version = strchr(linkage_name, '@');
	bool has_version = version && version != linkage_name;
	size_t nr_bytes = has_version ? (size_t)(version - linkage_name) : strlen(linkage_name);

	*nr_whole_bytes = nr_bytes;
	if (memchr(linkage_name, '.', nr_bytes)) {
		while (take_suffix(linkage_name, nr_whole_bytes))
			;
	}
	return nr_bytes;
}

uint32_t name_print(const char *name, size_t nr_bytes)
{
	uint64_t first = 0, middle = 0, last = 0;
	size_t nr = min_u64(nr_bytes, sizeof(first));

	/* Names of C++ begin alike, and differ somewhere. */
	memcpy(&first, name, nr);
	memcpy(&middle, name + (nr_bytes - nr) / 2, nr);
	memcpy(&last, name + nr_bytes - nr, nr);
	return (uint32_t)(hash_mix(hash_mix(first ^ nr_bytes, middle), last) >> 32);
}

static bool any_form_matches(const struct name_wanted *wanted, const char *name)
{
	cleanup_free char *demangled = NULL;

	if (matches(wanted, name))
		return true;
	demangled = symbol_demangle(name);
	return strcmp(demangled, name) != 0 && name_matches(wanted, demangled);
}

bool linkage_name_matches(const struct name_wanted *wanted, const char *linkage_name)
{
	size_t nr_whole_bytes, nr_bytes;
	cleanup_free char *bare = NULL, *whole = NULL;

	/* Demangling takes most of the time of a search. */
	if (wanted->is_own_word && lacks_word(wanted, linkage_name) &&
	    !symbol_demangle_makes_words(linkage_name))
		return false;
	nr_bytes = bare_name_bytes(linkage_name, &nr_whole_bytes);
	bare = xstrndup(linkage_name, nr_bytes);
	if (any_form_matches(wanted, bare))
		return true;
	if (nr_whole_bytes == nr_bytes)
		return false;
	whole = xstrndup(linkage_name, nr_whole_bytes);
	return any_form_matches(wanted, whole);
}

const char *short_name(struct name_pool *pool, const char *name)
{
	cleanup_free char *shortened = NULL;

	if (!has_short_form(name))
		return name_pool_keep(pool, name);
	shortened = demangled_name_shorten(name);
	return name_pool_keep(pool, shortened);
}
