/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TESTS_UNIT_WEIGHED_FIXTURE_H
#define PROFC_TESTS_UNIT_WEIGHED_FIXTURE_H

#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/weights.h"
#include "tests/unit/unit.h"

/* All that views need of a profile, which it borrows. */
struct weighed_fixture {
	struct expansion *expansion;
	struct selection *selection;
	struct weights *weights;
};

/* Without a filter (NULL) everything is selected. */
static inline struct weighed_fixture weighed_new(const struct profile *profile,
						 const struct filter *filter, enum metric metric)
{
	const struct filter everything = {.from_ns = 0};
	struct weighed_fixture of = {.expansion = expansion_new(profile, false)};

	assert_int_equal(
		selection_new(of.expansion, filter ? filter : &everything, &of.selection, NULL), 0);
	of.weights = weights_new(of.selection, metric);
	return of;
}

static inline void weighed_free(struct weighed_fixture *of)
{
	weights_free(of->weights);
	selection_free(of->selection);
	expansion_free(of->expansion);
}

#endif
