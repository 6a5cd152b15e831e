/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options for what a page shows beside the profile: sources and instructions. */
#ifndef PROFC_CMD_PAGE_OPTIONS_H
#define PROFC_CMD_PAGE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/options.h"
#include "view/source_file.h"

struct err;
struct export_options;
struct profile;

struct page_options {
	struct option_list source_paths;
	bool instructions;
};

/* clang-format off */
/* `format` begins the helps, if the command has other formats. */
#define PAGE_OPTION_ROWS(values, member, format)                                                   \
	{.type = OPTION_LIST, .name = "source-path", .argument = "OLD=NEW",                        \
	 .offset = offsetof(values, member.source_paths),                                          \
	 .help = format "look for sources recorded under OLD under NEW; repeatable"},              \
	{.type = OPTION_FLAG, .name = "asm", .offset = offsetof(values, member.instructions),      \
	 .help = format "with the instructions of the hottest functions (needs objdump)"}
/* clang-format on */

/* ERR_INVALID: a path has no '=', or objdump is needed and not installed. */
int page_options_check(const struct page_options *page, struct err *err);
/*
 * Set what the exporter needs. `maps` is filled, and has to live as long as the options.
 * Instructions that the recording has kept are shown without being asked for.
 */
void page_options_apply(const struct page_options *page, const struct profile *profile,
			struct source_maps *maps, struct export_options *options);

#endif
