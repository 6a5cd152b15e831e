/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes over symbols from an earlier state of the same recording. */
#ifndef PROFC_PROFILE_ADOPT_SYMBOLS_H
#define PROFC_PROFILE_ADOPT_SYMBOLS_H

struct profile;

/*
 * Take over the names that `from`, an earlier state of the same recording, has: its frames
 * and modules are the first ones of `into`. What `into` has beyond them stays unresolved;
 * names it had before are dropped. Nothing of `from` is kept.
 */
void profile_adopt_symbols(struct profile *into, const struct profile *from);

#endif
