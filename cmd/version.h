/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_VERSION_H
#define PROFC_CMD_VERSION_H

#include <stdbool.h>

struct buf;

/*
 * `profc --version`: one line. With `verbose` also what a report of a defect should say: the
 * commit, the libraries, and how it was compiled.
 */
void version_text(bool verbose, struct buf *out);

#endif
