/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_STRTAB_H
#define PROFC_BASE_STRTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The string interner: equal texts get equal ids, ids are dense and count up
 * from 0, and id 0 is always "". Texts are C strings without inner NUL; their
 * addresses never move while the table lives.
 */
struct strtab;

struct str_id {
	uint32_t v;
};

#define STR_EMPTY ((struct str_id){0})

struct strtab *strtab_new(void);
void strtab_free(struct strtab *tab);
struct str_id strtab_intern(struct strtab *tab, const char *text);
/* The first nr_bytes of text, up to a NUL if one comes earlier. */
struct str_id strtab_intern_n(struct strtab *tab, const char *text, size_t nr_bytes);
/* Only if the text is there. */
bool strtab_find(const struct strtab *tab, const char *text, struct str_id *id);
/* Borrowed from the table. */
const char *strtab_get(const struct strtab *tab, struct str_id id);
size_t strtab_length(const struct strtab *tab, struct str_id id);
uint32_t strtab_nr(const struct strtab *tab);
/* How much memory the texts take, with what finds them. */
size_t strtab_nr_bytes(const struct strtab *tab);

#endif
