/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_NAME_WORDS_H
#define PROFC_VIEW_NAME_WORDS_H

struct buf;
struct profile;

/* The kinds of names that a user may type. */
enum name_kind {
	NAME_KIND_FUNCTION,
	NAME_KIND_MODULE,
	NAME_KIND_THREAD,
	NAME_KIND_PROCESS,
};

/*
 * Append the names of a profile that start with `beginning`, sorted, without duplicates, one per
 * line: the name, a tab and further facts about it. Functions have short names. Names with a
 * character that is special to a shell or a regular expression are left out.
 */
void name_words_append(struct buf *out, const struct profile *profile, enum name_kind kind,
		       const char *beginning);

/* Likewise with names of another source. `beginning` is borrowed until name_words_finish(). */
struct name_words;

struct name_words *name_words_new(const char *beginning);
void name_words_add(struct name_words *words, const char *name, const char *what);
/* Append them, and free the words. */
void name_words_finish(struct name_words *words, struct buf *out);

#endif
