// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the names of subs, packages and files of Perl. */
#include "script/perl_text.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/minmax.h"
#include "mapping/space.h"
#include "script/object_bytes.h"
#include "script/perl_layout.h"
#include "script/perl_reader.h"
#include "script/script_text.h"
#include "snapshot/snapshot.h"

/* A longer one is cut. */
#define NAME_BYTES_MAX 1024
#define FILE_BYTES_MAX 4096
#define PAGE_BYTES     4096

/* The lowest byte of the flags in an object's head, and one of them: a hash has names. */
#define TYPE_MASK 0xff
#define HAS_NAMES UINT32_C(0x02000000)

enum object_type { TYPE_GLOB = 9, TYPE_HASH = 12 };

static uint32_t flags_of(const uint8_t *head)
{
	return number_at(head, PERL_HEAD_FLAGS);
}

/* An object's head; false: there is none of this type. */
static bool read_head(struct space *space, uint64_t at, enum object_type type, uint8_t *head)
{
	return perl_is_address(at) && space_read_memory(space, at, head, PERL_HEAD_BYTES) &&
	       (flags_of(head) & TYPE_MASK) == (uint32_t)type;
}

/* --- names --- */

/* A shared key of hashes (HEK): a hash, the length, the text, and a byte of flags after its end. */
#define KEY_LENGTH 4
#define KEY_TEXT   8
#define KEY_UTF8   1

static bool append_text(struct buf *out, const uint8_t *text, size_t nr, uint8_t flags)
{
	if (flags & KEY_UTF8)
		buf_append(out, text, strnlen((const char *)text, nr));
	else
		script_text_append(out, text, nr, 1);
	return true;
}

static bool append_key(struct space *space, uint64_t at, struct buf *out)
{
	uint8_t head[KEY_TEXT], text[NAME_BYTES_MAX], flags;
	int32_t length;
	size_t nr;

	if (!at || !space_read_memory(space, at, head, sizeof(head)))
		return false;
	length = int_at(head, KEY_LENGTH);
	nr = min_u64((uint64_t)length, sizeof(text));
	return length > 0 && space_read_memory(space, at + KEY_TEXT, text, nr) &&
	       space_read_memory(space, at + KEY_TEXT + (uint64_t)length + 1, &flags,
				 sizeof(flags)) &&
	       append_text(out, text, nr, flags);
}

/* False: the snapshot does not have all of it. */
static bool append_copied_key(const struct snapshot *snapshot, uint64_t at, struct buf *out)
{
	uint8_t key[PERL_KEY_BYTES_USUAL];
	int32_t length;

	if (!snapshot_read_any(snapshot, at, key, sizeof(key)))
		return false;
	length = int_at(key, KEY_LENGTH);
	return length > 0 && length < PERL_KEY_BYTES_USUAL - KEY_TEXT - 1 &&
	       append_text(out, key + KEY_TEXT, (size_t)length, key[KEY_TEXT + length + 1]);
}

/* It may have several names, then an array of them; of those the first is left out, if it has lost
 * it. */
static bool append_package(const struct perl_layout *layout, struct space *space, uint64_t at,
			   struct buf *out)
{
	const struct perl_package_layout *names = &layout->package;
	uint8_t head[PERL_HEAD_BYTES], body[PERL_OBJECT_BYTES_MAX];
	uint64_t name;
	int32_t nr;

	if (!read_head(space, at, TYPE_HASH, head) || !(flags_of(head) & HAS_NAMES) ||
	    !space_read_memory(space, word_at(head, 0), body, names->nr_bytes))
		return false;
	name = word_at(body, names->names);
	nr = int_at(body, names->nr_names);
	if (nr &&
	    !space_read_memory(space, name + (nr < 0 ? sizeof(name) : 0), &name, sizeof(name)))
		return false;
	return append_key(space, name, out);
}

/* The name and the package of the glob that the sub was defined by. */
static bool find_glob(const struct perl_layout *layout, struct space *space, uint64_t at,
		      uint64_t *name, uint64_t *package)
{
	uint8_t head[PERL_HEAD_BYTES], body[PERL_OBJECT_BYTES_MAX];
	uint64_t effective;

	if (!read_head(space, at, TYPE_GLOB, head) ||
	    !space_read_memory(space, word_at(head, PERL_HEAD_VALUES) + layout->sub.glob_effective,
			       &effective, sizeof(effective)))
		return false;
	if (effective && effective != at && !read_head(space, effective, TYPE_GLOB, head))
		return false;
	if (!space_read_memory(space, word_at(head, 0), body, layout->sub.glob_bytes))
		return false;
	*name = word_at(body, layout->sub.glob_name);
	*package = word_at(body, layout->sub.glob_package);
	return true;
}

/* NULL: it is empty, or cannot be read. */
static char *text_of(struct buf *text, bool is_read)
{
	if (!is_read || !text->nr_bytes) {
		buf_release(text);
		return NULL;
	}
	buf_append_byte(text, 0);
	return (char *)text->bytes;
}

char *perl_sub_name(const struct perl_layout *layout, struct space *space,
		    const struct snapshot *snapshot, const uint8_t *body, bool *is_copied)
{
	bool is_named = number_at(body, layout->sub.flags) & PERL_SUB_IS_NAMED;
	uint64_t name = word_at(body, layout->sub.glob);
	uint64_t package = word_at(body, layout->sub.package);
	struct buf text = {0};
	bool is_read = is_named || find_glob(layout, space, name, &name, &package);

	/* The package may be gone, and its subs be still there. */
	if (is_read && append_package(layout, space, package, &text))
		buf_append_str(&text, "::");
	*is_copied = is_named && append_copied_key(snapshot, name, &text);
	is_read = is_read && (*is_copied || append_key(space, name, &text));
	return text_of(&text, is_read);
}

/* --- files --- */

#define EVAL "(eval "

static void forget_number(char *name)
{
	char *number = name + strlen(EVAL);
	size_t nr;

	if (strncmp(name, EVAL, strlen(EVAL)) != 0)
		return;
	nr = strspn(number, "0123456789");
	if (nr && number[nr] == ')')
		memmove(number - 1, number + nr, strlen(number + nr) + 1);
}

/* In pieces that end where pages do, as the next one may not be there. */
static bool read_text(struct space *space, uint64_t at, char *text, size_t nr_bytes)
{
	size_t nr = 0;

	while (nr < nr_bytes - 1) {
		size_t piece = min_u64(PAGE_BYTES - (at + nr) % PAGE_BYTES, nr_bytes - 1 - nr);

		piece = min_u64(piece, nr ? piece : PERL_FILE_BYTES_USUAL);
		if (!space_read_memory(space, at + nr, text + nr, piece))
			return false;
		if (memchr(text + nr, 0, piece))
			return true;
		nr += piece;
	}
	text[nr] = 0;
	return true;
}

char *perl_file_name(struct space *space, const struct snapshot *snapshot, uint64_t at,
		     bool *is_late)
{
	char text[FILE_BYTES_MAX];

	if (!at)
		return NULL;
	if (!snapshot_read_any(snapshot, at, text, PERL_FILE_BYTES_USUAL) ||
	    !memchr(text, 0, PERL_FILE_BYTES_USUAL)) {
		*is_late = true;
		if (!read_text(space, at, text, sizeof(text)))
			return NULL;
	}
	if (!*text)
		return NULL;
	forget_number(text);
	return xstrdup(text);
}
