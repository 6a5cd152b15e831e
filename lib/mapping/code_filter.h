/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_MAPPING_CODE_FILTER_H
#define PROFC_MAPPING_CODE_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "mapping/module.h"

/* Certain code, in any modules. */
struct code_filter_options {
	/*
	 * The ranges of a module: *nr of them, which must stay in place as long as the filter.
	 * Called once for each module with an address that is looked up.
	 */
	const struct code_range *(*find)(void *context, const struct module *module, size_t *nr);
	void *context;
};

/* Known ranges. */
struct code_filter;

/* `modules` is borrowed. */
struct code_filter *code_filter_new(const struct code_filter_options *options,
				    const struct module_table *modules);
void code_filter_free(struct code_filter *filter); /* may be NULL */

/* Is an address in that code? */
bool code_filter_has(struct code_filter *filter, struct code_address where);

#endif
