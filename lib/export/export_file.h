/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_EXPORT_EXPORT_FILE_H
#define PROFC_EXPORT_EXPORT_FILE_H

#include "export/export.h"

/*
 * export_write() to a file of this name, which appears once it is complete (base/output_file.h).
 */
int export_to_path(enum export_kind kind, const struct profile *profile,
		   const struct export_options *options, const char *path, struct err *err);

/*
 * As export_write(), to a file that only its owner can access, in this directory
 * (base/private_file.h). *path is set to its path, which the caller frees.
 */
int export_to_private_file(enum export_kind kind, const struct profile *profile,
			   const struct export_options *options, const char *directory, char **path,
			   struct err *err);

/* The name of a recording's export in this format: profc.data, profc.html. The caller frees it. */
char *export_name_beside(enum export_kind kind, const char *recording);

#endif
