/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which code the advances of counters are attributed to. */
#ifndef PROFC_PROFILE_CHARGE_ADVANCES_H
#define PROFC_PROFILE_CHARGE_ADVANCES_H

struct profile;

/*
 * Attribute each row to code, for views and exports: once, after symbols are known, and before the
 * stacks of the profile are looked at, as it adds some. A row goes to the deepest function that is
 * on both stacks, but there to a frame [between samples] below it: it may have called others in
 * between. The leaf of both stacks gets it as its own if the counter is often seen to advance in
 * the microseconds of its samples; else its caller is the deepest one, as it may have returned and
 * been called again. STACK_EMPTY: the stacks have nothing in common, or one of them is not known.
 */
void profile_charge_advances(struct profile *profile);

#endif
