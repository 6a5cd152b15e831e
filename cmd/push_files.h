/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes pprof files of a profile's metrics, for receivers. */
#ifndef PROFC_CMD_PUSH_FILES_H
#define PROFC_CMD_PUSH_FILES_H

#include <stdbool.h>

struct err;
struct export_options;
struct profile;
struct push_labels;
struct push_spool;
struct push_target;

/*
 * The profile's labels: the name of its service, the host, and the build-id as version; then the
 * user's, which can remove them. `unit` is that of --unit, or NULL. Released with
 * push_labels_release().
 */
int push_files_label(const struct push_target *target, const struct profile *profile,
		     const char *unit, struct push_labels *labels, struct err *err);
/*
 * Add the files of a resolved profile to the spool: of the options' metric, or if `all` of CPU
 * time, waits, memory and counters, as far as they were recorded. ERR_EMPTY: it has nothing of
 * these.
 */
int push_files_add(struct push_spool *spool, const struct push_target *target,
		   const struct profile *profile, const struct export_options *options, bool all,
		   const struct push_labels *labels, struct err *err);

#endif
