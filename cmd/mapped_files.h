/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_MAPPED_FILES_H
#define PROFC_CMD_MAPPED_FILES_H

#include <stdbool.h>

/*
 * Program files are mapped while they are read, by libelf among others. If one is
 * truncated meanwhile (overwritten in place by a linker or cp), the next access to a
 * missing page would kill the process with SIGBUS. From this call on such pages read
 * as zeros, which every reader takes for damage.
 */
void mapped_files_guard(void);

/* Has any page been missing since, or since this was asked before? */
bool mapped_files_were_cut(void);

#endif
