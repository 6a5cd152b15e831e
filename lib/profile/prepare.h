/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes a profile, as it was recorded, ready for views. */
#ifndef PROFC_PROFILE_PREPARE_H
#define PROFC_PROFILE_PREPARE_H

struct profile;

/*
 * Every view and export begins with this, once, after symbols are known: CPU time is shared among
 * the samples around it (spread.h), samples of short-lived processes get the time that they stand
 * for (short_lives.h), and advances of counters are attributed (charge_advances.h). A file is
 * written from a profile without this.
 */
void profile_prepare(struct profile *profile);

#endif
