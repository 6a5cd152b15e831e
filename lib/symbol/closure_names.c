// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/closure_names.h"

#include <assert.h>
#include <string.h>

#include "base/buf.h"

#define UNNUMBERED   "{{closure}}"
#define HASH_LETTERS 4

bool closure_is_in(const char *name)
{
	return strstr(name, UNNUMBERED) != NULL;
}

static size_t nr_unnumbered(const char *name)
{
	size_t nr = 0;

	for (; (name = strstr(name, UNNUMBERED)); name += strlen(UNNUMBERED))
		nr++;
	return nr;
}

/*
 * The next scope with a number that linkage names have as a closure: of closures themselves, of
 * asynchronous functions and blocks. *nr_bytes is its length.
 */
static const char *next_numbered(const char *at, size_t *nr_bytes)
{
	static const char digits[] = "0123456789";

	for (; (at = strchr(at, '{')); at++) {
		size_t word = strcspn(at + 1, "#{}");
		size_t nr = at[1 + word] == '#' ? strspn(at + word + 2, digits) : 0;

		if (!nr || at[word + 2 + nr] != '}' || strncmp(at, "{impl#", 6) == 0)
			continue;
		*nr_bytes = word + nr + 3;
		return at;
	}
	return NULL;
}

static size_t nr_numbered(const char *qualified)
{
	size_t nr = 0, nr_bytes;

	for (; (qualified = next_numbered(qualified, &nr_bytes)); qualified += nr_bytes)
		nr++;
	return nr;
}

/* The name with `text` in place of what is at `at`, and of nothing else. */
static const char *replace(struct buf *out, const char *name, const char *at, const char *text,
			   size_t nr_bytes)
{
	buf_append(out, name, (size_t)(at - name));
	buf_append(out, text, nr_bytes);
	return at + strlen(UNNUMBERED);
}

static const char *finish(struct name_pool *pool, struct buf *out, const char *rest)
{
	const char *kept;

	buf_append_str(out, rest);
	kept = name_pool_keep(pool, buf_str(out));
	buf_release(out);
	return kept;
}

const char *closure_numbered(struct name_pool *pool, const char *name, const char *qualified)
{
	size_t nr = nr_unnumbered(name), nr_scopes = nr_numbered(qualified), nr_bytes = 0;
	struct buf out = {.nr_bytes = 0};
	const char *at, *scope;

	/* The innermost ones are of both, whatever is left out around them. */
	for (; nr > nr_scopes; nr--) {
		at = strstr(name, UNNUMBERED);
		name = replace(&out, name, at, UNNUMBERED, strlen(UNNUMBERED));
	}
	for (; nr_scopes > nr; nr_scopes--) {
		scope = next_numbered(qualified, &nr_bytes);
		assert(scope);
		qualified = scope + nr_bytes;
	}
	while ((at = strstr(name, UNNUMBERED)) && (scope = next_numbered(qualified, &nr_bytes))) {
		name = replace(&out, name, at, scope, nr_bytes);
		qualified = scope + nr_bytes;
	}
	return finish(pool, &out, name);
}

/* The last of "…17h3f7a51c09d2b86e4E", behind which optimisers may put more; or NULL. */
static const char *hash_of(const char *linkage_name)
{
	const char *hash = NULL;

	for (const char *at = linkage_name; (at = strstr(at, "17h")); at++) {
		if (strspn(at + 3, "0123456789abcdef") >= 16 && at[19] == 'E')
			hash = at + 2;
	}
	return hash;
}

const char *closure_hashed(struct name_pool *pool, const char *name, const char *linkage_name)
{
	const char *hash = hash_of(linkage_name), *last = NULL;
	struct buf out = {.nr_bytes = 0}, text = {.nr_bytes = 0};

	for (const char *at = name; (at = strstr(at, UNNUMBERED)); at++)
		last = at;
	if (!hash || !last)
		return name;
	buf_append_str(&text, "{closure#");
	buf_append(&text, hash, 1 + HASH_LETTERS);
	buf_append_byte(&text, '}');
	name = replace(&out, name, last, buf_str(&text), text.nr_bytes);
	buf_release(&text);
	return finish(pool, &out, name);
}
