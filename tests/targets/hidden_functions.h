/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TARGETS_HIDDEN_FUNCTIONS_H
#define PROFC_TARGETS_HIDDEN_FUNCTIONS_H

/* A multiplication that no compiler can foresee. */
#define HIDDEN_STEP(x, factor)                                                                     \
	do {                                                                                       \
		(x) = (x) * (factor) + 1;                                                          \
		__asm__ volatile("" : "+r"(x));                                                    \
	} while (0)

unsigned other_of_same_name(unsigned rounds);
unsigned with_cold_part(unsigned rounds, unsigned rare);

#endif
