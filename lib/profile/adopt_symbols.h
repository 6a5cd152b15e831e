/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes over symbols from an earlier state of the same recording. */
#ifndef PROFC_PROFILE_ADOPT_SYMBOLS_H
#define PROFC_PROFILE_ADOPT_SYMBOLS_H

struct profile;

/*
 * Copy the names from `from`, an earlier state of the same recording: its frames and modules are
 * the first ones of `into`. Later ones of `into` stay unresolved; its earlier names are dropped.
 * `into` keeps no pointer to `from`.
 */
void profile_adopt_symbols(struct profile *into, const struct profile *from);

#endif
