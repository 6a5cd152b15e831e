/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shared tables of a Firefox profile. */
#ifndef PROFC_EXPORT_FIREFOX_PRIV_H
#define PROFC_EXPORT_FIREFOX_PRIV_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "export/numbering_priv.h"
#include "export/rows_priv.h"

struct extract;
struct module;
struct strtab;

/* The type and name of the only markers. */
#define FIREFOX_MARK "mark"

/* Each frame and marker has one of these categories. The numbers are indexes of meta.categories. */
enum firefox_category {
	FIREFOX_CATEGORY_OTHER,
	FIREFOX_CATEGORY_NATIVE,
	FIREFOX_CATEGORY_SCRIPT,
};

/*
 * The tables that all threads of a Firefox profile share, and their writers. firefox.c writes the
 * document around them.
 */

struct firefox {
	const struct extract *extract; /* borrowed */
	struct json json;
	struct strtab *strings;
	struct rows rows;
	struct numbering functions; /* of labels */
	struct numbering libraries; /* of modules: libs[] and resourceTable alike */
	struct numbering sources;   /* of str_ids of the profile */
	uint32_t mark_name;	    /* of strings: the name of all marks */
};

/* Number everything that the paths of the extract need. */
void firefox_init(struct firefox *out, const struct extract *extract);
void firefox_release(struct firefox *out);
/* The member `shared`. */
void firefox_write_shared(struct firefox *out);
/* The module of an entry of libs[]. */
const struct module *firefox_library(const struct firefox *out, uint32_t id);

/* A column of nr equal values: FIREFOX_NULL, or a number >= -1. */
void firefox_constant_column(struct json *json, const char *key, size_t nr, int64_t value);

#define FIREFOX_NULL INT64_C(-2)

#endif
