/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_NAME_WORDS_H
#define PROFC_VIEW_NAME_WORDS_H

struct buf;
struct profile;

/* What a user may mean by a name. */
enum name_kind {
	NAME_KIND_FUNCTION,
	NAME_KIND_MODULE,
	NAME_KIND_THREAD,
	NAME_KIND_PROCESS,
};

/*
 * Append the names of a profile that begin so, sorted, each once and on a line of its own: the
 * name, a tab and what else is known of it. Functions have short names. Names that a shell or a
 * regular expression would take for something else are left out.
 */
void name_words_append(struct buf *out, const struct profile *profile, enum name_kind kind,
		       const char *beginning);

#endif
